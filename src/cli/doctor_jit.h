/*
 * Code that a program makes while it runs: its names come from a perf map, which must be asked for.
 *
 * Threads   main thread only.
 * See       symbol/perf_map.h, docs/SYMBOLS.md
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/findings.h"

/* Of a program that will run, by its name: how to ask for a perf map, if it is one that makes code. */
void hs_doctor_jit_program(const char *path, struct hs_findings *findings);

/* Of a process, from the text of its maps: is there code of no file, and its perf map? */
void hs_doctor_jit_process(pid_t pid, const char *maps, size_t maps_bytes,
                           struct hs_findings *findings);
