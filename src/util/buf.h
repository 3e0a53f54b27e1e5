/*
 * A growable run of bytes that remembers its first failure.
 *
 * Every view writes into one of these, so that a view is a list of plain calls and the question "did
 * it all fit" is asked once, at the end. Without a sink it keeps everything. With a sink it is a
 * window of 64 KiB that empties itself, so that an export of any length needs constant memory.
 *
 * Holds     data[0 .. bytes) is what has been written and not yet handed to the sink.
 *           err is 0 or the first -errno; after it, all writes do nothing.
 * Threads   one writer.
 * Fails     by setting err; hs_buf_finish() tells.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"

struct hs_buf;

/* Takes `bytes` bytes, all of them, or returns -errno. */
typedef int hs_buf_sink_fn(void *ctx, const void *data, size_t bytes);

struct hs_buf {
    char *data;
    size_t bytes;
    size_t capacity_bytes;
    uint64_t total_bytes; /* written since init, sink included */
    int err;
    hs_buf_sink_fn *sink; /* NULL: keep everything */
    void *sink_ctx;
};

#define HS_BUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void hs_buf_init(struct hs_buf *buf, hs_buf_sink_fn *sink, void *sink_ctx);
void hs_buf_deinit(struct hs_buf *buf);

void hs_buf_add(struct hs_buf *buf, const void *data, size_t bytes);
void hs_buf_str(struct hs_buf *buf, const char *text);
void hs_buf_char(struct hs_buf *buf, char c);
void hs_buf_repeat(struct hs_buf *buf, char c, size_t count);
void hs_buf_printf(struct hs_buf *buf, const char *format, ...) HS_PRINTF(2, 3);
void hs_buf_vprintf(struct hs_buf *buf, const char *format, va_list args) HS_PRINTF(2, 0);

/* Without a sink: forgets what was written, and keeps the memory. */
void hs_buf_clear(struct hs_buf *buf);

/* Without a sink: the text so far, NUL-terminated; "" when nothing was written or memory ran out. */
const char *hs_buf_text(struct hs_buf *buf);

/* Hands what is left to the sink. Returns the first error of all writes. */
int hs_buf_finish(struct hs_buf *buf);
