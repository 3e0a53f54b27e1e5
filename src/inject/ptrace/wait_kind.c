/*
 * System calls by what they wait for: see wait_kind.h.
 */
#include "inject/ptrace/wait_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "arch/remote.h"
#include "rt/base.h"
#include "rt/sys.h"
#include "rt/text.h"
#include "util/proc.h"

struct call {
    long number;
    /* Which argument, counted from 1, is the timeout of a wait that the kernel restarts with its
     * whole timeout. 0: there is none, or the kernel remembers what is left. */
    unsigned timeout_arg;
};

/* Their timeout is a number of milliseconds. An interrupted epoll_wait always ends with EINTR. */
static const struct call epoll_calls[] = { HS_REMOTE_OLD_EPOLL{ SYS_epoll_pwait, 4 } };

static const struct call sure_calls[] = {
    HS_REMOTE_OLD_WAITS{ SYS_ppoll, 0 },
    { SYS_pselect6, 0 },
    { SYS_nanosleep, 0 },
    { SYS_clock_nanosleep, 0 },
    { SYS_accept4, 0 },
    { SYS_recvfrom, 0 },
    { SYS_recvmsg, 0 },
    { SYS_recvmmsg, 0 },
    { SYS_wait4, 0 },
    { SYS_waitid, 0 },
    { SYS_rt_sigsuspend, 0 },
    { SYS_restart_syscall, 0 },
    { SYS_msgrcv, 0 },
    { SYS_semop, 0 },
    { SYS_rt_sigtimedwait, 3 },
    { SYS_semtimedop, 4 },
    { SYS_io_getevents, 5 },
    { SYS_epoll_pwait2, 4 },
};

static const long stream_calls[] = { SYS_read, SYS_readv, SYS_write, SYS_writev };

static const struct call *find(const struct call *calls, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i].number == number) {
            return &calls[i];
        }
    }
    return NULL;
}

static bool is_epoll(int64_t number)
{
    return find(epoll_calls, HS_COUNT_OF(epoll_calls), number) != NULL;
}

static bool is_stream_call(int64_t number)
{
    for (size_t i = 0; i < HS_COUNT_OF(stream_calls); i++) {
        if (stream_calls[i] == number) {
            return true;
        }
    }
    return false;
}

/* Is the descriptor of a kind that programs wait for, and not a file, a directory or anything that
 * the loader reads? */
static bool is_waited_for(pid_t pid, uint64_t fd)
{
    static const char *const anons[] = { "anon_inode:[eventfd]",   "anon_inode:[timerfd]",
                                         "anon_inode:[signalfd]",  "anon_inode:inotify",
                                         "anon_inode:[eventpoll]", "anon_inode:[fanotify]" };
    char path[64], to[64] = "";
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
    if (fd > INT32_MAX || stat(path, &st) != 0) {
        return false;
    }
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
        return true;
    }
    ssize_t n = hs_sys_readlink(path, to, sizeof(to) - 1);
    to[n > 0 ? n : 0] = '\0';
    if (S_ISCHR(st.st_mode)) {
        return hs_text_starts_with(to, "/dev/tty") || hs_text_starts_with(to, "/dev/pts/") ||
               hs_text_starts_with(to, "/dev/console");
    }
    for (size_t i = 0; i < HS_COUNT_OF(anons); i++) {
        if (strcmp(to, anons[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum hs_wait_kind classify(pid_t pid, const struct hs_wait *wait)
{
    if (is_epoll(wait->number)) {
        return (int32_t)wait->arguments[3] > 0 ? HS_WAIT_TIMED : HS_WAIT_SURE;
    }
    const struct call *call = find(sure_calls, HS_COUNT_OF(sure_calls), wait->number);
    if (call) {
        bool is_timed = call->timeout_arg != 0 && wait->arguments[call->timeout_arg - 1] != 0;
        return is_timed ? HS_WAIT_TIMED : HS_WAIT_SURE;
    }
    if (wait->number == SYS_futex) {
        return HS_WAIT_FUTEX;
    }
    if (is_stream_call(wait->number) && is_waited_for(pid, wait->arguments[0])) {
        return HS_WAIT_SURE;
    }
    return HS_WAIT_OTHER;
}

void hs_wait_parse(pid_t pid, const char *text, struct hs_wait *ret_wait)
{
    struct hs_wait wait = { .kind = HS_WAIT_RUNNING, .number = -1 };
    char *at;
    int64_t number = strtoll(text, &at, 10);
    if (at != text && number >= 0) {
        wait.number = number;
        for (unsigned i = 0; i < HS_COUNT_OF(wait.arguments); i++) {
            wait.arguments[i] = strtoull(at, &at, 16);
        }
        wait.sp = strtoull(at, &at, 16);
        wait.pc = strtoull(at, &at, 16);
        wait.kind = classify(pid, &wait);
    }
    *ret_wait = wait;
}

void hs_wait_look(pid_t pid, pid_t tid, struct hs_wait *ret_wait)
{
    char name[64], text[256];
    size_t bytes = 0;
    snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
    if (hs_proc_read(pid, name, text, sizeof(text) - 1, &bytes) < 0) {
        bytes = 0;
    }
    text[bytes] = '\0';
    hs_wait_parse(pid, text, ret_wait);
}

bool hs_wait_is_restartable(int64_t number)
{
    return is_epoll(number) || is_stream_call(number) ||
           find(sure_calls, HS_COUNT_OF(sure_calls), number) != NULL;
}

bool hs_wait_has_timeout_ms(int64_t number)
{
    return is_epoll(number);
}
