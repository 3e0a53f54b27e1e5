/*
 * See write_all.h.
 */
#include "util/write_all.h"

#include <errno.h>
#include <unistd.h>

int hs_write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t written = write(fd, at, bytes);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        at += written;
        bytes -= (size_t)written;
    }
    return 0;
}
