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
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "daemon/worker_process.h"
#include "profile/model/original_names.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "util/write_all.h"

/* --- names that are left out ------------------------------------------------------------------ */

/* The finalizer gets this signal when its user does not want to wait for names. */
#define HS_SKIP_NAMES_SIGNAL SIGUSR2

static volatile sig_atomic_t is_skipping_names;

static void on_skip_names(int signal)
{
    (void)signal;
    is_skipping_names = 1;
}

static bool are_names_skipped(void)
{
    return is_skipping_names != 0;
}

void hs_finalizer_skip_names(const struct hs_finalizer *finalizer)
{
    if (finalizer->pid > 0) {
        kill(finalizer->pid, HS_SKIP_NAMES_SIGNAL);
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
    } while (r != 0 && errno == EINTR && !are_names_skipped());
    return r == 0;
}

void hs_finalizer_wait_for_turn(void)
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

int hs_finalizer_turns_fd(void)
{
    if (turns_fd < 0) {
        turns_fd = memfd_create("turns", MFD_CLOEXEC);
    }
    return turns_fd;
}

/* --- the end of a recording ------------------------------------------------------------------- */

/* Adds the code addresses of the part of the file that a previous daemon wrote: they are known only
 * from the file. */
static void add_addresses_of_previous_part(const struct hs_finalizer_task *task)
{
    char path[32];
    struct hs_profile *profile;
    if (!task->is_inherited || !task->session->settings.is_symbolizing) {
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", task->file->file_fd);
    if (hs_profile_load(path, &profile, NULL) == 0) {
        hs_profile_wanted(profile, &task->session->wanted);
        if (hs_trace_names_wants_java()) {
            hs_original_names_wanted(profile, &task->session->java_wanted);
        }
        hs_profile_free(profile);
    }
}

static int finish(const struct hs_finalizer_task *task)
{
    const struct hs_recording_file *file = task->file;
    int r = hs_worker_process_keep_rights(task->rights);
    if (r < 0) {
        return r;
    }
    if (task->is_empty) {
        if (hs_recording_file_is_in_place(file)) {
            unlinkat(file->folder_fd, file->temp_name, 0);
        }
        return -ENODATA;
    }
    hs_finalizer_wait_for_turn();
    add_addresses_of_previous_part(task);
    task->session->naming.say = hs_daemon_log_text;
    task->session->naming.is_cancelled = are_names_skipped;
    r = hs_session_finish(task->session);
    if (!hs_recording_file_is_in_place(file)) {
        return r < 0 ? r : -ENOENT; /* the file was removed or replaced */
    }
    if (r == 0 &&
        renameat(file->folder_fd, file->temp_name, file->folder_fd, file->final_name) != 0) {
        r = -errno;
    }
    if (r < 0) {
        unlinkat(file->folder_fd, file->temp_name, 0);
    }
    return r;
}

static void __attribute__((noreturn)) run(const struct hs_finalizer_task *task, int result_fd)
{
    const int kept[] = { task->file->file_fd, task->file->folder_fd, task->lock.fd, result_fd,
                         turns_fd };
    prctl(PR_SET_NAME, "heapscope-final");
    /* Before the signal is unblocked: until then it stays pending. Without SA_RESTART, so that the
     * signal ends the wait for a turn. */
    sigaction(HS_SKIP_NAMES_SIGNAL, &(struct sigaction){ .sa_handler = on_skip_names }, NULL);
    hs_worker_process_settle_with(task->session->files, kept, HS_COUNT_OF(kept));
    if (!hs_job_lock_take(&task->lock)) {
        _exit(1); /* the daemon is gone, and another daemon has taken the job over */
    }
    struct hs_finalizer_result result = { .error = finish(task) };
    result.file_bytes = task->session->bytes;
    int r = hs_write_all(result_fd, &result, sizeof(result));
    _exit(r == 0 ? 0 : 1);
}

int hs_finalizer_start(const struct hs_finalizer_task *task, struct hs_event_loop *loop,
                       struct hs_event_source *source, struct hs_finalizer *ret_finalizer)
{
    int ends[2];
    pid_t pid = 0;
    hs_finalizer_turns_fd();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    /* Before the fork: a finalizer whose result nobody reads must not give the file its name. */
    int r = hs_event_loop_add(loop, ends[0], source);
    if (r == 0) {
        pid = fork();
        r = pid < 0 ? -errno : 0;
    }
    if (r == 0 && pid == 0) {
        run(task, ends[1]);
    }
    close(ends[1]);
    if (r < 0) {
        hs_event_loop_remove(loop, ends[0]);
        close(ends[0]);
        return r;
    }
    *ret_finalizer = (struct hs_finalizer){ .pid = pid, .result_fd = ends[0] };
    return 0;
}

bool hs_finalizer_receive(struct hs_finalizer *finalizer, struct hs_finalizer_result *ret_result)
{
    struct hs_finalizer_result result;
    ssize_t got = read(finalizer->result_fd, &result, sizeof(result));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return false;
    }
    if (got == (ssize_t)sizeof(result)) {
        *ret_result = result;
    } else {
        ret_result->error = -EIO; /* the finalizer died */
    }
    waitpid(finalizer->pid, NULL, 0);
    return true;
}

void hs_finalizer_close(struct hs_finalizer *finalizer)
{
    if (finalizer->result_fd >= 0) {
        close(finalizer->result_fd);
    }
    *finalizer = HS_FINALIZER_NONE;
}
