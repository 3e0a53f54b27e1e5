/*
 * See trace_expand.h.
 */
#include "trace/trace_expand.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "rt/check.h"

/* zlib counts in 32 bits. */
#define STEP_BYTES_MAX (1U << 30)

void *hs_trace_decoder_new(enum hs_trace_coding coding)
{
    if (coding == HS_TRACE_ZSTD) {
        return ZSTD_createDStream();
    }
    z_stream *z = calloc(1, sizeof(*z));
    /* 32: zlib detects whether the data is gzip or zlib. */
    if (z && inflateInit2(z, MAX_WBITS + 32) != Z_OK) {
        free(z);
        z = NULL;
    }
    return z;
}

void hs_trace_decoder_free(enum hs_trace_coding coding, void *decoder)
{
    if (!decoder) {
        return;
    }
    if (coding == HS_TRACE_ZSTD) {
        ZSTD_freeDStream(decoder);
    } else {
        inflateEnd(decoder);
        free(decoder);
    }
}

static enum hs_trace_step_result step_zlib(z_stream *z, struct hs_trace_step *step)
{
    unsigned in_bytes = step->in_bytes < STEP_BYTES_MAX ? (unsigned)step->in_bytes : STEP_BYTES_MAX;
    unsigned out_bytes =
        step->out_bytes < STEP_BYTES_MAX ? (unsigned)step->out_bytes : STEP_BYTES_MAX;
    z->next_in = (unsigned char *)(uintptr_t)step->in;
    z->avail_in = in_bytes;
    z->next_out = step->out;
    z->avail_out = out_bytes;
    int result = inflate(z, Z_NO_FLUSH);
    step->in_used = in_bytes - z->avail_in;
    step->out_used = out_bytes - z->avail_out;
    if (result == Z_STREAM_END) {
        return HS_TRACE_STEP_END;
    }
    /* Z_BUF_ERROR: no progress is possible without more input or more room. */
    return result == Z_OK || result == Z_BUF_ERROR ? HS_TRACE_STEP_MORE : HS_TRACE_STEP_BAD;
}

static enum hs_trace_step_result step_zstd(ZSTD_DStream *z, struct hs_trace_step *step)
{
    ZSTD_inBuffer in = { .src = step->in, .size = step->in_bytes };
    ZSTD_outBuffer out = { .dst = step->out, .size = step->out_bytes };
    size_t result = ZSTD_decompressStream(z, &out, &in);
    step->in_used = in.pos;
    step->out_used = out.pos;
    if (ZSTD_isError(result)) {
        return HS_TRACE_STEP_BAD;
    }
    return result == 0 ? HS_TRACE_STEP_END : HS_TRACE_STEP_MORE;
}

enum hs_trace_step_result hs_trace_decoder_step(enum hs_trace_coding coding, void *decoder,
                                                struct hs_trace_step *step)
{
    HS_ASSERT(decoder && step->out_bytes > 0);
    step->in_used = step->out_used = 0;
    return coding == HS_TRACE_ZSTD ? step_zstd(decoder, step) : step_zlib(decoder, step);
}
