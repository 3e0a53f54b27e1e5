/*
 * The memory of another process, through /proc/PID/mem.
 *
 * The open file is bound to the address space that existed when it was opened. When the process
 * executes another program, reads find nothing, rather than something else at the same address.
 * (process_vm_readv identifies the process by its pid, and would read the new program.) Writing
 * below a stack extends the stack, as the process's own writes would.
 *
 * Ensures   what is read comes from another process: nothing here interprets it.
 * Threads   no state but the descriptor.
 * Fails     -EFAULT where there is no memory, or not all of it; -ESRCH when the address space is
 *           gone, or when the budget of reads is used up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_remote_memory {
    int fd; /* -1: not open */
    /* The number of reads that are left; at 0 reads fail. It exists because tables in a target can
     * be made so that following them takes hours. NULL: no limit. */
    uint32_t *reads_left;
};

/* Opens the memory of the process of `tid`, any living thread. 0 or -errno of open(2): -EACCES or
 * -EPERM when heapscope may not. */
int hs_remote_memory_open(pid_t tid, struct hs_remote_memory *ret_memory);
/* Closes the descriptor, if it is open. */
void hs_remote_memory_close(struct hs_remote_memory *memory);

/* Reads `size_bytes` at `va`, all of them. 0 or -errno. */
int hs_remote_memory_read(const struct hs_remote_memory *memory, uint64_t va, void *ret_bytes,
                          size_t size_bytes);
/* Writes `size_bytes` at `va`, all of them. 0 or -errno. */
int hs_remote_memory_write(const struct hs_remote_memory *memory, uint64_t va, const void *bytes,
                           size_t size_bytes);

/* Reads as much as there is from `va` on, up to `size_bytes`. Returns the number of bytes, or
 * -errno. */
ssize_t hs_remote_memory_read_some(const struct hs_remote_memory *memory, uint64_t va,
                                   void *ret_bytes, size_t size_bytes);

/* Reads the text at `va`, at most `cap_bytes` - 1 bytes of it, and always ends it with a NUL. The
 * text is "" where there is no memory. */
void hs_remote_memory_read_text(const struct hs_remote_memory *memory, uint64_t va, char *ret_text,
                                size_t cap_bytes);
