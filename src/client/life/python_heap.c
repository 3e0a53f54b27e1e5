/*
 * When the heap of Python's objects is recorded. See python_heap.h.
 */
#include "client/life/python_heap.h"

#include "client/life/lifecycle.h"
#include "client/life/python_stash.h"
#include "client/patch/loader_lock.h"
#include "client/patch/python_interpreters.h"
#include "client/patch/python_slots.h"
#include "client/patch/script_runtimes.h"
#include "client/tables/code_names.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/region.h"
#include "rt/atomic.h"
#include "rt/sys.h"

/* How often threads let the one go on that adds the heap. It takes microseconds. */
#define ADDING_WAITS 100000U

/* How far the heap is: not added, or being added by a thread that blocks signals, or added. */
enum progress {
    PROGRESS_NONE,
    PROGRESS_BEGUN,
    PROGRESS_DONE,
};

uint8_t hs_python_heap_id;
static uint32_t progress;
static uint32_t redirect; /* enum hs_python_redirect */
static bool cannot_move;  /* samples: see hs_python_heap_stop_moving */

static HS_COLD void add(void)
{
    uint32_t expected = PROGRESS_NONE;
    uint64_t old_mask = hs_sys_block_signals();
    if (hs_cas_relaxed(&progress, &expected, PROGRESS_BEGUN)) {
        uint8_t id = hs_heaps_add(HS_HEAP_NAME_PYTHON, 0, 0);
        if (id == 0) {
            hs_lifecycle_note_unseen(HS_LOSS_TABLE_FULL);
        }
        hs_heap_blocks_set_addressed(id);
        hs_store_relaxed(&hs_python_heap_id, id);
        /* ORDER python-heap: the id and all that belongs to it. */
        hs_store_release(&progress, PROGRESS_DONE);
    }
    hs_sys_restore_signals(old_mask);
}

uint8_t hs_python_heap_make(void)
{
    /* ORDER python-heap: as above. */
    for (unsigned i = 0; i < ADDING_WAITS && hs_load_acquire(&progress) != PROGRESS_DONE; i++) {
        add();
        hs_sys_yield();
    }
    return hs_load_relaxed(&hs_python_heap_id);
}

static bool is_known(void)
{
    return hs_python_slots_are_known && hs_python_slots_are_known();
}

/* Once they are redirected, calls stay so until recording ends: a block whose free is not seen
 * would stay in the profile. */
static enum hs_python_redirect wanted(void)
{
    enum hs_python_redirect now = (enum hs_python_redirect)hs_load_relaxed(&redirect);
    bool is_on = hs_life_state_is_alive() &&
                 hs_load_relaxed(&hs_control_page.control.interval_bytes) != HS_INTERVAL_OFF;
    uint64_t interval_bytes = is_on ? hs_heaps_named_interval(HS_HEAP_NAME_PYTHON) : 0;
    if (!is_on || interval_bytes == HS_INTERVAL_OFF) {
        return is_on ? now : HS_PYTHON_NONE;
    }
    return now == HS_PYTHON_ALL || hs_load_relaxed(&cannot_move) ||
                   interval_bytes < HS_PYTHON_MOVE_BYTES_MIN
               ? HS_PYTHON_ALL
               : HS_PYTHON_ALLOCS;
}

static void set(enum hs_python_redirect how)
{
    if ((how != HS_PYTHON_NONE || hs_load_relaxed(&redirect) != HS_PYTHON_NONE) &&
        hs_python_slots_set(how)) {
        /* ORDER python-free: the structures lead to our free before a block needs it. */
        hs_store_release(&redirect, how);
    }
}

void hs_python_heap_follow(void)
{
    if (is_known()) {
        set(wanted());
    }
}

bool hs_python_heap_sees_free(void)
{
    /* ORDER python-free: as above. */
    return hs_load_acquire(&redirect) == HS_PYTHON_ALL;
}

HS_COLD bool hs_python_heap_stop_moving(void)
{
    hs_store_relaxed(&cannot_move, true);
    hs_python_heap_follow();
    return hs_python_heap_sees_free();
}

bool hs_python_heap_maps(uint64_t pc, size_t len_bytes)
{
    return hs_load_relaxed(&redirect) != HS_PYTHON_NONE &&
           hs_python_slots_maps_arena(pc, len_bytes) && hs_heaps_is_wanted(HS_HEAP_NAME_PYTHON);
}

/* Tells that there is an interpreter whose frames are not read, if there is no other. */
static void note_unknown(void)
{
    uint32_t version = hs_load_relaxed(&hs_python_interpreters.unknown_version);
    if (version != 0 && hs_load_relaxed(&hs_python_interpreters.known) == 0) {
        hs_region_note_python(HS_PYTHON_STATE_UNKNOWN, version);
    }
}

static void note_unknown_scripts(void)
{
    for (uint32_t language = 0; language < HS_LANGUAGE_N; language++) {
        if (hs_load_relaxed(&hs_script_runtimes.unknown) >> language & 1) {
            hs_code_names_note_state(language, HS_SCRIPT_STATE_UNKNOWN);
        }
    }
}

void hs_python_heap_find(void)
{
    hs_python_interpreters_find();
    note_unknown();
    hs_script_runtimes_find();
    note_unknown_scripts();
    if (hs_python_slots_find && hs_python_slots_find()) {
        hs_python_heap_follow();
    }
}

static void find_locked(void *ctx)
{
    (void)ctx;
    hs_python_heap_find();
}

void hs_python_heap_find_late(void)
{
    hs_python_heap_follow();
    if (hs_loader_lock_call_always && !is_known() && hs_life_state_is_alive()) {
        uint64_t old_mask = hs_sys_block_signals();
        hs_loader_lock_call_always(find_locked, NULL);
        hs_sys_restore_signals(old_mask);
    }
}

void hs_python_heap_follow_fork(void)
{
    const struct hs_thread *thread = hs_tls.self;
    uint8_t heap_id = hs_load_relaxed(&hs_python_heap_id);
    if (progress == PROGRESS_BEGUN) {
        progress = PROGRESS_NONE; /* by a thread that does not exist here */
    }
    hs_python_stash_follow_fork();
    hs_python_interpreters_follow_fork();
    hs_script_runtimes_follow_fork();
    if (hs_python_slots_follow_fork) {
        hs_python_slots_follow_fork();
    }
    if (thread && thread->heap_countdowns && hs_python_tls.left_bytes != 0) {
        hs_python_tls.left_bytes = thread->heap_countdowns[heap_id].left_bytes;
    }
}

void hs_python_heap_leave(void)
{
    if (is_known()) {
        set(HS_PYTHON_NONE);
    }
}
