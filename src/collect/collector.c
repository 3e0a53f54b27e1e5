/*
 * The collector's loop: see collector.h.
 */
#include "collect/collector.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/launch.h"
#include "collect/attach/embedded_allocator.h"
#include "collect/registry.h"
#include "collect/relay.h"
#include "collect/target_budget.h"
#include "rt/clock.h"

#define HS_TURN_MAX_NS UINT64_C(1000000000)
/* The time for children that are about to end with the program, for example the other end of its
 * pipe. */
#define HS_GRACE_NS       UINT64_C(200000000)
#define HS_GRACE_STEP_NS  UINT64_C(10000000)
#define HS_WIND_UP_MAX_NS UINT64_C(10000000000)
#define HS_CATCH_UP_TURNS 64
/* The time for threads to leave code that is to be changed, in a program that is starting: mostly
 * there is one thread, and it waits. */
#define HS_LEAD_NS UINT64_C(500000000)

struct hs_collector {
    struct hs_collector_config config;
    struct hs_launch launch;
    struct hs_registry registry;
    struct hs_relay relay;
    struct hs_sources *sources; /* NULL: heaps only */
    pid_t pid;
    bool has_ended; /* the program has ended */
    /* it has executed another program: the kernel's figures are about several images */
    bool has_root_executed;
    enum hs_exit_kind exit_kind;
    int exit_value;
    /* the program's newest image that has ended; it may be the last one */
    struct hs_target *root_last;
    bool has_root_image;
    bool has_others;   /* processes other than the program announced themselves */
    bool had_children; /* the program had children, and waited for one */
    int sink_error;
    uint64_t next_dump_ns; /* UINT64_MAX: no dump is scheduled */
    uint64_t over_ns;      /* when recording ends; UINT64_MAX: when the program ends */
    bool is_over;
    uint64_t running_count; /* processes that run on unrecorded */
    struct hs_cpu_budget cpu;
    uint64_t cpu_start_ns;
    uint64_t ended_sample_count;
    uint64_t bad_count;
    const char *bad_why;
    char own_malloc_why[384];
};

static uint64_t now_ns(void)
{
    return hs_clock_ns(CLOCK_MONOTONIC);
}

static void fail_sink(struct hs_collector *c, int error)
{
    c->sink_error = error;
    for (size_t i = 0; i < c->registry.target_count; i++) {
        hs_target_end_session(c->registry.targets[i]);
    }
}

static void dump(struct hs_collector *c, struct hs_target *target, bool is_final)
{
    struct hs_snapshot *snap;
    if (c->sink_error || c->is_over) {
        return;
    }
    if (!target->has_ended) {
        hs_sources_dump(c->sources, &target->source, target->pid, now_ns(), is_final);
    }
    int r = hs_target_capture(target, now_ns(), is_final, &snap);
    if (r < 0) {
        c->bad_count += !target->has_failed; /* counts processes, not snapshots */
        target->has_failed = true;
        c->bad_why = r == -ENOMEM ? "there was not enough memory to read it"
                                  : "its recorded data is not valid";
    } else {
        r = c->config.sink(c->config.sink_ctx, snap);
        hs_snapshot_free(snap);
        if (r < 0) {
            fail_sink(c, r);
        }
    }
}

/* The program's peak RSS as the kernel knows it, or 0. The kernel keeps it until the program is
 * waited for. The same number covers its children, and the copy of heapscope that executed it.
 * (heapscope's own ru_maxrss is no bound for that copy: it includes the process that executed
 * heapscope.) */
static uint64_t peak_of_program(const struct hs_collector *c)
{
    struct rusage program = { 0 };
    struct hs_proc_status ours;
    struct hs_proc_identity identity;
    struct hs_counters unused = { 0 };
    siginfo_t info = { 0 };
    if (syscall(SYS_waitid, P_PID, c->pid, &info, WEXITED | WNOHANG | WNOWAIT, &program) != 0 ||
        info.si_pid != c->pid || hs_proc_read_status(getpid(), &ours) < 0 ||
        hs_proc_read_counters("/proc", c->pid, &unused, &identity) < 0 ||
        identity.child_faults != 0) {
        return 0;
    }
    uint64_t peak_bytes = (uint64_t)program.ru_maxrss * 1024;
    return peak_bytes > ours.vm_hwm_bytes ? peak_bytes : 0;
}

static void end_counters(struct hs_collector *c, struct hs_target *target)
{
    if (target->pid == c->pid && c->has_ended && !c->has_root_executed) {
        uint64_t kernel_bytes = peak_of_program(c);
        if (kernel_bytes > target->rss_peak_bytes) {
            target->rss_peak_bytes = kernel_bytes;
        }
    }
    uint64_t end_ns = target->has_ended ? target->end_ns : now_ns();
    target->source = hs_sources_end(c->sources, target->source, end_ns, &target->rss_peak_bytes);
}

static void finish_target(struct hs_collector *c, struct hs_target *target)
{
    c->has_others |= target->pid != c->pid;
    end_counters(c, target);
    dump(c, target, true);
    c->ended_sample_count += hs_target_sample_count(target);
    hs_target_close(target);
}

/* The final snapshot of the program itself waits until its exit status is known, or until a newer
 * image shows that it was not the last. That of an image which executed another program is taken at
 * once, before the first of the newer image: a file holds the images of a process one after the
 * other. */
static void keep_root(struct hs_collector *c, struct hs_target *target)
{
    c->has_root_executed |= c->root_last || target->exit_kind == HS_EXIT_EXECUTED;
    if (target->exit_kind == HS_EXIT_EXECUTED ||
        (c->root_last && hs_target_is_older(target, c->root_last))) {
        finish_target(c, target);
        return;
    }
    if (c->root_last) {
        finish_target(c, c->root_last);
    }
    c->root_last = target;
}

static void on_end(void *ctx, struct hs_target *target)
{
    struct hs_collector *c = ctx;
    if (target->pid == c->pid) {
        keep_root(c, target);
    } else {
        finish_target(c, target);
    }
}

static void on_waiting(void *ctx, struct hs_pending_client *pending, int connection_fd)
{
    struct hs_collector *c = ctx;
    struct hs_embedded_allocator own;
    if (hs_embedded_allocator_redirect_waiting(pending->pid, connection_fd, HS_LEAD_NS, &own)) {
        pending->hello.flags &= ~(uint32_t)HS_HELLO_OWN_MALLOC;
        return;
    }
    snprintf(c->own_malloc_why, sizeof(c->own_malloc_why), "%s", own.words);
    if (c->config.on_unseen) {
        c->config.on_unseen(c->config.unseen_ctx, pending->pid, own.words);
    }
}

static void on_peer(void *ctx, int connection_fd)
{
    const struct hs_collector *c = ctx;
    c->config.on_peer(c->config.peer_ctx, connection_fd);
}

int hs_collector_new(const struct hs_collector_config *config, struct hs_collector **ret_collector)
{
    struct hs_collector *c = calloc(1, sizeof(*c));
    if (!c) {
        return -ENOMEM;
    }
    c->config = *config;
    c->relay.fd = -1;
    c->registry.epoll_fd = -1;
    c->registry.listener.fd = -1;
    struct hs_registry_config registry = { .on_end = on_end,
                                           .on_waiting = on_waiting,
                                           .on_peer = config->on_peer ? on_peer : NULL,
                                           .ctx = c };
    int r = hs_listener_open(&registry.listener);
    if (r == 0) {
        r = hs_registry_open_with(&c->registry, &registry);
    }
    if (r == 0) {
        const struct hs_launch_spec spec = { .path = config->path,
                                             .argv = config->argv,
                                             .preload_path = config->preload_path,
                                             .collector_name = c->registry.listener.name,
                                             .interval_bytes = config->interval_bytes,
                                             .is_following = config->is_following };
        r = hs_launch_fork(&spec, &c->launch);
    }
    if (r < 0) {
        hs_collector_free(c);
        return r;
    }
    c->pid = c->launch.pid;
    *ret_collector = c;
    return 0;
}

pid_t hs_collector_pid(const struct hs_collector *collector)
{
    return collector->pid;
}

void hs_collector_set_sources(struct hs_collector *collector, struct hs_sources *sources)
{
    collector->sources = sources;
}

struct hs_registry *hs_collector_registry(struct hs_collector *collector)
{
    return &collector->registry;
}

uint64_t hs_collector_ended_sample_count(const struct hs_collector *collector)
{
    return collector->ended_sample_count;
}

struct hs_collector *hs_collector_free(struct hs_collector *collector)
{
    if (collector) {
        hs_relay_stop(&collector->relay);
        hs_launch_deinit(&collector->launch);
        hs_target_close(collector->root_last);
        hs_registry_close(&collector->registry);
        free(collector);
    }
    return NULL;
}

/* Each running process needs two descriptors. */
static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Reads the program's stops and its end. It stays a zombie until all hellos are read: the kernel
 * tells about a socket's peer only while it knows the process. */
static void wait_for_program(struct hs_collector *c)
{
    siginfo_t info = { 0 };
    while (!c->has_ended &&
           waitid(P_PID, (id_t)c->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == c->pid) {
        if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
            info.si_code == CLD_DUMPED) {
            c->has_ended = true;
            c->exit_kind = info.si_code == CLD_EXITED ? HS_EXIT_CODE : HS_EXIT_SIGNAL;
            c->exit_value = info.si_status;
            struct hs_proc_stat stat;
            c->had_children = hs_proc_read_stat(c->pid, &stat) == 0 && stat.child_fault_count > 0;
        } else {
            /* Only the stop is reaped: the program may have ended meanwhile. */
            info.si_pid = 0;
            if (waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
                hs_relay_stop_with(&c->relay, c->pid, info.si_status);
            }
        }
        info.si_pid = 0;
    }
}

/* Other processes' CPU time counts as if the collector had used it. */
void hs_collector_add_cpu(struct hs_collector *c, uint64_t cpu_ns)
{
    c->cpu_start_ns -= cpu_ns;
}

static void keep_cpu_budget(struct hs_collector *c, uint64_t now)
{
    uint64_t used_ns =
        c->cpu.limit_ns ? hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - c->cpu_start_ns : 0;
    if (!hs_cpu_budget_decide(&c->cpu, used_ns)) {
        return;
    }
    for (size_t i = 0; i < c->registry.target_count; i++) {
        hs_target_spare_collector(c->registry.targets[i], &c->cpu, now);
    }
    if (c->config.dumps.every_ns > 0) {
        uint64_t every_ns = hs_cpu_budget_stretch_ns(&c->cpu, c->config.dumps.every_ns);
        c->next_dump_ns = every_ns ? now + every_ns : UINT64_MAX;
    }
}

static uint64_t keep_budget(const struct hs_collector *c, struct hs_target *target, uint64_t now)
{
    const struct hs_budget_limits *limits = &c->config.limits;
    if (limits->memory_bytes == 0 && limits->overhead_ppm == 0 && limits->cpu_ns == 0) {
        return UINT64_MAX;
    }
    hs_target_set_budget(target, limits, c->config.interval_bytes);
    return hs_target_keep_budget(target, now);
}

/* Handles dumps, RSS and budgets of all targets. Returns when to do so again. */
static uint64_t keep_time(struct hs_collector *c, uint64_t now)
{
    struct hs_dump_schedule schedule = c->config.dumps;
    schedule.every_ns = hs_cpu_budget_stretch_ns(&c->cpu, schedule.every_ns);
    uint64_t next = now + (hs_dump_has_limits(&schedule) ? HS_DUMP_LOOK_NS : HS_TURN_MAX_NS);
    bool is_dump_due = hs_dump_take_due(&schedule, now, &c->next_dump_ns) || c->relay.is_dump_asked;
    c->relay.is_dump_asked = false;
    for (size_t i = 0; i < c->registry.target_count; i++) {
        struct hs_target *target = c->registry.targets[i];
        uint64_t budget_next = keep_budget(c, target, now);
        /* Asked even when a dump is due: one dump serves all occasions. */
        bool is_called_for = hs_dump_is_called_for(&schedule, target, c->cpu.rarity, now);
        if (is_dump_due || is_called_for) {
            dump(c, target, false);
        } else {
            hs_target_look(target, now);
        }
        if (c->config.on_look) {
            c->config.on_look(c->config.look_ctx, target);
        }
        uint64_t counters_next = hs_sources_look(c->sources, &target->source, target->pid, now);
        next = counters_next < next ? counters_next : next;
        next = target->rss_next_ns < next ? target->rss_next_ns : next;
        next = budget_next < next ? budget_next : next;
    }
    keep_cpu_budget(c, now);
    uint64_t system_next = hs_sources_turn(c->sources, now);
    next = system_next < next ? system_next : next;
    return c->next_dump_ns < next ? c->next_dump_ns : next;
}

static void wait_for_news(const struct hs_collector *c, uint64_t until_ns)
{
    struct pollfd fds[] = {
        { .fd = hs_registry_fd(&c->registry), .events = POLLIN },
        { .fd = c->relay.fd, .events = POLLIN },
    };
    uint64_t now = now_ns();
    uint64_t wait_ns = until_ns > now ? until_ns - now : 0;
    const struct timespec timeout = hs_clock_timespec(wait_ns);
    ppoll(fds, 2, &timeout, NULL);
}

static bool has_news(const struct hs_collector *c)
{
    struct pollfd fd = { .fd = hs_registry_fd(&c->registry), .events = POLLIN };
    return poll(&fd, 1, 0) > 0;
}

/* Handles what has happened until now. This is bounded, because more may happen all the time. */
static void catch_up(struct hs_collector *c)
{
    for (unsigned i = 0; i < HS_CATCH_UP_TURNS && (i == 0 || has_news(c)); i++) {
        hs_registry_turn(&c->registry, now_ns());
    }
    /* The program is known to have ended, so each of its images has ended, too. */
    hs_registry_end(&c->registry, c->pid, now_ns(), HS_EXIT_UNKNOWN, 0);
}

/* Takes the final snapshots of the processes that still run; they go on unrecorded. Returns how
 * many. */
static uint64_t leave_running(struct hs_collector *c)
{
    uint64_t count = 0;
    while (c->registry.target_count > 0) {
        struct hs_target *target = c->registry.targets[--c->registry.target_count];
        dump(c, target, true);
        end_counters(c, target);
        c->ended_sample_count += hs_target_sample_count(target);
        hs_target_end_session(target);
        hs_target_close(target);
        count++;
    }
    return count;
}

/* After the program's end: takes all other final snapshots. Returns how many processes run on. */
static uint64_t wind_up(struct hs_collector *c)
{
    uint64_t begin = now_ns();
    uint64_t running_count = 0;
    catch_up(c);
    while (c->registry.target_count > 0 && now_ns() < begin + HS_GRACE_NS) {
        wait_for_news(c, now_ns() + HS_GRACE_STEP_NS);
        hs_relay_read(&c->relay, 0);
        catch_up(c);
    }
    /* If descriptors ran out, some hellos still wait: each round makes room for more. */
    do {
        running_count += leave_running(c);
        catch_up(c);
    } while (c->registry.target_count > 0 && now_ns() < begin + HS_WIND_UP_MAX_NS);
    running_count += leave_running(c);
    if (c->root_last) {
        c->has_root_image = true;
        c->root_last->exit_kind = c->exit_kind;
        c->root_last->exit_value = c->exit_value;
        finish_target(c, c->root_last);
        c->root_last = NULL;
    }
    return running_count;
}

/* When the duration is over: takes the final snapshots; from then on, new processes record
 * nothing. */
static void keep_duration(struct hs_collector *c, uint64_t now)
{
    if (now >= c->over_ns) {
        uint64_t count = leave_running(c);
        c->running_count += c->is_over ? 0 : count;
        if (!c->is_over && c->root_last) {
            finish_target(c, c->root_last);
            c->root_last = NULL;
        }
        c->has_root_image = true; /* if there was none, the program is not to blame */
        c->is_over = true;
    }
}

int hs_collector_run(struct hs_collector *collector, struct hs_collector_result *ret_result)
{
    struct hs_collector *c = collector;
    int r = hs_relay_start(&c->relay);
    if (r < 0) {
        return r;
    }
    raise_limits();
    c->relay.is_usr1_ours = c->config.is_dumping_at_usr1;
    c->next_dump_ns = hs_dump_first_ns(&c->config.dumps, now_ns());
    c->cpu_start_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    hs_cpu_budget_init(&c->cpu, c->config.limits.cpu_ns);
    r = hs_launch_go(&c->launch);
    if (r < 0) {
        return r;
    }
    c->over_ns = c->config.duration_ns > 0 ? now_ns() + c->config.duration_ns : UINT64_MAX;
    while (!c->has_ended) {
        uint64_t now = now_ns();
        hs_registry_turn(&c->registry, now);
        keep_duration(c, now);
        uint64_t until = keep_time(c, now);
        wait_for_news(c, until < c->over_ns || c->is_over ? until : c->over_ns);
        if (hs_relay_read(&c->relay, c->pid)) {
            wait_for_program(c);
        }
    }
    uint64_t running_count = wind_up(c);
    running_count = c->is_over ? c->running_count : running_count;
    waitpid(c->pid, NULL, 0);
    *ret_result = (struct hs_collector_result){
        .exit_kind = c->exit_kind,
        .exit_value = c->exit_value,
        .sink_error = c->sink_error,
        .has_root_image = c->has_root_image,
        .has_silent_children = c->had_children && !c->has_others && c->config.is_following,
        .image_count = c->registry.image_count,
        .running_count = running_count,
        .unseen_count = c->registry.unseen_count,
        .stranger_count = c->registry.stranger_count,
        .bad_count = c->bad_count + c->registry.bad_count,
        .bad_why = c->bad_why ? c->bad_why : c->registry.bad_why,
        .own_malloc_count = c->registry.own_malloc_count,
    };
    snprintf(ret_result->own_malloc_why, sizeof(ret_result->own_malloc_why), "%s",
             c->own_malloc_why);
    return 0;
}
