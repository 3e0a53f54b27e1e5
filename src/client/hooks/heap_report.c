/*
 * Reports about the program's heaps. See heap_report.h.
 *
 * Settings. A new setting raises the control page's floor, which is above every countdown; so the
 * next report of each thread takes the slow half. It first runs hs_api_table_poll, which writes the
 * heaps' intervals and calls the program's callbacks, outside of every guard: a callback may
 * report, register, allocate and take snapshots.
 */
#include "client/hooks/heap_report.h"

#include "client/hooks/record_steps.h"
#include "client/hooks/sampler.h"
#include "client/life/api_stats.h"
#include "client/life/api_table.h"
#include "client/life/bind_call.h"
#include "client/life/lifecycle.h"
#include "client/life/named_snapshot.h"
#include "client/life/open_scopes.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heap_peak.h"
#include "client/tables/heaps.h"
#include "client/tables/lifetimes.h"
#include "client/tables/mapped_reserve.h"
#include "client/tables/scopes.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/heap_countdown.h"
#include "client/thread/thread.h"

/* --- slow ------------------------------------------------------------------------------------- */

/* May a report be recorded now? Begins what is due: a forked child's region, another session's
 * region, new settings. */
static bool is_ready(void)
{
    bool is_on = hs_lifecycle_is_on() || (hs_life_state_is_waiting() && hs_lifecycle_follow_fork());
    /* Inside our own code (in a signal handler) no callback may run, and nothing is renewed. */
    if (hs_api_table_is_outdated() && hs_tls.guard_va == 0) {
        if (is_on && !hs_sampler_is_region_current()) {
            return false;
        }
        hs_api_table_poll();
    }
    return is_on;
}

/* This thread's countdown for a heap. NULL: no memory. */
static struct hs_heap_countdown *countdown_of(uint8_t heap_id)
{
    struct hs_thread *thread = hs_thread_self();
    return thread && hs_heap_countdown_make(thread) ? &thread->heap_countdowns[heap_id] : NULL;
}

/* As hs_sampler_hit, for the countdown of a heap. */
static bool hit(uint8_t heap_id, uint64_t size_bytes, struct hs_sample *ret_sample)
{
    struct hs_heap_countdown *countdown = countdown_of(heap_id);
    if (!countdown) {
        return false;
    }
    uint64_t floor = hs_load_relaxed(&hs_control_page.control.floor_bytes);
    bool is_outdated =
        countdown->generation != hs_load_relaxed(&hs_control_page.control.generation);
    if (is_outdated && !hs_heap_countdown_is_due(countdown, floor, size_bytes)) {
        hs_heap_countdown_pick_up(hs_tls.self, heap_id, floor);
        is_outdated = false;
    }
    if (countdown->interval_bytes == HS_INTERVAL_OFF) {
        return false;
    }
    *ret_sample = (struct hs_sample){ .interval_idx = countdown->interval_idx,
                                      .interval_bytes = countdown->interval_bytes };
    if (size_bytes >= countdown->interval_bytes || countdown->interval_bytes == 1) {
        return true;
    }
    ret_sample->hits = hs_heap_countdown_hits(countdown, floor, size_bytes);
    if (is_outdated) {
        hs_heap_countdown_pick_up(hs_tls.self, heap_id, floor);
    }
    return ret_sample->hits > 0;
}

/* A report, of which a sample is recorded. */
struct report {
    uint8_t heap_id;
    uint64_t id, size_bytes;
    const char *type; /* NULL: the program gave none */
};

static enum hs_loss record(struct hs_thread *thread, const struct report *report,
                           const struct hs_sample *sample, const struct hs_regs *regs)
{
    uint64_t begin_ns = 0;
    uint8_t heap_id = report->heap_id;
    /* What the record can hold: all sums then say the same. */
    uint64_t size_bytes =
        report->size_bytes < HS_RECORD_SIZE_MAX ? report->size_bytes : HS_RECORD_SIZE_MAX;
    if (--thread->name_countdown % HS_CLOCK_SAMPLES == 0) {
        begin_ns = hs_record_look_at_clock(thread);
        if (thread->name_countdown == 0) {
            hs_thread_refresh_name(thread);
        }
    }
    hs_lifetimes_begin(thread);
    uint32_t type_id = report->type ? hs_type_intern(report->type) : 0;
    uint32_t base_id = hs_call_stack_find(thread, regs);
    struct hs_live_block block = {
        .addr = report->id,
        .size_bytes = size_bytes,
        .weight_bytes = sample->hits ? sample->hits * sample->interval_bytes : size_bytes,
        .stack_id = hs_record_stack_of(thread, heap_id, type_id, base_id),
        .birth_ms = hs_record_now_ms(thread),
        .hits = sample->hits,
        .interval_idx = sample->interval_idx,
        /* ORDER cut: births of this epoch belong to the cuts announced from it on. */
        .epoch = hs_load_acquire(&hs_control_page.control.epoch),
    };
    struct hs_totals_v1 *totals =
        block.stack_id == HS_ID_NONE ? NULL : hs_stack_totals(block.stack_id, block.epoch);
    if (!totals) {
        return hs_record_reason_of(HS_LOSS_TABLE_FULL);
    }
    enum hs_loss loss = hs_heap_blocks_insert(thread, heap_id, &block);
    if (loss != HS_LOSS_N) {
        return hs_record_reason_of(loss);
    }
    if (!hs_heap_peak_is_own(hs_heaps_element(heap_id)) &&
        hs_mapped_reserve_may_be_at(report->id)) {
        hs_mapped_reserve_note(thread, report->id, size_bytes);
    }
    hs_stack_add(totals, size_bytes, sample->hits, sample->interval_bytes);
    thread->block->sample_count++;
    thread->block->alloc_bytes += block.weight_bytes;
    if (begin_ns != 0) {
        hs_record_count_time(thread, begin_ns);
    }
    return HS_LOSS_N;
}

static bool record_alloc(const struct report *report, const struct hs_sample *sample,
                         const struct hs_regs *regs)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    struct hs_thread *thread = hs_thread_self();
    if (hs_reentry_guard_enter(&mark)) {
        loss = !hs_record_is_still_on() ? HS_LOSS_N
               : thread                 ? record(thread, report, sample, regs)
                                        : HS_LOSS_NO_THREAD_BLOCK;
        hs_reentry_guard_leave();
    }
    if (loss != HS_LOSS_N) {
        hs_record_count_loss(loss, report->size_bytes, sample->hits, sample->interval_bytes);
    }
    return loss == HS_LOSS_N;
}

static bool forget(uint8_t heap_id, uint64_t id, struct hs_live_block *ret_block)
{
    struct hs_frame_marker mark;
    bool is_outermost = hs_reentry_guard_enter(&mark);
    bool was_recorded =
        hs_record_is_still_on() &&
        hs_heap_blocks_remove(is_outermost ? hs_thread_self() : NULL, heap_id, id, ret_block);
    if (is_outermost) {
        hs_reentry_guard_leave();
    }
    return was_recorded;
}

/* Frees the block that has this id, if there is one: the id is used again. */
static void forget_older(uint8_t heap_id, uint64_t id)
{
    if (hs_heap_blocks_may_have(heap_id, id)) {
        forget(heap_id, id, NULL);
    }
}

static bool take_report(const struct report *report, const struct hs_regs *regs)
{
    struct hs_sample sample;
    if (report->heap_id == 0 || !is_ready()) {
        return false;
    }
    forget_older(report->heap_id, report->id);
    return hit(report->heap_id, report->size_bytes, &sample) && record_alloc(report, &sample, regs);
}

bool hs_slow_report(uint64_t heap, uint64_t id, uint64_t size_bytes, const struct hs_regs *regs)
{
    const struct report report = { (uint8_t)heap, id, size_bytes, NULL };
    return take_report(&report, regs);
}

bool hs_slow_report_of(uint64_t heap, uint64_t id, uint64_t size_bytes, const char *type,
                       const struct hs_regs *regs)
{
    const struct report report = { (uint8_t)heap, id, size_bytes, type };
    return take_report(&report, regs);
}

bool hs_slow_report_sample(uint64_t heap, uint64_t id, uint64_t size_bytes,
                           const struct hs_regs *regs)
{
    uint8_t heap_id = (uint8_t)heap;
    const struct hs_sample sample = { .hits = 0 };
    if (heap_id == 0 || !is_ready()) {
        return false;
    }
    forget_older(heap_id, id);
    if (hs_load_relaxed(&hs_heaps_element(heap_id)->interval_bytes) == HS_INTERVAL_OFF) {
        return false;
    }
    hs_heaps_set_own_samples(heap_id);
    const struct report report = { heap_id, id, size_bytes, NULL };
    return record_alloc(&report, &sample, regs);
}

static HS_COLD void free_slowly(uint8_t heap_id, uint64_t id)
{
    if (is_ready()) {
        forget_older(heap_id, id);
    }
}

/* --- allocators with a heap of their own ------------------------------------------------------ */

bool hs_heap_report_hit(uint8_t heap_id, uint64_t size_bytes, struct hs_sample *ret_sample)
{
    return hs_sampler_is_ready() && hit(heap_id, size_bytes, ret_sample);
}

HS_COLD void hs_heap_report_record(uint8_t heap_id, uint64_t id, uint64_t size_bytes,
                                   const struct hs_sample *sample, const struct hs_regs *regs)
{
    const struct report report = { heap_id, id, size_bytes, NULL };
    forget_older(heap_id, id);
    record_alloc(&report, sample, regs);
}

HS_COLD void hs_heap_report_alloc(uint8_t heap_id, uint64_t id, uint64_t size_bytes,
                                  const struct hs_regs *regs)
{
    struct hs_sample sample;
    if (!hs_sampler_is_ready()) {
        return;
    }
    const struct report report = { heap_id, id, size_bytes, NULL };
    forget_older(heap_id, id);
    if (hit(heap_id, size_bytes, &sample)) {
        record_alloc(&report, &sample, regs);
    }
}

HS_COLD bool hs_heap_report_free(uint8_t heap_id, uint64_t id, struct hs_live_block *ret_block)
{
    return hs_sampler_is_ready() && forget(heap_id, id, ret_block);
}

HS_COLD void hs_heap_report_put_back(uint8_t heap_id, const struct hs_live_block *removed)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    struct hs_thread *thread = hs_thread_self();
    struct hs_live_block block = *removed;
    if (hs_reentry_guard_enter(&mark)) {
        /* ORDER cut: as in record(). */
        block.epoch = hs_load_acquire(&hs_control_page.control.epoch);
        loss = HS_LOSS_N;
        if (hs_record_is_still_on()) {
            loss = thread ? hs_record_reason_of(hs_heap_blocks_insert(thread, heap_id, &block))
                          : HS_LOSS_NO_THREAD_BLOCK;
            if (thread) {
                /* hs_heap_report_free had counted it, but nothing was freed. */
                thread->block->free_count--;
            }
            if (loss == HS_LOSS_N && block.has_lifetime) {
                hs_lifetimes_undo(NULL, &block);
            }
        }
        hs_reentry_guard_leave();
    }
    if (loss != HS_LOSS_N) {
        hs_record_count_loss(loss, removed->size_bytes, removed->hits,
                             hs_region.header->interval_bytes[removed->interval_idx]);
    }
}

bool hs_heap_report_drop(uint8_t heap_id, uint64_t size_bytes)
{
    const struct hs_thread *thread = hs_tls.self;
    return thread && thread->heap_countdowns && hs_tls.probe == HS_NESTED_HOOK_NONE &&
           hs_heap_countdown_drop(&thread->heap_countdowns[heap_id], size_bytes);
}

/* --- hot -------------------------------------------------------------------------------------- */

/* Counts a report down that changes nothing else. False: it may have to be recorded. */
static inline bool is_dropped(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    const struct hs_thread *thread = hs_tls.self;
    return hs_likely(thread != NULL) && hs_likely(thread->heap_countdowns != NULL) &&
           hs_likely(!hs_heap_blocks_may_have((uint8_t)heap, id)) &&
           hs_likely(!hs_api_table_is_outdated()) &&
           hs_likely(hs_heap_countdown_drop(&thread->heap_countdowns[(uint8_t)heap], size_bytes));
}

bool hs_report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    if (hs_likely(is_dropped(heap, id, size_bytes))) {
        return false;
    }
    return hs_entry_report(heap, id, size_bytes);
}

bool hs_report_alloc_of(uint32_t heap, uint64_t id, uint64_t size_bytes, const char *type)
{
    if (hs_likely(is_dropped(heap, id, size_bytes))) {
        return false;
    }
    return hs_entry_report_of(heap, id, size_bytes, type);
}

bool hs_report_sample(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    return hs_entry_report_sample(heap, id, size_bytes);
}

void hs_report_free(uint32_t heap, uint64_t id)
{
    if (hs_unlikely(hs_heap_blocks_may_have((uint8_t)heap, id)) ||
        hs_unlikely(hs_api_table_is_outdated())) {
        free_slowly((uint8_t)heap, id);
    }
}

const struct hs_api_calls_v1 hs_api_calls = {
    .version = HS_API_VERSION,
    .bytes = sizeof(hs_api_calls),
    .report_alloc = hs_report_alloc,
    .report_sample = hs_report_sample,
    .report_free = hs_report_free,
    .poll = hs_api_table_poll,
    .take_snapshot = hs_named_snapshot_take,
    .get_stats = hs_api_stats_read,
    .bind = hs_bind_call,
    .note_scopes = hs_open_scopes_note,
    .report_alloc_of = hs_report_alloc_of,
};
