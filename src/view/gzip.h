/*
 * gzip compression between two buffers: a sink of one buffer that writes compressed bytes into
 * another.
 *
 * Ensures   the same input gives the same bytes: no time stamp, no file name.
 * Threads   one writer.
 * Fails     -ENOMEM, or the error of the outer buffer.
 */
#pragma once

#include <stddef.h>

struct hs_buf;
struct hs_gzip;

/* `out` receives the compressed bytes. NULL: memory ran out. */
struct hs_gzip *hs_gzip_new(struct hs_buf *out);
/* Accepts NULL. Returns NULL. */
struct hs_gzip *hs_gzip_free(struct hs_gzip *gzip);

/* A hs_buf_sink_fn; ctx is the struct hs_gzip. Returns 0 or -errno. */
int hs_gzip_sink(void *ctx, const void *data, size_t bytes);

/* Writes the rest and the trailer; call it once, after the last byte. Returns 0 or -errno. */
int hs_gzip_finish(struct hs_gzip *gzip);
