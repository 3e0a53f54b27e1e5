/*
 * How far a sampled peak may be above the truth because it is the highest of many estimates.
 *
 * The peak is the moment at which the estimate of the live total was the highest. An estimate that wavers about a steady
 * truth is highest where its error is: with k samples live at a time, which were replaced R times over, the chance that
 * it ever reached m samples while the truth was worth L of them is about
 *
 *     P(m, L) = poisson(m; L) * (k R (m - L) / L + (m + 1) / (m + 1 - L)).
 *
 * The L with P = 2.5 % is the lower end of the interval: `peak_excess_bytes` below the figure. Upwards nothing changes:
 * at the true peak the estimate was not higher than the one that is shown. What a stack holds of the shown moment is a
 * random part of the samples, so its figure is too high by its share of the excess, and has an error of its own.
 *
 * Holds     where nothing was sampled or nothing freed the margin is what it would be without this.
 * Threads   pure functions.
 * See       docs/SAMPLING.md "The peak is the highest of many estimates"
 */
#pragma once

#include "profile/margin.h"
#include "profile/profile.h"

/* Of what lives at the peak of one process; each part of it has its share. */
struct hs_peak_luck {
    double excess_share; /* of sampled bytes: they are so much too high, in 97.5 % at most */
    double lean_share;   /* in half of the runs, of a heap whose size does not change */
    double common_share; /* standard error of the total */
};

/* What was allocated so far, and what of it lived at the peak. */
struct hs_peak_luck hs_peak_luck_of(const struct hs_amount *alloc, const struct hs_amount *peak);
/* A part of the peak, or all of it. */
void hs_peak_luck_set(struct hs_amount *peak, const struct hs_peak_luck *luck);

/* `margin` of a figure, made wider if the figure belongs to a peak. */
struct hs_margin hs_peak_margin(const struct hs_figure *figure, struct hs_margin margin);
