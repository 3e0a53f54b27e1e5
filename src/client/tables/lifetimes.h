/*
 * Lifetimes: how long recorded blocks lived until they were freed, by stack.
 *
 * Measured only while the control page says HS_CONTROL_LIFETIMES; the layout is
 * fmt/lifetime_layout.h. Without that, no code of this module runs in malloc or free: a sample then
 * is not a special one (hs_thread.must_look), and the word that says that the client is on also
 * says that a free is a plain one (hs_life_state_is_plain()).
 *
 *   allocation   hs_lifetimes_begin       reads the coarse clock: the birth time of the record
 *                hs_lifetimes_note_birth  numbers the block among its thread's
 *   free         hs_lifetimes_measure     lifetime and class, while the record is still the block's
 *                hs_lifetimes_add         into the sums of the stack, by the epoch of the death
 *   realloc failed   hs_lifetimes_undo    out of the sums again; the number is put back
 *
 * Temporary blocks. A thread numbers its recorded allocations from malloc. If the block that it
 * frees has the latest number and its countdown has not moved since, it has allocated nothing in
 * between; this is so at any interval (an allocation of 0 bytes does not move the countdown). At
 * interval 1 the difference of the numbers tells how many there were. The number of a block is in a
 * private table parallel to RECORDS, made when it is first needed; a sparse mapping.
 *
 * Ensures   sums contain a block once for each removal of its record, unless it was put back.
 * Threads   any; a removal in a signal handler passes NULL as the thread.
 * Fails     without room a block is not added to any lifetime; without memory for the table of
 *           numbers, class 0 alone is known. The collector sees what is missing: what was allocated
 *           less what lives and what is in the sums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/life_state.h"
#include "client/tables/live.h"
#include "client/tables/thread_state.h"
#include "fmt/lifetime_layout.h"

/* The settings have changed; `thread` may be NULL. */
void hs_lifetimes_pick_up(struct hs_thread *thread);

/* A sample begins. True: lifetimes are measured, and the thread's clock_ms is now. */
bool hs_lifetimes_begin(struct hs_thread *thread);
/* A block was recorded at `addr` by this thread: of malloc's heap, or of another heap that malloc
 * serves, which has no number. */
void hs_lifetimes_note_birth(struct hs_thread *thread, uint8_t heap_id, uintptr_t addr,
                             uint64_t interval_bytes);

/* Fills in what *block needs for its lifetime. `record`: that of the block if it is malloc's, and
 * still its own; NULL: whether the block is temporary is not asked. */
void hs_lifetimes_measure(const struct hs_thread *thread, const struct hs_record_v1 *record,
                          struct hs_live_block *block);
/* Adds a block that died in this epoch. */
void hs_lifetimes_add(struct hs_live_block *block, uint64_t epoch);
/* Subtracts a block that was put back, in the epoch that it has now. `thread`: of a block of
 * malloc's, otherwise NULL. */
void hs_lifetimes_undo(struct hs_thread *thread, const struct hs_live_block *block);
