/*
 * Stores snapshots: see store_worker.h.
 */
#include "daemon/store_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "daemon/finalizer.h"
#include "daemon/worker_process.h"
#include "profile/model/symbol_packets.h"
#include "rt/clock.h"
#include "session/trace_names.h"
#include "util/buf.h"
#include "util/write_all.h"

/* Where the process's own group is not known any more. */
#define GROUP_OF_NOBODY 65534U

/* A worker at work, as the daemon sees it. */
struct hs_store_worker {
    struct hs_store_workers *workers;
    struct hs_event_source source; /* the pipe from it */
    int result_fd;
    pid_t pid;
    bool is_stored;          /* only names are missing, or it has failed */
    struct hs_stored stored; /* for the log */
};

/* What a worker has to do. */
struct task {
    const struct hs_store_workers *workers;
    const struct hs_session_settings *settings; /* of the session, or of a bound process */
    const struct hs_target_files *files;        /* of the session; NULL: none */
    const struct hs_snapshot *snap;
    struct hs_user_rights rights; /* of the user to whom it belongs; no groups */
    struct hs_stored stored;
};

/* --- the worker ------------------------------------------------------------------------------- */

static int add_to_buf(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *out = ctx;
    hs_buf_add(out, data, bytes);
    return out->err;
}

static int write_trace(const struct task *task, struct hs_buf *out)
{
    const struct hs_trace_writer_config config = {
        .sink = add_to_buf,
        .sink_ctx = out,
        .is_compressing = task->settings->is_compressing,
    };
    struct hs_trace_writer *writer = NULL;
    int r = hs_trace_writer_new(&config, &writer);
    r = r < 0 ? r : hs_trace_writer_begin(writer);
    r = r < 0 ? r : hs_trace_writer_dump(writer, task->snap);
    r = r < 0 ? r : hs_trace_writer_finish(writer);
    hs_trace_writer_free(writer);
    return r;
}

static int append_names(const struct task *task, struct hs_buf *out)
{
    const struct hs_session_settings *settings = task->settings;
    const struct hs_skipped_files skipped = { (const char *const *)settings->skipped,
                                              settings->skipped_count };
    const struct hs_trace_writer_config config = { .sink = add_to_buf, .sink_ctx = out };
    struct hs_symbol_wanted wanted = { 0 };
    struct hs_trace_writer *writer = NULL;
    struct hs_java_wanted java = { 0 };
    struct hs_trace_naming naming = { .files = task->files,
                                      .java = &java,
                                      .say = hs_daemon_log_text };
    const struct hs_jit_names no_jit = { 0 };
    int r = hs_trace_writer_new(&config, &writer);
    r = r < 0 ? r : hs_symbol_packets_add_snapshot(&wanted, task->snap, &skipped, NULL);
    if (r == 0 && hs_trace_names_wants_java()) {
        r = hs_trace_names_add_java(&java, task->snap, &no_jit);
    }
    r = r < 0 ? r : hs_trace_names_append(writer, &wanted, &naming);
    r = r < 0 ? r : hs_trace_writer_finish(writer);
    hs_trace_writer_free(writer);
    hs_symbol_wanted_deinit(&wanted);
    hs_java_wanted_deinit(&java);
    return r;
}

/* Stores the snapshot, without names, which are added to `trace` later. Returns the user's folder,
 * or -errno. */
static int store(struct task *task, struct hs_buf *trace)
{
    const struct hs_store_workers *workers = task->workers;
    int folder_fd =
        hs_store_make(workers->root, workers->is_system, task->rights.uid, task->rights.gid);
    int r = folder_fd < 0 ? folder_fd : hs_worker_process_keep_rights(&task->rights);
    r = r < 0 ? r : write_trace(task, trace);
    r = r < 0 ? r
              : hs_store_put(folder_fd, &task->stored, trace->data, trace->bytes, &workers->limits);
    return r < 0 ? r : folder_fd;
}

/* Names are no reason to fail: 'snapshots --download' can look for them, too. */
static void store_with_names(struct task *task, int folder_fd, struct hs_buf *trace)
{
    if (task->settings->is_symbolizing) {
        hs_finalizer_wait_for_turn();
        if (append_names(task, trace) == 0) {
            hs_store_replace(folder_fd, &task->stored, trace->data, trace->bytes,
                             &task->workers->limits);
        }
    }
}

static void __attribute__((noreturn)) run(struct task *task, int result_fd)
{
    const int kept[] = { result_fd, hs_finalizer_turns_fd() };
    prctl(PR_SET_NAME, "heapscope-store");
    hs_worker_process_settle_with(task->files, kept, HS_COUNT_OF(kept));
    struct hs_buf trace = HS_BUF_INIT;
    int folder_fd = store(task, &trace);
    int result = folder_fd < 0 && folder_fd != -EEXIST ? folder_fd : 0;
    hs_write_all(result_fd, &result, sizeof(result));
    if (folder_fd >= 0) {
        store_with_names(task, folder_fd, &trace);
    }
    _exit(0);
}

/* --- the daemon ------------------------------------------------------------------------------- */

static void forget(struct hs_store_worker *worker)
{
    struct hs_store_workers *workers = worker->workers;
    for (size_t i = 0; i < workers->count; i++) {
        if (workers->list[i] == worker) {
            workers->list[i] = workers->list[--workers->count];
            break;
        }
    }
    hs_event_loop_remove(workers->loop, worker->result_fd);
    close(worker->result_fd);
    free(worker);
}

static void log_failure(const struct hs_stored *stored, int error)
{
    hs_daemon_log("cannot store the snapshot '%s' of process %u (%s): %s", stored->name,
                  stored->pid, stored->process,
                  error == -EFBIG ? "it is larger than the limit (--snapshots-size)"
                                  : strerror(-error));
}

/* The first event is the result of storing, the second one the end of the worker. */
static void on_result(void *of, uint64_t now_ns)
{
    struct hs_store_worker *worker = of;
    int result = 0;
    (void)now_ns;
    ssize_t got = read(worker->result_fd, &result, sizeof(result));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    bool is_over = got != (ssize_t)sizeof(result);
    if (!worker->is_stored && (is_over || result != 0)) {
        log_failure(&worker->stored, is_over ? -EIO : result);
    }
    worker->is_stored = true;
    if (is_over) {
        waitpid(worker->pid, NULL, 0);
        forget(worker);
    }
}

static void describe(const struct hs_target *target, uid_t uid, const struct hs_snapshot *snap,
                     struct task *task)
{
    struct hs_process_facts facts;
    struct hs_proc_status status;
    pid_t pid = target->process.pid;
    bool has_group =
        uid == target->process.uid && pid > 0 && hs_proc_read_status(pid, &status) == 0;
    task->rights = (struct hs_user_rights){ .uid = geteuid() == 0 ? uid : geteuid(),
                                            .gid = has_group ? status.gid.real : GROUP_OF_NOBODY };
    task->stored.pid = snap->pid;
    /* Of the snapshot's instant: the same, whenever and by whichever daemon it is stored. */
    uint64_t age_ns = hs_clock_ns(CLOCK_MONOTONIC) - snap->time_mono_ns;
    task->stored.time_ms = (hs_clock_ns(CLOCK_REALTIME) - age_ns) / 1000000;
    task->stored.may_be_stored = snap->is_of_another_collector;
    memcpy(task->stored.name, snap->name, sizeof(task->stored.name));
    hs_process_facts_of_target(target, &facts);
    hs_match_display(&facts.facts, task->stored.process, sizeof(task->stored.process));
}

/* Forks a worker. 0 or -errno. */
static int start(struct hs_store_worker *worker, struct task *task)
{
    int ends[2];
    hs_finalizer_turns_fd(); /* the same for all workers */
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int r = hs_event_loop_add(worker->workers->loop, ends[0], &worker->source);
    if (r == 0) {
        worker->pid = fork();
        r = worker->pid < 0 ? -errno : 0;
        if (r < 0) {
            hs_event_loop_remove(worker->workers->loop, ends[0]);
        }
    }
    if (r == 0 && worker->pid == 0) {
        run(task, ends[1]);
    }
    close(ends[1]);
    if (r < 0) {
        close(ends[0]);
        return r;
    }
    worker->result_fd = ends[0];
    return 0;
}

bool hs_store_workers_have_room(const struct hs_store_workers *workers)
{
    size_t busy_count = 0;
    for (size_t i = 0; i < workers->count; i++) {
        busy_count += !workers->list[i]->is_stored;
    }
    return busy_count < HS_STORE_WORKERS_ASKED_MAX &&
           workers->count + HS_STORE_WORKERS_ASKED_MAX < HS_STORE_WORKERS_MAX;
}

void hs_store_workers_keep(struct hs_store_workers *workers, const struct hs_session *session,
                           uid_t uid, const struct hs_target *target,
                           const struct hs_snapshot *snap)
{
    static const struct hs_session_settings without_session = { .is_symbolizing = true,
                                                                .is_compressing = true };
    struct task task = { .workers = workers,
                         .settings = session ? &session->settings : &without_session,
                         .files = session ? session->files : NULL,
                         .snap = snap };
    if (!workers->root[0] || workers->limits.count_max == 0) {
        return;
    }
    describe(target, uid, snap, &task);
    struct hs_store_worker *worker = calloc(1, sizeof(*worker));
    int r = !worker ? -ENOMEM : workers->count == HS_STORE_WORKERS_MAX ? -EAGAIN : 0;
    if (r == 0) {
        *worker = (struct hs_store_worker){ .workers = workers,
                                            .source = { on_result, worker },
                                            .stored = task.stored };
        r = start(worker, &task);
    }
    if (r < 0) {
        log_failure(&task.stored, r);
        free(worker);
        return;
    }
    workers->list[workers->count++] = worker;
}

void hs_store_workers_forget_all(struct hs_store_workers *workers)
{
    while (workers->count > 0) {
        forget(workers->list[workers->count - 1]);
    }
}
