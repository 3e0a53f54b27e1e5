/*
 * Waits for the child that has the terminal: see guard.h.
 */
#include "cli/top/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "rt/base.h"

static struct termios before;
static bool has_before;

void hs_guard_restore(void)
{
    /* Leave the other screen, plain text, the cursor, the usual keypad, no scrolling region: what
     * terminals in use understand; others ignore it. */
    static const char reset[] = "\033[?1049l\033[0m\033[?25h\033[?1l\033>\033[r\r\n";
    if (!has_before) {
        return;
    }
    /* The shell may have the terminal again: then this must not stop us. */
    signal(SIGTTOU, SIG_IGN);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    ssize_t written = write(STDOUT_FILENO, reset, sizeof(reset) - 1);
    (void)written;
}

/* Signals from the keyboard go to both processes, and the child decides; others are passed on. */
static pid_t child;

static void pass_on(int number)
{
    kill(child, number);
}

static void prepare_guard(void)
{
    static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    for (size_t i = 0; i < HS_COUNT_OF(passed); i++) {
        sigaction(passed[i], &(struct sigaction){ .sa_handler = pass_on }, NULL);
    }
}

/* Waits for the child, and ends as it has ended. */
static int wait_for_child(void)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status);
    }
    hs_guard_restore();
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 1;
}

int hs_guard_begin(void)
{
    sigset_t passed, old;
    pid_t guard = getpid();
    has_before = tcgetattr(STDIN_FILENO, &before) == 0;
    sigfillset(&passed);
    sigprocmask(SIG_BLOCK, &passed, &old); /* none is lost before `child` is known */
    child = fork();
    if (child != 0) {
        if (child > 0) {
            prepare_guard();
        }
        sigprocmask(SIG_SETMASK, &old, NULL);
        return child < 0 ? HS_GUARD_CHILD : wait_for_child();
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (getppid() != guard) {
        _exit(1);
    }
    return HS_GUARD_CHILD;
}
