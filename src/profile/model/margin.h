/*
 * Computes the 95 % confidence interval of a figure. Every figure gets its interval here.
 *
 * A figure is the sum of an exact part (blocks of at least the interval) and a sampled part T,
 * whose variance Var is estimated from the samples themselves. Blocks that no sample hit are
 * missing in T and in Var. The two sides of the interval are therefore computed differently; each
 * side misses the truth in at most 2.5 % of profiles:
 *
 *   below   T - T (1 - 1/9k - z / (3 sqrt k))^3   k = T^2 / Var: the lower gamma bound of k equal
 *                                                 samples
 *   above   z^2 w / 2 + sqrt(z^2 Var + (z^2 w / 2)^2)   w: the most that one sample stands for
 *
 * Where there is no sample, in a figure of 0 or of exact blocks only, the truth is at most V + z^2
 * w bytes. w is the interval for bytes, and 1 / p(1 byte), nearly the interval, for objects.
 * docs/SAMPLING.md derives both sides and lists how often they hold.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/profile.h"

/* The number of samples that may be missing where there is none, at 97.5 %: z^2. */
#define HS_MARGIN_UNSEEN_SAMPLES 3.8416

struct hs_figure {
    double value;
    double sampled; /* the part that rests on samples; at most this much */
    double var;     /* of that part */
    double weight;  /* the most that one sample stands for; 0 in an exact profile */
    /*
     * Other errors, each in one direction, in the figure's unit; added to the statistical margin.
     */
    double extra_below, extra_above;
    /* Of a peak, in the figure's unit: see peak_margin.h. */
    double peak_excess, peak_lean, peak_common, peak_short;
};

/* The truth lies between value - below and value + above. Both are 0 when the figure is exact. */
struct hs_margin {
    double below;
    double above;
};

/* The margin of a figure, in the figure's unit. */
struct hs_margin hs_margin_of(const struct hs_figure *figure);

/*
 * Computes which part of an amount is sampled, because files contain variances only. The part of
 * bytes is Var / interval. The part of objects is all of them if no bytes are exact; otherwise the
 * most that this number of samples with this variance can stand for, which is the case of equal
 * sizes. When there were several intervals, the narrowest must be given: the sampled part is then
 * never too small.
 */
void hs_margin_split(struct hs_amount *amount, uint64_t interval_bytes);

/* The figure of an amount: its objects (is_count) or its bytes. */
struct hs_figure hs_figure_of(const struct hs_amount *amount, bool is_count);

/* What of an allocator's resident memory is in recorded live blocks, at most all of it. */
struct hs_figure hs_ledger_blocks_figure(const struct hs_ledger_blocks *blocks, uint64_t rss_bytes);
/* The ends of its 95 % interval. */
struct hs_ledger_ends {
    double low_bytes, high_bytes;
};
struct hs_ledger_ends hs_ledger_blocks_ends(const struct hs_ledger_blocks *blocks,
                                            uint64_t rss_bytes);
/*
 * The margin, in either direction, of a sum in which each figure counts with a factor of its own,
 * up to `weight` / (what one sample of the figure stands for). `var` is the variance of the sum.
 */
double hs_margin_of_sum(double var, double weight);

/* Adds a figure whose samples are different ones. */
static inline void hs_figure_add(struct hs_figure *sum, const struct hs_figure *more)
{
    sum->value += more->value;
    sum->sampled += more->sampled;
    sum->var += more->var;
    sum->weight = more->weight > sum->weight ? more->weight : sum->weight;
    sum->extra_below += more->extra_below;
    sum->extra_above += more->extra_above;
    sum->peak_excess += more->peak_excess;
    sum->peak_lean += more->peak_lean;
    sum->peak_common += more->peak_common;
    sum->peak_short += more->peak_short;
}
