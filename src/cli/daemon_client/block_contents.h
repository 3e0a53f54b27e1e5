/*
 * Writes the contents of the live blocks of a snapshot, read after the snapshot was taken.
 *
 * The program runs on. So after blocks were read, and before they are written, the records are
 * looked at again: a block that was freed meanwhile is not written, also if another one has its
 * address. What a block contains may be younger than the snapshot.
 *
 * Memory is bounded: blocks are read in batches of 128 MiB, and a larger one in pieces.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include <sys/types.h>

#include "cli/daemon_client/contents_folder.h"

struct hs_profile;

/* Takes another snapshot, of the blocks that were in the first one: a profile, which the caller
 * frees; NULL: the process has ended, or is not recorded any more. */
typedef struct hs_profile *hs_contents_look_fn(void *ctx);

struct hs_block_contents {
    pid_t pid;
    const struct hs_profile *profile; /* with the blocks of one dump */
    struct hs_contents_folder *folder;
    hs_contents_look_fn *look;
    void *ctx;
};

/* Writes the contents of the blocks, and says of how many, and of how many not. 0, or see Fails. */
int hs_block_contents_write(const struct hs_block_contents *contents);
