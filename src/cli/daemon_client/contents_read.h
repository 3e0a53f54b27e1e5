/*
 * Reads blocks in the memory of a process, with the rights of the user who runs the command. The
 * process is not stopped.
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_contents_block {
    uint64_t va, size_bytes;
    bool is_read; /* out: its bytes are in the buffer, at the place where it begins */
    size_t range_first, range_count; /* of the batch, if it is read by hs_contents_batch_read() */
};

/* Reads blocks into the buffer, one behind the other; it has room for all. A block that cannot be
 * read, or not as a whole, is left out. 0; -EPERM or -ESRCH: nothing can be read any more. */
int hs_contents_read(pid_t pid, struct hs_contents_block *blocks, size_t count, uint8_t *buffer);

/* May this command read the memory of the process? Is it one that heapscope records, as seen in its
 * own mappings? 0; -ENOENT: it is another process (of another PID namespace); -errno. */
int hs_contents_check_process(pid_t pid);
