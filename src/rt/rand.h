/*
 * Random numbers for sampling: a small generator and the exponential draw.
 *
 * The generator is splitmix64 (an additive counter through a bijective mixer): it has one word of
 * state, and any seed is a good one. The logarithm is implemented here, because the client does not
 * link libm.
 */
#pragma once

#include <stdint.h>

#include "rt/bits.h"

/* The next 64 random bits. */
static inline uint64_t hs_rand_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return hs_mix64(*state);
}

/*
 * Natural logarithm of a finite x > 0. With x = m * 2^e, m in [sqrt(1/2), sqrt(2)), and
 * s = (m-1)/(m+1): ln m = 2 (s + s^3/3 + s^5/5 + ...). |s| < 0.1716, so stopping at s^11 leaves an
 * error below 1e-10.
 */
static inline double hs_log(double x)
{
    union {
        double value;
        uint64_t bits;
    } u = { .value = x };
    /* Relative to sqrt(1/2), the exponent is that of m. There is no branch, which would be taken at
     * random. */
    int64_t above = (int64_t)(u.bits - UINT64_C(0x3fe6a09e667f3bcd)) >> 52;
    u.bits -= (uint64_t)above << 52;
    double m = u.value, exponent = (double)(int)above;
    double s = (m - 1.0) / (m + 1.0);
    double s2 = s * s;
    double series = 1.0 / 11.0;
    series = series * s2 + 1.0 / 9.0;
    series = series * s2 + 1.0 / 7.0;
    series = series * s2 + 1.0 / 5.0;
    series = series * s2 + 1.0 / 3.0;
    series = series * s2 + 1.0;
    return 2.0 * s * series + 0.6931471805599453 * exponent;
}

/* Draws the bytes to the next sampled one: Exp(mean), rounded. At most 37 means; mean >= 2. It is
 * rounded to the nearest integer and not up, or samples would be 1/(2 mean) too rare: a quarter, at
 * mean 2. The result can be 0: the same byte again. The distance from any byte to the next sample
 * still has the distribution e^(-distance/mean), on which estimated counts rest. */
static inline uint64_t hs_rand_gap(uint64_t *state, uint64_t mean)
{
    /* Uniform in (0, 1]: 53 random bits, never 0. */
    double uniform = (double)((hs_rand_next(state) >> 11) + 1) * 0x1p-53;
    return (uint64_t)(-hs_log(uniform) * (double)mean + 0.5);
}

/* How many objects a sampled one of this size stands for: 1/p with p = 1 - e^-x, x = size/interval
 * in (0, 1). Computed by the series 1/(1 - e^-x) = 1/x + 1/2 + x/12 - x^3/720 + x^5/30240 - ...;
 * the next term is below 1e-6 at x = 1. */
static inline double hs_inverse_hit_probability(double x)
{
    double x2 = x * x;
    return 1.0 / x + 0.5 + x * (1.0 / 12 - x2 * (1.0 / 720 - x2 * (1.0 / 30240)));
}
