/*
 * Computes how far a sampled peak may be above the truth because it is the highest of many
 * estimates.
 *
 * The peak is the moment at which the estimate of the live total was highest. When the estimate
 * fluctuates around a steady truth, it is highest where its error is highest. With k samples live
 * at a time, which were replaced R times over, the chance that the estimate ever reached m samples
 * while the truth was worth L samples is about
 *
 *     P(m, L) = poisson(m; L) * (k R (m - L) / L + (m + 1) / (m + 1 - L)).
 *
 * The L with P = 2.5 % is the lower end of the interval; it lies `peak_excess_bytes` below the
 * figure. The upper end does not change: at the true peak the estimate was not higher than the one
 * that is shown. The figure of a stack at the shown moment is a random part of the samples. It is
 * too high by its share of the excess, and has an error of its own.
 *
 * Ensures   where nothing was sampled or nothing was freed, the margin is the one without this
 *           correction.
 * Threads   pure functions.
 * See       docs/SAMPLING.md "The peak is the highest of many estimates"
 */
#pragma once

#include "profile/model/profile.h"

/*
 * The error of one process's peak because it was chosen as the highest. Each part of the peak has
 * its share of it.
 */
struct hs_peak_luck {
    /* the share of the sampled bytes by which they are too high, at most, in 97.5 % of runs */
    double excess_share;
    double lean_share;   /* the same in half of the runs, for a heap whose size does not change */
    double common_share; /* the standard error of the total, as a share of it */
};

/*
 * Computes the shares. `alloc`: all that was allocated so far; `peak`: what of it lived at the
 * peak.
 */
struct hs_peak_luck hs_peak_luck_of(const struct hs_amount *alloc, const struct hs_amount *peak);
/* Sets the errors of the peak, or of a part of it, in bytes. */
void hs_peak_luck_set(struct hs_amount *peak, const struct hs_peak_luck *luck);
