/*
 * The file never-written.txt in a folder of contents: which bytes of blocks were never written.
 *
 *     heapscope never-written 1
 *     0x7f1200000010 4080 1044480        a block, an offset in it, and a number of bytes
 *     end 1                              the number of such lines
 *
 * The lines are sorted by block and offset, and ranges do not overlap or touch. Each number is a
 * count of bytes. A file without its last line is damaged.
 *
 * Threads   none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No block has this name: theirs begin with 0x. */
#define HS_NEVER_WRITTEN_NAME "never-written.txt"
#define HS_NEVER_WRITTEN_HEAD "heapscope never-written 1\n"

struct hs_never_written_range {
    uint64_t block_va, off_bytes, bytes;
};

struct hs_never_written {
    struct hs_never_written_range *ranges; /* as in the file */
    size_t count;
};

/* Reads the text of such a file. 0, -EINVAL: it is not such a text, or -ENOMEM. */
int hs_never_written_parse(const char *text, size_t text_bytes, struct hs_never_written *ret_never);
/* Frees the array. */
void hs_never_written_deinit(struct hs_never_written *never);

/* The ranges of a block: the first one, and their number; 0 where it has none. */
const struct hs_never_written_range *hs_never_written_find(const struct hs_never_written *never,
                                                           uint64_t block_va, size_t *ret_count);
