/*
 * Code that a program makes while it runs: its names come from a perf map, which the user must ask
 * for.
 *
 * Threads   main thread only.
 * See       symbol/perf_map.h, docs/SYMBOLS.md
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/doctor/findings.h"

/* Adds a finding about a program, by its name: how to ask for a perf map, if it makes code. */
void hs_doctor_jit_program(const char *path, struct hs_findings *findings);

/* Adds a finding about a process, from the text of its maps: does it have code that belongs to no
 * file, and a perf map for it? */
void hs_doctor_jit_process(pid_t pid, const char *maps, size_t maps_bytes,
                           struct hs_findings *findings);
