/*
 * Bundles: tar files with a trace and the packets that complete it, as Perfetto's `bundle` makes
 * them.
 *
 *     trace.perfetto      the trace, as it was recorded
 *     symbols.pb          names of functions
 *     deobfuscation.pb    names of obfuscated Java code
 *
 * The members are one trace when they stand one behind the other. hs_tar_join() makes that of a tar
 * file in memory without moving anything: it turns what lies between the members (headers, padding,
 * members of other names) into packets that readers skip. Only the first bytes of each such gap
 * change, so a mapped file of gigabytes costs a page or two.
 *
 * Ensures   any bytes may be passed. The work is in proportion to the number of headers, of which
 *           there is at most one for each 512 bytes; at most HS_TAR_MEMBERS_MAX members count.
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_TAR_BLOCK_BYTES  512U
#define HS_TAR_MEMBERS_MAX  16U
#define HS_TAR_TRACE        "trace.perfetto"
#define HS_TAR_SYMBOLS      "symbols.pb"
#define HS_TAR_DEOBFUSCATED "deobfuscation.pb"

struct hs_tar_part {
    size_t off, bytes; /* of a member's content in the file */
};

/* True: the data begins with the header of a tar file. */
bool hs_tar_is(const void *data, size_t bytes);

/* Finds the members of a bundle, in the order of the file. Returns how many there are. A member
 * that reaches beyond the end of the file ends there. */
size_t hs_tar_find(const void *data, size_t bytes,
                   struct hs_tar_part ret_parts[HS_TAR_MEMBERS_MAX]);

/* Makes bytes of the file writable. False: that is not possible. */
typedef bool hs_tar_make_writable_fn(void *at, size_t bytes);

/* Makes one trace of the members of a bundle, in place. Returns where it is; 0 bytes: the file is
 * no bundle, and is unchanged. `make_writable` may be NULL: the data is writable. */
struct hs_tar_part hs_tar_join(void *data, size_t bytes, hs_tar_make_writable_fn *make_writable);

/* Writes the header of a member, whose content follows, padded with zeros to whole blocks. Two
 * blocks of zeros end a tar file. The name has at most 99 bytes. */
void hs_tar_head(const char *name, uint64_t content_bytes, int64_t time_s,
                 uint8_t ret_head[HS_TAR_BLOCK_BYTES]);
/* How many zeros follow a content of so many bytes. */
static inline size_t hs_tar_padding(uint64_t content_bytes)
{
    return (size_t)(-content_bytes % HS_TAR_BLOCK_BYTES);
}
