/*
 * Finds the nearest known word: see suggest.h.
 *
 * The usual table of distances between all prefixes of the two words (restricted
 * Damerau-Levenshtein), of which three rows are kept at a time. Words are short, so nothing is
 * allocated.
 */
#include "util/suggest.h"

#include <string.h>

#include "rt/base.h"

#define HS_SUGGEST_LETTERS_MAX 63

static unsigned min_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned hs_suggest_distance(const char *a, const char *b)
{
    unsigned rows[3][HS_SUGGEST_LETTERS_MAX + 1];
    size_t a_len = strnlen(a, HS_SUGGEST_LETTERS_MAX);
    size_t b_len = strnlen(b, HS_SUGGEST_LETTERS_MAX);
    unsigned *two_up = rows[0], *up = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++) {
        two_up[j] = 0;
        up[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned changed = up[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = min_of(changed, min_of(up[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = min_of(row[j], two_up[j - 2] + 1);
            }
        }
        unsigned *oldest = two_up;
        two_up = up;
        up = row;
        row = oldest;
    }
    return up[b_len];
}

const char *hs_suggest_nearest(const char *typed, const char *const *words, size_t word_count)
{
    const char *best = NULL;
    unsigned best_distance = 0;
    for (size_t i = 0; i < word_count; i++) {
        unsigned distance = hs_suggest_distance(typed, words[i]);
        unsigned allowed = (unsigned)strnlen(words[i], HS_SUGGEST_LETTERS_MAX) / 3;
        if (distance <= (allowed ? allowed : 1) && (!best || distance < best_distance)) {
            best = words[i];
            best_distance = distance;
        }
    }
    return best;
}
