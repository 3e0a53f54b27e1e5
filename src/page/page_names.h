/*
 * The strings of the page: each text once, whichever file it comes from.
 *
 * Holds     index 0 is "".
 * Threads   one user.
 * Fails     by setting err; an index is then 0.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/intern.h"

struct hs_json;

struct hs_page_names {
    struct hs_intern ids;
    struct hs_buf text; /* each ended by NUL */
    size_t *offs;       /* by index, in `text` */
    size_t capacity;
    int err;
};

/* Puts "" in. hs_page_names_deinit() may follow a failure. */
void hs_page_names_init(struct hs_page_names *names);
/* Frees the strings. */
void hs_page_names_deinit(struct hs_page_names *names);

/* The index of a text, which is added if it is not there. */
uint32_t hs_page_names_put(struct hs_page_names *names, const char *text);
/* The same of what a buffer contains, which is emptied. */
uint32_t hs_page_names_take(struct hs_page_names *names, struct hs_buf *buf);

/* The text with this index. */
static inline const char *hs_page_names_get(const struct hs_page_names *names, uint32_t idx)
{
    return idx < names->ids.count ? names->text.data + names->offs[idx] : "";
}

/* Writes the array of all strings as the next value. */
void hs_page_names_write(const struct hs_page_names *names, struct hs_json *json);
