/*
 * Saturating arithmetic on numbers from files: a result that does not fit becomes the nearest
 * number that does.
 *
 * A damaged or forged file can hold any number. In C, signed overflow is undefined, and so is
 * converting a double to an integer type that cannot hold it. These functions are defined for every
 * input. Values that must be exact are checked with __builtin_add_overflow() instead, and refused.
 *
 * Threads   no state.
 */
#pragma once

#include <math.h>
#include <stdint.h>

/* a + b */
static inline int64_t hs_saturate_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

/* a - b */
static inline int64_t hs_saturate_subtract(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : a < 0 ? INT64_MIN : INT64_MAX;
}

/* a + b */
static inline uint64_t hs_saturate_add_unsigned(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* a * b */
static inline uint64_t hs_saturate_multiply_unsigned(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The same number, or INT64_MAX. */
static inline int64_t hs_saturate_signed(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* The nearest integer, halves away from zero; 0 for a NaN. */
static inline int64_t hs_saturate_round(double value)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    if (value >= limit) {
        return INT64_MAX;
    }
    return value >= -limit ? (int64_t)round(value) : isnan(value) ? 0 : INT64_MIN;
}

/* The nearest integer that is not negative, halves up; 0 for a NaN. */
static inline uint64_t hs_saturate_round_unsigned(double value)
{
    const double limit = 18446744073709551616.0; /* 2^64 */
    if (!(value > 0)) {
        return 0;
    }
    return value < limit ? (uint64_t)round(value) : UINT64_MAX;
}
