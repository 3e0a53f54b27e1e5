/*
 * How far off a figure may be: the ends of its 95 % interval. Made here and nowhere else.
 *
 * A figure is an exact part (blocks of at least the interval) and a sampled part T, whose variance Var is
 * estimated from the samples themselves. Blocks that no sample hit are missing in T and in Var. So the two
 * sides are made differently; each misses the truth in at most 2.5 % of profiles:
 *
 *     below   T - T (1 - 1/9k - z / (3 sqrt k))^3,  k = T^2 / Var:  the lower gamma bound of k equal samples
 *     above   z^2 w / 2 + sqrt(z^2 Var + (z^2 w / 2)^2),            w: the most that one sample stands for
 *
 * The truth is V + z^2 w bytes at most where no sample is: beside 0 and beside exact blocks. w is the interval
 * for bytes, and 1 / p(1 byte), nearly the interval, for objects. docs/SAMPLING.md derives both sides and lists
 * how often they hold.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/* How many samples may have been missed where there is none, at 97.5 %: z^2. */
#define HS_MARGIN_UNSEEN_SAMPLES 3.8416

struct hs_figure {
    double value;
    double sampled; /* part of it that rests on samples, at most */
    double var;     /* of that part */
    double weight;  /* the most that one sample stands for; 0 in an exact profile */
    /* What else may be wrong with it, in one direction each; added to the statistical margin. */
    double extra_below, extra_above;
    /* Of a peak, in the figure's unit: see peak_margin.h. */
    double peak_excess, peak_lean, peak_common, peak_short;
};

/* The truth lies between value - below and value + above. Both are 0 when the figure is exact. */
struct hs_margin {
    double below;
    double above;
};

struct hs_margin hs_margin_of(const struct hs_figure *figure);

/*
 * Finds which part of an amount is sampled: files tell variances only. Bytes: Var / interval. Objects: all, if no
 * bytes are exact; else the most that so many samples with this variance can stand for, which is when their sizes
 * are the same. Of several intervals the narrowest is to be given: the sampled part is then at least what it is.
 */
void hs_margin_split(struct hs_amount *amount, uint64_t interval_bytes);

/* An amount of objects or bytes as a figure. */
struct hs_figure hs_figure_of(const struct hs_amount *amount, bool is_count);

/*
 * How far off a sum of figures may be in either direction, when each counts with a factor of its own, up to
 * `weight` / (what one sample of a figure stands for): `var` is the sum's variance.
 */
double hs_margin_of_sum(double var, double weight);

/* Adds a figure whose samples are other ones. */
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
