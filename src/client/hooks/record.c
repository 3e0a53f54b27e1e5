/*
 * From a sampled allocation to a record in the region, and back when the block is freed.
 *
 * A hook's slow half calls hs_record_alloc after the real function has returned the block. The
 * steps, in this order:
 *
 *   1. Thread state. The first sample of a thread makes or takes over its state. Without memory for
 *      it the sample is lost.
 *   2. Reentry guard. hs_reentry_guard_enter marks the thread as being in our code. If it already
 *      is (a signal handler interrupted our own code), the sample is lost as HS_LOSS_REENTRANT.
 *   3. Still on? Recording may have ended. Or the process is a forked child without a region of its
 *      own, which now makes one (hs_lifecycle_follow_fork).
 *   4. Clock. Every 16th sample of a thread reads the clock; the others use the later one of that
 *      time and the collector's. Now and then the thread's name is read as well.
 *   5. Prefetch. The lines of the free filter and of the index that step 8 will change are fetched
 *      while the stack is found.
 *   6. Stack. Replay comes first: an earlier walk whose stack words have not changed gives the
 *      stack's id at once. Otherwise the stack is walked (unwind/unwind.h), interned in the stack
 *      table (stacks.h), and kept for the next replay. The walk names each frame through resolve()
 *      below.
 *   7. Epoch. It decides to which cuts the birth belongs, and which of the stack's two totals
 *      counts it.
 *   8. Live table (live.h). The address goes into the free filter, a record is taken and filled,
 *      and it is published in the thread's record cache or in the index.
 *   9. Totals. The stack's running totals and the thread's counters are raised; so is, if a
 *      collector asked for it, the time that samples took.
 *
 * Whatever fails is counted by count_loss under its reason, with the bytes and blocks that the
 * sample stands for.
 *
 * A free whose address passes the free filter calls hs_record_free before the real free: guard,
 * still on, and then hs_live_remove_young, which handles a young block of the same thread, or else
 * hs_live_remove. A failed realloc puts the block back with hs_record_put_back, under a new epoch.
 *
 * Threads   any; see record.h.
 * See       record.h, live.h, unwind/replay.h.
 */
#include "client/hooks/record.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "client/tables/filter.h"
#include "client/life/fork.h"
#include "client/hooks/hook_table.h"
#include "client/life/lifecycle.h"
#include "client/host/modules.h"
#include "client/tables/pages.h"
#include "client/host/stackmem.h"
#include "client/tables/stacks.h"
#include "rt/rand.h"
#include "rt/sys.h"
#include "unwind/rule_cache.h"
#include "unwind/unwind.h"

/* The unwinder's reasons for ending a walk and the region's are the same numbers. */
_Static_assert((int)HS_UNWIND_END_N == (int)HS_STACK_END_N &&
                   (int)HS_UNWIND_TOO_DEEP == (int)HS_STACK_END_TOO_DEEP &&
                   (int)HS_UNWIND_NO_ADVANCE == (int)HS_STACK_END_NO_ADVANCE,
               "one numbering");

/* 1 MiB of address space, of which a small program touches four pages. */
#define RULE_COUNT 65536U

/* The first instructions of a program have no caller, and often no unwind information that says so:
 * a walk that ends this close behind an entry point is complete. */
#define ENTRY_BYTES 128U

static struct hs_rule_cache rules;
static struct hs_rule_entry *rule_entries; /* NULL: not mapped yet */
static uint64_t entry_va[2];               /* entry points of the executable and of its loader */
static struct hs_unwinder unwinder;
/* Once a stack had a frame of our code, this is the one frame id that stands for all our code;
 * frames of this id are left out of stacks. */
static uint32_t own_frame_id = HS_ID_NONE;
static int64_t start_ms;

/* The id of a frame in the frame table. */
static uint32_t intern(uint64_t pc, uint32_t module_id, bool is_exact)
{
    bool is_own = hs_hook_table_is_own_code && hs_hook_table_is_own_code(pc);
    uint32_t own_id = hs_load_relaxed(&own_frame_id);
    if (is_own && own_id != HS_ID_NONE) {
        return own_id;
    }
    uint32_t id = hs_frame_intern(pc, module_id, is_exact ? HS_FRAME_EXACT : 0);
    if (is_own && id != HS_ID_NONE && !hs_cas_relaxed(&own_frame_id, &own_id, id)) {
        return own_id;
    }
    return id;
}

/* Implements hs_unwinder.resolve: gives the frame at `pc` an id and finds its unwind information.
 * False: the pc lies in no code. */
static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    (void)ctx;
    uint32_t module_id;
    if (!hs_modules_find(pc, &ret_resolved->module, &module_id)) {
        return false;
    }
    if (module_id == HS_MODULE_ID_ANON &&
        (pc < 4096 || pc > UINT64_MAX / 2 || !hs_sys_is_readable(pc & ~UINT64_C(7)))) {
        return false;
    }
    ret_resolved->user = intern(pc, module_id, is_exact);
    return ret_resolved->user != HS_ID_NONE;
}

void hs_record_start_clock(void)
{
    start_ms = (int64_t)(hs_region.header->start_mono_ns / 1000000);
}

bool hs_record_init(void)
{
    if (!rule_entries) {
        rule_entries = hs_pages_map_sparse(HS_RULE_CACHE_BYTES(RULE_COUNT));
        if (!rule_entries) {
            return false;
        }
        hs_rule_cache_init(&rules, rule_entries, RULE_COUNT);
    }
    unwinder = (struct hs_unwinder){ .cache = &rules, .resolve = resolve };
    own_frame_id = HS_ID_NONE;
    hs_record_start_clock();
    const ElfW(Ehdr) *loader = (const ElfW(Ehdr) *)getauxval(AT_BASE);
    entry_va[0] = getauxval(AT_ENTRY);
    entry_va[1] = loader ? (uint64_t)(uintptr_t)loader + loader->e_entry : entry_va[0];
    return true;
}

void hs_record_clear(void)
{
    if (rule_entries) {
        hs_rule_cache_flush(&rules);
        hs_sys_madvise(rule_entries, HS_RULE_CACHE_BYTES(RULE_COUNT), MADV_DONTNEED);
    }
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        hs_thread_drop_replay(thread);
    }
}

void hs_record_flush(void)
{
    hs_modules_recheck();
    if (hs_lifecycle_is_on()) {
        hs_rule_cache_flush(&rules);
    }
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t marker(uint64_t pc)
{
    return hs_frame_intern(pc, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
}

/* Inserts marker frames into the walk where frames are missing. */
static HS_COLD void mark_gaps(struct hs_walk *walk)
{
    uint32_t *frames = walk->frames;
    if (walk->cut_idx != 0 && walk->frame_count < HS_FRAMES_MAX) {
        for (uint32_t i = walk->frame_count; i > walk->cut_idx; i--) {
            frames[i] = frames[i - 1];
        }
        frames[walk->cut_idx] = marker(HS_FRAME_PC_CUT);
        walk->frame_count++;
    }
    if (walk->end != HS_UNWIND_END) {
        /* If the stack is full already, the marker replaces the outermost frame. */
        uint32_t last = walk->frame_count < HS_FRAMES_MAX ? walk->frame_count++ : HS_FRAMES_MAX - 1;
        frames[last] = marker(HS_FRAME_PC_END + walk->end);
    }
}

/* Removes frames of our own code. A real function that a hook calls may call another hook: an
 * operator new that calls malloc, one that throws, or a destructor below dlclose. The frames of
 * ours in between are no part of the program's stack. */
static HS_COLD void drop_own_frames(struct hs_walk *walk)
{
    uint32_t *frames = walk->frames, kept = 0, cut_idx = walk->cut_idx;
    for (uint32_t i = 0; i < walk->frame_count; i++) {
        if (frames[i] != own_frame_id) {
            frames[kept++] = frames[i];
        } else if (i < cut_idx) {
            walk->cut_idx--;
        }
    }
    walk->frame_count = kept;
}

/* Does the walk end at an entry point, where programs begin? */
static bool is_at_entry(const struct hs_walk *walk)
{
    const struct hs_frame_v1 *frame =
        walk->frame_count ? hs_region_frame(walk->frames[walk->frame_count - 1]) : NULL;
    return frame &&
           (frame->pc - entry_va[0] < ENTRY_BYTES || frame->pc - entry_va[1] < ENTRY_BYTES);
}

static HS_COLD uint32_t walk_stack(struct hs_thread *thread, const struct hs_regs *regs,
                                   struct hs_stack_window *window, uint64_t generation)
{
    struct hs_walk *walk = &thread->walk;
    hs_unwind_prefetch(&unwinder, regs->sp, window, walk);
    hs_unwind_walk(&unwinder, regs, false, window, walk);
    if (hs_unlikely(hs_load_relaxed(&own_frame_id) != HS_ID_NONE)) {
        drop_own_frames(walk);
    }
    if (walk->end == HS_UNWIND_NO_INFO && is_at_entry(walk)) {
        walk->end = HS_UNWIND_END;
    }
    if (hs_unlikely(walk->end == HS_UNWIND_NO_MODULE) && hs_load_relaxed(&hs_region.is_at_limit)) {
        /* More likely the frame table had no room than that there is no module. */
        return HS_ID_NONE;
    }
    thread->block->walk_count++;
    thread->block->stack_end_count[walk->end]++;
    if (walk->frame_count == 0) {
        thread->block->lost_count[HS_LOSS_STACK_EMPTY]++;
    }
    if (walk->cut_idx != 0 || walk->end != HS_UNWIND_END) {
        mark_gaps(walk);
        if (hs_unlikely(walk->frames[walk->frame_count - 1] == HS_ID_NONE)) {
            return HS_ID_NONE; /* there was no room for the marker either */
        }
    }
    struct hs_stack_key key = {
        .frame_ids = walk->frames,
        .frame_count = walk->frame_count,
        .end = (uint8_t)walk->end,
        .guessed_frame = walk->guessed_frame,
    };
    uint32_t id = hs_stack_intern(&key);
    if (id != HS_ID_NONE) {
        hs_replay_store(&thread->replay, regs, walk, generation, id);
        if (hs_unlikely(thread->replay.lost_count >= thread->replay.slot_count)) {
            hs_thread_enlarge_replay(thread);
        }
    }
    return id;
}

/* The stack was not found by the first, fast search: searches the replay table with the whole stack
 * window, then walks. */
static __attribute__((noinline)) uint32_t
find_or_walk(struct hs_thread *thread, const struct hs_regs *regs, uint64_t generation)
{
    struct hs_stack_window window;
    uint32_t id;
    hs_stackmem_window(thread, regs->sp, &window);
    if (hs_replay_find(&thread->replay, regs, &window, generation, &id)) {
        thread->block->replay_count++;
    } else {
        id = walk_stack(thread, regs, &window, generation);
    }
    return id;
}

static inline uint32_t find_stack(struct hs_thread *thread, const struct hs_regs *regs)
{
    /* A handler jumped out of replay and left the table half written; its paths can lead
     * anywhere. */
    if (hs_unlikely(thread->is_replaying)) {
        hs_thread_forget_replay(thread);
    }
    thread->is_replaying = true;
    hs_signal_fence();
    uint64_t generation = hs_rule_cache_generation(&rules);
    uint32_t id = hs_replay_find_within(&thread->replay, regs,
                                        hs_stackmem_own_end(thread, regs->sp), generation);
    if (hs_likely(id != HS_REPLAY_NONE)) {
        thread->block->replay_count++;
    } else {
        id = find_or_walk(thread, regs, generation);
    }
    hs_signal_fence();
    thread->is_replaying = false;
    return id;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Reading the clock costs a twelfth of what a sample costs, and a thread that samples often would
 * read the same time again and again. So a thread reads it at every 16th sample. For a thread that
 * samples seldom, the collector, which polls the client now and then, leaves its time in the
 * control page. */
#define CLOCK_SAMPLES 16U

/* The samples that read the clock are also timed while a collector wants to know what samples cost.
 * CLOCK_MONOTONIC, and not the thread's CPU clock: reading that is a system call. */
static HS_COLD uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static HS_COLD void count_time(struct hs_thread *thread, uint64_t begin_ns)
{
    uint64_t took_ns = clock_ns() - begin_ns;
    thread->block->timed_ns += took_ns < HS_TIMED_MAX_NS ? took_ns : HS_TIMED_MAX_NS;
    thread->block->timed_count++;
}

/* Sets the thread's milliseconds since recording began; reading the coarse clock is a read of the
 * vdso page. Returns the time in ns at which the sample began if it is to be timed, otherwise 0. */
static __attribute__((noinline)) uint64_t look_at_clock(struct hs_thread *thread)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    int64_t ms = now.tv_sec * 1000 + (int64_t)((uint32_t)now.tv_nsec / 1000000) - start_ms;
    thread->clock_ms = ms > 0 ? (uint32_t)ms : 0;
    uint32_t flags = hs_load_relaxed(&hs_control_page.control.flags);
    return hs_likely(!(flags & HS_CONTROL_TIMED)) ? 0 : clock_ns();
}

static inline uint32_t now_ms(const struct hs_thread *thread)
{
    uint32_t told_ms = hs_load_relaxed(&hs_control_page.control.collector_ms);
    return thread->clock_ms > told_ms ? thread->clock_ms : told_ms;
}

/* A table that is full may be one that the memory limit keeps from growing: that is another
 * reason. */
static HS_COLD enum hs_loss reason_of(enum hs_loss loss)
{
    return loss == HS_LOSS_TABLE_FULL && hs_load_relaxed(&hs_region.is_at_limit) ? HS_LOSS_LIMIT
                                                                                 : loss;
}

static inline enum hs_loss record(struct hs_thread *thread, const void *ptr, size_t size_bytes,
                                  const struct hs_sample *sample, const struct hs_regs *regs)
{
    uint64_t begin_ns = 0;
    if (hs_unlikely(--thread->name_countdown % CLOCK_SAMPLES == 0)) {
        begin_ns = look_at_clock(thread);
        if (thread->name_countdown == 0) {
            hs_thread_refresh_name(thread);
        }
    }
    struct hs_live_slot slot = hs_live_prefetch(thread, (uintptr_t)ptr);
    struct hs_live_block block = {
        .addr = (uintptr_t)ptr,
        .size_bytes = size_bytes,
        .weight_bytes = sample->hits ? sample->hits * sample->interval_bytes : size_bytes,
        .stack_id = find_stack(thread, regs),
        .birth_ms = now_ms(thread),
        .hits = sample->hits,
        .interval_idx = sample->interval_idx,
        /* ORDER cut: births of this epoch belong to the cuts announced from it on. */
        .epoch = hs_load_acquire(&hs_control_page.control.epoch),
    };
    struct hs_totals_v1 *totals = hs_stack_totals(block.stack_id, block.epoch);
    if (hs_unlikely(!totals)) {
        return reason_of(HS_LOSS_TABLE_FULL);
    }
    __builtin_prefetch(totals, 1);
    enum hs_loss loss = hs_live_insert_at(thread, slot, &block);
    if (hs_unlikely(loss != HS_LOSS_N)) {
        return reason_of(loss);
    }
    hs_stack_add(totals, size_bytes, sample->hits, sample->interval_bytes);
    thread->block->sample_count++;
    thread->block->alloc_bytes += block.weight_bytes;
    if (hs_unlikely(begin_ns != 0)) {
        count_time(thread, begin_ns);
    }
    return HS_LOSS_N;
}

/* Called inside the guard, because a signal handler may have forked since the first check. A
 * handler that forks from here on sees that the thread is in our code, and its child will not write
 * to its parent's tables. */
static inline bool is_still_on(void)
{
    return hs_lifecycle_is_on() || hs_lifecycle_follow_fork();
}

/* Counts a sample that could not be recorded: what it stands for is missing from all figures. */
static HS_COLD void count_loss(enum hs_loss loss, uint64_t size_bytes, uint32_t hits,
                               uint64_t interval_bytes)
{
    double count =
        hits ? hs_inverse_hit_probability((double)size_bytes / (double)interval_bytes) : 1;
    hs_thread_count_loss(loss, hits ? hits * interval_bytes : size_bytes,
                         (uint64_t)(count * (double)(1 << HS_COUNT_SHIFT) + 0.5));
}

void hs_record_alloc(const void *ptr, size_t size_bytes, const struct hs_sample *sample,
                     const struct hs_regs *regs)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    struct hs_thread *thread = hs_thread_self();
    if (hs_likely(hs_reentry_guard_enter(&mark))) {
        loss = hs_unlikely(!is_still_on()) ? HS_LOSS_N
               : hs_likely(thread != NULL) ? record(thread, ptr, size_bytes, sample, regs)
                                           : HS_LOSS_NO_THREAD_BLOCK;
        hs_reentry_guard_leave();
    }
    if (hs_unlikely(loss != HS_LOSS_N)) {
        count_loss(loss, size_bytes, sample->hits, sample->interval_bytes);
    }
}

/* For a free in a forked child that has not begun to record. True: now it has begun, and the free
 * must be done. */
static bool begin_for_free(const void *ptr, const struct hs_live_block *ret_block)
{
    if (!hs_lifecycle_is_waiting()) {
        return false;
    }
    if (!ret_block && hs_fork_note_free((uintptr_t)ptr)) {
        /* If another thread begins recording at this moment, either it or this thread forgets the
         * block. */
        return hs_lifecycle_is_on() && hs_fork_take_note((uintptr_t)ptr);
    }
    return hs_lifecycle_follow_fork();
}

static HS_COLD bool free_with_care(const void *ptr, struct hs_live_block *ret_block)
{
    if (hs_unlikely(!hs_lifecycle_is_on()) && !begin_for_free(ptr, ret_block)) {
        return false;
    }
    struct hs_frame_marker mark;
    bool is_outermost = hs_reentry_guard_enter(&mark);
    bool was_recorded = is_still_on() && hs_live_remove(is_outermost ? hs_thread_self() : NULL,
                                                        (uintptr_t)ptr, ret_block);
    if (hs_likely(is_outermost)) {
        hs_reentry_guard_leave();
    }
    return was_recorded;
}

bool hs_record_free(const void *ptr, struct hs_live_block *ret_block)
{
    struct hs_tls *tls = &hs_tls;
    struct hs_frame_marker mark;
    /* Most allocators read the block's own memory next: it is fetched while the record is
     * searched. */
    __builtin_prefetch((const char *)ptr - 8, 1);
    if (hs_unlikely(!tls->self) || hs_unlikely(tls->guard_va != 0)) {
        return free_with_care(ptr, ret_block);
    }
    hs_reentry_guard_set(&mark);
    if (hs_unlikely(!hs_lifecycle_is_on())) {
        hs_reentry_guard_leave();
        return free_with_care(ptr, ret_block);
    }
    bool was_recorded =
        (!ret_block && hs_likely(hs_live_remove_young(tls->self, (uintptr_t)ptr))) ||
        hs_live_remove(tls->self, (uintptr_t)ptr, ret_block);
    hs_reentry_guard_leave();
    return was_recorded;
}

/* A copy that is not inlined; the hot path has its own inlined. */
static HS_COLD enum hs_loss insert_again(struct hs_thread *thread,
                                         const struct hs_live_block *block)
{
    return hs_live_insert(thread, block);
}

void hs_record_put_back(const struct hs_live_block *removed)
{
    enum hs_loss loss = HS_LOSS_REENTRANT;
    struct hs_frame_marker mark;
    if (hs_likely(hs_reentry_guard_enter(&mark))) {
        struct hs_thread *thread = hs_thread_self();
        struct hs_live_block block = *removed;
        /* ORDER cut: as in record(). */
        block.epoch = hs_load_acquire(&hs_control_page.control.epoch);
        if (is_still_on()) {
            loss = thread ? reason_of(insert_again(thread, &block)) : HS_LOSS_NO_THREAD_BLOCK;
            if (thread) {
                /* hs_record_free had counted it, but nothing was freed. */
                thread->block->free_count--;
            }
        }
        hs_reentry_guard_leave();
    }
    if (hs_unlikely(loss != HS_LOSS_N)) {
        count_loss(loss, removed->size_bytes, removed->hits,
                   hs_region.header->interval_bytes[removed->interval_idx]);
    }
}
