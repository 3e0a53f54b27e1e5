/*
 * Cuts of carved heaps, and their tombstones. See heap_peak.h.
 */
#include "client/tables/heap_peak.h"

#include "client/host/sandbox.h"
#include "client/tables/peak.h"
#include "client/tables/record_pool.h"
#include "rt/sys.h"

static struct {
    uint64_t dead_head;   /* tombstones, linked by addr: id + 1; only ever taken as a whole */
    uint32_t marking_tid; /* the thread that is taking the cut; 0: none */
} peaks[HS_REGION_HEAPS];

void hs_heap_peak_bury(uint8_t heap_id, uint32_t record_id)
{
    struct hs_record_v1 *record = hs_region_record(record_id);
    uint64_t head = hs_load_relaxed(&peaks[heap_id].dead_head);
    do {
        hs_store_relaxed(&record->addr, head);
        /* ORDER record-nested: links before the head. */
    } while (!hs_cas_acq_rel(&peaks[heap_id].dead_head, &head, (uint64_t)record_id + 1));
}

/* Frees the tombstones of a peak that has been replaced. Some may be in the open snapshot, too. */
static void reclaim(struct hs_thread *thread, uint8_t heap_id)
{
    /* ORDER record-nested: links before the head. */
    uint64_t next = hs_swap_acq_rel(&peaks[heap_id].dead_head, 0);
    /* ORDER cut-close: a collector that closed a cut has read its tombstones. */
    bool is_open = hs_load_acquire(&hs_control_page.control.snapshot_epoch) != 0;
    while (next != 0) {
        uint32_t id = (uint32_t)next - 1;
        struct hs_record_v1 *record = hs_region_record(id);
        next = hs_load_relaxed(&record->addr);
        if (is_open) {
            hs_record_pool_bury(thread, id, HS_RECORD_DEAD | HS_RECORD_IN_SNAPSHOT);
        } else {
            hs_record_pool_give(thread, id, record);
        }
    }
}

void hs_heap_peak_mark(struct hs_thread *thread, uint8_t heap_id)
{
    struct hs_heap_v2 *heap = hs_heaps_element(heap_id);
    hs_peak_raise(&heap->peak_most_bytes, hs_load_relaxed(&heap->live_bytes));
    if (!thread) {
        return;
    }
    uint32_t tid = thread->block->tid, owner = 0;
    /* ORDER peak-mark: as in hs_peak_mark. */
    if (!hs_cas_acq_rel(&peaks[heap_id].marking_tid, &owner, tid) && owner != tid &&
        (hs_sandbox_is_tight() || hs_sys_thread_exists(hs_region.header->pid, owner))) {
        return; /* another thread is marking at this moment */
    }
    int64_t total = hs_load_relaxed(&heap->live_bytes);
    if (total > hs_load_relaxed(&heap->peak_bytes)) {
        hs_peak_raise(&heap->peak_most_bytes, total);
        hs_peak_take_cut(&heap->peak_epoch, &heap->peak_bytes, &heap->peak_time_ns, total);
        reclaim(thread, heap_id);
    }
    /* ORDER peak-mark: our cut before the next marker's. */
    hs_store_release(&peaks[heap_id].marking_tid, 0);
}

void hs_heap_peak_forget_all(void)
{
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        hs_store_relaxed(&peaks[i].dead_head, 0);
        hs_store_relaxed(&peaks[i].marking_tid, 0);
    }
}
