/*
 * Launching, relaying, and the policy of the program's end: see program_run.h.
 */
#include "session/program_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/attach/embedded_allocator.h"
#include "collect/launch.h"
#include "collect/relay.h"
#include "rt/check.h"
#include "rt/clock.h"
#include "util/fd_limit.h"

/* The time for children that are about to end with the program, for example the other end of its
 * pipe. */
#define HS_GRACE_NS       UINT64_C(200000000)
#define HS_GRACE_STEP_NS  UINT64_C(10000000)
#define HS_WIND_UP_MAX_NS UINT64_C(10000000000)
#define HS_CATCH_UP_TURNS 64
/* The time for threads to leave code that is to be changed, in a program that is starting: mostly
 * there is one thread, and it waits. */
#define HS_REDIRECT_MAX_NS UINT64_C(500000000)

struct hs_program_run {
    struct hs_program_run_config config;
    struct hs_launch launch;
    struct hs_hub *hub;
    struct hs_session *session; /* NULL: the program does not run yet */
    struct hs_relay relay;
    pid_t pid;
    bool has_ended; /* the program has ended */
    /* it has executed another program: the kernel's figures are about several images */
    bool has_root_executed;
    enum hs_exit_kind exit_kind;
    int exit_value;
    /* the program's newest image that has ended; it may be the last one */
    struct hs_target *root_last;
    bool has_root_image;
    bool has_others;        /* processes other than the program announced themselves */
    bool had_children;      /* the program had children, and waited for one */
    bool is_time_over;      /* the session's duration ended before the program */
    uint64_t running_count; /* processes that run on unrecorded */
    char own_malloc_why[384];
};

static uint64_t now_ns(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC);
}

/* --- images of the program that end ----------------------------------------------------------- */

/* The program's peak RSS as the kernel knows it, or 0. The kernel keeps it until the program is
 * waited for. The same number covers its children, and the copy of heapscope that executed it.
 * (heapscope's own ru_maxrss is no bound for that copy: it includes the process that executed
 * heapscope.) */
static uint64_t peak_of_program(const struct hs_program_run *run)
{
    struct rusage program = { 0 };
    struct hs_proc_status ours;
    struct hs_proc_identity identity;
    struct hs_counters unused = { 0 };
    siginfo_t info = { 0 };
    if (syscall(SYS_waitid, P_PID, run->pid, &info, WEXITED | WNOHANG | WNOWAIT, &program) != 0 ||
        info.si_pid != run->pid || hs_proc_read_status(getpid(), &ours) < 0 ||
        hs_proc_read_counters("/proc", run->pid, &unused, &identity) < 0 ||
        identity.child_faults != 0) {
        return 0;
    }
    uint64_t peak_bytes = (uint64_t)program.ru_maxrss * 1024;
    return peak_bytes > ours.vm_hwm_bytes ? peak_bytes : 0;
}

static void finish_root(struct hs_program_run *run, struct hs_target *target)
{
    if (run->has_ended && !run->has_root_executed) {
        uint64_t kernel_bytes = peak_of_program(run);
        if (kernel_bytes > target->process.rss_peak_bytes) {
            target->process.rss_peak_bytes = kernel_bytes;
        }
    }
    hs_hub_finish_target(run->hub, target);
}

static void finish_root_last(struct hs_program_run *run)
{
    struct hs_target *target = run->root_last;
    run->root_last = NULL;
    if (target) {
        finish_root(run, target);
    }
}

/* The final snapshot of the program itself waits until its exit status is known, or until a newer
 * image shows that it was not the last. That of an image which executed another program is taken at
 * once, before the first of the newer image: a file holds the images of a process one after the
 * other. */
static bool keep_back(void *ctx, struct hs_target *target)
{
    struct hs_program_run *run = ctx;
    if (target->process.pid != run->pid) {
        return false;
    }
    run->has_root_executed |= run->root_last || target->process.exit_kind == HS_EXIT_EXECUTED;
    if (target->process.exit_kind == HS_EXIT_EXECUTED ||
        (run->root_last && hs_target_is_older(target, run->root_last))) {
        finish_root(run, target);
    } else {
        finish_root_last(run);
        run->root_last = target;
    }
    return true;
}

/* --- the hub's questions ---------------------------------------------------------------------- */

static void on_waiting(void *ctx, struct hs_pending_client *pending, int connection_fd)
{
    struct hs_program_run *run = ctx;
    struct hs_embedded_allocator own;
    if (hs_embedded_allocator_redirect_waiting(pending->pid, connection_fd, HS_REDIRECT_MAX_NS,
                                               &own)) {
        pending->hello.flags &= ~(uint32_t)HS_HELLO_OWN_MALLOC;
        return;
    }
    snprintf(run->own_malloc_why, sizeof(run->own_malloc_why), "%s", own.words);
    if (run->config.on_unseen) {
        run->config.on_unseen(run->config.ctx, pending->pid, own.words);
    }
}

static void on_change(void *ctx, struct hs_target *target)
{
    struct hs_program_run *run = ctx;
    run->has_others |= target->process.pid != run->pid;
}

static void on_look(void *ctx, const struct hs_target *target)
{
    const struct hs_program_run *run = ctx;
    run->config.on_look(run->config.ctx, target);
}

static void on_peer(void *ctx, int connection_fd)
{
    const struct hs_program_run *run = ctx;
    run->config.on_peer(run->config.ctx, connection_fd);
}

/* The session is over before its program, as its duration has passed: the processes go on
 * unrecorded, and their descriptors are needed no more. */
static void on_over(void *ctx, struct hs_session *session)
{
    struct hs_program_run *run = ctx;
    if (!run->has_ended && session->error == 0) {
        run->is_time_over = true;
        run->has_root_image = true; /* if there was none, the program is not to blame */
        run->running_count = hs_hub_leave_running(run->hub);
        finish_root_last(run);
    }
}

/* --- start and end ---------------------------------------------------------------------------- */

static int open_hub(struct hs_program_run *run)
{
    struct hs_hub_config config = { .keep_back = keep_back,
                                    .on_change = on_change,
                                    .on_waiting = on_waiting,
                                    .on_look = run->config.on_look ? on_look : NULL,
                                    .on_peer = run->config.on_peer ? on_peer : NULL,
                                    .on_over = on_over,
                                    .is_taking_hidden = true,
                                    .ctx = run };
    int r = hs_listener_open(&config.listener);
    return r < 0 ? r : hs_hub_new(&config, &run->hub);
}

int hs_program_run_new(const struct hs_program_run_config *config, struct hs_program_run **ret_run)
{
    struct hs_program_run *run = calloc(1, sizeof(*run));
    if (!run) {
        return -ENOMEM;
    }
    run->config = *config;
    run->relay.fd = -1;
    int r = open_hub(run);
    if (r == 0) {
        const struct hs_launch_spec spec = { .path = config->path,
                                             .argv = config->argv,
                                             .preload_path = config->preload_path,
                                             .collector_name = run->hub->registry.listener.name,
                                             .interval_bytes = config->interval_bytes,
                                             .heaps = config->heaps,
                                             .is_following = config->is_following };
        r = hs_launch_fork(&spec, &run->launch);
    }
    if (r < 0) {
        hs_program_run_free(run);
        return r;
    }
    run->pid = run->launch.pid;
    *ret_run = run;
    return 0;
}

pid_t hs_program_run_pid(const struct hs_program_run *run)
{
    return run->pid;
}

struct hs_registry *hs_program_run_registry(struct hs_program_run *run)
{
    return &run->hub->registry;
}

struct hs_program_run *hs_program_run_free(struct hs_program_run *run)
{
    if (run) {
        hs_relay_stop(&run->relay);
        hs_launch_deinit(&run->launch);
        hs_target_close(run->root_last);
        hs_hub_free(run->hub);
        free(run);
    }
    return NULL;
}

/* --- while it runs ---------------------------------------------------------------------------- */

/* Reads the program's stops and its end. It stays a zombie until all hellos are read: the kernel
 * tells about a socket's peer only while it knows the process. */
static void wait_for_program(struct hs_program_run *run)
{
    siginfo_t info = { 0 };
    while (!run->has_ended &&
           waitid(P_PID, (id_t)run->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == run->pid) {
        if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
            info.si_code == CLD_DUMPED) {
            run->has_ended = true;
            run->exit_kind = info.si_code == CLD_EXITED ? HS_EXIT_CODE : HS_EXIT_SIGNAL;
            run->exit_value = info.si_status;
            struct hs_proc_stat stat;
            run->had_children =
                hs_proc_read_stat(run->pid, &stat) == 0 && stat.child_fault_count > 0;
        } else {
            /* Only the stop is reaped: the program may have ended meanwhile. */
            info.si_pid = 0;
            if (waitid(P_PID, (id_t)run->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
                hs_relay_stop_with(&run->relay, run->pid, info.si_status);
            }
        }
        info.si_pid = 0;
    }
}

static void wait_for_news(const struct hs_program_run *run, uint64_t until_ns)
{
    struct pollfd fds[] = {
        { .fd = hs_hub_fd(run->hub), .events = POLLIN },
        { .fd = run->relay.fd, .events = POLLIN },
    };
    uint64_t now = now_ns();
    const struct timespec timeout = hs_clock_timespec(until_ns > now ? until_ns - now : 0);
    ppoll(fds, 2, until_ns == UINT64_MAX ? NULL : &timeout, NULL);
}

static void record(struct hs_program_run *run)
{
    while (!run->has_ended) {
        uint64_t until = hs_hub_turn(run->hub, now_ns());
        if (run->config.on_turn) {
            uint64_t turn_ns = run->config.on_turn(run->config.ctx, now_ns());
            until = turn_ns < until ? turn_ns : until;
        }
        if (run->is_time_over) {
            hs_hub_leave_running(run->hub); /* those that have started since */
        }
        if (run->relay.is_dump_asked) {
            run->relay.is_dump_asked = false;
            hs_hub_dump_all(run->hub, now_ns());
        }
        wait_for_news(run, until);
        if (hs_relay_read(&run->relay, run->pid)) {
            wait_for_program(run);
        }
    }
}

/* --- after the program's end ------------------------------------------------------------------ */

static bool has_news(const struct hs_program_run *run)
{
    struct pollfd fd = { .fd = hs_hub_fd(run->hub), .events = POLLIN };
    return poll(&fd, 1, 0) > 0;
}

/* Handles what has happened until now. This is bounded, because more may happen all the time. */
static void catch_up(struct hs_program_run *run)
{
    struct hs_registry *registry = &run->hub->registry;
    for (unsigned i = 0; i < HS_CATCH_UP_TURNS && (i == 0 || has_news(run)); i++) {
        hs_registry_turn(registry, now_ns());
    }
    /* The program is known to have ended, so each of its images has ended, too. */
    hs_registry_end(registry, run->pid, now_ns(), HS_EXIT_UNKNOWN, 0);
}

/* Takes all other final snapshots. Returns how many processes run on. */
static uint64_t wind_up(struct hs_program_run *run)
{
    const struct hs_registry *registry = &run->hub->registry;
    uint64_t begin = now_ns();
    uint64_t running_count = 0;
    catch_up(run);
    while (registry->target_count > 0 && now_ns() < begin + HS_GRACE_NS) {
        wait_for_news(run, now_ns() + HS_GRACE_STEP_NS);
        hs_relay_read(&run->relay, 0);
        catch_up(run);
    }
    /* If descriptors ran out, some hellos still wait: each round makes room for more. */
    do {
        running_count += hs_hub_leave_running(run->hub);
        catch_up(run);
    } while (registry->target_count > 0 && now_ns() < begin + HS_WIND_UP_MAX_NS);
    running_count += hs_hub_leave_running(run->hub);
    if (run->root_last) {
        run->has_root_image = true;
        run->root_last->process.exit_kind = run->exit_kind;
        run->root_last->process.exit_value = run->exit_value;
        finish_root_last(run);
    }
    if (!run->session->is_over) {
        hs_hub_stop(run->hub, run->session, now_ns());
    }
    return running_count;
}

static void fill_result(const struct hs_program_run *run, uint64_t running_count,
                        struct hs_program_run_result *ret_result)
{
    const struct hs_registry *registry = &run->hub->registry;
    *ret_result = (struct hs_program_run_result){
        .exit_kind = run->exit_kind,
        .exit_value = run->exit_value,
        .has_root_image = run->has_root_image,
        /* Children that start after the time is over are not recorded. */
        .has_silent_children =
            run->had_children && !run->has_others && !run->is_time_over && run->config.is_following,
        .is_time_over = run->is_time_over,
        .image_count = registry->image_count,
        .running_count = running_count,
        .unseen_count = registry->unseen_count,
        .stranger_count = registry->stranger_count,
        .bad_count = run->hub->unreadable_count + registry->bad_count,
        .bad_why = run->hub->unreadable_why ? run->hub->unreadable_why : registry->bad_why,
        .own_malloc_count = registry->own_malloc_count,
    };
    snprintf(ret_result->own_malloc_why, sizeof(ret_result->own_malloc_why), "%s",
             run->own_malloc_why);
}

int hs_program_run_prepare(struct hs_program_run *run, struct hs_session *session)
{
    int r = hs_relay_start(&run->relay);
    if (r < 0) {
        return r;
    }
    hs_fd_limit_raise();
    run->relay.is_usr1_ours = run->config.is_dumping_at_usr1;
    r = hs_hub_start(run->hub, session, now_ns(), NULL, NULL);
    if (r == 0) {
        run->session = session;
    }
    return r;
}

int hs_program_run_go(struct hs_program_run *run, struct hs_program_run_result *ret_result)
{
    HS_ASSERT(run->session);
    int r = hs_launch_go(&run->launch);
    if (r < 0) {
        hs_hub_stop(run->hub, run->session, now_ns());
        return r;
    }
    hs_session_begin_recording(run->session, now_ns());
    record(run);
    uint64_t running_count = wind_up(run);
    waitpid(run->pid, NULL, 0);
    fill_result(run, run->is_time_over ? run->running_count : running_count, ret_result);
    return 0;
}
