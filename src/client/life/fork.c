/*
 * The moment of a fork, the ring of records that died since, and what a child does before it begins
 * to record. See fork.h.
 */
#include "client/life/fork.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "client/life/fork_copy.h"
#include "client/tables/live.h"
#include "client/tables/pages.h"
#include "client/tables/region.h"
#include "client/life/register.h"
#include "client/hooks/sampler.h"
#include "client/host/sandbox.h"
#include "client/life/thread.h"
#include "fmt/ctl_layout.h"
#include "rt/check.h"
#include "rt/sys.h"

/* How many deaths are written down after a fork: as many as there are records, within these
 * bounds. */
#define DEATHS_MIN (UINT64_C(1) << 14)
#define DEATHS_MAX HS_FORK_RING_ENTRIES
#define NOTES_MAX  256U
/* How long to wait for forks in progress, which other atfork handlers may delay; and for a thread
 * that holds forks, which needs milliseconds unless it has no processor. */
#define HOLD_MAX_NS UINT64_C(100000000)
#define WAIT_MAX_NS UINT64_C(1000000000)

static struct hs_fork_callbacks on_fork;
static struct hs_fork_ring
    *ring; /* shared with our children, or, until we begin, with our parent */
/* Where the ring is or was. It stays mapped for a thread that writes into it late. */
static struct hs_fork_ring *place;
static uint64_t ring_end; /* no more deaths than this are written down */

static struct hs_fork_moment moment;
static bool is_waiting; /* this process is a child that has not begun */
static uintptr_t notes[NOTES_MAX];
static uint64_t note_count;

static uint32_t forking_count; /* forks between our first handler and our last */
static uint32_t is_held;       /* a thread needs that no fork is in progress */

/* --- holding forks ---------------------------------------------------------------------------- */

bool hs_fork_hold(void)
{
    uint64_t end_ns = hs_sys_clock_ns(CLOCK_MONOTONIC) + HOLD_MAX_NS;
    hs_store_relaxed(&is_held, 1);
    /* ORDER fork-count: one side sees the other: a thread that counts a fork sees that forks are
     * held, or its count is seen here. */
    hs_fence_seq_cst();
    while (hs_load_relaxed(&forking_count) != 0) {
        if (hs_sys_clock_ns(CLOCK_MONOTONIC) > end_ns) {
            hs_fork_let_go();
            return false;
        }
        hs_sys_yield();
    }
    return true;
}

void hs_fork_let_go(void)
{
    /* ORDER fork-hold: what was done meanwhile before the fork that waited for it. */
    hs_store_release(&is_held, 0);
}

/* Counts this fork as one in progress, as soon as forks are not held. Below a seccomp filter they
 * never are. */
static void begin_forking(void)
{
    uint64_t end_ns = 0, now_ns = 0;
    hs_add_relaxed(&forking_count, 1);
    /* ORDER fork-count: as above. */
    hs_fence_seq_cst();
    /* ORDER fork-hold: as above. */
    while (hs_load_acquire(&is_held) && !hs_sandbox_is_tight() && now_ns <= end_ns) {
        hs_sub_relaxed(&forking_count, 1);
        now_ns = hs_sys_clock_ns(CLOCK_MONOTONIC);
        end_ns = end_ns ? end_ns : now_ns + WAIT_MAX_NS;
        hs_sys_yield();
        hs_add_relaxed(&forking_count, 1);
        /* ORDER fork-count: as above. */
        hs_fence_seq_cst();
    }
}

static void end_forking(void)
{
    /* A fork that had begun before the handlers were registered has not been counted. */
    uint32_t count = hs_load_relaxed(&forking_count);
    while (count > 0 && !hs_cas_relaxed(&forking_count, &count, count - 1)) {
    }
}

/* --- in the parent ---------------------------------------------------------------------------- */

static struct hs_fork_ring *map_ring(void)
{
    long va =
        hs_sys_mmap(place, sizeof(struct hs_fork_ring), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | (place ? MAP_FIXED : 0), -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    place = (struct hs_fork_ring *)va;
    hs_sandbox_advise((void *)va, sizeof(struct hs_fork_ring), MADV_DONTDUMP);
    return (struct hs_fork_ring *)va;
}

/* As many as could be needed, and have room. */
static uint64_t deaths_to_write_down(void)
{
    uint64_t records = moment.counts[HS_SECTION_RECORDS];
    records = records < DEATHS_MIN ? DEATHS_MIN : records;
    return records < DEATHS_MAX ? records : DEATHS_MAX;
}

static void prepare(void)
{
    begin_forking();
    hs_sampler_prepare_fork();
    if (is_waiting) {
        return; /* our child will inherit what this process has inherited */
    }
    moment.epoch = 0;
    if (!on_fork.may_follow()) {
        return;
    }
    if (!ring) {
        ring = map_ring();
    }
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        moment.counts[i] = hs_load_relaxed(&hs_region.header->sections[i].count);
    }
    /* ORDER cut: births of the epoch that follows may still be from before. */
    moment.epoch = hs_add_acq_rel(&hs_control_page.control.epoch, 2) + 2;
    if (ring) {
        moment.first_death = hs_load_relaxed(&ring->count);
        hs_store_relaxed(&ring_end, moment.first_death + deaths_to_write_down());
        hs_store_relaxed(&hs_lifecycle.fork_epoch, moment.epoch);
    }
}

static void in_parent(void)
{
    end_forking();
    if (!is_waiting && moment.epoch != 0) {
        /* ORDER cut: births from now on are not the child's. */
        hs_add_acq_rel(&hs_control_page.control.epoch, 2);
    }
}

void hs_fork_forget(void)
{
    hs_store_relaxed(&hs_lifecycle.fork_epoch, 0);
    moment.epoch = 0;
    if (ring) {
        /* Like our tables, the ring stays mapped and empty: a thread that has not left in time writes
         * there. */
        hs_sys_mmap(place, sizeof(*place), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        ring = NULL;
    }
}

void hs_fork_write_down(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t epoch = hs_load_relaxed(&hs_lifecycle.fork_epoch);
    HS_ASSERT(
        !hs_load_relaxed(&is_waiting)); /* the child would write in its parent's region next */
    uint64_t number = hs_add_relaxed(&place->count, 1);
    if (number >= hs_load_relaxed(&ring_end)) {
        /* A child that has not begun by now will miss some deaths. */
        hs_cas_relaxed(&hs_lifecycle.fork_epoch, &epoch, 0);
        return;
    }
    struct hs_fork_death *death = &place->deaths[number % HS_FORK_RING_ENTRIES];
    hs_store_relaxed(&death->tag, 0);
    /* ORDER fork-death: an old tag is gone before its content. */
    hs_fence_release();
    hs_store_relaxed(&death->record_id, hs_region_record_id(record));
    hs_store_relaxed(&death->record.addr, record->addr);
    hs_store_relaxed(&death->record.size_thread, record->size_thread);
    hs_store_relaxed(&death->record.stack_id, record->stack_id);
    hs_store_relaxed(&death->record.word, word);
    /* ORDER fork-death: its content before its tag, and that before the record changes. */
    hs_store_release(&death->tag, number + 1);
}

/* --- in a child, before it begins ------------------------------------------------------------- */

static void in_child(void)
{
    hs_lifecycle.fork_epoch = 0;
    forking_count = 0;
    is_held = 0;
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

/* What glibc's pthread_atfork() calls. Weak, because a program with another C library (musl) gets us from the
 * environment too: with a symbol that is not there it would not start. */
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
            hs_live_remove(hs_thread_self(), addr, NULL);
        }
    }
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
    bool is_ok = hs_fork_copy(&moment, ring, fd) &&
                 hs_register(name, fd, is_dormant ? HS_HELLO_DORMANT : 0) == 0;
    hs_sys_close(fd);
    if (ring) {
        hs_sys_munmap(ring, sizeof(*ring));
        ring = place = NULL;
    }
    is_waiting = false;
    return is_ok;
}
