/*
 * One image of one process: see target.h.
 */
#include "collect/target.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/region/capture.h"
#include "rt/atomic.h"
#include "util/proc.h"

#define HS_RSS_PERIOD_FIRST_NS     UINT64_C(2000000)
#define HS_RSS_PERIOD_MAX_NS       UINT64_C(250000000)
#define HS_LIBRARIES_PERIOD_NS     UINT64_C(1000000000)
#define HS_LIBRARIES_PERIOD_MAX_NS UINT64_C(64000000000)

/* Most processes end before their cgroup matters; it is looked up only from this age on. */
#define HS_OOM_AGE_NS UINT64_C(10000000)

/* The number of threads that are read for figures that are only shown. */
#define HS_BLOCKS_ASKED_MAX 4096

/* A shell's child needs milliseconds from fork to exec; on a busy machine a hundred. */
#define HS_PRELUDE_NS UINT64_C(1000000000)

/* For kernels where the pidfd does not come from the connection: a process that started after the
 * region was made is another one under the same pid. */
static bool is_other_process(const struct hs_target *target)
{
    struct hs_proc_stat stat;
    long ticks = sysconf(_SC_CLK_TCK);
    if (target->pid <= 0 || ticks <= 0 || hs_proc_read_stat(target->pid, &stat) < 0) {
        return false;
    }
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)ticks;
    /* An exec keeps the start time, so only a later one is wrong. The clock of stat is coarse. */
    return stat.start_ticks * tick_ns > target->region.header.start_boot_ns + tick_ns;
}

/* Writes down which collector records the target, for other collectors that come. */
static void write_collector_id(const struct hs_target *target)
{
    struct hs_region_control_v1 *control = target->region.control;
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(getpid(), &stat) == 0) {
        hs_store_relaxed(&control->collector_start_ticks, stat.start_ticks);
        hs_store_relaxed(&control->collector_pid, (uint32_t)getpid());
    }
}

int hs_target_open(struct hs_pending_client *pending, uint64_t now_ns,
                   struct hs_target **ret_target, const char **ret_why)
{
    struct hs_target *target = calloc(1, sizeof(*target));
    int r = target ? 0 : -ENOMEM;
    if (r == 0) {
        r = hs_region_open(pending->region_fd, pending->hello.region_bytes, &target->region,
                           ret_why);
    }
    if (r < 0) {
        close(pending->region_fd);
        if (pending->pidfd >= 0) {
            close(pending->pidfd);
        }
        free(target);
        return r;
    }
    target->pid = pending->pid;
    target->pidfd = pending->pidfd;
    target->uid = pending->uid;
    target->hello_flags = pending->hello.flags;
    target->is_dormant = (pending->hello.flags & HS_HELLO_DORMANT) != 0;
    /* A child's region also holds what was recorded in its parent. */
    target->has_recorded = target->is_dormant && target->region.header.interval_count > 1;
    target->rss_period_ns = HS_RSS_PERIOD_FIRST_NS;
    target->rss_period_max_ns = HS_RSS_PERIOD_MAX_NS;
    write_collector_id(target);
    if (!target->region.header.is_from_startup && target->pid > 0) {
        hs_process_names_read(target->pid, &target->names);
    }
    if (pending->is_gone || is_other_process(target)) {
        hs_target_end(target, now_ns, HS_EXIT_UNKNOWN, 0);
    } else if (!target->is_dormant) {
        hs_target_look(target, now_ns);
    }
    *ret_target = target;
    return 0;
}

struct hs_target *hs_target_close(struct hs_target *target)
{
    if (target) {
        free(target->changes);
        hs_source_process_free(target->source);
        hs_process_names_deinit(&target->names);
        hs_region_close(&target->region);
        if (target->pidfd >= 0) {
            close(target->pidfd);
        }
        free(target);
    }
    return NULL;
}

bool hs_target_is_older(const struct hs_target *target, const struct hs_target *other)
{
    return target->region.header.start_mono_ns < other->region.header.start_mono_ns;
}

bool hs_target_is_prelude(const struct hs_target *target, const struct hs_target *next)
{
    const struct hs_region_header_v1 *header = &target->region.header;
    return header->forked_from_pid != 0 &&
           next->region.header.start_mono_ns < header->start_mono_ns + HS_PRELUDE_NS;
}

/* Has an attached process executed another program? Such a process does not announce that, and the
 * kernel tells only tracers. A new program has its stack elsewhere, unless addresses are not
 * randomized. */
static void look_for_exec(struct hs_target *target)
{
    struct hs_proc_stat stat;
    if (target->pid <= 0 || hs_proc_read_stat(target->pid, &stat) < 0 || stat.is_exiting ||
        stat.stack_start_va == 0) {
        return;
    }
    if (target->stack_start_va == 0) {
        target->stack_start_va = stat.stack_start_va;
    }
    target->has_executed = stat.stack_start_va != target->stack_start_va;
}

static void look_for_libraries(struct hs_target *target, uint64_t now_ns)
{
    if (target->pid <= 0 || target->is_dormant || now_ns < target->libraries_next_ns) {
        return;
    }
    uint64_t period_ns = HS_LIBRARIES_PERIOD_NS;
    if (hs_library_watch_look(&target->libraries, target->pid)) {
        target->has_new_libraries = true;
        period_ns = target->libraries_period_ns * 2;
        period_ns = period_ns < HS_LIBRARIES_PERIOD_MAX_NS ? period_ns : HS_LIBRARIES_PERIOD_MAX_NS;
    }
    target->libraries_period_ns = period_ns;
    target->libraries_next_ns = now_ns + period_ns;
}

void hs_target_look(struct hs_target *target, uint64_t now_ns)
{
    struct hs_proc_status status;
    if (target->has_ended) {
        return;
    }
    uint64_t age_ns = now_ns - target->region.header.start_mono_ns;
    hs_store_relaxed(&target->region.control->collector_ms, (uint32_t)(age_ns / 1000000));
    if (now_ns < target->rss_next_ns) {
        return;
    }
    if (target->pid > 0 && hs_proc_read_status(target->pid, &status) == 0 &&
        status.vm_rss_bytes > 0) {
        target->rss_bytes = status.vm_rss_bytes;
        if (status.vm_hwm_bytes > target->rss_peak_bytes) {
            target->rss_peak_bytes = status.vm_hwm_bytes;
        }
    }
    if (target->pid > 0 && target->region.header.forked_from_pid != 0) {
        hs_process_names_read(target->pid, &target->names);
    }
    if ((target->hello_flags & HS_HELLO_LATE) != 0) {
        look_for_exec(target);
        look_for_libraries(target, now_ns);
    }
    if (target->rss_period_ns > HS_OOM_AGE_NS) {
        hs_oom_watch_look(&target->oom, target->pid, now_ns);
    }
    target->rss_next_ns = now_ns + target->rss_period_ns;
    target->rss_period_ns += target->rss_period_ns / 2;
    if (target->rss_period_ns > target->rss_period_max_ns) {
        target->rss_period_ns = target->rss_period_max_ns;
    }
}

void hs_target_end(struct hs_target *target, uint64_t now_ns, enum hs_exit_kind exit_kind,
                   int exit_value)
{
    if (!target->has_ended) {
        target->has_ended = true;
        target->end_ns = now_ns;
        target->exit_kind = exit_kind;
        target->exit_value = exit_value;
    }
}

/* Tells the client that it has another interval. */
static void announce_interval(struct hs_region_control_v1 *control)
{
    /* ORDER settings: the interval before its generation. */
    hs_store_release(&control->generation, hs_load_relaxed(&control->generation) + 1);
    /* Every thread takes the slow path once, and sees the new generation there. */
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

static void write_interval(struct hs_region_control_v1 *control, uint64_t interval_bytes)
{
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    announce_interval(control);
}

void hs_target_set_interval(struct hs_target *target, uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = target->region.control;
    uint64_t present_bytes = hs_load_relaxed(&control->interval_bytes);
    if (present_bytes != HS_INTERVAL_OFF &&
        hs_cas_relaxed(&control->interval_bytes, &present_bytes, interval_bytes)) {
        announce_interval(control);
    }
}

int hs_target_begin_session(struct hs_target *target, uint64_t interval_bytes, uint64_t now_ns)
{
    if (target->has_recorded) {
        return -EALREADY;
    }
    struct hs_region_control_v1 *control = target->region.control;
    uint64_t was_bytes = hs_load_relaxed(&control->interval_bytes);
    bool was_dormant = target->is_dormant;
    target->session_interval_bytes = interval_bytes;
    if (was_dormant) {
        target->is_dormant = false;
        target->session_start_ns = now_ns;
        target->rss_next_ns = 0;
        hs_target_look(target, now_ns); /* the clock in its control page stood still */
    }
    if (target->session_start_ns != 0 || !target->region.header.is_from_startup) {
        target->rss_start_bytes = target->rss_bytes;
    }
    if (was_bytes != interval_bytes && !target->has_ended) {
        if (was_dormant) {
            write_interval(control, interval_bytes);
        } else {
            hs_target_set_interval(target, interval_bytes);
        }
    }
    return 0;
}

void hs_target_renew(struct hs_target *target, uint64_t interval_bytes)
{
    struct hs_region_control_v1 *control = target->region.control;
    hs_store_relaxed(&control->interval_bytes, interval_bytes);
    /* ORDER session: its interval before it. A thread may see it before the new generation. */
    hs_store_release(&control->session, hs_load_relaxed(&control->session) + 1);
    write_interval(control, interval_bytes);
}

void hs_target_end_session(struct hs_target *target)
{
    if (!target->is_dormant) {
        target->is_dormant = true;
        target->has_recorded = true;
        /* Also if the process is gone: its forked children that have not begun yet read this. */
        write_interval(target->region.control, HS_INTERVAL_OFF);
    }
}

struct hs_target_state hs_target_state(const struct hs_target *target)
{
    return (struct hs_target_state){
        .is_dormant = target->is_dormant,
        .has_recorded = target->has_recorded,
        .is_late = target->is_late,
        .session_start_ns = target->session_start_ns,
        .session_interval_bytes = target->session_interval_bytes,
        .rss_start_bytes = target->rss_start_bytes,
    };
}

void hs_target_restore(struct hs_target *target, const struct hs_target_state *state)
{
    bool is_recording = hs_load_relaxed(&target->region.control->interval_bytes) != HS_INTERVAL_OFF;
    target->is_dormant = state->is_dormant;
    target->has_recorded |= state->has_recorded;
    target->is_late = state->is_late;
    target->session_start_ns = state->session_start_ns;
    target->session_interval_bytes = state->session_interval_bytes;
    target->rss_start_bytes = state->rss_start_bytes;
    if (target->is_dormant && is_recording && !target->has_ended) {
        target->is_dormant = false;
        hs_target_end_session(target);
    }
}

void hs_target_count_samples(struct hs_target *target, struct hs_sample_counts *ret_counts)
{
    struct hs_thread_block_v1 block;
    *ret_counts = (struct hs_sample_counts){ 0 };
    if (hs_region_refresh(&target->region) < 0) {
        return;
    }
    uint64_t count = hs_region_count(&target->region, HS_SECTION_BLOCKS);
    count = count < HS_BLOCKS_ASKED_MAX ? count : HS_BLOCKS_ASKED_MAX;
    for (uint64_t i = 0; i < count; i++) {
        if (hs_region_read(&target->region, HS_SECTION_BLOCKS, i, 1, &block) == 0) {
            ret_counts->sample_count += block.sample_count;
            ret_counts->walk_count += block.walk_count;
        }
    }
}

uint64_t hs_target_sample_count(struct hs_target *target)
{
    struct hs_sample_counts counts;
    hs_target_count_samples(target, &counts);
    return counts.sample_count;
}

uint64_t hs_target_interval_bytes(const struct hs_target *target)
{
    uint64_t interval_bytes = hs_load_relaxed(&target->region.control->interval_bytes);
    return interval_bytes == HS_INTERVAL_OFF ? 0 : interval_bytes;
}

/* Limits a snapshot to what a session can tell that began after the process did. */
static void limit_to_session(const struct hs_target *target, struct hs_snapshot *snap)
{
    if (target->session_interval_bytes != 0) {
        snap->interval_bytes = snap->orig_interval_bytes = target->session_interval_bytes;
    }
    if (target->has_budget) {
        snap->interval_bytes = target->budget.interval_bytes;
        snap->orig_interval_bytes = target->budget.asked_bytes;
    }
    if (target->session_start_ns <= snap->start_mono_ns) {
        return;
    }
    uint64_t shift_ms = (target->session_start_ns - snap->start_mono_ns) / 1000000;
    for (uint32_t i = 0; i < snap->thread_count; i++) {
        uint64_t start_ms = snap->threads[i].start_ms;
        snap->threads[i].start_ms = start_ms > shift_ms ? start_ms - shift_ms : 0;
    }
    snap->start_mono_ns = target->session_start_ns;
    snap->is_from_startup = false;
}

static int copy_changes(const struct hs_target *target, struct hs_snapshot *snap)
{
    if (target->change_count == 0) {
        return 0;
    }
    snap->changes = calloc(target->change_count, sizeof(snap->changes[0]));
    if (!snap->changes) {
        return -ENOMEM;
    }
    memcpy(snap->changes, target->changes, target->change_count * sizeof(snap->changes[0]));
    snap->change_count = (uint32_t)target->change_count;
    return 0;
}

int hs_target_capture(struct hs_target *target, uint64_t now_ns, bool is_final,
                      struct hs_snapshot **ret_snapshot)
{
    struct hs_snapshot *snap;
    uint64_t time_ns = target->has_ended ? target->end_ns : now_ns;
    if (!target->has_ended) {
        target->rss_next_ns = 0;
        hs_target_look(target, now_ns);
    }
    int r = hs_capture(&target->region, target->has_ended, time_ns, &snap);
    if (r < 0) {
        return r;
    }
    r = copy_changes(target, snap);
    if (r < 0) {
        hs_snapshot_free(snap);
        return r;
    }
    /* In a PID namespace the process has another pid of its own; all others see the one that
     * heapscope sees. */
    if (target->pid > 0 && (uint32_t)target->pid != snap->pid) {
        struct hs_proc_stat stat;
        snap->pid = (uint32_t)target->pid;
        snap->ppid = hs_proc_read_stat(target->pid, &stat) == 0 ? stat.ppid : 0;
        snap->forked_from_pid = snap->forked_from_pid ? snap->ppid : 0;
    }
    limit_to_session(target, snap);
    snap->is_from_startup &= !target->is_late;
    hs_process_names_apply(&target->names, snap);
    snap->is_final = is_final;
    snap->has_own_malloc = (target->hello_flags & HS_HELLO_OWN_MALLOC) != 0;
    snap->exit_kind = target->exit_kind;
    snap->exit_value = target->exit_value;
    snap->rss_bytes = target->has_ended ? 0 : target->rss_bytes;
    snap->rss_peak_bytes = target->rss_peak_bytes;
    snap->rss_start_bytes = target->rss_start_bytes;
    snap->is_oom_killed = target->exit_kind == HS_EXIT_SIGNAL && target->exit_value == SIGKILL &&
                          hs_oom_watch_has_risen(&target->oom);
    target->dump_count++;
    *ret_snapshot = snap;
    return 0;
}
