/*
 * The slow path of the peak: adding up the parts and taking the cut. See peak.h.
 */
#include "client/tables/peak.h"

#include <time.h>

#include "client/host/sandbox.h"

static uint32_t marking_tid; /* the thread that is taking the cut; 0: none */

/* The part of the total that a thread may keep to itself. At interval 1 the total must stay nearly
 * exact, yet writing to a cache line that all threads share costs as much as some dozens of blocks.
 * At larger intervals the noise of the estimates is far larger than the quantum. */
#define EXACT_QUANTUM_MIN     1024
#define EXACT_QUANTUM_SHIFT   15 /* 1/32768 of the total */
#define SAMPLED_QUANTUM_MIN   4096
#define SAMPLED_QUANTUM_SHIFT 12

/* The quantum never shrinks: a reader assumes that the present one was in force all the time. */
static void raise_quantum(struct hs_region_control_v1 *control, int64_t total)
{
    bool is_exact = hs_load_relaxed(&control->interval_bytes) <= 1;
    int64_t least = is_exact ? EXACT_QUANTUM_MIN : SAMPLED_QUANTUM_MIN;
    int64_t quantum = total >> (is_exact ? EXACT_QUANTUM_SHIFT : SAMPLED_QUANTUM_SHIFT);
    quantum = quantum < least ? least : quantum;
    int64_t old = hs_load_relaxed(&control->peak_quantum_bytes);
    while (quantum > old && !hs_cas_relaxed(&control->peak_quantum_bytes, &old, quantum)) {
    }
}

void hs_peak_raise(int64_t *value, int64_t total)
{
    int64_t old = hs_load_relaxed(value);
    while (total > old && !hs_cas_relaxed(value, &old, total)) {
    }
}

void hs_peak_flush(struct hs_thread *thread)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    int64_t part = thread->block->live_bytes;
    int64_t total = hs_add_relaxed(&control->live_bytes, part) + part;
    hs_store_relaxed(&thread->block->live_bytes, 0);
    raise_quantum(control, total);
}

HS_COLD void hs_peak_note(void)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    const struct hs_thread *self = hs_tls.self;
    hs_peak_raise(&control->peak_most_bytes,
                  hs_load_relaxed(&control->live_bytes) + (self ? self->block->live_bytes : 0));
}

void hs_peak_take_cut(uint64_t *peak_epoch, int64_t *peak_bytes, uint64_t *peak_time_ns,
                      int64_t total)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    /* The cut is announced before the epoch moves on, so that no block dies in between without
     * leaving its record. Peaks raise the epoch by 2: see "Totals" in fmt/region_layout.h. */
    uint64_t epoch = hs_load_relaxed(&control->epoch);
    /* If a snapshot moves the epoch on meanwhile, the announced epoch is not our cut, even if a
     * thread has seen it. */
    hs_store_relaxed(peak_time_ns, 0);
    /* ORDER peak-final: no time before a cut that may yet change. */
    hs_fence_release();
    do {
        hs_store_relaxed(peak_epoch, epoch);
        /* ORDER cut: the announced cut is seen by every thread that sees the next epoch. */
    } while (!hs_cas_acq_rel(&control->epoch, &epoch, epoch + 2));
    hs_store_relaxed(peak_bytes, total);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    /* ORDER peak-final: the cut before the time that says that it stays. */
    hs_store_release(peak_time_ns,
                     (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
}

/* Takes the cut of the process's peak. */
static void mark(struct hs_region_control_v1 *control, int64_t total)
{
    hs_peak_take_cut(&control->peak_epoch, &control->peak_bytes, &control->peak_time_ns, total);
}

HS_COLD void hs_peak_mark(struct hs_thread *thread)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    int64_t seen = hs_load_relaxed(&control->live_bytes) + thread->block->live_bytes;
    if (hs_shared_is_alone()) {
        hs_store_relaxed(&control->peak_most_bytes, seen);
        mark(control, seen);
        return;
    }
    /* Done first: a thread that loses the race below has seen this total all the same. */
    hs_peak_raise(&control->peak_most_bytes, seen);
    uint32_t tid = thread->block->tid;
    uint32_t owner = 0;
    /* ORDER peak-mark: what the last marker wrote. If the owner is this thread, a longjmp left the
     * marking; if it is another, that thread may have been cancelled in the middle. */
    if (!hs_cas_acq_rel(&marking_tid, &owner, tid) && owner != tid &&
        (hs_sandbox_is_tight() || hs_sys_thread_exists(hs_region.header->pid, owner))) {
        return; /* another thread is marking at this moment */
    }
    hs_peak_flush(thread);
    int64_t total = hs_load_relaxed(&control->live_bytes);
    if (total > hs_load_relaxed(&control->peak_bytes)) {
        hs_peak_raise(&control->peak_most_bytes, total);
        mark(control, total);
    }
    /* ORDER peak-mark: our cut before the next marker's. */
    hs_store_release(&marking_tid, 0);
}
