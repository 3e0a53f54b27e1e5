/*
 * One interface to the decompressors for gzip, zlib and zstd. A call expands one piece of the
 * input, and reports how much it read and wrote.
 *
 * Requires  a decoder decodes one member: after END or BAD it is freed.
 * Threads   one user per decoder.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum hs_trace_coding {
    HS_TRACE_PLAIN,
    HS_TRACE_GZIP,
    HS_TRACE_ZSTD,
};

struct hs_trace_step {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
    size_t in_used, out_used; /* results: bytes consumed and produced */
};

enum hs_trace_step_result {
    HS_TRACE_STEP_MORE, /* needs more input or more room for output */
    HS_TRACE_STEP_END,
    HS_TRACE_STEP_BAD,
};

/* Makes a decoder. HS_TRACE_GZIP also accepts zlib's own format. NULL when out of memory. */
void *hs_trace_decoder_new(enum hs_trace_coding coding);
/* NULL is allowed. */
void hs_trace_decoder_free(enum hs_trace_coding coding, void *decoder);
/* Expands from step->in to step->out as far as possible, and sets in_used and out_used. */
enum hs_trace_step_result hs_trace_decoder_step(enum hs_trace_coding coding, void *decoder,
                                                struct hs_trace_step *step);
