/*
 * See peak_margin.h.
 */
#include "profile/model/peak_margin.h"

#include <math.h>

#define LOW_CHANCE 0.025
#define BISECTIONS 60
/* Beyond this, the tail of a normal distribution is 0. */
#define SIGMAS_MAX 40.0

/*
 * The chance that a count around `truth` ever reached `most`, when `births` samples were made
 * besides those that are there. Correct where it is small; a result above 1 is not a probability.
 */
static double chance_of(double most, double truth, double births)
{
    double log_density = most * log(truth) - truth - lgamma(most + 1);
    return exp(log_density) * (births * (most - truth) / truth + (most + 1) / (most + 1 - truth));
}

/* The least truth that leads to `most` in 2.5 % of runs. */
static double least_truth(double most, double births)
{
    double low = 0;
    /* At one standard error below `most` the chance is more than 15 %; below that it falls to 0. */
    double high = most - sqrt(most);
    for (unsigned i = 0; i < BISECTIONS && high > 0; i++) {
        double middle = (low + high) / 2;
        bool is_likely = middle <= 0 || chance_of(most, middle, births) > LOW_CHANCE;
        low = is_likely ? low : middle;
        high = is_likely ? middle : high;
    }
    return high > 0 ? low : 0;
}

/*
 * The number of standard errors by which the highest estimate exceeds a steady truth, in half of
 * the runs.
 */
static double median_sigmas(double turnovers)
{
    if (turnovers <= 1) {
        return 0;
    }
    double low = 1, high = SIGMAS_MAX; /* the chance falls from 1 on */
    for (unsigned i = 0; i < BISECTIONS; i++) {
        double z = (low + high) / 2;
        double chance = turnovers * z * exp(-z * z / 2) / sqrt(2 * M_PI) + erfc(z / M_SQRT2) / 2;
        low = chance > 0.5 ? z : low;
        high = chance > 0.5 ? high : z;
    }
    return low;
}

struct hs_peak_luck hs_peak_luck_of(const struct hs_amount *alloc, const struct hs_amount *peak)
{
    struct hs_peak_luck luck = { 0 };
    double sampled = peak->sampled_bytes;
    if (!(peak->bytes_var > 0) || !(sampled > 0)) {
        return luck;
    }
    double k = sampled * sampled / peak->bytes_var;
    double turnovers = fmax(alloc->sampled_bytes - sampled, 0) / sampled;
    if (!isfinite(k) || !isfinite(turnovers) || !(k > 0) || !isfinite(k * turnovers)) {
        return luck; /* only in a forged file */
    }
    luck.excess_share = 1 - least_truth(k, k * turnovers) / k;
    luck.common_share = 1 / sqrt(k);
    luck.lean_share = fmin(median_sigmas(turnovers) * luck.common_share, luck.excess_share);
    return luck;
}

void hs_peak_luck_set(struct hs_amount *peak, const struct hs_peak_luck *luck)
{
    peak->peak_excess_bytes = (float)(peak->sampled_bytes * luck->excess_share);
    peak->peak_lean_bytes = (float)(peak->sampled_bytes * luck->lean_share);
    peak->peak_common_bytes = (float)(peak->sampled_bytes * luck->common_share);
}
