/*
 * gzip on the way from one buffer to the next: a sink that compresses.
 *
 * Holds     the same input gives the same bytes: no time stamp, no file name.
 * Threads   one writer.
 * Fails     -ENOMEM, or what the outer buffer says.
 */
#pragma once

#include <stddef.h>

struct hs_buf;
struct hs_gzip;

/* `out` gets the compressed bytes. NULL: no memory. */
struct hs_gzip *hs_gzip_new(struct hs_buf *out);
/* Takes NULL, returns NULL. */
struct hs_gzip *hs_gzip_free(struct hs_gzip *gzip);

/* A hs_buf_sink_fn; ctx is the struct hs_gzip. */
int hs_gzip_sink(void *ctx, const void *data, size_t bytes);

/* Writes what is left and the trailer. Once, after the last byte. */
int hs_gzip_finish(struct hs_gzip *gzip);
