/*
 * The moment of a fork, and what a child does before it begins to record. See fork.h.
 */
#include "client/life/fork.h"

#include <pthread.h>

#include "client/host/fork_hold.h"
#include "client/host/sandbox.h"
#include "client/life/api_table.h"
#include "client/life/bind.h"
#include "client/life/fork_copy.h"
#include "client/life/register.h"
#include "client/tables/fork_ring.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/live.h"
#include "client/tables/mapped.h"
#include "client/tables/region.h"
#include "client/thread/countdown.h"
#include "client/thread/thread.h"
#include "fmt/ctl_layout.h"
#include "rt/check.h"
#include "rt/sys.h"

#define NOTES_MAX 256U

static struct hs_fork_callbacks on_fork;

static struct hs_fork_moment moment;
static bool is_holding; /* the ranges that the program has mapped */
static bool is_waiting; /* this process is a child that has not begun */
static uintptr_t notes[NOTES_MAX];
static uint64_t note_count;

/* --- in the parent ---------------------------------------------------------------------------- */

static void prepare(void)
{
    hs_fork_hold_enter();
    hs_countdown_note_fork();
    is_holding = hs_mapped_hold_for_fork();
    if (is_waiting) {
        return; /* our child will inherit what this process has inherited */
    }
    moment.epoch = 0;
    if (!on_fork.may_follow()) {
        return;
    }
    hs_fork_ring_make();
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        moment.counts[i] = hs_load_relaxed(&hs_region_section(hs_region.header, i)->count);
    }
    /* ORDER cut: births of the epoch that follows may still be from before. */
    moment.epoch = hs_add_acq_rel(&hs_control_page.control.epoch, 2) + 2;
    moment.first_death = hs_fork_ring_begin(moment.epoch, moment.counts[HS_SECTION_RECORDS]);
}

/* In the parent and in the child. False: the ranges were not held. */
static bool release(void)
{
    bool was_holding = is_holding;
    if (was_holding) {
        is_holding = false;
        hs_mapped_release_after_fork();
    }
    return was_holding;
}

static void in_parent(void)
{
    release();
    hs_fork_hold_leave();
    if (!is_waiting && moment.epoch != 0) {
        /* ORDER cut: births from now on are not the child's. */
        hs_add_acq_rel(&hs_control_page.control.epoch, 2);
    }
}

void hs_fork_forget(void)
{
    hs_fork_ring_forget();
    moment.epoch = 0;
}

/* --- in a child, before it begins ------------------------------------------------------------- */

static void in_child(void)
{
    if (!release()) {
        moment.epoch = 0; /* another thread may have been in the middle of a change */
    }
    hs_life_state.fork_epoch = 0;
    hs_fork_hold_reset();
    hs_heaps_follow_fork();
    hs_api_table_follow_fork();
    if (hs_tls.guard_va != 0) {
        moment.epoch = 0;
        is_waiting = false;
        on_fork.on_torn_child();
    } else if (moment.epoch != 0) {
        if (!is_waiting) {
            is_waiting = true;
            moment.self = hs_tls.self;
            note_count = 0;
        }
        on_fork.on_child();
    }
}

/* What glibc's pthread_atfork() calls. Weak, because a program with another C library (musl) gets
 * us from the environment too: with a symbol that is not there it would not start. */
extern int __register_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void),
                             void *dso) __attribute__((weak));
extern void *__dso_handle;

bool hs_fork_can_watch(void)
{
    return __register_atfork != NULL;
}

bool hs_fork_watch(const struct hs_fork_callbacks *callbacks)
{
    on_fork = *callbacks;
    return __register_atfork(prepare, in_parent, in_child, __dso_handle) == 0;
}

bool hs_fork_note_free(uintptr_t addr)
{
    uint64_t i = hs_add_relaxed(&note_count, 1);
    if (i >= NOTES_MAX) {
        return false;
    }
    /* ORDER fork-note: the note before the look whether another thread has begun. */
    hs_swap_acq_rel(&notes[i], addr);
    return true;
}

bool hs_fork_take_note(uintptr_t addr)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        uintptr_t expected = addr;
        if (hs_load_relaxed(&notes[i]) == addr && hs_cas_relaxed(&notes[i], &expected, 0)) {
            return true;
        }
    }
    return false;
}

void hs_fork_forget_noted(void)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        /* ORDER fork-note: that we have begun, before the look at the notes. */
        uintptr_t addr = hs_swap_acq_rel(&notes[i], 0);
        if (addr != 0) {
            hs_live_forget(hs_thread_self(), addr, NULL);
        }
    }
}

static bool announce(const char *name, int fd, bool is_dormant)
{
    if (hs_bind_is_on() && !is_dormant) {
        hs_bind_announce_again(fd);
        return true;
    }
    return hs_register(name, fd, is_dormant ? HS_HELLO_DORMANT : 0) == 0;
}

bool hs_fork_begin(const char *name)
{
    int fd;
    bool is_dormant = hs_load_relaxed(&hs_control_page.control.interval_bytes) == HS_INTERVAL_OFF;
    /* A daemon wants to know of a dormant child; a collector that has switched the client off does
     * not. */
    if ((is_dormant && name[0] != '/') || hs_sandbox_is_tight() || hs_region_create_file(&fd) < 0) {
        return false;
    }
    HS_ASSERT(is_waiting);
    bool is_ok = hs_fork_copy(&moment, hs_fork_ring_get(), fd) && announce(name, fd, is_dormant);
    hs_sys_close(fd);
    hs_fork_ring_leave();
    is_waiting = false;
    return is_ok;
}
