/*
 * Looks up the names of functions, and gives the file its final name: see finalizer.h.
 */
#include "daemon/finalizer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/handover/handover_save.h"
#include "daemon/worker_process.h"
#include "profile/read/load.h"
#include "profile/model/symbolize.h"
#include "util/write_all.h"

/* --- hurry ------------------------------------------------------------------------------------ */

/* The finalizer gets this signal when its user does not want to wait for names. */
#define HS_HURRY_SIGNAL SIGUSR2

static volatile sig_atomic_t was_hurried;

static void on_hurry(int signal)
{
    (void)signal;
    was_hurried = 1;
}

static bool is_hurried(void)
{
    return was_hurried != 0;
}

void hs_finalizer_hurry(const struct hs_recording_job *job)
{
    if (job->finalizer_pid > 0) {
        kill(job->finalizer_pid, HS_HURRY_SIGNAL);
    }
}

/* --- the number of finalizers at work --------------------------------------------------------- */

#define AT_WORK_MIN 2L

/* A memfd. A finalizer that works holds the lock of one of its bytes; the kernel releases the lock
 * when the finalizer ends, in whatever way. -1: not made yet, or it could not be made; then no
 * finalizer waits. */
static int turns_fd = -1;

static bool take_turn(off_t turn, int command)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = turn, .l_len = 1 };
    int r;
    do {
        r = fcntl(turns_fd, command, &lock);
    } while (r != 0 && errno == EINTR && !is_hurried());
    return r == 0;
}

static void wait_for_turn(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    count = count > AT_WORK_MIN ? count : AT_WORK_MIN;
    for (long i = 0; i < count; i++) {
        if (turns_fd < 0 || take_turn(i, F_SETLK)) {
            return;
        }
    }
    take_turn(getpid() % count, F_SETLKW);
}

/* --- the end of a recording job --------------------------------------------------------------- */

/* Does the temporary name still belong to the file that we wrote? */
static bool is_in_place(const struct hs_recording_job *job)
{
    struct stat ours, there;
    return fstat(job->file_fd, &ours) == 0 &&
           fstatat(job->folder_fd, job->temp_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Adds the code addresses of the part of the file that a previous daemon wrote: they are known only
 * from the file. */
static void add_addresses_of_previous_part(const struct hs_recording_job *job)
{
    char path[32];
    struct hs_profile *profile;
    if (!job->is_inherited || !job->session->settings.is_symbolizing) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", job->file_fd);
    if (hs_profile_load(path, &profile, NULL) == 0) {
        hs_profile_wanted(profile, &job->session->wanted);
        hs_profile_free(profile);
    }
}

static int finish(struct hs_recording_job *job)
{
    int r = hs_worker_process_give_up_rights(job);
    if (r < 0) {
        return r;
    }
    if (job->process_count == 0 && job->rejected_count == 0) {
        if (is_in_place(job)) {
            unlinkat(job->folder_fd, job->temp_name, 0);
        }
        return -ENODATA;
    }
    wait_for_turn();
    add_addresses_of_previous_part(job);
    job->session->is_hurried = is_hurried;
    r = hs_session_finish(job->session);
    if (!is_in_place(job)) {
        return r < 0 ? r : -ENOENT; /* the file was removed or replaced */
    }
    if (r == 0 && renameat(job->folder_fd, job->temp_name, job->folder_fd, job->final_name) != 0) {
        r = -errno;
    }
    if (r < 0) {
        unlinkat(job->folder_fd, job->temp_name, 0);
    }
    return r;
}

static void __attribute__((noreturn)) run(struct hs_recording_job *job, int result_fd)
{
    const int kept[] = { job->file_fd, job->folder_fd, job->about_fd, result_fd, turns_fd };
    prctl(PR_SET_NAME, "heapscope-final");
    /* Before the signal is unblocked: until then it stays pending. Without SA_RESTART, so that the
     * signal ends the wait for a turn. */
    sigaction(HS_HURRY_SIGNAL, &(struct sigaction){ .sa_handler = on_hurry }, NULL);
    hs_worker_process_settle(kept, HS_COUNT_OF(kept));
    if (!hs_handover_lock_job(job)) {
        _exit(1); /* the daemon is gone, and another daemon has taken the job over */
    }
    struct hs_recording_job_result result = { .error = finish(job) };
    result.file_bytes = job->session->bytes;
    int r = hs_write_all(result_fd, &result, sizeof(result));
    _exit(r == 0 ? 0 : 1);
}

int hs_finalizer_start(struct hs_recording_job *job)
{
    int ends[2];
    if (turns_fd < 0) {
        turns_fd = memfd_create("turns", MFD_CLOEXEC);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        run(job, ends[1]);
    }
    int r = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    job->finalizer_pid = pid;
    job->result_fd = ends[0];
    return 0;
}
