/*
 * The lock of a recording job: only one process finishes its file.
 *
 * A daemon that is killed can leave a finalizer at work, and one that has been forked and has not
 * begun. The next daemon takes over the jobs that no finalizer has locked. All processes share one
 * memfd, which the fdstore holds. Each job has four bytes there, at four times its number. They say
 * how many daemons have taken the job over (its epoch), and are what fcntl(2) locks, so that a lock
 * ends with its process.
 *
 * Ensures   a daemon raises the epoch while it has the lock, so a finalizer of a daemon before it
 *           that locks the job later sees that it comes too late.
 * Threads   one.
 * Fails     a job that cannot be locked is left to the process that has the lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a finalizer needs to lock the job. */
struct hs_job_lock {
    int fd; /* -1: the job is not kept, so no other daemon can take it over */
    uint64_t number;
    uint32_t epoch;
};

#define HS_JOB_LOCK_NONE ((struct hs_job_lock){ .fd = -1 })

/* Makes the file of all locks. Returns a descriptor or -errno. */
int hs_job_lock_new_file(void);

/* Call it in a daemon that takes a job over from the one before. Sets ret_lock for its finalizer.
 * Returns false if another process finishes the job, after half a second: it may have been killed,
 * and be about to end. */
bool hs_job_lock_claim(int fd, uint64_t number, struct hs_job_lock *ret_lock);

/* Call it in the finalizer. Returns whether it may finish the file; the lock stays until the
 * process ends, or closes any descriptor of the file. */
bool hs_job_lock_take(const struct hs_job_lock *lock);
