/*
 * The radix sort: see sort_pairs.h.
 */
#include "util/sort_pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11U
#define DIGITS     (1U << DIGIT_BITS)

/* *ret_different: the bits in which the keys differ. */
static bool is_sorted(const struct hs_pair *pairs, size_t count, uint64_t *ret_different)
{
    uint64_t different = 0;
    bool is_sorted = true;
    for (size_t i = 1; i < count; i++) {
        different |= pairs[i].key ^ pairs[0].key;
        is_sorted &= pairs[i].key >= pairs[i - 1].key;
    }
    *ret_different = different;
    return is_sorted;
}

/* Copies the pairs in the order of one digit. */
static void sort_by_digit(const struct hs_pair *from, struct hs_pair *to, size_t count,
                          unsigned shift)
{
    size_t firsts[DIGITS] = { 0 }, sum = 0;
    for (size_t i = 0; i < count; i++) {
        firsts[from[i].key >> shift & (DIGITS - 1)]++;
    }
    for (size_t i = 0; i < DIGITS; i++) {
        size_t of_digit = firsts[i];
        firsts[i] = sum;
        sum += of_digit;
    }
    for (size_t i = 0; i < count; i++) {
        to[firsts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
    }
}

int hs_sort_pairs(struct hs_pair *pairs, size_t count)
{
    uint64_t different;
    if (is_sorted(pairs, count, &different)) {
        return 0;
    }
    struct hs_pair *other = malloc(count * sizeof(*other)), *from = pairs, *to = other;
    if (!other) {
        return -ENOMEM;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((different >> shift & (DIGITS - 1)) != 0) {
            sort_by_digit(from, to, count, shift);
            struct hs_pair *swap = from;
            from = to;
            to = swap;
        }
    }
    if (from != pairs) {
        memcpy(pairs, from, count * sizeof(*pairs));
    }
    free(other);
    return 0;
}
