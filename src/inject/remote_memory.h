/*
 * The memory of another process, by /proc/PID/mem.
 *
 * The file is bound to the address space that was there when it was opened: when the process executes another
 * program, reads find nothing, rather than something else at the same place. (process_vm_readv, which goes by
 * pid, would.) Writing grows a stack as the process's own writing would.
 *
 * Holds     what is read is foreign: nothing here looks at it.
 * Threads   no state but the descriptor.
 * Fails     -EFAULT where there is no memory, or not all of it; -ESRCH when the address space is gone, or
 *           has been read too often.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_remote_memory {
    int fd; /* -1: not open */
    /* So many reads more, then they fail: tables in there can be made so that following them takes hours. NULL: any
     * number. */
    uint32_t *reads_left;
};

/* `tid`: of any living thread. -errno of open(2): -EACCES or -EPERM when we may not. */
int hs_remote_memory_open(pid_t tid, struct hs_remote_memory *ret_memory);
void hs_remote_memory_close(struct hs_remote_memory *memory);

/* All of it, or -errno. */
int hs_remote_memory_read(const struct hs_remote_memory *memory, uint64_t va, void *ret_bytes,
                          size_t size_bytes);
int hs_remote_memory_write(const struct hs_remote_memory *memory, uint64_t va, const void *bytes,
                           size_t size_bytes);

/* As much as there is from `va` on: its number of bytes, or -errno. */
ssize_t hs_remote_memory_read_some(const struct hs_remote_memory *memory, uint64_t va,
                                   void *ret_bytes, size_t size_bytes);

/* The text at `va`, cut to `cap_bytes` - 1, always with a NUL; "" where there is no memory. */
void hs_remote_memory_read_text(const struct hs_remote_memory *memory, uint64_t va, char *ret_text,
                                size_t cap_bytes);
