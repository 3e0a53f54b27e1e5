/*
 * "Did you mean": the known word nearest to what was typed.
 *
 * Distance counts letters added, dropped, changed, and neighbours swapped, since those are the ways
 * fingers slip. A word is offered only when at most a third of its letters (at least one, for short
 * words) would have to change: a wrong guess is worse than none.
 *
 * Threads   no state.
 */
#pragma once

#include <stddef.h>

/* Letters to add, drop, change or swap to turn one into the other; words over 63 letters are cut. */
unsigned hs_suggest_distance(const char *a, const char *b);

/* The nearest of `words`, or NULL when none is near; of equally near ones the first. */
const char *hs_suggest_nearest(const char *typed, const char *const *words, size_t word_count);
