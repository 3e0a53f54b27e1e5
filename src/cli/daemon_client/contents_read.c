/*
 * Reads blocks of a process: see contents_read.h.
 */
#include "cli/daemon_client/contents_read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define REGION_NAME "/memfd:heapscope"

/* Reads the first blocks, as many as the kernel takes at once. *ret_bytes: so many bytes came.
 * Returns the number of blocks that were asked for, or -errno. */
static long read_some(pid_t pid, const struct hs_contents_block *blocks, size_t count,
                      uint8_t *buffer, size_t *ret_bytes)
{
    struct iovec there[IOV_MAX];
    size_t asked = count < IOV_MAX ? count : IOV_MAX, bytes = 0;
    for (size_t i = 0; i < asked; i++) {
        there[i] = (struct iovec){ (void *)(uintptr_t)blocks[i].va, blocks[i].size_bytes };
        bytes += blocks[i].size_bytes;
    }
    const struct iovec here = { buffer, bytes };
    *ret_bytes = 0;
    if (bytes == 0) {
        return (long)asked;
    }
    ssize_t got = process_vm_readv(pid, &here, 1, there, asked, 0);
    if (got < 0) {
        return -errno;
    }
    *ret_bytes = (size_t)got;
    return (long)asked;
}

int hs_contents_read(pid_t pid, struct hs_contents_block *blocks, size_t count, uint8_t *buffer)
{
    size_t at = 0;
    while (at < count) {
        size_t bytes;
        long asked = read_some(pid, &blocks[at], count - at, buffer, &bytes);
        if (asked == -EPERM || asked == -ESRCH) {
            return (int)asked;
        }
        asked = asked < 0 ? 1 : asked; /* the first one cannot be read */
        long taken = 0;
        for (; taken < asked && blocks[at].size_bytes <= bytes; taken++) {
            blocks[at].is_read = true;
            bytes -= blocks[at].size_bytes;
            buffer += blocks[at++].size_bytes;
        }
        if (taken < asked) {
            blocks[at].is_read = false;
            buffer += blocks[at++].size_bytes;
        }
    }
    return 0;
}

int hs_contents_check_process(pid_t pid)
{
    char path[64], *line = NULL;
    size_t line_bytes = 0;
    bool is_found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    if (!maps) {
        return -errno;
    }
    errno = 0;
    while (!is_found && getline(&line, &line_bytes, maps) > 0) {
        is_found = strstr(line, REGION_NAME) != NULL;
    }
    int r = is_found ? 0 : errno ? -errno : -ENOENT;
    free(line);
    fclose(maps);
    return r;
}
