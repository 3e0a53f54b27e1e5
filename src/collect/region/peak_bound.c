/*
 * Computes the bound: see peak_bound.h.
 */
#include "collect/region/peak_bound.h"

#include <math.h>

#include "rt/atomic.h"

/* The values of old clients, which do not write them into the region. */
#define OLD_SLACK_FROM_BYTES (1 << 20)
#define OLD_SLACK_SHIFT      10
#define OLD_QUANTUM_MIN      4096
#define OLD_QUANTUM_SHIFT    12

#define BOUND_MAX            0x1p62

/* The bytes that threads other than the one that ended the rise may have kept to themselves. */
static double others_bytes(const struct hs_thread_block_v1 *blocks, uint64_t block_count,
                           double quantum_bytes)
{
    double sum = 0;
    double least = INFINITY; /* the smallest part of a thread that has freed */
    for (uint64_t i = 0; i < block_count; i++) {
        double part = fmin(quantum_bytes, (double)blocks[i].alloc_bytes);
        sum += part;
        if (blocks[i].free_count != 0) {
            least = fmin(least, part);
        }
    }
    /* Without a free no rise has ended: the live total now is the peak. */
    return isinf(least) ? 0 : sum - least;
}

uint64_t hs_peak_bound(const struct hs_region_control_v1 *control,
                       const struct hs_thread_block_v1 *blocks, uint64_t block_count,
                       double shown_bytes)
{
    int64_t most = hs_load_relaxed(&control->peak_most_bytes);
    int64_t quantum = hs_load_relaxed(&control->peak_quantum_bytes);
    int64_t peak = hs_load_relaxed(&control->peak_bytes);
    if (most <= 0 && peak > 0) {
        most = peak >= OLD_SLACK_FROM_BYTES && peak < INT64_MAX / 2
                   ? peak + (peak >> OLD_SLACK_SHIFT)
                   : peak;
        quantum = peak >> OLD_QUANTUM_SHIFT;
        quantum = quantum < OLD_QUANTUM_MIN ? OLD_QUANTUM_MIN : quantum;
    }
    double above = (double)most - shown_bytes +
                   others_bytes(blocks, block_count, quantum > 0 ? (double)quantum : 0);
    return above > 0 ? (uint64_t)fmin(above, BOUND_MAX) : 0;
}
