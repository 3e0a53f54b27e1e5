/*
 * Reads and writes /proc/PID/mem: see remote_memory.h.
 */
#include "inject/remote/remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096U

int hs_remote_memory_open(pid_t tid, struct hs_remote_memory *ret_memory)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    *ret_memory = (struct hs_remote_memory){ .fd = fd };
    return 0;
}

void hs_remote_memory_close(struct hs_remote_memory *memory)
{
    if (memory->fd >= 0) {
        close(memory->fd);
        memory->fd = -1;
    }
}

ssize_t hs_remote_memory_read_some(const struct hs_remote_memory *memory, uint64_t va,
                                   void *ret_bytes, size_t size_bytes)
{
    if (va > (uint64_t)INT64_MAX - size_bytes) {
        return -EFAULT;
    }
    if (memory->reads_left) {
        if (*memory->reads_left == 0) {
            return -ESRCH;
        }
        --*memory->reads_left;
    }
    ssize_t got;
    do {
        got = pread(memory->fd, ret_bytes, size_bytes, (off_t)va);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return errno == EIO ? -EFAULT : -errno;
    }
    return got == 0 && size_bytes > 0 ? -ESRCH : got;
}

int hs_remote_memory_read(const struct hs_remote_memory *memory, uint64_t va, void *ret_bytes,
                          size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        ssize_t got = hs_remote_memory_read_some(memory, va + done, (char *)ret_bytes + done,
                                                 size_bytes - done);
        if (got < 0) {
            return (int)got;
        }
        done += (size_t)got;
    }
    return 0;
}

int hs_remote_memory_write(const struct hs_remote_memory *memory, uint64_t va, const void *bytes,
                           size_t size_bytes)
{
    size_t done = 0;
    while (done < size_bytes) {
        if (va > (uint64_t)INT64_MAX - size_bytes) {
            return -EFAULT;
        }
        ssize_t put =
            pwrite(memory->fd, (const char *)bytes + done, size_bytes - done, (off_t)(va + done));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return put == 0 ? -ESRCH : errno == EIO ? -EFAULT : -errno;
        }
        done += (size_t)put;
    }
    return 0;
}

void hs_remote_memory_read_text(const struct hs_remote_memory *memory, uint64_t va, char *ret_text,
                                size_t cap_bytes)
{
    size_t n = 0;
    while (n < cap_bytes - 1) {
        /* A read does not cross the page's end: the next page may not be mapped. */
        size_t want = PAGE_BYTES - (size_t)((va + n) % PAGE_BYTES);
        want = want < cap_bytes - 1 - n ? want : cap_bytes - 1 - n;
        ssize_t got = hs_remote_memory_read_some(memory, va + n, ret_text + n, want);
        if (got <= 0) {
            break;
        }
        size_t len = strnlen(ret_text + n, (size_t)got);
        n += len;
        if (len < (size_t)got) {
            break;
        }
    }
    ret_text[n] = '\0';
}
