/*
 * Forks, and collects what the child leaves: see http_job.h.
 */
#include "http/http_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/clock.h"

/* --- in the child ----------------------------------------------------------------------------- */

/* The messages of the commands, without the prefix of each line. */
static void take_messages(struct hs_http_answer *answer)
{
    static const char prefix[] = "heapscope: ";
    char text[HS_HTTP_ERROR_BYTES];
    ssize_t got = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
    size_t bytes = 0;
    text[got > 0 ? got : 0] = '\0';
    for (const char *at = text; *at; at++) {
        if ((at == text || at[-1] == '\n') && strncmp(at, prefix, sizeof(prefix) - 1) == 0) {
            at += sizeof(prefix) - 1;
        }
        if (!*at) {
            break;
        }
        answer->error[bytes++] = *at;
    }
    while (bytes > 0 && answer->error[bytes - 1] == '\n') {
        bytes--;
    }
    answer->error[bytes] = '\0';
}

/* The server blocks signals to read them from a descriptor, and ignores some. */
static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool place_descriptors(int out_fd)
{
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int messages = memfd_create("heapscope-messages", MFD_CLOEXEC);
    if (in < 0 || messages < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
        dup2(messages, STDERR_FILENO) < 0 || dup2(in, STDIN_FILENO) < 0) {
        return false;
    }
    closefrom(STDERR_FILENO + 1);
    return true;
}

/* The soft limits: a command that goes on after the answer raises them again. */
static void limit(void)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_FSIZE, &now) == 0 && now.rlim_max > HS_HTTP_OUTPUT_BYTES_MAX) {
        now.rlim_cur = HS_HTTP_OUTPUT_BYTES_MAX;
        setrlimit(RLIMIT_FSIZE, &now);
    }
    if (getrlimit(RLIMIT_CORE, &now) == 0) {
        now.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &now);
    }
}

static void run_in_child(const struct hs_http_route *route, void *ctx,
                         const struct hs_http_request *request, struct hs_http_answer *answer,
                         pid_t parent, int out_fd)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reset_signals();
    if (getppid() != parent || !place_descriptors(out_fd)) {
        _exit(1);
    }
    limit();
    answer->status = 200;
    snprintf(answer->content_type, sizeof(answer->content_type), "%s", route->content_type);
    route->run(ctx, request, answer);
    if (fflush(stdout) != 0 && answer->status < 400) {
        answer->status = 500;
        snprintf(answer->error, sizeof(answer->error), "the answer is too long");
    }
    if (answer->status >= 400 && answer->error[0] == '\0') {
        take_messages(answer);
    }
    _exit(0);
}

/* --- in the server ---------------------------------------------------------------------------- */

static int make_output(bool is_stream, int ret_fds[2])
{
    if (is_stream) {
        if (pipe2(ret_fds, O_CLOEXEC) != 0) {
            return -errno;
        }
        return fcntl(ret_fds[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
    }
    ret_fds[0] = memfd_create("heapscope-answer", MFD_CLOEXEC);
    ret_fds[1] = ret_fds[0] < 0 ? -1 : fcntl(ret_fds[0], F_DUPFD_CLOEXEC, 3);
    return ret_fds[1] < 0 ? -errno : 0;
}

static struct hs_http_answer *make_answer(void)
{
    void *answer = mmap(NULL, sizeof(struct hs_http_answer), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return answer == MAP_FAILED ? NULL : answer;
}

int hs_http_job_start(const struct hs_http_route *route, void *ctx,
                      const struct hs_http_request *request, struct hs_http_job *ret_job)
{
    int fds[2] = { -1, -1 };
    pid_t self = getpid();
    *ret_job = (struct hs_http_job){ .end_fd = -1, .out_fd = -1, .answer = make_answer() };
    if (!ret_job->answer) {
        return -ENOMEM;
    }
    int r = make_output(route->kind == HS_HTTP_STREAM, fds);
    ret_job->out_fd = fds[0];
    fflush(stdout);
    pid_t pid = r == 0 ? fork() : -1;
    if (pid == 0) {
        run_in_child(route, ctx, request, ret_job->answer, self, fds[1]);
    }
    r = r == 0 && pid < 0 ? -errno : r;
    if (fds[1] >= 0) {
        close(fds[1]);
    }
    if (r == 0) {
        setpgid(pid, pid);
        ret_job->pid = pid;
        ret_job->end_fd = (int)syscall(SYS_pidfd_open, pid, 0);
        ret_job->start_ns = hs_clock_ns(CLOCK_MONOTONIC);
        ret_job->until_ns =
            route->kind == HS_HTTP_STREAM ? UINT64_MAX : ret_job->start_ns + HS_HTTP_JOB_NS;
        r = ret_job->end_fd < 0 ? -errno : 0;
    }
    if (r != 0) {
        hs_http_job_end(ret_job);
    }
    return r;
}

/* Texts end, whatever the process did before it ended. */
static void terminate_texts(struct hs_http_answer *answer)
{
    answer->content_type[sizeof(answer->content_type) - 1] = '\0';
    answer->download_name[sizeof(answer->download_name) - 1] = '\0';
    answer->note[sizeof(answer->note) - 1] = '\0';
    answer->error[sizeof(answer->error) - 1] = '\0';
}

void hs_http_job_reap(struct hs_http_job *job)
{
    int status = 0;
    if (job->pid <= 0) {
        return;
    }
    /* A process that has ended keeps its number and its status until it is waited for. */
    kill(-job->pid, SIGKILL);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR) {
    }
    job->pid = 0;
    terminate_texts(job->answer);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || job->answer->status < 200 ||
        job->answer->status > 599) {
        job->answer->status = 500;
        job->answer->note[0] = '\0';
        snprintf(job->answer->error, sizeof(job->answer->error),
                 "the process that makes the answer was ended (%s %d)",
                 WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

void hs_http_job_end(struct hs_http_job *job)
{
    hs_http_job_reap(job);
    if (job->answer) {
        munmap(job->answer, sizeof(*job->answer));
    }
    for (size_t i = 0; i < 2; i++) {
        int fd = i == 0 ? job->out_fd : job->end_fd;
        if (fd >= 0) {
            close(fd);
        }
    }
    *job = (struct hs_http_job){ .end_fd = -1, .out_fd = -1 };
}
