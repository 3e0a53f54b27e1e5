/*
 * Locks recording jobs: see job_lock.h.
 */
#include "daemon/handover/job_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HS_JOB_NUMBER_MAX (UINT64_C(1) << 40)
/* A process that was killed gives its memory back before its locks. */
#define CLAIM_TRIES    50
#define CLAIM_SLEEP_NS 10000000L

int hs_job_lock_new_file(void)
{
    int fd = memfd_create("heapscope-locks", MFD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

static bool set_lock(int fd, uint64_t number, short type)
{
    struct flock lock = { .l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(number * sizeof(uint32_t)),
                          .l_len = sizeof(uint32_t) };
    return number <= HS_JOB_NUMBER_MAX && fcntl(fd, F_SETLK, &lock) == 0;
}

/* The epoch of a job that has none in the file is 0. */
static bool read_epoch(int fd, uint64_t number, uint32_t *ret_epoch)
{
    *ret_epoch = 0;
    ssize_t got = pread(fd, ret_epoch, sizeof(*ret_epoch), (off_t)(number * sizeof(*ret_epoch)));
    return got == 0 || got == (ssize_t)sizeof(*ret_epoch);
}

static bool wait_for_lock(int fd, uint64_t number)
{
    const struct timespec pause = { 0, CLAIM_SLEEP_NS };
    bool is_ours = set_lock(fd, number, F_WRLCK);
    for (int i = 0; i < CLAIM_TRIES && !is_ours; i++) {
        nanosleep(&pause, NULL);
        is_ours = set_lock(fd, number, F_WRLCK);
    }
    return is_ours;
}

bool hs_job_lock_claim(int fd, uint64_t number, struct hs_job_lock *ret_lock)
{
    uint32_t epoch;
    if (fd < 0 || !wait_for_lock(fd, number)) {
        return false;
    }
    bool is_ours = read_epoch(fd, number, &epoch);
    epoch++;
    is_ours = is_ours && pwrite(fd, &epoch, sizeof(epoch), (off_t)(number * sizeof(epoch))) ==
                             (ssize_t)sizeof(epoch);
    set_lock(fd, number, F_UNLCK);
    *ret_lock = (struct hs_job_lock){ .fd = fd, .number = number, .epoch = epoch };
    return is_ours;
}

bool hs_job_lock_take(const struct hs_job_lock *lock)
{
    uint32_t epoch;
    if (lock->fd < 0) {
        return true;
    }
    return set_lock(lock->fd, lock->number, F_WRLCK) &&
           read_epoch(lock->fd, lock->number, &epoch) && epoch == lock->epoch;
}
