/*
 * "Did you mean": finds the known word nearest to what the user typed.
 *
 * The distance counts added, dropped and changed letters and swapped neighbours: the usual typing
 * errors. A word is suggested only when at most a third of its letters (at least one, for short
 * words) would have to change: a wrong guess is worse than none.
 *
 * Threads   no state.
 */
#pragma once

#include <stddef.h>

/*
 * How many letters to add, drop, change or swap to turn one word into the other; words are cut to
 * 63 letters.
 */
unsigned hs_suggest_distance(const char *a, const char *b);

/* The nearest of `words`, the first of several equally near ones; NULL when none is near enough. */
const char *hs_suggest_nearest(const char *typed, const char *const *words, size_t word_count);
