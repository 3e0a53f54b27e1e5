/*
 * Drops descriptors, signals and rights: see worker_process.h.
 */
#include "daemon/worker_process.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <unistd.h>

#include "rt/base.h"
#include "symbol/target_files.h"
#include "util/proc.h"

void hs_worker_process_close_others(const int *fds, size_t count)
{
    hs_target_files_close_others(NULL, STDERR_FILENO + 1, fds, count);
}

/* A signal to the process group is meant for the daemon, which waits for us: it is ignored. A
 * signal that already has a handler is meant for us. */
static void settle_signals(void)
{
    static const int left_alone[] = { SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGSYS,
                                      SIGABRT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD };
    struct sigaction now;
    sigset_t none, skipped;
    sigemptyset(&none);
    sigemptyset(&skipped);
    for (size_t i = 0; i < HS_COUNT_OF(left_alone); i++) {
        sigaddset(&skipped, left_alone[i]);
    }
    for (int number = 1; number <= SIGRTMAX; number++) {
        bool is_skipped = sigismember(&skipped, number) == 1;
        if (!is_skipped && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            signal(number, SIG_IGN);
        }
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void hs_worker_process_settle(const int *fds, size_t count)
{
    hs_worker_process_settle_with(NULL, fds, count);
}

void hs_worker_process_settle_with(const struct hs_target_files *files, const int *fds,
                                   size_t count)
{
    hs_target_files_close_others(files, STDERR_FILENO + 1, fds, count);
    settle_signals();
}

static int become(uid_t uid, gid_t gid, const gid_t *groups, size_t group_count)
{
    if (setgroups(group_count, groups) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0) {
        return -errno;
    }
    return setuid(0) == 0 ? -EPERM : 0;
}

int hs_worker_process_keep_rights(const struct hs_user_rights *rights)
{
    if (geteuid() != 0 || rights->uid == 0) {
        return 0;
    }
    return become(rights->uid, rights->gid, rights->groups, rights->group_count);
}

int hs_worker_process_take_rights_of(pid_t pid, uid_t uid)
{
    struct hs_proc_status status;
    if (geteuid() != 0) {
        return 0;
    }
    int r = uid == 0 ? -EPERM : hs_proc_read_status(pid, &status);
    return r < 0 ? r : become(uid, status.gid.real, NULL, 0);
}
