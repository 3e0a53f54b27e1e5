/*
 * Names and a name: see finisher.h.
 */
#include "daemon/finisher.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/write_all.h"

/* Everything but these three, and the standard ones. */
static void close_others(int a, int b, int c)
{
    int kept[3] = { a, b, c };
    for (int i = 0; i < 3; i++) {
        for (int k = i + 1; k < 3; k++) {
            if (kept[k] < kept[i]) {
                int swap = kept[i];
                kept[i] = kept[k];
                kept[k] = swap;
            }
        }
    }
    unsigned from = 3;
    for (int i = 0; i < 3; i++) {
        if (kept[i] > (int)from) {
            close_range(from, (unsigned)kept[i] - 1, 0);
        }
        from = kept[i] >= (int)from ? (unsigned)kept[i] + 1 : from;
    }
    close_range(from, ~0U, 0);
}

/* The user's rights for good. */
static int give_up_rights(const struct hs_order *order)
{
    if (geteuid() != 0 || order->uid == 0) {
        return 0;
    }
    if (setgroups(order->group_count, order->groups) != 0 ||
        setresgid(order->gid, order->gid, order->gid) != 0 ||
        setresuid(order->uid, order->uid, order->uid) != 0) {
        return -errno;
    }
    return setuid(0) == 0 ? -EPERM : 0;
}

/* Signals from a terminal mean the daemon, which waits for us. */
static void settle_signals(void)
{
    sigset_t none;
    static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ };
    for (size_t i = 0; i < HS_COUNT_OF(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Is what has the temporary name still the file that we wrote? */
static bool is_in_place(const struct hs_order *order)
{
    struct stat ours, there;
    return fstat(order->file_fd, &ours) == 0 &&
           fstatat(order->folder_fd, order->temp_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

static int finish(struct hs_order *order)
{
    int r = give_up_rights(order);
    if (r < 0) {
        return r;
    }
    if (order->process_count == 0 && order->rejected_count == 0) {
        if (is_in_place(order)) {
            unlinkat(order->folder_fd, order->temp_name, 0);
        }
        return -ENODATA;
    }
    r = hs_session_finish(order->session);
    if (!is_in_place(order)) {
        return r < 0 ? r : -ENOENT; /* somebody removed it */
    }
    if (r == 0 &&
        renameat(order->folder_fd, order->temp_name, order->folder_fd, order->final_name) != 0) {
        r = -errno;
    }
    if (r < 0) {
        unlinkat(order->folder_fd, order->temp_name, 0);
    }
    return r;
}

static void __attribute__((noreturn)) run(struct hs_order *order, int result_fd)
{
    close_others(order->file_fd, order->folder_fd, result_fd);
    settle_signals();
    struct hs_order_result result = { .error = finish(order) };
    result.file_bytes = order->session->bytes;
    int r = hs_write_all(result_fd, &result, sizeof(result));
    _exit(r == 0 ? 0 : 1);
}

int hs_finisher_start(struct hs_order *order)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0) {
        run(order, ends[1]);
    }
    int r = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    order->finisher_pid = pid;
    order->result_fd = ends[0];
    return 0;
}
