/*
 * Words about heaps that a recording selects by name and that no process has.
 *
 * A name that nobody registers is mostly a spelling mistake, or the program did not come so far.
 * So the user is told, with the names that were registered.
 *
 * Threads   pure functions.
 * Fails     as hs_buf.
 */
#pragma once

#include <stddef.h>

#include "profile/model/profile.h"
#include "util/buf.h"

/* Appends a sentence without its full stop, if some of the asked names (names or globs) match none
 * of the heaps; otherwise nothing. libc.malloc is not counted among the heaps. */
void hs_missing_heaps_words(const char *const *asked, size_t asked_count, const char *const *heaps,
                            size_t heap_count, struct hs_buf *out);

/* The same for all that a file's sessions asked for, and all heaps of its processes. */
void hs_missing_heaps_words_of(const struct hs_profile *p, struct hs_buf *out);
