/*
 * See own_data.h.
 */
#include "util/own_data.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

uint64_t hs_own_data_bytes(void)
{
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    /* The sixth number of statm, in pages. */
    char *at = text;
    uint64_t pages = 0;
    for (int i = 0; i < 6; i++) {
        pages = strtoull(at, &at, 10);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
