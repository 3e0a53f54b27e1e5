/*
 * The worker's side: sets limits, takes requests, sends tables. See symbol_worker.h.
 */
#include "symbol/symbol_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "symbol/module_symbols.h"
#include "symbol/symbol_wire.h"
#include "symbol/target_files.h"
#include "util/own_data.h"

#define MEMORY_DEFAULT_BYTES (UINT64_C(4) << 30)

static void set_limits(const struct hs_symbol_options *options)
{
    uint64_t bytes = options && options->worker_memory_bytes ? options->worker_memory_bytes
                                                             : MEMORY_DEFAULT_BYTES;
    /* The memory that the program allocated before counts too, and may be a large profile. */
    bytes += hs_own_data_bytes();
    /* RLIMIT_DATA limits private writable memory; mapped files do not count. */
    struct rlimit limit;
    if (HS_SYMBOL_WORKER_HAS_LIMIT && getrlimit(RLIMIT_DATA, &limit) == 0 &&
        bytes < limit.rlim_cur) {
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_DATA, &limit);
    }
    limit = (struct rlimit){ 0 };
    setrlimit(RLIMIT_CORE, &limit);
}

/*
 * A crash ends a worker, and so does the end of the process that started it. A signal to the
 * process group does not (Ctrl-C, or timeout(1), which sends its signal twice): the process that
 * started the worker decides whether to wait for names.
 */
static void reset_signals(void)
{
    static const int deadly[] = { SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGTRAP,
                                  SIGSYS,  SIGXCPU, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU };
    for (int number = 1; number <= SIGRTMAX; number++) {
        signal(number, SIG_IGN); /* fails for SIGKILL and SIGSTOP */
    }
    for (size_t i = 0; i < HS_COUNT_OF(deadly); i++) {
        signal(deadly[i], SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void hs_symbol_worker_settle(const char *name, const struct hs_symbol_options *options)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, name);
    reset_signals();
    set_limits(options);
}

static int work_until_done(const struct hs_symbol_work *work, int fd)
{
    for (;;) {
        uint32_t at = hs_add_relaxed(work->next, 1);
        if (at >= work->count) {
            return 0;
        }
        uint32_t idx = work->order[at];
        struct hs_symbol_table table;
        int err = hs_symbol_wire_send_begin(fd, idx);
        if (err == 0) {
            err = hs_module_symbols_find(work->options, &work->requests[idx], &table);
        }
        if (err != 0) {
            return err;
        }
        err = hs_symbol_wire_send_table(fd, idx, &table);
        hs_symbol_table_deinit(&table);
        if (err != 0) {
            return err;
        }
    }
}

int hs_symbol_worker_start(const struct hs_symbol_work *work, pid_t *ret_pid, int *ret_fd)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        int err = -errno;
        close(fds[0]);
        close(fds[1]);
        return err;
    }
    if (pid == 0) {
        hs_symbol_worker_settle("heapscope-names", work->options);
        int fd = getppid() == parent ? fds[1] : -EPIPE;
        /* A worker must not keep the program's descriptors open. */
        hs_target_files_close_others(work->options ? work->options->target_files : NULL, 3, &fd, 1);
        _exit(fd >= 0 && work_until_done(work, fd) == 0 ? 0 : 1);
    }
    close(fds[1]);
    *ret_pid = pid;
    *ret_fd = fds[0];
    return 0;
}
