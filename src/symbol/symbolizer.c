/*
 * The caller's side: starts workers, collects tables, replaces workers that die. See symbolizer.h.
 *
 * One loop waits for messages, for deaths (the end of a pipe) and for deadlines. Every request ends
 * in exactly one table: the worker's, or an empty one that states the reason.
 */
#include "symbol/symbolizer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"
#include "symbol/symbol_wire.h"
#include "symbol/symbol_worker.h"

#define WORKERS_MAX       8U
#define MODULE_TIMEOUT_MS 20000U
#define TOTAL_TIMEOUT_MS  120000U
/* With downloads. */
#define MODULE_DOWNLOAD_MS 120000U
#define TOTAL_DOWNLOAD_MS  600000U
#define REQUEST_NONE       UINT32_MAX

struct worker {
    pid_t pid; /* 0: not running */
    int fd;
    uint32_t request_idx; /* the request that it works on; REQUEST_NONE */
    uint64_t started_ms;
    bool is_timed_out; /* this process killed it */
    char *inbox;
    size_t inbox_bytes;
    size_t inbox_capacity;
};

struct run {
    struct hs_symbol_work work;
    struct hs_symbol_table *tables; /* strings NULL: there is no result yet */
    struct worker workers[WORKERS_MAX];
    size_t worker_count;
    unsigned module_timeout_ms;
    uint64_t end_ms;
    size_t answered_count;
    uint64_t done_pc_count, all_pc_count;
    enum hs_symbol_reason give_up; /* NONE: going on; else the reason for all remaining requests */
};

static uint64_t now_ms(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

static void count_answer(struct run *run, uint32_t idx)
{
    run->answered_count++;
    run->done_pc_count += run->work.requests[idx].rel_pc_count;
}

/* Stores a table that contains only a reason. */
static int answer_empty(struct run *run, uint32_t idx, enum hs_symbol_reason reason)
{
    const struct hs_symbol_request *request = &run->work.requests[idx];
    size_t path_bytes = strlen(request->path) + 1;
    struct hs_symbol_table table = {
        .reason = reason,
        .detail_off = path_bytes > 1 ? 1 : 0,
        .span_count = (uint32_t)request->rel_pc_count,
        .string_bytes = (uint32_t)path_bytes + 1,
    };
    table.spans = calloc(request->rel_pc_count + 1, sizeof(*table.spans));
    table.lines = calloc(1, sizeof(*table.lines));
    table.strings = malloc(path_bytes + 1);
    if (!table.spans || !table.lines || !table.strings) {
        hs_symbol_table_deinit(&table);
        return -ENOMEM;
    }
    table.strings[0] = '\0';
    memcpy(table.strings + 1, request->path, path_bytes);
    run->tables[idx] = table;
    count_answer(run, idx);
    return 0;
}

/* Takes one complete message. -EBADMSG for a message that a worker would not send now. */
static int take_message(struct run *run, struct worker *worker, const char *data, size_t bytes)
{
    struct hs_symbol_wire_head head;
    memcpy(&head, data, sizeof(head));
    if (head.request_idx >= run->work.count || run->tables[head.request_idx].strings) {
        return -EBADMSG;
    }
    if (head.kind == HS_SYMBOL_WIRE_BEGIN) {
        if (worker->request_idx != REQUEST_NONE) {
            return -EBADMSG;
        }
        worker->request_idx = head.request_idx;
        worker->started_ms = now_ms();
        return 0;
    }
    if (head.request_idx != worker->request_idx ||
        head.span_count != run->work.requests[head.request_idx].rel_pc_count) {
        return -EBADMSG;
    }
    int err = hs_symbol_wire_take_table(data, bytes, &run->tables[head.request_idx]);
    if (err == 0) {
        count_answer(run, head.request_idx);
        worker->request_idx = REQUEST_NONE;
    }
    return err;
}

static int take_inbox(struct run *run, struct worker *worker)
{
    size_t used = 0;
    int64_t bytes;
    int err = 0;
    while ((bytes = hs_symbol_wire_message_bytes(worker->inbox + used,
                                                 worker->inbox_bytes - used)) > 0 &&
           (uint64_t)bytes <= worker->inbox_bytes - used && err == 0) {
        err = take_message(run, worker, worker->inbox + used, (size_t)bytes);
        used += (size_t)bytes;
    }
    if (used > 0) {
        worker->inbox_bytes -= used;
        memmove(worker->inbox, worker->inbox + used, worker->inbox_bytes);
    }
    return bytes < 0 ? (int)bytes : err;
}

/* Reads what has arrived. 0: there may be more; 1: the worker is gone; -errno. */
static int receive(struct run *run, struct worker *worker)
{
    if (worker->inbox_capacity - worker->inbox_bytes < 65536) {
        size_t capacity = worker->inbox_capacity * 2 + 131072;
        char *inbox = realloc(worker->inbox, capacity);
        if (!inbox) {
            return -ENOMEM;
        }
        worker->inbox = inbox;
        worker->inbox_capacity = capacity;
    }
    ssize_t got = read(worker->fd, worker->inbox + worker->inbox_bytes,
                       worker->inbox_capacity - worker->inbox_bytes);
    if (got < 0) {
        return errno == EINTR || errno == EAGAIN ? 0 : -errno;
    }
    worker->inbox_bytes += (size_t)got;
    return got == 0 ? 1 : take_inbox(run, worker);
}

static int start_worker(struct run *run, struct worker *worker)
{
    worker->request_idx = REQUEST_NONE;
    worker->inbox_bytes = 0;
    worker->is_timed_out = false;
    return hs_symbol_worker_start(&run->work, &worker->pid, &worker->fd);
}

/* Waits for a worker that is gone or killed, and stores a table for its request. */
static int reap_worker(struct run *run, struct worker *worker)
{
    pid_t got;
    close(worker->fd);
    do {
        got = waitpid(worker->pid, NULL, 0);
    } while (got < 0 && errno == EINTR);
    worker->pid = 0;
    if (worker->request_idx == REQUEST_NONE) {
        return 0;
    }
    enum hs_symbol_reason reason = worker->is_timed_out ? HS_SYMBOL_REASON_TOO_SLOW
                                   : run->give_up != HS_SYMBOL_REASON_NONE
                                       ? run->give_up
                                       : HS_SYMBOL_REASON_BROKEN;
    uint32_t idx = worker->request_idx;
    worker->request_idx = REQUEST_NONE;
    return answer_empty(run, idx, reason);
}

static bool has_work_left(const struct run *run)
{
    return run->give_up == HS_SYMBOL_REASON_NONE && *run->work.next < run->work.count;
}

/* Handles the messages of one worker. A worker that sends invalid messages is killed. */
static int serve_worker(struct run *run, struct worker *worker)
{
    int result = receive(run, worker);
    if (result == 0) {
        return 0;
    }
    if (result < 0) {
        kill(worker->pid, SIGKILL);
    }
    int err = reap_worker(run, worker);
    if (err == 0 && result != -ENOMEM && has_work_left(run)) {
        err = start_worker(run, worker);
    }
    return result == -ENOMEM ? -ENOMEM : err;
}

/*
 * Kills workers that spend too long on one module; kills all workers when the total time is over,
 * or the caller cancels the search.
 */
static void enforce_deadlines(struct run *run)
{
    uint64_t now = now_ms();
    if (now >= run->end_ms && run->give_up == HS_SYMBOL_REASON_NONE) {
        run->give_up = HS_SYMBOL_REASON_TOO_SLOW;
    }
    const struct hs_symbol_options *options = run->work.options;
    if (run->give_up == HS_SYMBOL_REASON_NONE && options && options->is_cancelled &&
        options->is_cancelled()) {
        run->give_up = HS_SYMBOL_REASON_INTERRUPTED;
    }
    if (options && options->on_progress) {
        options->on_progress(run->done_pc_count, run->all_pc_count);
    }
    for (size_t i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        bool is_late = worker->request_idx != REQUEST_NONE &&
                       now - worker->started_ms >= run->module_timeout_ms;
        if (worker->pid != 0 && (is_late || run->give_up != HS_SYMBOL_REASON_NONE)) {
            worker->is_timed_out = is_late;
            kill(worker->pid, SIGKILL);
        }
    }
}

static int collect(struct run *run)
{
    for (;;) {
        struct pollfd polls[WORKERS_MAX];
        struct worker *polled[WORKERS_MAX];
        nfds_t count = 0;
        for (size_t i = 0; i < run->worker_count; i++) {
            if (run->workers[i].pid != 0) {
                polled[count] = &run->workers[i];
                polls[count++] = (struct pollfd){ .fd = run->workers[i].fd, .events = POLLIN };
            }
        }
        if (count == 0) {
            return 0;
        }
        int ready = poll(polls, count, 100);
        if (ready < 0 && errno != EINTR) {
            return -errno;
        }
        for (nfds_t i = 0; i < count && ready > 0; i++) {
            int err = polls[i].revents != 0 ? serve_worker(run, polled[i]) : 0;
            if (err != 0) {
                return err;
            }
        }
        enforce_deadlines(run);
    }
}

static void kill_workers(struct run *run)
{
    for (size_t i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        if (worker->pid != 0) {
            kill(worker->pid, SIGKILL);
            close(worker->fd);
            while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        free(worker->inbox);
    }
}

struct weighed {
    uint64_t weight;
    uint32_t idx;
};

static int compare_weight(const void *left, const void *right)
{
    const struct weighed *a = left;
    const struct weighed *b = right;
    return a->weight > b->weight ? -1 : a->weight < b->weight;
}

/*
 * Orders requests: large files with many addresses first, so that none of them is left for the end.
 */
static uint32_t *order_requests(const struct hs_symbol_request *requests, size_t count)
{
    uint32_t *order = malloc((count + 1) * sizeof(*order));
    struct weighed *weighed = malloc((count + 1) * sizeof(*weighed));
    if (!order || !weighed) {
        free(order);
        free(weighed);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        struct stat st;
        uint64_t file_bytes = stat(requests[i].path, &st) == 0 ? (uint64_t)st.st_size : 0;
        weighed[i].weight = file_bytes / 64 + requests[i].rel_pc_count * 1024;
        weighed[i].idx = (uint32_t)i;
    }
    qsort(weighed, count, sizeof(*weighed), compare_weight);
    for (size_t i = 0; i < count; i++) {
        order[i] = weighed[i].idx;
    }
    free(weighed);
    return order;
}

static size_t pick_worker_count(const struct hs_symbol_options *options, size_t request_count)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = options && options->worker_count ? options->worker_count
                   : cpus > 0                       ? (size_t)cpus
                                                    : 1;
    count = count < request_count ? count : request_count;
    return count < WORKERS_MAX ? count : WORKERS_MAX;
}

static int run_workers(struct run *run)
{
    int err = 0;
    for (size_t i = 0; i < run->worker_count && err == 0; i++) {
        err = start_worker(run, &run->workers[i]);
        /* A smaller number of workers is enough. */
        if (err != 0 && i > 0) {
            err = 0;
            break;
        }
    }
    if (err == 0) {
        err = collect(run);
    }
    for (size_t i = 0; i < run->work.count && err == 0; i++) {
        if (!run->tables[i].strings) {
            err = answer_empty(run, (uint32_t)i,
                               run->give_up != HS_SYMBOL_REASON_NONE ? run->give_up
                                                                     : HS_SYMBOL_REASON_BROKEN);
        }
    }
    kill_workers(run);
    return err;
}

static void set_timeouts(struct run *run, const struct hs_symbol_options *options)
{
    bool has_downloads = options && options->has_debuginfod;
    run->module_timeout_ms = options && options->module_timeout_ms ? options->module_timeout_ms
                             : has_downloads                       ? MODULE_DOWNLOAD_MS
                                                                   : MODULE_TIMEOUT_MS;
    run->end_ms = now_ms() + (options && options->total_timeout_ms ? options->total_timeout_ms
                              : has_downloads                      ? TOTAL_DOWNLOAD_MS
                                                                   : TOTAL_TIMEOUT_MS);
}

int hs_symbolizer_run(const struct hs_symbol_options *options,
                      const struct hs_symbol_request *requests, size_t count,
                      struct hs_symbol_table **ret_tables)
{
    struct run run = { .work = { .options = options, .requests = requests, .count = count } };
    if (count >= UINT32_MAX) {
        return -E2BIG;
    }
    uint32_t *order = order_requests(requests, count);
    run.work.order = order;
    run.tables = calloc(count + 1, sizeof(*run.tables));
    run.work.next = mmap(NULL, sizeof(*run.work.next), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run.worker_count = pick_worker_count(options, count);
    set_timeouts(&run, options);
    for (size_t i = 0; i < count; i++) {
        run.all_pc_count += requests[i].rel_pc_count;
    }
    int err = -ENOMEM;
    if (order && run.tables && run.work.next != MAP_FAILED) {
        err = run_workers(&run);
    }
    if (run.work.next != MAP_FAILED) {
        munmap(run.work.next, sizeof(*run.work.next));
    }
    free(order);
    if (err != 0) {
        hs_symbol_tables_free(run.tables, count);
        return err;
    }
    *ret_tables = run.tables;
    return 0;
}

void hs_symbol_tables_free(struct hs_symbol_table *tables, size_t count)
{
    for (size_t i = 0; tables && i < count; i++) {
        hs_symbol_table_deinit(&tables[i]);
    }
    free(tables);
}
