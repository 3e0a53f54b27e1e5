/* See buf.h. The sink receives whole windows; large pieces go to it directly, without a copy. */
#include "util/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"

#define WINDOW_BYTES (64u * 1024u)

void hs_buf_init(struct hs_buf *buf, hs_buf_sink_fn *sink, void *sink_ctx)
{
    *buf = (struct hs_buf){ .sink = sink, .sink_ctx = sink_ctx };
}

void hs_buf_deinit(struct hs_buf *buf)
{
    free(buf->data);
    *buf = (struct hs_buf){ 0 };
}

void hs_buf_clear(struct hs_buf *buf)
{
    buf->bytes = 0;
}

static void flush(struct hs_buf *buf)
{
    if (buf->err == 0 && buf->bytes > 0) {
        int err = buf->sink(buf->sink_ctx, buf->data, buf->bytes);
        if (err < 0) {
            buf->err = err;
        }
    }
    buf->bytes = 0;
}

/* Makes room for `bytes` more bytes and a NUL. */
static int reserve(struct hs_buf *buf, size_t bytes)
{
    if (buf->err != 0) {
        return buf->err;
    }
    if (buf->sink && buf->bytes > 0 && buf->bytes + bytes > WINDOW_BYTES) {
        flush(buf);
        if (buf->err != 0) {
            return buf->err;
        }
    }
    if (bytes >= SIZE_MAX / 2 - buf->bytes) {
        return buf->err = -ENOMEM;
    }
    size_t need_bytes = buf->bytes + bytes + 1;
    if (need_bytes <= buf->capacity_bytes) {
        return 0;
    }
    size_t capacity_bytes = buf->capacity_bytes ? buf->capacity_bytes * 2 : 1024;
    if (buf->sink && capacity_bytes < WINDOW_BYTES + 1) {
        capacity_bytes = WINDOW_BYTES + 1;
    }
    if (capacity_bytes < need_bytes) {
        capacity_bytes = need_bytes;
    }
    char *data = realloc(buf->data, capacity_bytes);
    if (!data) {
        return buf->err = -ENOMEM;
    }
    buf->data = data;
    buf->capacity_bytes = capacity_bytes;
    return 0;
}

void hs_buf_add(struct hs_buf *buf, const void *data, size_t bytes)
{
    if (buf->err != 0 || bytes == 0) {
        return;
    }
    if (buf->sink && bytes >= WINDOW_BYTES) {
        flush(buf);
        if (buf->err == 0) {
            int err = buf->sink(buf->sink_ctx, data, bytes);
            buf->err = err < 0 ? err : 0;
        }
        buf->total_bytes += bytes;
        return;
    }
    if (reserve(buf, bytes) == 0) {
        memcpy(buf->data + buf->bytes, data, bytes);
        buf->bytes += bytes;
        buf->total_bytes += bytes;
        HS_ASSERT(hs_buf_is_valid(buf));
    }
}

void hs_buf_str(struct hs_buf *buf, const char *text)
{
    hs_buf_add(buf, text, strlen(text));
}

void hs_buf_char(struct hs_buf *buf, char c)
{
    hs_buf_add(buf, &c, 1);
}

void hs_buf_repeat(struct hs_buf *buf, char c, size_t count)
{
    if (count > 0 && reserve(buf, count) == 0) {
        memset(buf->data + buf->bytes, c, count);
        buf->bytes += count;
        buf->total_bytes += count;
    }
}

void hs_buf_vprintf(struct hs_buf *buf, const char *format, va_list args)
{
    char small[256];
    va_list again;
    va_copy(again, args);
    int bytes = vsnprintf(small, sizeof(small), format, again);
    va_end(again);
    if (bytes < 0) {
        buf->err = buf->err ? buf->err : -EINVAL;
    } else if ((size_t)bytes < sizeof(small)) {
        hs_buf_add(buf, small, (size_t)bytes);
    } else if (reserve(buf, (size_t)bytes) == 0) {
        vsnprintf(buf->data + buf->bytes, (size_t)bytes + 1, format, args);
        buf->bytes += (size_t)bytes;
        buf->total_bytes += (size_t)bytes;
    }
}

void hs_buf_printf(struct hs_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hs_buf_vprintf(buf, format, args);
    va_end(args);
}

const char *hs_buf_text(struct hs_buf *buf)
{
    if (!buf->data) {
        return "";
    }
    buf->data[buf->bytes] = '\0';
    return buf->data;
}

int hs_buf_finish(struct hs_buf *buf)
{
    if (buf->sink) {
        flush(buf);
    }
    HS_ASSERT(hs_buf_is_valid(buf));
    return buf->err;
}

#if HS_HAS_CHECKS

bool hs_buf_is_valid(const struct hs_buf *buf)
{
    return (buf->data == NULL) == (buf->capacity_bytes == 0) && buf->err <= 0 &&
           (buf->bytes == 0 || buf->bytes < buf->capacity_bytes) && buf->bytes <= buf->total_bytes;
}

#endif
