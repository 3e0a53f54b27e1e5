/*
 * Packets that are written compressed: many of them become the content of one.
 *
 * Perfetto's reader takes a packet of compressed packets for the packets in it, one level deep. Interned
 * data and rows repeat much: with zlib's format, what a run leaves is a sixth. The fastest level: the next ones
 * take twice the time for a twentieth less.
 *
 * Fails     with the error of the writer, which sticks.
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

/* Where whole packets are to be added. */
struct hs_buf *hs_writer_compress_in(struct hs_writer_compress *press);

/* Writes what has been added to `out`, as one packet: if there is enough to be worth it, or all. The
 * first -errno of adding and writing, or -ENOMEM. */
int hs_writer_compress(struct hs_writer_compress *press, bool is_last, struct hs_buf *out);
