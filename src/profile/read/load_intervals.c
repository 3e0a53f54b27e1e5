/*
 * See load_intervals.h.
 */
#include "profile/read/load_intervals.h"

#include <stddef.h>

#include "rt/check.h"

static void put(struct hs_load_intervals *intervals, uint64_t interval_bytes)
{
    if (interval_bytes == 0) {
        return;
    }
    if (intervals->narrowest_bytes == 0 || interval_bytes < intervals->narrowest_bytes) {
        intervals->narrowest_bytes = interval_bytes;
    }
    if (interval_bytes > intervals->widest_bytes) {
        intervals->widest_bytes = interval_bytes;
    }
}

struct hs_load_intervals hs_load_intervals_of(const Hs__Pb__HsDump *dump)
{
    struct hs_load_intervals intervals = { 0, 0 };
    put(&intervals, dump->interval_bytes);
    put(&intervals, dump->orig_interval_bytes);
    for (size_t i = 0; i < dump->n_changes; i++) {
        put(&intervals, dump->changes[i]->from_interval_bytes);
        put(&intervals, dump->changes[i]->to_interval_bytes);
    }
    HS_ASSERT(intervals.narrowest_bytes <= intervals.widest_bytes &&
              (intervals.narrowest_bytes > 0 || intervals.widest_bytes == 0));
    return intervals;
}

bool hs_load_intervals_have(const Hs__Pb__HsDump *dump, uint64_t interval_bytes)
{
    bool is_there =
        dump->interval_bytes == interval_bytes || dump->orig_interval_bytes == interval_bytes;
    for (size_t i = 0; i < dump->n_changes; i++) {
        is_there |= dump->changes[i]->from_interval_bytes == interval_bytes ||
                    dump->changes[i]->to_interval_bytes == interval_bytes;
    }
    return is_there;
}
