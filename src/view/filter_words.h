/*
 * What the options --focus, --from and --hide left of the stacks, in words and as JSON.
 *
 * Threads   no state.
 * Fails     as the buffer does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

/* The patterns, as given. Zeros: there are none. */
struct hs_filter_texts {
    const char *const *focus, *const *from, *const *hide;
    size_t focus_count, from_count, hide_count;
};

bool hs_filter_words_is_any(const struct hs_filter_texts *texts);
/* "stacks with a function that matches \"parse\"; without functions that match \"alloc\"" */
void hs_filter_words_write(const struct hs_filter_texts *texts, struct hs_buf *buf);
/* A line for the end of a head with totals, "  below   stacks ..."; nothing without patterns. */
void hs_filter_words_line(const struct hs_filter_texts *texts, struct hs_buf *buf);
struct hs_json;
/* The lists, as fields of the open object: "patterns", "from", "hide". */
void hs_filter_words_json(const struct hs_filter_texts *texts, struct hs_json *json);
