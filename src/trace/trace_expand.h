/*
 * gzip, zlib and zstd behind one pair of eyes: expand a piece, say how far you got.
 *
 * Holds     a decoder is for one member; after END or BAD it can only be freed.
 * Threads   one user each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/trace_input.h"

struct hs_trace_step {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
    size_t in_used, out_used; /* results */
};

enum hs_trace_step_result {
    HS_TRACE_STEP_MORE, /* wants more input or more room */
    HS_TRACE_STEP_END,
    HS_TRACE_STEP_BAD,
};

/* GZIP takes zlib's own format too. NULL: out of memory. */
void *hs_trace_decoder_new(enum hs_trace_coding coding);
/* NULL is fine. */
void hs_trace_decoder_free(enum hs_trace_coding coding, void *decoder);
enum hs_trace_step_result hs_trace_decoder_step(enum hs_trace_coding coding, void *decoder,
                                                struct hs_trace_step *step);
