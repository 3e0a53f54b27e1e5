/*
 * Passes signals on: see relay.h.
 */
#include "collect/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/base.h"
#include "util/proc.h"

/* Signals that are not passed on: for reading the terminal in the background, and for writing that
 * fails anyway. */
static const int left_alone[] = { SIGTTIN, SIGPIPE, SIGXFSZ };

/* kill(2) signals the processes of a group one after the other; the canary may be the last. */
#define HS_CANARY_WAIT_MS 1
/* The shell continues the whole group, in any order. */
#define HS_CONTINUE_TRIES   20
#define HS_CONTINUE_WAIT_MS 1

static void start_canary(struct hs_relay *relay)
{
    pid_t parent = getpid();
    relay->canary_pid = fork();
    if (relay->canary_pid == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        prctl(PR_SET_NAME, "heapscope-wait", 0, 0, 0);
        /* The canary must not hold a pipe open whose end another process waits for. */
        close_range(0, ~0U, 0);
        while (getppid() == parent) {
            pause();
        }
        _exit(0);
    }
}

static void stop_canary(struct hs_relay *relay)
{
    if (relay->canary_pid > 0) {
        kill(relay->canary_pid, SIGKILL);
        waitpid(relay->canary_pid, NULL, 0);
        relay->canary_pid = -1;
    }
}

int hs_relay_start(struct hs_relay *ret_relay)
{
    struct hs_relay relay = { .fd = -1, .canary_pid = -1 };
    sigset_t set;
    /* SIGTTOU is blocked too: a message to the terminal from the background must not stop
     * heapscope. A real fault ends heapscope although its signal is blocked; a signal of this
     * number that a process sent is passed on like any other. */
    sigfillset(&set);
    for (size_t i = 0; i < HS_COUNT_OF(left_alone); i++) {
        sigdelset(&set, left_alone[i]);
    }
    relay.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (relay.fd < 0) {
        return -errno;
    }
    sigprocmask(SIG_BLOCK, &set, &relay.old_mask);
    /* If the parent ignores SIGCHLD, heapscope inherits that and would not learn the exit status.
     * And when the reader of heapscope's messages goes away, SIGPIPE must not end heapscope. */
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    const struct sigaction ignored = { .sa_handler = SIG_IGN };
    sigaction(SIGCHLD, &by_default, &relay.old_child);
    sigaction(SIGPIPE, &ignored, &relay.old_pipe);
    sigaction(SIGXFSZ, &ignored, &relay.old_file_size);
    int terminal_fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    relay.has_terminal = terminal_fd >= 0;
    if (terminal_fd >= 0) {
        close(terminal_fd);
    }
    /* Without a canary, a signal to the group arrives twice: better than not at all. */
    start_canary(&relay);
    *ret_relay = relay;
    return 0;
}

void hs_relay_stop(struct hs_relay *relay)
{
    struct signalfd_siginfo info;
    if (relay->fd < 0) {
        return;
    }
    stop_canary(relay);
    while (read(relay->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        /* these were for the program, which is gone */
    }
    close(relay->fd);
    relay->fd = -1;
    sigaction(SIGCHLD, &relay->old_child, NULL);
    sigaction(SIGPIPE, &relay->old_pipe, NULL);
    sigaction(SIGXFSZ, &relay->old_file_size, NULL);
    sigprocmask(SIG_SETMASK, &relay->old_mask, NULL);
}

static bool is_stopped(pid_t pid)
{
    struct hs_proc_stat stat;
    return hs_proc_read_stat(pid, &stat) == 0 && stat.state == 'T';
}

/* Was the signal sent to the whole group? A canary that has received one is replaced. */
static bool was_sent_to_group(struct hs_relay *relay, int signal)
{
    struct hs_proc_status status;
    if (relay->canary_pid <= 0) {
        return false;
    }
    poll(NULL, 0, HS_CANARY_WAIT_MS);
    if (hs_proc_read_status(relay->canary_pid, &status) < 0 ||
        !(status.pending_mask >> (signal - 1) & 1)) {
        return false;
    }
    stop_canary(relay);
    start_canary(relay);
    return true;
}

static void pass_on(struct hs_relay *relay, const struct signalfd_siginfo *info, pid_t pid)
{
    int signal = (int)info->ssi_signo;
    bool is_from_process = info->ssi_code <= 0; /* SI_USER, SI_QUEUE, SI_TKILL */
    if (pid <= 0 || !is_from_process || (pid_t)info->ssi_pid == pid || signal == SIGTTOU) {
        return;
    }
    if (signal == SIGCONT ? !is_stopped(pid) : was_sent_to_group(relay, signal)) {
        return;
    }
    kill(pid, signal);
}

bool hs_relay_read(struct hs_relay *relay, pid_t pid)
{
    struct signalfd_siginfo info;
    bool is_child_news = false;
    while (read(relay->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if ((int)info.ssi_signo == SIGCHLD) {
            is_child_news = true;
        } else if ((int)info.ssi_signo == SIGUSR1 && relay->is_usr1_ours) {
            relay->is_dump_asked = true;
        } else {
            pass_on(relay, &info, pid);
        }
    }
    return is_child_news;
}

void hs_relay_stop_with(const struct hs_relay *relay, pid_t pid, int signal)
{
    sigset_t one;
    if (!relay->has_terminal) {
        return;
    }
    sigemptyset(&one);
    sigaddset(&one, signal);
    /* SIGSTOP cannot be blocked; the others stop heapscope as soon as they are unblocked. */
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    kill(getpid(), signal);
    if (signal != SIGSTOP) {
        sigprocmask(SIG_BLOCK, &one, NULL);
    }
    /* From here on heapscope was continued: with the whole group, or alone. */
    for (unsigned i = 0; i < HS_CONTINUE_TRIES; i++) {
        if (!is_stopped(pid)) {
            return;
        }
        poll(NULL, 0, HS_CONTINUE_WAIT_MS);
    }
    kill(pid, SIGCONT);
}
