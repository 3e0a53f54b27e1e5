/*
 * Taking, making and naming per-thread state. See thread.h.
 */
#include "client/thread/thread.h"

#include <string.h>
#include <sys/mman.h>

#include "client/host/pages.h"
#include "client/host/sandbox.h"
#include "client/tables/life_state.h"
#include "client/tables/locate.h"
#include "client/tables/region.h"
#include "client/thread/js_frames.h"
#include "client/thread/stackmem.h"
#include "rt/sys.h"
#include "unwind/vm_replay.h"

/* Slots and bytes of a replay table: only touched pages count. */
#define REPLAY_SLOTS       1024U
#define REPLAY_ARENA_BYTES (512U * 1024)

/* Those of a thread whose stacks do not fit, 2 MiB together; and how many threads of a process may
 * have such a table. */
#define LARGE_SLOTS       4096U
#define LARGE_ARENA_BYTES ((2U << 20) - LARGE_SLOTS * sizeof(struct hs_replay_slot))
#define LARGE_COUNT_MAX   3U

/* How many threads' states a new thread examines for one whose owner has ended. */
#define ADOPT_TRIES 8U

/* In a sandbox the client cannot find out whether a thread has ended, so the state of its threads
 * is not reused. */
#define NAMELESS_MAX 256U

static struct hs_thread *adopt_cursor;
static int32_t attaching_count; /* threads that are taking or making their state */

static struct hs_thread_v1 *take_identity(uint32_t tid, uint16_t *ret_id)
{
    uint64_t id = hs_region_take(HS_SECTION_THREADS, 1);
    struct hs_thread_v1 *entry =
        id <= HS_THREAD_ID_MAX ? hs_region_at(HS_SECTION_THREADS, id) : NULL;
    *ret_id = HS_THREAD_ID_OTHER;
    if (entry) {
        uint64_t age_ns = hs_sandbox_now_ns() - hs_region.header->start_mono_ns;
        entry->start_ms = (uint32_t)(age_ns / 1000000);
        entry->tid = tid;
        *ret_id = (uint16_t)id;
    }
    return entry;
}

/* Makes the identity of the running thread. */
static uint16_t new_identity(uint32_t tid)
{
    uint16_t id;
    struct hs_thread_v1 *entry = take_identity(tid, &id);
    if (entry) {
        hs_sys_thread_name(entry->name);
    }
    return id;
}

/* Takes over the state of a thread that has ended. */
static struct hs_thread *adopt(uint32_t pid, uint32_t tid)
{
    struct hs_thread *first = hs_thread_first();
    struct hs_thread *thread = hs_load_relaxed(&adopt_cursor);
    for (uint32_t i = 0; i < ADOPT_TRIES && first; i++) {
        thread = thread ? thread : first;
        uint32_t owner = hs_load_relaxed(&thread->owner_tid);
        /* A thread that has ended has written all that it will: the kernel's answer is enough. */
        if ((owner == tid || owner == 0 || !hs_sys_thread_exists(pid, owner)) &&
            hs_cas_relaxed(&thread->owner_tid, &owner, tid)) {
            hs_store_relaxed(&adopt_cursor, thread->next);
            return thread;
        }
        thread = thread->next;
    }
    hs_store_relaxed(&adopt_cursor, thread);
    return NULL;
}

/* One mapping holds the thread's state and a replay table of the usual size. */
#define REPLAY_OFF hs_align_up(sizeof(struct hs_thread), 64)
#define THREAD_BYTES                                                                               \
    hs_align_up(REPLAY_OFF + HS_REPLAY_BYTES(REPLAY_SLOTS, REPLAY_ARENA_BYTES), 4096)

HS_COLD void hs_thread_forget_replay(struct hs_thread *thread)
{
    struct hs_replay *replay = &thread->replay;
    memset(replay->slots, 0, HS_REPLAY_BYTES(replay->slot_count, 0));
    hs_replay_init(replay, replay->slots, replay->slot_count, replay->arena_words * 8);
    if (thread->vm_replay) {
        hs_vm_replay_forget(thread->vm_replay);
    }
}

HS_COLD void hs_thread_drop_replay(struct hs_thread *thread)
{
    struct hs_replay *replay = &thread->replay;
    uintptr_t start = hs_align_up((uintptr_t)replay->slots, 4096);
    uintptr_t end = hs_align_down((uintptr_t)(replay->arena + replay->arena_words), 4096);
    hs_thread_forget_replay(thread); /* the partial pages at both ends */
    hs_sys_madvise((void *)start, end - start, MADV_DONTNEED);
    if (thread->vm_replay) {
        hs_sys_madvise(thread->vm_replay, hs_align_down(sizeof(*thread->vm_replay), 4096),
                       MADV_DONTNEED);
        hs_vm_replay_init(thread->vm_replay);
    }
    thread->is_replaying = false;
}

/* The contents of the small table are dropped: mostly it was full, and has just been emptied. */
static void replace_replay(struct hs_thread *thread)
{
    static uint32_t large_count;
    size_t bytes = HS_REPLAY_BYTES(LARGE_SLOTS, LARGE_ARENA_BYTES);
    void *memory =
        hs_add_relaxed(&large_count, 1) < LARGE_COUNT_MAX ? hs_pages_map_sparse(bytes) : NULL;
    if (!memory) {
        return;
    }
    hs_pages_populate(memory, bytes);
    hs_replay_init(&thread->replay, memory, LARGE_SLOTS, LARGE_ARENA_BYTES);
    uintptr_t old_va = hs_align_up((uintptr_t)thread + REPLAY_OFF, 4096);
    hs_pages_unmap((void *)old_va, (uintptr_t)thread + THREAD_BYTES - old_va);
}

HS_COLD void hs_thread_enlarge_replay(struct hs_thread *thread)
{
    if (!thread->is_replay_final) {
        thread->is_replay_final = true;
        uint64_t old_mask = hs_sys_block_signals();
        replace_replay(thread);
        hs_sys_restore_signals(old_mask);
    }
}

static struct hs_thread_block_v1 *take_block(void)
{
    uint64_t id = hs_region_take(HS_SECTION_BLOCKS, 1);
    return id == UINT64_MAX ? NULL : hs_region_at(HS_SECTION_BLOCKS, id);
}

static struct hs_thread *make(uint32_t tid)
{
    struct hs_thread_block_v1 *block = take_block();
    if (!block) {
        return NULL;
    }
    struct hs_thread *thread = hs_pages_map_sparse(THREAD_BYTES);
    if (!thread) {
        return NULL;
    }
    thread->block = block;
    thread->owner_tid = tid;
    thread->free_records.first = HS_RECORD_NONE;
    thread->peak_dead.first = HS_RECORD_NONE;
    thread->snapshot_dead.first = HS_RECORD_NONE;
    hs_replay_init(&thread->replay, (uint8_t *)thread + REPLAY_OFF, REPLAY_SLOTS,
                   REPLAY_ARENA_BYTES);
    hs_thread_link(thread);
    return thread;
}

/* Makes state for a thread that may not ask for its id: it gets a number of its own, and takes over
 * no other state. */
static struct hs_thread *attach_in_sandbox(void)
{
    static uint32_t nameless_count;
    uint32_t count = hs_add_relaxed(&nameless_count, 1);
    return count < NAMELESS_MAX ? make(UINT32_MAX - count) : NULL;
}

static struct hs_thread *attach_by_id(void)
{
    uint32_t tid = hs_sys_gettid();
    uint32_t pid = hs_sys_getpid();
    if (pid != hs_region.header->pid) {
        /* A vfork child: it runs in the thread-local storage of its parent, and its thread id will
         * be gone when the parent goes on. */
        return NULL;
    }
    struct hs_thread *thread = adopt(pid, tid);
    return thread ? thread : make(tid);
}

static void attach(void)
{
    bool is_tight = hs_sandbox_is_tight();
    struct hs_thread *thread = is_tight ? attach_in_sandbox() : attach_by_id();
    if (!thread) {
        return;
    }
    thread->gap_count = 0;
    thread->must_look = true;
    thread->last_birth = NULL;
    hs_js_frames_forget(thread);
    thread->stack_lo_va = 0;
    thread->stack_hi_va = 0;
    thread->foreign_lo_va = 0;
    thread->foreign_hi_va = 0;
    thread->thread_id = is_tight ? HS_THREAD_ID_OTHER : new_identity(thread->owner_tid);
    thread->name_interval = 1;
    thread->name_countdown = 1;
    thread->block->tid = thread->owner_tid;
    thread->block->thread_id = thread->thread_id;
    thread->first_alloc_bytes = thread->block->alloc_bytes;
    hs_thread_adopt_losses(thread->block);
    /* Finds the thread's own stack. */
    struct hs_stack_window unused;
    hs_stackmem_look(thread, (uintptr_t)__builtin_frame_address(0), &unused);
    thread->tls = &hs_tls;
    hs_tls.self = thread;
}

HS_COLD void hs_thread_renew_all(void)
{
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        struct hs_thread_block_v1 *block = take_block();
        if (!block) {
            return; /* does not happen: the section has room for a million */
        }
        thread->block = block;
        thread->first_alloc_bytes = 0;
        thread->gap_count = 0;
        thread->name_interval = 1;
        thread->name_countdown = 1; /* it reads its name itself, at its next sample */
        if (thread->owner_tid != 0 && thread->owner_tid <= UINT32_MAX - NAMELESS_MAX) {
            take_identity(thread->owner_tid, &thread->thread_id);
            block->tid = thread->owner_tid;
            block->thread_id = thread->thread_id;
        }
    }
}

HS_COLD void hs_thread_follow_fork(struct hs_thread *self)
{
    /* The thread that forked is the first of the new process. */
    uint32_t tid = hs_region.header->pid;
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        hs_store_relaxed(&thread->owner_tid, thread == self ? tid : 0);
    }
    if (self) {
        self->thread_id = new_identity(tid);
        self->block->tid = tid;
        self->block->thread_id = self->thread_id;
    }
}

HS_COLD void hs_thread_attach(void)
{
    /* A longjmp that left this half done would make it start again, and leak, each time. */
    uint64_t old_mask = hs_sys_block_signals();
    /* ORDER quiet: the count of attaching threads, before the look whether attaching is allowed. */
    hs_add_acq_rel(&attaching_count, 1);
    if (!hs_life_state_is_starting()) {
        attach();
    }
    /* ORDER quiet: all that this thread wrote, before the count goes down. */
    hs_add_acq_rel(&attaching_count, -1);
    hs_sys_restore_signals(old_mask);
}

bool hs_thread_is_any_attaching(void)
{
    /* ORDER quiet: all that threads wrote which are not counted any more. */
    return hs_load_acquire(&attaching_count) != 0;
}

/* A thread is often named just after it has begun, and seldom later: its name is read at samples 1,
 * 2, 4, ... 4096, and then at every 4096th. */
HS_COLD void hs_thread_refresh_name(struct hs_thread *thread)
{
    hs_locate_review(thread, thread->name_interval);
    thread->name_interval = thread->name_interval < 4096 ? thread->name_interval * 2 : 4096;
    thread->name_countdown = thread->name_interval;
    if (thread->thread_id != HS_THREAD_ID_OTHER && !hs_sandbox_is_tight()) {
        struct hs_thread_v1 *entry = hs_region_at(HS_SECTION_THREADS, thread->thread_id);
        if (entry) {
            hs_sys_thread_name(entry->name);
        }
    }
}
