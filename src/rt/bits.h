/*
 * Bit operations: mixing, powers of two, logarithms. No state.
 */
#pragma once

#include <stdint.h>

/* A bijective mixer (the finalizer of splitmix64): every input bit reaches every output bit. */
static inline uint64_t hs_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x;
}

/* The bits of a double, which is kept in a word that is updated atomically. */
static inline uint64_t hs_double_bits(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The double with these bits. */
static inline double hs_double_of_bits(uint64_t bits)
{
    double value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Folds one more word into a running hash. */
static inline uint64_t hs_hash_step(uint64_t hash, uint64_t word)
{
    uint64_t x = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

/* floor(log2(x)); x must not be 0. */
static inline unsigned hs_log2_floor(uint64_t x)
{
    return 63U - (unsigned)__builtin_clzll(x);
}

/* The position of the lowest set bit; x must not be 0. */
static inline unsigned hs_lowest_bit(unsigned x)
{
    return (unsigned)__builtin_ctz(x);
}

/* Smallest power of two >= x, for 1 <= x <= 2^63. */
static inline uint64_t hs_pow2_ceil(uint64_t x)
{
    return x <= 1 ? 1 : UINT64_C(1) << (hs_log2_floor(x - 1) + 1);
}
