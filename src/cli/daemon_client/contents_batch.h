/*
 * Reads blocks of a process, except for their bytes in pages that were never written.
 *
 * Of private anonymous memory the kernel says which pages have no memory of their own, in RAM or in
 * swap: nothing was written to them since they were mapped, or since the program gave them back
 * (MADV_DONTNEED). They contain zeros. Reading them would make the kernel map its page of zeros for
 * each, so they are not read.
 *
 * Ensures   a range that is given was never written, in this sense, at a moment between the call
 *           and its return. A page that was written may be in no range; it never is in one.
 * Threads   main thread only.
 * See       cli/daemon_client/contents_read.h, profile/read/never_written.h
 */
#pragma once

#include "cli/daemon_client/contents_read.h"
#include "collect/ledger/address_space.h"
#include "collect/ledger/residency.h"

struct hs_contents_range {
    uint64_t off_bytes, bytes; /* in the block */
};

struct hs_contents_batch {
    pid_t pid;
    int pagemap_fd;                   /* -1: what was never written is not known */
    struct hs_address_space space;    /* while a batch is read */
    struct hs_residency residency;    /* of a part of it */
    struct hs_contents_range *ranges; /* of the blocks of the batch, one after the other */
    size_t range_count, capacity;
};

/* Opens what the kernel says of the process's pages. */
void hs_contents_batch_init(struct hs_contents_batch *batch, pid_t pid);
/* Frees and closes it. */
void hs_contents_batch_deinit(struct hs_contents_batch *batch);

/* Reads blocks, sorted by address, as hs_contents_read() does; bytes of the buffer that are in a
 * range of never written bytes are left as they are. 0; -EPERM or -ESRCH: nothing can be read any
 * more; -ENOMEM. */
int hs_contents_batch_read(struct hs_contents_batch *batch, struct hs_contents_block *blocks,
                           size_t count, uint8_t *buffer);
