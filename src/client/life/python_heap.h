/*
 * The heap `python.obj`: the small objects of a CPython interpreter in this process.
 *
 * While a session records the heap, the interpreter's calls lead to our hooks
 * (patch/python_slots.h, hooks/python_hooks.h); otherwise the interpreter runs as without us.
 *
 * Those that free do so only where that is needed: when the interval is small, or when samples
 * cannot be moved (python_hooks.h). Once they do, they do until recording ends.
 *
 * Threads   any.
 * Fails     an interpreter that cannot be redirected is not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"

/* From this interval on samples are moved. Moving one costs as much as redirecting the free of some
 * two hundred objects, and the fewer are moved the better. */
#define HS_PYTHON_MOVE_BYTES_MIN 16384U

/* The heap's id; 0: it has not been needed yet. */
extern HS_HIDDEN uint8_t hs_python_heap_id;

/* Adds the heap, once. Returns its id; 0: it could not be added, which is counted as a loss. */
uint8_t hs_python_heap_make(void);

/* Looks for an interpreter, if none is known, and redirects its calls if the heap is recorded. No
 * object may be half loaded meanwhile. */
void hs_python_heap_find(void);

/* The same while the program runs: takes the loader's lock. As with hs_loader_lock_call. */
void hs_python_heap_find_late(void);

/* Redirects the interpreter's calls if the present settings say that the heap is recorded, or sets
 * them back. Called when settings change, and now and then: an interpreter that begins, or begins
 * anew, sets its allocators itself. */
void hs_python_heap_follow(void);

/* Is memory that a call of mmap, which returns to `pc`, has mapped the reserve of this heap, while
 * the heap is recorded? */
bool hs_python_heap_maps(uint64_t pc, size_t len_bytes);

/* Does every free of a small object come to our hooks? If not, an object that lies in an arena must
 * not be recorded. */
bool hs_python_heap_sees_free(void);

/* The interpreter's memory for larger objects does not come from malloc as it is: from now on
 * samples are not moved. Returns hs_python_heap_sees_free(). */
bool hs_python_heap_stop_moving(void);

/* In a forked child, whose one thread draws other gaps than its parent's. */
void hs_python_heap_follow_fork(void);

/* Sets the interpreter's calls back: the client is leaving the process. */
void hs_python_heap_leave(void);
