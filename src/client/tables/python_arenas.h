/*
 * Where the arenas of Python's small objects are, for the ledger.
 *
 * Samples that were moved to malloc (hooks/python_hooks.h) do not tell where the arenas are. So the
 * address of each sample is noted, or, if it was moved, the one where pymalloc would have served
 * it. A collector reads the table in the process's memory: a mapping that contains one of these
 * addresses holds arenas.
 *
 * Holds     an address is in the element of its piece of 256 KiB, which is the length of the
 *           smallest arenas. Pieces that are 4 GiB apart share an element.
 * Threads   any; one word is stored.
 * Fails     an address that another one replaces is noted again at the next sample there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* The table. */
extern HS_HIDDEN struct hs_python_arenas_v2 hs_python_arenas;
extern HS_HIDDEN bool hs_python_arenas_has_any;

/* An arena contains this address. */
void hs_python_arenas_note(uint64_t va);

/* What is mapped in [start_va, start_va + len_bytes) will not be: called before it is unmapped. */
void hs_python_arenas_forget(uint64_t start_va, uint64_t len_bytes);
