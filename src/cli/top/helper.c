/*
 * Runs commands in the background: see helper.h.
 */
#include "cli/top/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"

static void __attribute__((noreturn)) execute(const char *const *args, int fd)
{
    char *argv[HS_HELPER_ARGS_MAX + 2] = { (char *)(uintptr_t) "heapscope" };
    int nowhere = open("/dev/null", O_RDWR);
    for (size_t i = 0; i < HS_HELPER_ARGS_MAX && args[i]; i++) {
        argv[i + 1] = (char *)(uintptr_t)args[i];
    }
    /* The keyboard's signals are for `top`, which ends its helpers itself. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    if (nowhere >= 0 && dup2(nowhere, STDIN_FILENO) >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 &&
        dup2(fd, STDERR_FILENO) >= 0) {
        execv("/proc/self/exe", argv);
    }
    _exit(127);
}

int hs_helper_start(struct hs_helper *helper, const char *const *args)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pid_t pid = fork();
    if (pid == 0) {
        execute(args, ends[1]);
    }
    int r = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    *helper = (struct hs_helper){ .pid = pid, .fd = ends[0] };
    return 0;
}

/* Keeps the first line: the others explain it. */
static void keep_said(struct hs_helper *helper, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        helper->has_line |= text[i] == '\n' && helper->said_bytes > 0;
        if (!helper->has_line && text[i] != '\n' && helper->said_bytes + 1 < sizeof(helper->said)) {
            helper->said[helper->said_bytes++] = text[i];
            helper->said[helper->said_bytes] = '\0';
        }
    }
}

static void drop_prefix(struct hs_helper *helper)
{
    static const char prefix[] = "heapscope: ";
    size_t bytes = sizeof(prefix) - 1;
    if (strncmp(helper->said, prefix, bytes) == 0) {
        memmove(helper->said, helper->said + bytes, strlen(helper->said + bytes) + 1);
    }
}

bool hs_helper_take(struct hs_helper *helper)
{
    char text[1024];
    int status = 0;
    if (helper->pid == 0) {
        return false;
    }
    ssize_t got;
    while ((got = read(helper->fd, text, sizeof(text))) > 0) {
        keep_said(helper, text, (size_t)got);
    }
    if (waitpid(helper->pid, &status, WNOHANG) != helper->pid) {
        return false;
    }
    while ((got = read(helper->fd, text, sizeof(text))) > 0) {
        keep_said(helper, text, (size_t)got);
    }
    drop_prefix(helper);
    close(helper->fd);
    helper->fd = -1;
    helper->pid = 0;
    helper->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void hs_helper_signal(const struct hs_helper *helper, int number)
{
    if (helper->pid != 0) {
        kill(helper->pid, number);
    }
}

void hs_helper_end(struct hs_helper *helper, int patience_ms)
{
    uint64_t until_ns = hs_clock_ns(CLOCK_MONOTONIC) + (uint64_t)patience_ms * UINT64_C(1000000);
    while (helper->pid != 0 && !hs_helper_take(helper)) {
        if (hs_clock_ns(CLOCK_MONOTONIC) >= until_ns) {
            hs_helper_signal(helper, SIGKILL);
        }
        poll(NULL, 0, 5);
    }
}
