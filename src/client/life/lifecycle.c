/*
 * Starting, noticing a fork, and switching off. See lifecycle.h.
 */
#include "client/life/lifecycle.h"

#include <errno.h>
#include <sys/auxv.h>

#include "client/host/checker.h"
#include "client/host/env.h"
#include "client/host/real.h"
#include "client/host/sandbox.h"
#include "client/life/api_table.h"
#include "client/life/bind.h"
#include "client/life/collector_connect.h"
#include "client/life/fork.h"
#include "client/life/own_heaps.h"
#include "client/life/process_info.h"
#include "client/life/python_heap.h"
#include "client/life/quiesce.h"
#include "client/life/register.h"
#include "client/patch/exports.h"
#include "client/patch/patch.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/live.h"
#include "client/tables/mapped.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "client/tables/shared.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/countdown.h"
#include "client/thread/heap_countdown.h"
#include "client/thread/stackmem.h"
#include "client/thread/thread.h"
#include "fmt/ctl_layout.h"
#include "rt/check.h"
#include "rt/sys.h"

/* Kept for forked children: by then the environment may be overwritten. */
static char collector_name[HS_CTL_PATH_MAX + 1];
static bool is_following; /* children are to be profiled, too */
static bool has_tables;   /* the tables may have contents */
static void watch_forks(void);

/* How long to wait for threads that are recording: mostly it takes some microseconds. */
#define QUIET_MAX_NS UINT64_C(2000000)
/* The same while the program waits, or while a borrowed thread with a real-time priority keeps the
 * others from their processor. */
#define QUIET_BRIEF_NS UINT64_C(200000)

/* How often a thread of a child checks whether another one has begun: some ten milliseconds. */
#define FOLLOW_TRIES 10000U

static bool start_tables(void)
{
    hs_own_heaps_name();
    hs_heaps_write_all();
    return hs_modules_init() && hs_stacks_init() && hs_live_init() && hs_call_stack_init();
}

/* Empties all tables: nothing is recorded, and nothing takes memory. */
static void empty_tables(void)
{
    hs_region_abandon();
    hs_fork_forget();
    hs_live_clear();
    hs_heap_blocks_clear();
    hs_mapped_clear();
    hs_stacks_clear();
    hs_call_stack_clear();
    HS_ASSERT_SLOW(hs_sandbox_is_tight() ||
                   (hs_live_is_valid() && hs_heap_blocks_is_valid() && hs_stacks_is_valid()));
    has_tables = false;
}

/* Empties the tables when no thread is recording. False: not yet, a thread still is. */
static bool empty_if_quiet(uint64_t max_ns)
{
    if (has_tables && hs_quiesce_wait(max_ns)) {
        empty_tables();
    }
    return !has_tables;
}

static void keep_name(const char *name)
{
    unsigned i = 0;
    for (; i < HS_CTL_PATH_MAX && name[i]; i++) {
        collector_name[i] = name[i];
    }
    collector_name[i] = '\0'; /* the name of an earlier collector may have been longer */
}

const char *hs_lifecycle_collector(void)
{
    return hs_bind_is_on() ? hs_bind_daemon() : collector_name;
}

/* Makes the region, in place of an earlier one if there was one. */
static int make_region(bool is_patient, int *ret_fd)
{
    if (!hs_region.header) {
        return hs_region_create(ret_fd);
    }
    if (!empty_if_quiet(QUIET_MAX_NS)) {
        if (is_patient) {
            return -EAGAIN;
        }
        empty_tables();
    }
    return hs_region_renew(ret_fd);
}

static void set_settings(const struct hs_env *env, const struct hs_collector_connect *collector)
{
    hs_countdown_seed(hs_env_seed(env));
    keep_name(collector->name);
    is_following = env->follow_pid == 0;
    if (collector->heaps || env->heaps) {
        hs_heaps_select(collector->heaps ? collector->heaps : env->heaps);
    }
    hs_region_set_interval(collector->interval_bytes);
}

/* Prepares everything. The caller hands *ret_fd over and closes it. */
static int start(const struct hs_env *env, const struct hs_collector_connect *collector,
                 bool is_patient, int *ret_fd)
{
    if (hs_checker_is_there() || !hs_fork_can_watch()) {
        return -ENOTSUP;
    }
    int err = hs_life_state_init() ? make_region(is_patient, ret_fd) : -ENOMEM;
    if (err) {
        return err;
    }
    has_tables = true;
    hs_shared_init();
    hs_stackmem_init();
    if (!start_tables()) {
        hs_sys_close(*ret_fd);
        hs_region_forget();
        return -ENOMEM;
    }
    hs_thread_renew_all();
    if (!collector->is_late) {
        hs_process_info_write(hs_region.header, env);
    } else {
        hs_process_info_write_late(hs_region.header);
    }
    set_settings(env, collector);
    return 0;
}

static int start_with(const struct hs_env *env, struct hs_collector_connect *collector)
{
    int fd;
    int err = start(env, collector, true, &fd);
    if (err) {
        hs_bind_give_up();
        return err;
    }
    if (hs_bind_is_on()) {
        hs_bind_announce(collector, fd);
    } else {
        err = hs_collector_connect_announce(collector, fd);
    }
    hs_sys_close(fd);
    if (err) {
        hs_region_forget();
    }
    return err;
}

/* Finds out for whom the process records from its first allocation on: a collector, a daemon, or
 * itself. False: it does not record. */
static bool find_collector(const struct hs_env *env, struct hs_collector_connect *ret_collector)
{
    if (!hs_real.is_from_start || hs_real.is_second ||
        (env->follow_pid != 0 && env->follow_pid != hs_sys_getpid())) {
        return false;
    }
    if (hs_bind_takes(env)) {
        *ret_collector = (struct hs_collector_connect){ .is_late = false };
        hs_bind_find(ret_collector);
        return true;
    }
    return hs_collector_connect_find(env, ret_collector);
}

static int start_by_environment(void)
{
    struct hs_env env;
    struct hs_collector_connect collector;
    hs_env_read(&env);
    if (!find_collector(&env, &collector)) {
        return -ENOENT;
    }
    /* A process that runs with other rights than those of the process that started it does not
     * trust its environment. */
    if (env.is_willing && getauxval(AT_SECURE) == 0) {
        hs_register_set_willing();
    }
    int err = start_with(&env, &collector);
    hs_collector_connect_leave(&collector);
    return err;
}

/* Allocations that no hook sees in this process, for as long as it lives: by enum hs_loss. */
static bool is_unseen[HS_LOSS_N];

/* Counted again in each region, because the figures of each are incomplete. */
static void count_unseen(void)
{
    for (unsigned i = 0; i < HS_LOSS_N; i++) {
        if (hs_load_relaxed(&is_unseen[i])) {
            hs_thread_count_loss((enum hs_loss)i, 0, 0);
        }
    }
}

void hs_lifecycle_note_unseen(enum hs_loss loss)
{
    bool is_on = hs_lifecycle_is_on();
    if (!hs_swap_relaxed(&is_unseen[loss], true) && is_on) {
        hs_thread_count_loss(loss, 0, 0);
    }
}

static void turn_on(void)
{
    hs_life_state_turn_on();
    count_unseen();
}

/* Calls that the loader does not bind to our hooks. A library that is linked behind an allocator's
 * has all of the program's calls redirected; no other thread runs yet, and nothing is loaded. */
static void redirect_calls(void)
{
    struct hs_patch_counts unused;
    if (!hs_real.is_preloaded && hs_patch_apply) {
        hs_patch_apply(&unused);
    }
    is_unseen[HS_LOSS_UNSEEN_SYMBOLS] = hs_exports_redirect && !hs_exports_redirect();
}

/* Sets up everything, once. If the executable has an allocator of its own, waits for the collector:
 * patch/detours.h. */
static HS_COLD void start_once(void)
{
    hs_real_resolve();
    /* A longjmp that left this would leave the state STARTING for good. */
    uint64_t old_mask = hs_sys_block_signals();
    if (!hs_life_state_take(HS_LIFE_NEW, HS_LIFE_STARTING)) {
        hs_sys_restore_signals(old_mask);
        return;
    }
    if (start_by_environment() == 0) {
        redirect_calls();
        turn_on();
        hs_api_table_find();
    } else {
        hs_life_state_set(HS_LIFE_OFF);
    }
    hs_sys_restore_signals(old_mask);
}

/* In a forked child: leaves the parent's region alone. (The filter still has the bits of blocks
 * that the parent recorded; freeing one of them here only costs a look at the state.) */
static HS_COLD void leave_parent(void)
{
    hs_life_state_set(HS_LIFE_OFF);
    hs_life_state_pause();
    hs_region_forget();
}

bool hs_lifecycle_is_on_slow(void)
{
    /* ORDER life: as in hs_lifecycle_is_on. */
    uint32_t state = hs_load_acquire(&hs_life_state.state);
    if (state == HS_LIFE_ON) {
        /* Recording may have begun since the caller's look, or may be ending. */
        bool is_own = hs_life_state_is_own();
        if (!is_own) {
            leave_parent();
        }
        return is_own;
    }
    if (state == HS_LIFE_NEW) {
        start_once();
        /* ORDER life: as above. */
        return hs_load_acquire(&hs_life_state.state) == HS_LIFE_ON;
    }
    return false;
}

/* --- attaching -------------------------------------------------------------------------------- */

static bool take_state(enum hs_life from)
{
    return hs_life_state_take(from, HS_LIFE_STARTING);
}

int hs_lifecycle_attach(const struct hs_env *env, bool is_patient, int *ret_fd)
{
    const struct hs_collector_connect collector = {
        .name = env->collector, .sock = -1, .interval_bytes = env->interval_bytes, .is_late = true
    };
    hs_real_resolve();
    if (!take_state(HS_LIFE_OFF) && !take_state(HS_LIFE_NEW)) {
        return -EBUSY;
    }
    int err = start(env, &collector, is_patient, ret_fd);
    if (err) {
        hs_life_state_set(HS_LIFE_OFF);
        return err;
    }
    turn_on();
    watch_forks();
    return 0;
}

int hs_lifecycle_detach(bool *ret_was_quiet)
{
    if (take_state(HS_LIFE_ON)) {
        hs_life_state_pause();
        hs_region_set_interval(HS_INTERVAL_OFF);
    } else if (!has_tables || !take_state(HS_LIFE_OFF)) {
        return -ENOENT;
    }
    *ret_was_quiet = empty_if_quiet(QUIET_BRIEF_NS);
    hs_bind_give_up();
    hs_life_state_set(HS_LIFE_OFF);
    return 0;
}

static bool begin_again(uint64_t interval_bytes)
{
    int fd;
    if (hs_region_renew(&fd) != 0) {
        return false;
    }
    bool is_ok = start_tables();
    if (is_ok) {
        has_tables = true;
        hs_thread_renew_all();
        hs_process_info_write_late(hs_region.header);
        hs_region_set_interval(interval_bytes);
        if (hs_bind_is_on()) {
            hs_bind_announce_again(fd);
        } else {
            is_ok = hs_register(collector_name, fd, 0) == 0;
        }
    }
    hs_sys_close(fd);
    return is_ok;
}

HS_COLD bool hs_lifecycle_renew(void)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    uint64_t old_mask = hs_sys_block_signals();
    /* Not possible under a seccomp filter; and in a vfork child the parent must do it. */
    bool may_try = hs_tls.guard_va == 0 && !hs_sandbox_is_tight() &&
                   hs_region.header->pid == hs_sys_getpid() && take_state(HS_LIFE_ON);
    bool is_on = false;
    if (may_try) {
        /* ORDER session: the interval that it is to begin with. */
        uint32_t session = hs_load_acquire(&control->session);
        uint64_t interval_bytes = hs_load_relaxed(&control->interval_bytes);
        hs_life_state_pause();
        bool is_empty = empty_if_quiet(QUIET_BRIEF_NS);
        if (is_empty) {
            hs_region.session = session;
            is_on = begin_again(interval_bytes);
        }
        if (is_on || !is_empty) {
            turn_on(); /* not empty: the next thread tries again */
        } else {
            hs_life_state_set(HS_LIFE_OFF);
        }
    }
    hs_sys_restore_signals(old_mask);
    return is_on;
}

/* --- binding ---------------------------------------------------------------------------------- */

int hs_lifecycle_bind_idle(void)
{
    struct hs_env env;
    struct hs_collector_connect collector = { .is_late = true };
    int fd;
    hs_env_read(&env);
    if (!hs_real.is_from_start || hs_real.is_second) {
        return -ENOTSUP;
    }
    if (!take_state(HS_LIFE_OFF)) {
        return -EBUSY;
    }
    hs_bind_find(&collector);
    int err = start(&env, &collector, true, &fd);
    if (!err) {
        redirect_calls();
        hs_bind_announce(&collector, fd);
        hs_sys_close(fd);
        turn_on();
        watch_forks();
    } else {
        hs_life_state_set(HS_LIFE_OFF);
    }
    hs_collector_connect_leave(&collector);
    return err;
}

int hs_lifecycle_bind_dormant(uint64_t interval_bytes)
{
    if (!take_state(HS_LIFE_ON)) {
        return -EAGAIN;
    }
    hs_life_state_pause();
    int err = empty_if_quiet(QUIET_MAX_NS) ? 0 : -EAGAIN;
    if (!err && !begin_again(interval_bytes)) {
        hs_life_state_set(HS_LIFE_OFF);
        return -ENOMEM;
    }
    turn_on();
    return err;
}

/* --- forked children -------------------------------------------------------------------------- */

static bool may_child_follow(void)
{
    return is_following && !hs_sandbox_is_tight() && hs_lifecycle_is_on();
}

static void wait_in_child(void)
{
    hs_life_state_set(HS_LIFE_WAITING);
    hs_countdown_follow_fork();
    hs_heap_countdown_follow_fork();
    hs_python_heap_follow_fork();
    hs_bind_follow_fork();
}

/* In a child whose signal handler forked while it interrupted our code: records nothing. */
static void leave_in_child(void)
{
    leave_parent();
    hs_region_abandon();
    hs_bind_follow_fork();
}

/* Waits while another thread begins. It cannot be interrupted by a signal handler, so a short wait
 * is worth it. */
static bool wait_for_beginner(void)
{
    for (unsigned i = 0; i < FOLLOW_TRIES; i++) {
        if (hs_load_relaxed(&hs_life_state.state) != HS_LIFE_FOLLOWING) {
            break;
        }
        if (!hs_sandbox_is_tight()) {
            hs_sys_yield();
        }
    }
    return hs_lifecycle_is_on();
}

HS_COLD bool hs_lifecycle_follow_fork(void)
{
    uint64_t old_mask = hs_sys_block_signals();
    bool is_ours = hs_life_state_take(HS_LIFE_WAITING, HS_LIFE_FOLLOWING);
    if (is_ours && hs_fork_begin(collector_name)) {
        turn_on();
        hs_fork_forget_noted();
    } else if (is_ours) {
        leave_parent();
    }
    hs_sys_restore_signals(old_mask);
    return is_ours ? hs_lifecycle_is_on() : wait_for_beginner();
}

static void watch_forks(void)
{
    static const struct hs_fork_callbacks callbacks = { may_child_follow, wait_in_child,
                                                        leave_in_child };
    static bool is_watching;
    is_watching = is_watching || hs_fork_watch(&callbacks);
}

/* Starts the client at load time: the profile of a program that never allocates is an empty one. */
static __attribute__((constructor)) void on_load(void)
{
    if (hs_lifecycle_is_on()) {
        watch_forks();
        hs_python_heap_find();
    }
}
