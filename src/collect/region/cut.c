/*
 * Opens and closes a cut: see cut.h.
 */
#include "collect/region/cut.h"

#include <errno.h>

#include "rt/atomic.h"

/* A peak may move the epoch between the load and the CAS. So many times in a row is no accident. */
#define HS_CUT_TRIES 1000

int hs_cut_open(struct hs_region_control_v1 *control, uint64_t *ret_epoch)
{
    for (unsigned i = 0; i < HS_CUT_TRIES; i++) {
        uint64_t epoch = hs_load_relaxed(&control->epoch);
        /* Records hold 48 bits of the epoch. 0 would mean that no cut is open. */
        if (epoch == 0 || epoch >= (UINT64_C(1) << 48) - 1) {
            break;
        }
        hs_store_relaxed(&control->snapshot_epoch, epoch);
        /* ORDER cut: who reads the epoch after the cut also sees that the cut is open; and we read
         * no record before the cut is taken. */
        if (hs_cas_acq_rel(&control->epoch, &epoch, epoch + 1)) {
            *ret_epoch = epoch;
            return 0;
        }
    }
    hs_cut_close(control);
    return -EPROTO;
}

void hs_cut_close(struct hs_region_control_v1 *control)
{
    /* ORDER cut-close: our reading of tombstones ends before writers may reuse them. */
    hs_store_release(&control->snapshot_epoch, 0);
}
