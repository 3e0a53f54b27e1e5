/*
 * One image of one process: see target.h.
 */
#include "collect/target.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/region/capture.h"
#include "collect/region/region_control.h"
#include "collect/target_counters.h"
#include "collect/target_memory.h"
#include "rt/base.h"
#include "util/proc.h"

/* A shell's child needs milliseconds from fork to exec; on a busy machine a hundred. */
#define HS_PRELUDE_NS UINT64_C(1000000000)

/* How often to look whether unwind tables are ready. */
#define TABLES_LOOK_NS UINT64_C(5000000)

/* Writes down that this process records the target. */
static void write_collector_id(struct hs_region *region)
{
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(getpid(), &stat) == 0) {
        hs_region_control_set_collector(region, getpid(), stat.start_ticks);
    }
}

/* A process can execute another program while its hello waits to be read. */
static void check_exe(struct hs_target *target)
{
    const struct hs_region_header_v2 *header = &target->region.header;
    char comm[sizeof(header->comm) + 1] = "";
    char *exe = NULL;
    memcpy(comm, header->comm, sizeof(header->comm));
    if (header->is_from_startup &&
        hs_region_read_text(&target->region, header->exe_off, PATH_MAX, &exe) == 0) {
        hs_target_process_check_exe(&target->process, exe, comm);
    }
    free(exe);
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
        hs_pending_client_close(pending);
        free(target);
        return r;
    }
    const struct hs_region_header_v2 *header = &target->region.header;
    struct hs_target_process *process = &target->process;
    hs_target_process_init(process, pending);
    target->state.is_dormant = (pending->hello.flags & HS_HELLO_DORMANT) != 0;
    /* A child's region also holds what was recorded in its parent. */
    target->state.has_recorded = target->state.is_dormant && header->interval_count > 1;
    if (!target->state.is_dormant && pending->hello.flags & HS_HELLO_BOUND) {
        target->state.bound_interval_bytes = hs_region_control_interval(&target->region);
        target->state.is_late = hs_region_control_is_partial(&target->region);
    }
    write_collector_id(&target->region);
    if (!header->is_from_startup && process->pid > 0) {
        hs_target_process_read_names(process);
    }
    /* For kernels where the pidfd does not come from the connection: a process that started after
     * the region was made is another one under the same pid. */
    if (pending->is_gone || hs_target_process_started_after(process, header->start_boot_ns)) {
        hs_target_process_end(process, now_ns, HS_EXIT_UNKNOWN, 0);
    } else if (!target->state.is_dormant) {
        check_exe(target);
        hs_target_look(target, now_ns);
    }
    *ret_target = target;
    return 0;
}

struct hs_target *hs_target_close(struct hs_target *target)
{
    if (target) {
        hs_target_budget_deinit(&target->session.budget);
        hs_loss_watch_deinit(&target->session.losses);
        hs_target_forget_memory(target);
        hs_source_process_free(target->session.source);
        hs_target_process_deinit(&target->process);
        hs_module_tables_deinit(&target->tables);
        free(target->bound_heaps);
        hs_region_close(&target->region);
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
    const struct hs_region_header_v2 *header = &target->region.header;
    return header->forked_from_pid != 0 &&
           next->region.header.start_mono_ns < header->start_mono_ns + HS_PRELUDE_NS;
}

static void look_at_tables(struct hs_target *target, uint64_t now_ns)
{
    struct hs_target_process *process = &target->process;
    if (!process->has_ended &&
        hs_module_tables_look(&target->tables, &target->region, process->pid) &&
        process->look_next_ns > now_ns + TABLES_LOOK_NS) {
        process->look_next_ns = now_ns + TABLES_LOOK_NS;
    }
}

void hs_target_look(struct hs_target *target, uint64_t now_ns)
{
    if (!target->process.has_ended) {
        hs_region_control_set_clock(&target->region, now_ns);
        hs_target_process_look(&target->process, target->region.header.forked_from_pid != 0,
                               target->state.is_dormant, now_ns);
        if (target->session.owner && !target->state.is_dormant) {
            look_at_tables(target, now_ns);
            hs_target_look_at_losses(target, now_ns);
        }
    }
}

/* --- sessions --------------------------------------------------------------------------------- */

static void make_page(const struct hs_target_setting *setting, struct hs_heap_page *ret_page)
{
    hs_heap_selection_page(setting->heaps, setting->asked_bytes, setting->interval_bytes, ret_page);
}

void hs_target_renew(struct hs_target *target, const struct hs_target_setting *setting)
{
    struct hs_heap_page heaps;
    make_page(setting, &heaps);
    hs_region_control_renew(&target->region, setting->interval_bytes, &heaps);
}

/* A session begins on a bound process. Its own settings are kept: the program may have changed
 * them. */
static void lend_bound(struct hs_target *target, const struct hs_target_setting *setting,
                       uint64_t was_bytes)
{
    target->state.bound_interval_bytes = was_bytes ? was_bytes : target->state.bound_interval_bytes;
    target->bound_heaps =
        target->bound_heaps ? target->bound_heaps : malloc(sizeof(*target->bound_heaps));
    if (target->bound_heaps) {
        hs_region_control_get_heaps(&target->region, target->bound_heaps);
    }
    /* What the session leaves out is missing from then on. */
    if (setting->heaps && !hs_heap_selection_is_all(setting->heaps)) {
        target->state.is_late = true;
        hs_region_control_set_partial(&target->region);
    }
}

int hs_target_begin_session(struct hs_target *target, const struct hs_target_setting *setting,
                            uint64_t now_ns)
{
    struct hs_heap_page heaps;
    uint64_t interval_bytes = setting->interval_bytes;
    struct hs_target_state *state = &target->state;
    if (state->has_recorded) {
        return -EALREADY;
    }
    uint64_t was_bytes = hs_region_control_interval(&target->region);
    bool was_dormant = state->is_dormant;
    if (hs_target_is_bound(target)) {
        lend_bound(target, setting, was_bytes);
    }
    state->session_interval_bytes = interval_bytes;
    if (was_dormant) {
        state->is_dormant = false;
        state->session_start_ns = now_ns;
        target->process.look_next_ns = 0;
        hs_target_look(target, now_ns); /* the clock in its control page stood still */
    }
    if (state->session_start_ns != 0 || !target->region.header.is_from_startup) {
        state->rss_start_bytes = target->process.rss_bytes;
    }
    look_at_tables(target, now_ns);
    make_page(setting, &heaps);
    bool is_same =
        was_bytes == interval_bytes && hs_region_control_has_heaps(&target->region, &heaps);
    /* A forked child also has samples from before its parent's session, if there are such. */
    target->region.has_one_selection = !hs_target_is_bound(target) && (was_dormant || is_same) &&
                                       target->region.header.forked_from_pid == 0;
    if (!is_same && !target->process.has_ended) {
        if (was_dormant) {
            hs_region_control_begin(&target->region, interval_bytes, &heaps);
        } else {
            hs_region_control_set_interval(&target->region, interval_bytes, &heaps);
        }
    }
    return 0;
}

/* The next session of a bound process begins with no limits and no marks of this one. */
static void go_on_bound(struct hs_target *target)
{
    static const struct hs_heap_page all = { .selection.other_interval_bytes = HS_INTERVAL_SAME };
    const struct hs_heap_page *heaps = target->bound_heaps ? target->bound_heaps : &all;
    struct hs_target_state *state = &target->state;
    if (state->session_interval_bytes == 0) {
        return; /* no session has begun on it */
    }
    hs_target_budget_deinit(&target->session.budget);
    hs_loss_watch_deinit(&target->session.losses);
    hs_target_forget_memory(target);
    target->session.dumps = (struct hs_dump_watch){ 0 };
    target->session.are_children_taken = target->session.has_failed = false;
    hs_region_control_set_limits(&target->region, 0, false);
    state->session_interval_bytes = 0;
    if (hs_region_control_interval(&target->region) != state->bound_interval_bytes ||
        !hs_region_control_has_heaps(&target->region, heaps)) {
        hs_region_control_set_interval(&target->region, state->bound_interval_bytes, heaps);
    }
    free(target->bound_heaps);
    target->bound_heaps = NULL;
}

void hs_target_unbind(struct hs_target *target)
{
    target->state.bound_interval_bytes = 0;
    hs_target_end_session(target);
}

void hs_target_end_session(struct hs_target *target)
{
    target->session.is_without_types = false;
    target->region.has_blocks = false;
    hs_module_tables_deinit(&target->tables);
    if (hs_target_is_bound(target)) {
        go_on_bound(target);
    } else if (!target->state.is_dormant) {
        target->state.is_dormant = true;
        target->state.has_recorded = true;
        /* Also if the process is gone: its forked children that have not begun yet read this. */
        hs_region_control_end(&target->region);
    }
}

void hs_target_restore(struct hs_target *target, const struct hs_target_state *state)
{
    bool has_recorded = target->state.has_recorded || state->has_recorded;
    target->state = *state;
    target->state.has_recorded = has_recorded;
    if (state->is_dormant && hs_region_control_interval(&target->region) != 0 &&
        !target->process.has_ended) {
        target->state.is_dormant = false;
        hs_target_end_session(target);
    }
}

/* --- snapshots -------------------------------------------------------------------------------- */

/* Limits a snapshot to what a session can tell that began after the process did. */
static void limit_to_session(const struct hs_target_state *state,
                             const struct hs_target_budget *budget, struct hs_snapshot *snap)
{
    if (state->session_interval_bytes != 0) {
        snap->interval_bytes = snap->orig_interval_bytes = state->session_interval_bytes;
    }
    if (budget->is_set) {
        snap->interval_bytes = budget->decisions.interval_bytes;
        snap->orig_interval_bytes = budget->decisions.asked_bytes;
    }
    if (state->session_start_ns <= snap->start_mono_ns) {
        return;
    }
    uint64_t shift_ms = (state->session_start_ns - snap->start_mono_ns) / 1000000;
    for (uint32_t i = 0; i < snap->thread_count; i++) {
        uint64_t start_ms = snap->threads[i].start_ms;
        snap->threads[i].start_ms = start_ms > shift_ms ? start_ms - shift_ms : 0;
    }
    snap->start_mono_ns = state->session_start_ns;
    snap->is_from_startup = false;
}

/* A bound process may have recorded with other intervals before its session, or during an earlier
 * one. The snapshot says the widest of them: some of its samples may be of that interval. */
static void tell_widest_interval(const struct hs_target *target, struct hs_snapshot *snap)
{
    const struct hs_region_header_v2 *header = &target->region.header;
    for (uint32_t i = 1; hs_target_is_bound(target) && i < header->interval_count; i++) {
        if (header->interval_bytes[i] > snap->orig_interval_bytes) {
            snap->orig_interval_bytes = header->interval_bytes[i];
        }
    }
}

/* How the image ended. A process that executed another program has an exit status, but it is that
 * of the other one. */
static void describe_end(const struct hs_target_process *process, bool is_final,
                         struct hs_snapshot *snap)
{
    bool has_executed = is_final && process->has_silent_program;
    snap->exit_kind = has_executed ? HS_EXIT_EXECUTED : process->exit_kind;
    snap->exit_value = has_executed ? 0 : process->exit_value;
    snap->is_oom_killed = !has_executed && hs_target_process_is_oom_killed(process);
}

/* What is known of the process besides its region. */
static void describe_process(const struct hs_target_process *process, struct hs_snapshot *snap)
{
    /* In a PID namespace the process has another pid of its own; all others see the one that
     * heapscope sees. */
    if (process->pid > 0 && (uint32_t)process->pid != snap->pid) {
        struct hs_proc_stat stat;
        snap->pid = (uint32_t)process->pid;
        snap->ppid = hs_proc_read_stat(process->pid, &stat) == 0 ? stat.ppid : 0;
        snap->forked_from_pid = snap->forked_from_pid ? snap->ppid : 0;
    }
    hs_target_process_name_snapshot(process, snap);
    snap->has_own_malloc = (process->hello_flags & HS_HELLO_OWN_MALLOC) != 0;
    snap->rss_bytes = process->has_ended ? 0 : process->rss_bytes;
    snap->rss_peak_bytes = process->rss_peak_bytes;
}

/* What was asked for, and which heaps of the process are not among it. If libc.malloc was left out,
 * nothing of it is missing. */
static void describe_selection(const struct hs_heap_selection *heaps, struct hs_snapshot *snap)
{
    if (!heaps) {
        return;
    }
    for (uint32_t i = 0; i < heaps->rule_count; i++) {
        if (hs_heap_selection_is_asked(heaps, i)) {
            snap->asked_heaps[snap->asked_heap_count++] = heaps->rules[i].pattern;
        }
    }
    snap->is_without_malloc = heaps->is_without_malloc;
    for (uint32_t i = 0; i < snap->heap_count; i++) {
        const char *name = i > 0 ? snap->heaps[i].name : HS_HEAP_MALLOC;
        snap->heaps[i].is_left_out = hs_heap_selection_interval(heaps, name) == HS_INTERVAL_OFF;
    }
    if (heaps->is_without_malloc) {
        static const enum hs_loss of_malloc[] = { HS_LOSS_UNSEEN_SYMBOLS, HS_LOSS_UNSEEN_ALLOCATOR,
                                                  HS_LOSS_UNSEEN_NAMESPACE };
        for (size_t i = 0; i < HS_COUNT_OF(of_malloc); i++) {
            snap->lost_count[of_malloc[i]] = 0;
        }
        snap->has_own_malloc = false;
    }
}

/* Adds what is not in the region. Frees the snapshot if it fails. */
static int complete(struct hs_target *target, struct hs_snapshot *snap,
                    struct hs_snapshot **ret_snapshot)
{
    const struct hs_target_budget *budget = &target->session.budget;
    int r = hs_target_budget_describe(budget, snap);
    if (r < 0) {
        hs_snapshot_free(snap);
        return r;
    }
    describe_process(&target->process, snap);
    limit_to_session(&target->state, budget, snap);
    describe_selection(target->region.heaps, snap);
    hs_target_add_counters(target, snap);
    tell_widest_interval(target, snap);
    hs_module_tables_describe(&target->tables, &target->region, snap);
    snap->is_without_types = target->session.is_without_types;
    snap->is_from_startup &= !target->state.is_late;
    snap->rss_start_bytes = target->state.rss_start_bytes;
    *ret_snapshot = snap;
    return 0;
}

static int capture(struct hs_target *target, uint64_t now_ns, hs_capture_open_fn *on_open,
                   void *ctx, struct hs_snapshot **ret_snapshot)
{
    struct hs_target_process *process = &target->process;
    struct hs_snapshot *snap;
    uint64_t time_ns = process->has_ended ? process->end_ns : now_ns;
    if (!process->has_ended) {
        process->look_next_ns = 0;
        hs_target_look(target, now_ns);
    }
    /* A program that takes a snapshot of itself waits until its cut is open. */
    if (!on_open) {
        hs_target_read_memory(target, now_ns);
    }
    int r = hs_capture_opened(&target->region, process->has_ended, time_ns, on_open, ctx, &snap);
    r = r < 0 ? r : complete(target, snap, ret_snapshot);
    if (on_open) {
        hs_target_read_memory(target, now_ns);
    }
    if (r == 0) {
        hs_target_add_ledgers(target, *ret_snapshot);
    }
    return r;
}

int hs_target_capture_saved(struct hs_target *target, int fd, struct hs_snapshot **ret_snapshot)
{
    struct hs_snapshot *snap;
    int r = hs_capture_saved(&target->region, fd, &snap);
    return r < 0 ? r : complete(target, snap, ret_snapshot);
}

void hs_target_capture_close(struct hs_target *target)
{
    hs_capture_close(&target->region);
}

int hs_target_capture(struct hs_target *target, uint64_t now_ns, bool is_final,
                      struct hs_snapshot **ret_snapshot)
{
    target->session.ledgers.is_asked_for |= is_final;
    int r = capture(target, now_ns, NULL, NULL, ret_snapshot);
    if (r == 0) {
        describe_end(&target->process, is_final, *ret_snapshot);
        (*ret_snapshot)->is_final = is_final;
    }
    return r;
}

int hs_target_capture_opened(struct hs_target *target, uint64_t now_ns, hs_capture_open_fn *on_open,
                             void *ctx, struct hs_snapshot **ret_snapshot)
{
    int r = capture(target, now_ns, on_open, ctx, ret_snapshot);
    if (r == 0) {
        describe_end(&target->process, false, *ret_snapshot);
    }
    return r;
}
