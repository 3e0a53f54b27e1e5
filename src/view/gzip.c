/*
 * See gzip.h.
 */
#include "view/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "util/buf.h"

#define GZIP_WINDOW_BITS (15 + 16) /* adding 16 makes zlib write the gzip format */
#define MEMORY_LEVEL     8
#define INPUT_BYTES_MAX  (1u << 30)

struct hs_gzip {
    z_stream stream;
    struct hs_buf *out;
    unsigned char piece[32 * 1024];
};

struct hs_gzip *hs_gzip_new(struct hs_buf *out)
{
    struct hs_gzip *gzip = calloc(1, sizeof(*gzip));
    if (!gzip) {
        return NULL;
    }
    gzip->out = out;
    if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gzip);
        return NULL;
    }
    return gzip;
}

struct hs_gzip *hs_gzip_free(struct hs_gzip *gzip)
{
    if (gzip) {
        deflateEnd(&gzip->stream);
        free(gzip);
    }
    return NULL;
}

static int run(struct hs_gzip *gzip, int flush)
{
    int result;
    do {
        gzip->stream.next_out = gzip->piece;
        gzip->stream.avail_out = sizeof(gzip->piece);
        result = deflate(&gzip->stream, flush);
        hs_buf_add(gzip->out, gzip->piece, sizeof(gzip->piece) - gzip->stream.avail_out);
    } while (result == Z_OK && gzip->stream.avail_out == 0);
    /* Z_BUF_ERROR only means that there was nothing left to do. */
    return result == Z_STREAM_ERROR ? -EINVAL : gzip->out->err;
}

int hs_gzip_sink(void *ctx, const void *data, size_t bytes)
{
    struct hs_gzip *gzip = ctx;
    const unsigned char *at = data;
    int err = 0;
    while (bytes > 0 && err == 0) {
        uInt part_bytes = bytes > INPUT_BYTES_MAX ? INPUT_BYTES_MAX : (uInt)bytes;
        gzip->stream.next_in = (z_const Bytef *)at;
        gzip->stream.avail_in = part_bytes;
        err = run(gzip, Z_NO_FLUSH);
        at += part_bytes;
        bytes -= part_bytes;
    }
    return err;
}

int hs_gzip_finish(struct hs_gzip *gzip)
{
    gzip->stream.next_in = NULL;
    gzip->stream.avail_in = 0;
    return run(gzip, Z_FINISH);
}
