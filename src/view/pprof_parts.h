/*
 * Writes a pprof profile in parts: concatenated serialized messages are one message. Each string,
 * function, location and sample is packed as a profile that contains nothing else, and is then
 * forgotten.
 *
 * Holds     the first text must be "": it is entry 0 of the string table.
 * Threads   one user.
 * Fails     -ENOMEM stays in `err`; later requests return 0. The buffer keeps its own error.
 */
#pragma once

#include "profile/proto/pprof.pb-c.h"
#include "util/buf.h"
#include "util/intern.h"

/* Zero-initialized, with `out` set, it is empty. */
struct hs_pprof_parts {
    struct hs_buf *out;
    struct hs_intern texts; /* id of each text in the string table */
    int err;
};

/* Frees the tables, not `out`. */
void hs_pprof_parts_deinit(struct hs_pprof_parts *parts);

/* Packs `part` and appends it to `out`. */
void hs_pprof_put(struct hs_pprof_parts *parts, const Hs__Pprof__PprofProfile *part);
/* Returns the id of a text. A new text is written first, as valid UTF-8. */
int64_t hs_pprof_text(struct hs_pprof_parts *parts, const char *text);
