/*
 * See table_worker.h.
 */
#include "collect/unwind_tables/table_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/region/region_tables.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "symbol/symbol_folders.h"
#include "symbol/symbol_worker.h"
#include "util/proc.h"

#define WORK_MAX_NS      UINT64_C(20000000000)
#define MEMORY_MAX_BYTES (UINT64_C(1) << 30)

static void keep_only(int fd, int other_fd)
{
    int low = fd < other_fd ? fd : other_fd, high = fd < other_fd ? other_fd : fd;
    if (low > 3) {
        close_range(3, (unsigned)low - 1, 0);
    }
    if (high > low + 1) {
        close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    }
    close_range((unsigned)high + 1, ~0U, 0);
}

/* Root's worker reads files with the rights of the process that has mapped them. False: it cannot,
 * and must not go on. */
static bool take_rights_of(pid_t pid)
{
    struct hs_proc_status status;
    if (geteuid() != 0) {
        return true;
    }
    if (hs_proc_read_status(pid, &status) < 0) {
        return false;
    }
    if (status.uid.effective == 0) {
        return true;
    }
    bool is_ok = setgroups(0, NULL) == 0 &&
                 setresgid(status.gid.effective, status.gid.effective, status.gid.effective) == 0 &&
                 setresuid(status.uid.effective, status.uid.effective, status.uid.effective) == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's process has lost it */
    return is_ok;
}

/* In the worker, which ends after this. */
static bool work(const struct hs_region *region, const struct hs_table_request *requests,
                 size_t count, int fd)
{
    struct hs_symbol_folders folders = { 0 };
    if (hs_symbol_folders_add_variable(&folders, HS_ENV_BINARY_PATH) != 0) {
        return false;
    }
    const struct hs_symbol_options options = {
        .search_paths = (const char *const *)folders.paths,
        .search_path_count = folders.count,
        .indexed_path_count = hs_symbol_folders_are_indexed() ? folders.count : 0,
    };
    uint64_t off = hs_region_tables_used(region);
    for (size_t i = 0; i < count; i++) {
        struct hs_buf table = HS_BUF_INIT;
        enum hs_unwind_table_source source = HS_UNWIND_TABLE_NONE;
        struct hs_table_result result = { .idx = (uint32_t)i };
        result.reason = hs_table_make(&requests[i], &options, &table, &source);
        if (result.reason == HS_UNWIND_REASON_NONE) {
            if (hs_region_tables_write(region, off, table.data, table.bytes) == 0) {
                off += table.bytes;
                result.source = source;
                result.end_off = off;
            } else {
                result.reason = HS_UNWIND_REASON_TOO_LARGE;
            }
        }
        hs_buf_deinit(&table);
        if (write(fd, &result, sizeof(result)) != (ssize_t)sizeof(result)) {
            return false;
        }
    }
    return true;
}

int hs_table_worker_start(struct hs_table_worker *worker, const struct hs_region *region,
                          const struct hs_table_request *requests, size_t count)
{
    const struct hs_symbol_options limits = { .worker_memory_bytes = MEMORY_MAX_BYTES };
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        hs_symbol_worker_settle("heapscope-unwind", &limits);
        keep_only(fds[1], region->fd);
        bool is_ok = take_rights_of(requests[0].pid) && getppid() == parent;
        _exit(is_ok && work(region, requests, count, fds[1]) ? 0 : 1);
    }
    int err = pid < 0 ? -errno : 0;
    close(fds[1]);
    if (err || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
        close(fds[0]);
        return err ? err : -EIO;
    }
    *worker = (struct hs_table_worker){ .pid = pid,
                                        .fd = fds[0],
                                        .end_ns = hs_clock_ns(CLOCK_MONOTONIC) + WORK_MAX_NS };
    return 0;
}

int hs_table_worker_next(struct hs_table_worker *worker, struct hs_table_result *ret_result)
{
    ssize_t got;
    if (worker->pid == 0) {
        return -1;
    }
    do {
        got = read(worker->fd, ret_result, sizeof(*ret_result)); /* whole ones: see pipe(7) */
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof(*ret_result)) {
        return 1;
    }
    if (got < 0 && errno == EAGAIN && hs_clock_ns(CLOCK_MONOTONIC) < worker->end_ns) {
        return 0;
    }
    hs_table_worker_stop(worker);
    return -1;
}

void hs_table_worker_stop(struct hs_table_worker *worker)
{
    if (worker->pid != 0) {
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        close(worker->fd);
        *worker = (struct hs_table_worker){ .pid = 0 };
    }
}
