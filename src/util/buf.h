/*
 * A growable byte buffer that remembers its first error.
 *
 * Every view writes into such a buffer. A view is therefore a list of plain calls, and errors are
 * checked once, at the end. A buffer without a sink keeps everything. A buffer with a sink is a
 * window of 64 KiB, which is emptied into the sink when it is full; an export of any length then
 * needs constant memory.
 *
 * Holds     data[0 .. bytes) is what was written and not yet handed to the sink. err is 0 or the
 *           first -errno; after an error, all writes do nothing.
 * Threads   one writer.
 * Fails     by setting err; hs_buf_finish() returns it.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base.h"

struct hs_buf;

/* Consumes all `bytes` bytes of `data` and returns 0, or returns -errno. */
typedef int hs_buf_sink_fn(void *ctx, const void *data, size_t bytes);

struct hs_buf {
    char *data;
    size_t bytes;
    size_t capacity_bytes;
    uint64_t total_bytes; /* including what the sink took */
    int err;
    hs_buf_sink_fn *sink; /* NULL: keep everything */
    void *sink_ctx;
};

#define HS_BUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

/* Initializes an empty buffer. `sink` may be NULL; `sink_ctx` is the sink's first argument. */
void hs_buf_init(struct hs_buf *buf, hs_buf_sink_fn *sink, void *sink_ctx);
/* Frees the memory. Does not empty the buffer into the sink. */
void hs_buf_deinit(struct hs_buf *buf);

/* For assertions: is there room for what is kept and for a NUL, and is no more kept than was
 * written? */
bool hs_buf_is_valid(const struct hs_buf *buf);

/* Appends `bytes` bytes. */
void hs_buf_add(struct hs_buf *buf, const void *data, size_t bytes);
/* Appends a string without its NUL. */
void hs_buf_str(struct hs_buf *buf, const char *text);
/* Appends one character. */
void hs_buf_char(struct hs_buf *buf, char c);
/* Appends a character `count` times. */
void hs_buf_repeat(struct hs_buf *buf, char c, size_t count);
/* Appends text formatted as by printf(3). */
void hs_buf_printf(struct hs_buf *buf, const char *format, ...) HS_PRINTF(2, 3);
/* The same with an argument list. */
void hs_buf_vprintf(struct hs_buf *buf, const char *format, va_list args) HS_PRINTF(2, 0);

/* Only without a sink: discards what was written and keeps the memory. */
void hs_buf_clear(struct hs_buf *buf);

/*
 * Only without a sink: the text so far, NUL-terminated; "" when nothing was written or memory ran
 * out.
 */
const char *hs_buf_text(struct hs_buf *buf);

/* Hands the rest to the sink. Returns 0 or the first error of all writes. */
int hs_buf_finish(struct hs_buf *buf);
