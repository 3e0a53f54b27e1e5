/*
 * The cold half of the peak: flushing parts and taking the cut. See peak.h.
 */
#include "client/peak.h"

#include <time.h>

#include "client/sandbox.h"

static uint32_t marking_tid; /* who is taking the cut; 0: nobody */

void hs_peak_flush(struct hs_thread *thread)
{
    int64_t part = thread->block->live_bytes;
    hs_add_relaxed(&hs_control_page.control.live_bytes, part);
    hs_store_relaxed(&thread->block->live_bytes, 0);
}

HS_COLD void hs_peak_mark(struct hs_thread *thread)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    uint32_t tid = thread->block->tid;
    uint32_t owner = 0;
    /* ORDER peak-mark: what the last marker wrote. If it was us, a longjmp took us away from it; or
     * it may have been a thread that was cancelled in the middle. */
    if (!hs_cas_acq_rel(&marking_tid, &owner, tid) && owner != tid &&
        (hs_sandbox_is_tight() || hs_sys_thread_exists(hs_region.header->pid, owner))) {
        return; /* somebody is marking this very moment */
    }
    hs_peak_flush(thread);
    int64_t total = hs_load_relaxed(&control->live_bytes);
    if (total > hs_load_relaxed(&control->peak_bytes)) {
        /* The cut is announced before the epoch moves on, so that nothing dies in between without
         * leaving its record. Peaks step by 2: see "Totals" in fmt/region_layout.h. */
        uint64_t epoch = hs_load_relaxed(&control->epoch);
        /* An epoch that a snapshot passes meanwhile is none of ours, whoever saw it announced. */
        hs_store_relaxed(&control->peak_time_ns, 0);
        /* ORDER peak-final: no time before a cut that may yet change. */
        hs_fence_release();
        do {
            hs_store_relaxed(&control->peak_epoch, epoch);
            /* ORDER cut: the announced cut is seen by whoever sees the next epoch. */
        } while (!hs_cas_acq_rel(&control->epoch, &epoch, epoch + 2));
        hs_store_relaxed(&control->peak_bytes, total);
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        /* ORDER peak-final: the cut before the time that says that it stays. */
        hs_store_release(&control->peak_time_ns,
                         (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
    }
    /* ORDER peak-mark: our cut before the next marker's. */
    hs_store_release(&marking_tid, 0);
}
