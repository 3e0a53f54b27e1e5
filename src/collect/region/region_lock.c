/*
 * The lock of a bound process's region: see region_lock.h.
 */
#include "collect/region/region_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fmt/ctl_layout.h"

static struct flock lock_of_region(void)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = HS_REGION_LOCK_OFFSET, .l_len = 1
    };
}

void hs_region_lock(int *fd)
{
    char path[64];
    struct flock lock = lock_of_region();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    int own_fd = open(path, O_RDWR | O_CLOEXEC);
    if (own_fd >= 0 && fcntl(own_fd, F_OFD_SETLK, &lock) == 0) {
        close(*fd);
        *fd = own_fd;
    } else if (own_fd >= 0) {
        close(own_fd);
    }
}

bool hs_region_lock_is_taken(int fd)
{
    struct flock lock = lock_of_region();
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
