/*
 * Calls the client's entry points: see attachment.h.
 */
#include "collect/attach/attachment.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/attach/client_calls.h"
#include "collect/attach/embedded_allocator.h"
#include "collect/region/region_control.h"
#include "collect/region/region_reader.h"
#include "collect/unwind_tables/module_tables.h"
#include "inject/inject.h"
#include "util/proc.h"

#define HS_CLIENT_NAME "heapscope-client"
/* A thread that is in the recording code needs microseconds to leave it, unless it is not
 * running. */
#define HS_AGAIN_NS 1000000
#define HS_AGAIN_N  200
/* What takes longer to read comes late. */
#define HS_TABLES_MAX_NS UINT64_C(3000000000)

static void sleep_ns(long ns)
{
    const struct timespec pause = { .tv_nsec = ns };
    nanosleep(&pause, NULL);
}

static bool fail(struct hs_attachment *attachment, const char *what, const char *detail)
{
    snprintf(attachment->words, sizeof(attachment->words), "%s%s%s%s", what, *detail ? " (" : "",
             detail, *detail ? ")" : "");
    return false;
}

/* Calls an entry point once. True: *ret_value is its result. */
static bool call(const struct hs_inject_request *request, struct hs_attachment *attachment,
                 int64_t *ret_value)
{
    struct hs_inject_result result;
    int error = hs_inject_call(request, &result);
    attachment->tid = result.tid;
    attachment->try_count += result.try_count;
    attachment->was_loaded = result.was_loaded;
    attachment->is_limited = attachment->is_limited || result.is_limited;
    if (result.stopped_ns > attachment->stopped_ns) {
        attachment->stopped_ns = result.stopped_ns;
    }
    if (error) {
        return fail(attachment, hs_inject_error_words(error), result.detail);
    }
    attachment->pending.region_fd = result.fd;
    *ret_value = result.value;
    return true;
}

static const char *message_of(int64_t value)
{
    switch (-value) {
    case ENOTSUP:
        return "its malloc is that of a sanitizer or of valgrind, or it runs in an emulator: "
               "profile it without them";
    case ENOMEM:
        return "it has no memory or address space left for heapscope's tables: see its RLIMIT_AS";
    case EMFILE:
    case ENFILE:
        return "it has no descriptor left: see its RLIMIT_NOFILE";
    case EFBIG:
        return "its RLIMIT_FSIZE leaves no room for heapscope's tables";
    case EAGAIN:
        return "at each attempt, one of its threads was in the middle of a fork: try again";
    case EINVAL:
        return "the heapscope client in it is of another version: restart the program";
    default:
        return strerror((int)-value);
    }
}

/* Is the collector that recorded the process last still alive? */
static bool is_collector_alive(const struct hs_attach_v1 *args, pid_t own_pid)
{
    struct hs_proc_stat stat;
    if (args->collector_pid == (uint32_t)own_pid) {
        return false;
    }
    return args->collector_pid == 0 ||
           (hs_proc_read_stat((pid_t)args->collector_pid, &stat) == 0 &&
            stat.start_ticks == args->collector_start_ticks && stat.state != 'Z');
}

static bool fail_busy(struct hs_attachment *attachment, const struct hs_attach_v1 *args)
{
    char words[200];
    attachment->is_held = true;
    if (args->collector_pid == 0) {
        return fail(attachment,
                    "it is being profiled already; if it records without a session, start "
                    "heapscoped, and take its heap with 'heapscope snapshot'",
                    "");
    }
    snprintf(words, sizeof(words),
             "it is being profiled already, by process %u; wait for that, stop it, or, if it is "
             "heapscoped, ask it with 'heapscope start'",
             args->collector_pid);
    return fail(attachment, words, "");
}

/* Writes down which process this collector is, so that others can find out whether it is still
 * alive. */
static void write_collector_id(pid_t own_pid, struct hs_attach_v1 *args)
{
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(own_pid, &stat) == 0) {
        args->collector_pid = (uint32_t)own_pid;
        args->collector_start_ticks = stat.start_ticks;
    }
}

static bool prepare(const struct hs_attachment_request *request, struct hs_attach_v1 *ret_args)
{
    *ret_args = (struct hs_attach_v1){ .attach_bytes = sizeof(*ret_args),
                                       .interval_bytes = request->interval_bytes,
                                       .seed = request->seed,
                                       .region_fd = -1 };
    write_collector_id(request->own_pid, ret_args);
    if (request->heaps) {
        hs_heap_selection_text(request->heaps, ret_args->heaps);
    }
    if (request->collector) {
        size_t bytes = strlen(request->collector) + 1;
        if (bytes > sizeof(ret_args->collector)) {
            return false;
        }
        memcpy(ret_args->collector, request->collector, bytes);
        ret_args->flags |= request->is_following ? HS_ATTACH_FOLLOW : 0U;
    }
    return true;
}

void hs_attachment_find_process(struct hs_pending_client *pending)
{
    pending->pidfd = (int)syscall(SYS_pidfd_open, pending->pid, 0);
    pending->is_gone = pending->pidfd < 0 && (errno == ESRCH || errno == EINVAL);
}

static void take_answers(const struct hs_attach_v1 *args, struct hs_attachment *attachment)
{
    struct hs_pending_client *pending = &attachment->pending;
    attachment->slot_count = args->slot_count;
    attachment->left_count = args->left_count;
    attachment->was_preloaded = !(args->hello_flags & HS_HELLO_LATE);
    pending->hello = (struct hs_hello_v1){ .magic = HS_HELLO_MAGIC,
                                           .version = HS_HELLO_VERSION,
                                           .hello_bytes = sizeof(pending->hello),
                                           .pid = (uint32_t)pending->pid,
                                           .flags = args->hello_flags,
                                           .region_bytes = args->region_bytes };
    hs_attachment_find_process(pending);
}

static void note_entries(const struct hs_embedded_allocator *own, struct hs_attachment *attachment)
{
    attachment->entry_count += own->changed_count;
    if (own->changed_count > 0) {
        attachment->all_stopped_ns = own->stopped_ns;
        attachment->thread_count = own->thread_count;
    }
}

static bool begin(const struct hs_attachment_request *request, struct hs_attach_v1 *args,
                  struct hs_attachment *ret_attachment)
{
    struct hs_inject_request inject = { .pid = request->pid,
                                        .library_path = request->client_path,
                                        .library_name = HS_CLIENT_NAME,
                                        .symbol = HS_ATTACH_ENTRY,
                                        .arg = args,
                                        .arg_bytes = sizeof(*args),
                                        .fetch_fd_off = offsetof(struct hs_attach_v1, region_fd),
                                        .patience_ns = request->patience_ns };
    int64_t value = -EAGAIN;
    hs_client_calls_attach(&inject);
    for (unsigned i = 0; value == -EAGAIN && i <= HS_AGAIN_N; i++) {
        if (i > 0) {
            sleep_ns(HS_AGAIN_NS);
        }
        args->flags |= i == HS_AGAIN_N ? HS_ATTACH_IMPATIENT : 0;
        if (!call(&inject, ret_attachment, &value)) {
            return false;
        }
        inject.wants.threads.count = 0; /* all threads have been checked */
        if (value == -EBUSY && !(args->flags & HS_ATTACH_TAKE_OVER) &&
            !is_collector_alive(args, request->own_pid)) {
            args->flags |= HS_ATTACH_TAKE_OVER;
            write_collector_id(request->own_pid, args); /* the client's answer has overwritten it */
            value = -EAGAIN;
        }
    }
    if (value == -EBUSY) {
        return fail_busy(ret_attachment, args);
    }
    if (value != 0) {
        return fail(ret_attachment, message_of(value), "");
    }
    take_answers(args, ret_attachment);
    return true;
}

/* The client waits with recording until it has the tables. */
static void hand_over_tables(const struct hs_attachment_request *request,
                             struct hs_module_tables *tables,
                             const struct hs_attachment *attachment)
{
    const struct hs_pending_client *pending = &attachment->pending;
    struct hs_region region;
    struct hs_heap_page heaps;
    int fd = fcntl(pending->region_fd, F_DUPFD_CLOEXEC, 3);
    if (fd >= 0 && hs_region_open(fd, pending->hello.region_bytes, &region, NULL) < 0) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        return; /* the session will not be able to open it either */
    }
    hs_module_tables_start(tables, &region, request->pid);
    hs_module_tables_wait(tables, &region, HS_TABLES_MAX_NS);
    hs_region_control_get_heaps(&region, &heaps);
    hs_region_control_begin(&region, request->interval_bytes, &heaps);
    hs_region_close(&region);
}

/* Attaches. If modules of the process need unwind tables, it has them before its first sample. */
static bool begin_with_tables(const struct hs_attachment_request *request,
                              struct hs_attach_v1 *args, struct hs_attachment *ret_attachment)
{
    struct hs_module_tables tables = { .count = 0 };
    hs_module_tables_scan(&tables, request->pid);
    bool has_needs = hs_module_tables_has_needs(&tables);
    args->flags |= has_needs ? HS_ATTACH_PAUSED : 0U;
    bool is_ok = begin(request, args, ret_attachment);
    if (is_ok && has_needs) {
        hand_over_tables(request, &tables, ret_attachment);
    }
    hs_module_tables_deinit(&tables);
    return is_ok;
}

/* First redirects an embedded allocator: once something is recorded, all calls that free it must be
 * seen. */
bool hs_attachment_begin(const struct hs_attachment_request *request,
                         struct hs_attachment *ret_attachment)
{
    struct hs_attach_v1 args;
    struct hs_proc_status status;
    struct hs_embedded_allocator own, unused;
    *ret_attachment =
        (struct hs_attachment){ .pending = { .pid = request->pid, .region_fd = -1, .pidfd = -1 } };
    if (!prepare(request, &args) || hs_proc_read_status(request->pid, &status) < 0) {
        return fail(ret_attachment, "there is no such process", "");
    }
    ret_attachment->pending.uid = status.uid.real;
    if (!hs_embedded_allocator_redirect(request->pid, request->client_path, HS_CLIENT_NAME,
                                        request->allocator, request->patience_ns, &own)) {
        return fail(ret_attachment, own.words, "");
    }
    bool is_ok = begin_with_tables(request, &args, ret_attachment);
    if (!is_ok && own.changed_count > 0) {
        hs_embedded_allocator_release(request->pid, request->patience_ns, &unused);
    }
    note_entries(&own, ret_attachment);
    return is_ok;
}

bool hs_attachment_try(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment)
{
    struct hs_attach_v1 args = { .attach_bytes = sizeof(args) };
    struct hs_inject_request inject = { .pid = pid,
                                        .symbol = HS_ATTACH_ENTRY,
                                        .arg = &args,
                                        .arg_bytes = sizeof(args),
                                        .fetch_fd_off = -1,
                                        .patience_ns = patience_ns,
                                        .is_trial = true };
    int64_t value = 0;
    hs_client_calls_attach(&inject);
    *ret_attachment =
        (struct hs_attachment){ .pending = { .pid = pid, .region_fd = -1, .pidfd = -1 } };
    return call(&inject, ret_attachment, &value);
}

bool hs_attachment_refresh(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment)
{
    struct hs_refresh_v1 args = { .refresh_bytes = sizeof(args) };
    struct hs_inject_request inject = { .pid = pid,
                                        .symbol = HS_REFRESH_ENTRY,
                                        .arg = &args,
                                        .arg_bytes = sizeof(args),
                                        .fetch_fd_off = -1,
                                        .patience_ns = patience_ns };
    int64_t value;
    hs_client_calls_again(&inject);
    *ret_attachment =
        (struct hs_attachment){ .pending = { .pid = pid, .region_fd = -1, .pidfd = -1 } };
    if (!call(&inject, ret_attachment, &value)) {
        return false;
    }
    ret_attachment->slot_count = args.slot_count;
    ret_attachment->left_count = args.left_count;
    return value == 0 || fail(ret_attachment, "it is not being recorded", "");
}

bool hs_attachment_end(pid_t pid, uint64_t patience_ns, struct hs_attachment *ret_attachment)
{
    struct hs_detach_v1 args = { .detach_bytes = sizeof(args) };
    struct hs_inject_request inject = { .pid = pid,
                                        .symbol = HS_DETACH_ENTRY,
                                        .arg = &args,
                                        .arg_bytes = sizeof(args),
                                        .fetch_fd_off = -1,
                                        .patience_ns = patience_ns };
    int64_t value = 0;
    hs_client_calls_again(&inject);
    *ret_attachment =
        (struct hs_attachment){ .pending = { .pid = pid, .region_fd = -1, .pidfd = -1 } };
    for (unsigned i = 0; i < HS_AGAIN_N && value == 0 && !args.was_quiet; i++) {
        if (i > 0) {
            sleep_ns(HS_AGAIN_NS);
        }
        if (!call(&inject, ret_attachment, &value)) {
            return false;
        }
        ret_attachment->slot_count += args.slot_count;
    }
    struct hs_embedded_allocator own;
    bool is_ok = hs_embedded_allocator_release(pid, patience_ns, &own);
    note_entries(&own, ret_attachment);
    if (!is_ok) {
        return fail(ret_attachment, own.words, "");
    }
    return value == 0 || fail(ret_attachment, "it is not attached to", "");
}
