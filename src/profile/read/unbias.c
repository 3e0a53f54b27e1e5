/*
 * See unbias.h.
 */
#include "profile/read/unbias.h"

#include <math.h>

#include "rt/check.h"

/*
 * A block of more than this many intervals is sampled with a probability of 1 in double precision.
 */
#define SURE_RATIO 37.0

static double scale_of(enum hs_unbias_rule rule, double ratio)
{
    if (rule == HS_UNBIAS_ALL || !(ratio > 0)) {
        return 1;
    }
    if (rule == HS_UNBIAS_V1) {
        return ratio < 1 ? 1 / ratio : 1;
    }
    return ratio < SURE_RATIO ? -1 / expm1(-ratio) : 1;
}

struct hs_amount hs_unbias(enum hs_unbias_rule rule, uint64_t interval_bytes, uint64_t count,
                           uint64_t bytes)
{
    double n = (double)count, s = (double)bytes;
    double scale =
        count > 0 && interval_bytes > 0 ? scale_of(rule, s / n / (double)interval_bytes) : 1;
    struct hs_amount amount = { .bytes = s * scale, .count = n * scale };
    if (scale > 1) {
        amount.count_var = n * scale * (scale - 1);
        amount.bytes_var = amount.count_var * (s / n) * (s / n);
        amount.sampled_bytes = amount.bytes;
        amount.sampled_count = amount.count;
    }
    HS_ASSERT(isfinite(amount.bytes) && isfinite(amount.bytes_var) && isfinite(amount.count_var));
    return amount;
}

void hs_unbias_vary(struct hs_amount *amount, uint64_t interval_bytes)
{
    double bytes = fabs(amount->bytes), count = fabs(amount->count);
    if (interval_bytes <= 1) {
        return;
    }
    if (count > 0 && bytes > 0) {
        double scale = scale_of(HS_UNBIAS_V2, bytes / count / (double)interval_bytes);
        amount->count_var = count * (scale - 1);
        amount->bytes_var = amount->count_var * (bytes / count) * (bytes / count);
    } else {
        amount->bytes_var = (double)interval_bytes * bytes;
    }
    if (amount->bytes_var > 0) {
        amount->sampled_bytes = amount->bytes;
        amount->sampled_count = amount->count;
    }
}
