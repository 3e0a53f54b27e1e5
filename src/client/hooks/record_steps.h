/*
 * Steps of recording a sample that malloc's samples (record.c) and those of the program's heaps
 * (heap_report.c) have in common.
 *
 * Threads   any, inside the reentry guard.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/life/lifecycle.h"
#include "client/tables/region.h"
#include "client/tables/thread_state.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* Reading the clock costs a twelfth of what a sample costs, and a thread that samples often would
 * read the same time again and again. So a thread reads it at every 16th sample. For a thread that
 * samples seldom, the collector, which polls the client now and then, leaves its time in the
 * control page. */
#define HS_CLOCK_SAMPLES 16U

/* Sets the thread's milliseconds since recording began; reading the coarse clock is a read of the
 * vdso page. Returns the time in ns at which the sample began if it is to be timed, otherwise 0. */
uint64_t hs_record_look_at_clock(struct hs_thread *thread);

/* Adds the time since `begin_ns` to what the thread's timed samples took. */
void hs_record_count_time(struct hs_thread *thread, uint64_t begin_ns);

/* If a table is full because the memory limit keeps it from growing, the loss is counted under
 * HS_LOSS_LIMIT. */
enum hs_loss hs_record_reason_of(enum hs_loss loss);

/* Counts a sample that could not be recorded: what it stands for is missing from all figures.
 * `hits` 0: it stands for `size_bytes`. */
void hs_record_count_loss(enum hs_loss loss, uint64_t size_bytes, uint32_t hits,
                          uint64_t interval_bytes);

/* The stack in a heap and of a type (0: none was given), under the scopes that the thread has open,
 * of a base stack that hs_call_stack_find returned. HS_ID_NONE: there is none, or no room. */
uint32_t hs_record_stack_of(struct hs_thread *thread, uint8_t heap_id, uint32_t type_id,
                            uint32_t base_id);

/* --- hot -------------------------------------------------------------------------------------- */

/* The birth time of a block. */
static inline uint32_t hs_record_now_ms(const struct hs_thread *thread)
{
    uint32_t told_ms = hs_load_relaxed(&hs_control_page.control.collector_ms);
    return thread->clock_ms > told_ms ? thread->clock_ms : told_ms;
}

/* Called inside the guard, because a signal handler may have forked since the first check. A
 * handler that forks from here on sees that the thread is in our code, and its child will not write
 * to its parent's tables. */
static inline bool hs_record_is_still_on(void)
{
    return hs_lifecycle_is_on() || hs_lifecycle_follow_fork();
}
