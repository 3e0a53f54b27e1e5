/*
 * Compares the contents of blocks, which `snapshot --output-contents-dir` wrote to a folder.
 *
 * Each file is read once for a hash. Files with the same size and hash are then compared byte by
 * byte, except for those that contain only zeros.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message: the folder or a file cannot be read, or a file
 *           does not have the size of its block, or never-written.txt is damaged or of others.
 */
#pragma once

#include "profile/analyse/dupes.h"

struct hs_block_files {
    struct hs_dupe_block *blocks;
    uint32_t count, group_count;
    uint64_t missing_count; /* blocks without a file */
    uint64_t foreign_count; /* files that are not of a block */
    bool is_never_written_known;
};

/* Compares the blocks of one dump. 0, or see Fails. */
int hs_block_files_compare(const struct hs_profile *profile, const struct hs_profile_dump *dump,
                           const char *folder, struct hs_block_files *ret_files);
/* Frees the array. */
void hs_block_files_deinit(struct hs_block_files *files);
