/*
 * Survival: which share of the blocks still lived some time after they were allocated.
 *
 * Known are the lifetimes of the blocks that were freed and the ages of those that live, by class.
 * A block that lives says that its lifetime is longer than its age, and nothing beyond: it is
 * *censored* there. The estimate is the life-table (actuarial) form of that of Kaplan and Meier
 * (E. L. Kaplan, P. Meier: Nonparametric Estimation from Incomplete Observations, J. Amer. Statist.
 * Assoc. 53, 1958; S. J. Cutler, F. Ederer: Maximum Utilization of the Life Table Method, J. Chron.
 * Dis. 8, 1958):
 *
 *     S(t) = product over the classes j that end at or before t of 1 - q_j
 *     q_j = d_j / (n_j - c_j / 2)
 *
 *     n_j  blocks whose lifetime or age is in class j or later,  d_j  those that died in class j,
 *     c_j  those that live with an age in class j: on average they were watched for half of it
 *
 * Its variance is Greenwood's (M. Greenwood: The Errors of Sampling of the Survivorship Tables,
 * 1926), with the variance of each q_j from the figures:
 *
 *     Var S = S^2 * sum of Var q_j / (1 - q_j)^2
 *     Var q_j = ((1 - q_j)^2 V(d_j) + q_j^2 V(n_j - d_j)) / (n_j - c_j / 2)^2
 *
 * V is the variance that sampling gives to a number of blocks: 0 if each block was recorded. If a
 * block is censored before t, the formula also guesses how long such blocks will live, as if they
 * were drawn from the same blocks as the others; then V is that variance plus the number itself, as
 * in Greenwood's formula. The interval is Wilson's, with as many blocks as give that variance.
 *
 * Ensures   where each block was recorded and none is censored before t, S(t) is the exact share,
 *           and the interval has no width.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

#include "profile/model/profile.h"

/* Numbers of blocks by class of hs_age_from_ms, with their variances. */
struct hs_life_table {
    double died[HS_AGE_CLASSES], died_var[HS_AGE_CLASSES];
    double alive[HS_AGE_CLASSES], alive_var[HS_AGE_CLASSES];
};

struct hs_survival {
    bool is_known;    /* a block was watched for so long, or all have died before */
    double share;     /* 0 to 1 */
    double low, high; /* the ends of its 95 % interval */
};

/* The share that lived longer than hs_age_from_ms[age_class], which is above 0. */
struct hs_survival hs_survival_at(const struct hs_life_table *table, unsigned age_class);
