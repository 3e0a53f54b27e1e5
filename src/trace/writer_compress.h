/*
 * Compressed packets: many packets become the content of one.
 *
 * Perfetto's reader treats a packet of compressed packets as the packets in it, one level deep.
 * Interned data and rows are very repetitive: with zlib's format the file of a run shrinks to a
 * sixth. heapscope uses the fastest level, because the next levels take twice the time and save
 * only a twentieth.
 *
 * Fails     with the error of the writer, which is permanent.
 * See       docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>

#include "util/buf.h"

struct hs_writer_compress;

/* NULL when out of memory. */
struct hs_writer_compress *hs_writer_compress_new(void);
/* Returns NULL. */
struct hs_writer_compress *hs_writer_compress_free(struct hs_writer_compress *press);

/* The buffer to which complete packets are appended. */
struct hs_buf *hs_writer_compress_in(struct hs_writer_compress *press);

/* Writes the appended packets to `out`, as one compressed packet; unless is_last is set, only if
 * there are enough of them to compress well. Returns 0, or the first -errno of appending and
 * writing, or -ENOMEM. */
int hs_writer_compress(struct hs_writer_compress *press, bool is_last, struct hs_buf *out);
