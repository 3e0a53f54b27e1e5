/*
 * A pprof profile in parts: serialized messages one after the other are one message, so each string, function,
 * location and sample is packed as a profile that has only that, and is forgotten.
 *
 * Holds     the first text asked for must be "": it is entry 0 of the string table.
 * Threads   one user.
 * Fails     -ENOMEM sticks in `err`; what is asked for later is 0. The buffer keeps its own error.
 */
#pragma once

#include "profile/proto/pprof.pb-c.h"
#include "util/buf.h"
#include "util/intern.h"

/* Zero-initialised but for `out` is empty. */
struct hs_pprof_parts {
    struct hs_buf *out;
    struct hs_intern texts; /* number of each text in the string table */
    int err;
};

void hs_pprof_parts_deinit(struct hs_pprof_parts *parts);

void hs_pprof_put(struct hs_pprof_parts *parts, const Hs__Pprof__PprofProfile *part);
/* The number of a text, which is written when it is new: as valid UTF-8. */
int64_t hs_pprof_text(struct hs_pprof_parts *parts, const char *text);
