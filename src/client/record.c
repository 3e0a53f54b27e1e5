/*
 * From a sampled allocation to a record in the region. See record.h.
 */
#include "client/record.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "client/filter.h"
#include "client/fork.h"
#include "client/hook_table.h"
#include "client/lifecycle.h"
#include "client/modules.h"
#include "client/pages.h"
#include "client/stackmem.h"
#include "client/stacks.h"
#include "rt/rand.h"
#include "rt/sys.h"
#include "unwind/rule_cache.h"
#include "unwind/unwind.h"

/* The unwinder's reasons and the region's are the same numbers. */
_Static_assert((int)HS_UNWIND_END_N == (int)HS_STACK_END_N &&
                   (int)HS_UNWIND_TOO_DEEP == (int)HS_STACK_END_TOO_DEEP &&
                   (int)HS_UNWIND_NO_ADVANCE == (int)HS_STACK_END_NO_ADVANCE,
               "one numbering");

/* 1 MiB of address space; a small program touches four pages. */
#define RULE_COUNT 65536U

/* The first instructions of a program have no caller, and often no unwind information that says so:
 * pcs this close to an entry point end a stack well. */
#define ENTRY_BYTES 128U

static struct hs_rule_cache rules;
static struct hs_rule_entry *rule_entries; /* NULL: not there yet */
static uint64_t entry_va[2];               /* of the executable and of its loader */
static struct hs_unwinder unwinder;
/* All code of ours, if a stack ever had some: one frame stands for it, and is left out. */
static uint32_t own_frame_id = HS_ID_NONE;
static int64_t start_ms;

/* A frame's number. */
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

/* Names the frame at `pc` and finds its unwind information. */
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

/* --- stacks ------------------------------------------------------------------------------------ */

static uint32_t marker(uint64_t pc)
{
    return hs_frame_intern(pc, HS_MODULE_ID_MARKER, HS_FRAME_MARKER);
}

/* Puts the markers for what is missing into the walk's frames. */
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
        /* Of a stack that is full already, the outermost frame gives way. */
        uint32_t last = walk->frame_count < HS_FRAMES_MAX ? walk->frame_count++ : HS_FRAMES_MAX - 1;
        frames[last] = marker(HS_FRAME_PC_END + walk->end);
    }
}

/*
 * A real function that a hook of ours calls may come back through another hook: an operator new that calls malloc, one
 * that throws, a destructor below dlclose. What is between is ours, and is no part of the program's stack.
 */
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

/* Does the walk end where programs begin? */
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
        return HS_ID_NONE; /* a frame more likely had no place than no module */
    }
    thread->block->walk_count++;
    thread->block->stack_end_count[walk->end]++;
    if (walk->frame_count == 0) {
        thread->block->lost_count[HS_LOSS_STACK_EMPTY]++;
    }
    if (walk->cut_idx != 0 || walk->end != HS_UNWIND_END) {
        mark_gaps(walk);
        if (hs_unlikely(walk->frames[walk->frame_count - 1] == HS_ID_NONE)) {
            return HS_ID_NONE; /* nor had its marker a place */
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

/* Not found where most are. */
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
    /* Half-written records could lead anywhere. */
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

/* --- samples ----------------------------------------------------------------------------------- */

/* A look at the clock is a twelfth of what a sample costs, and a thread that samples often would see the same
 * time again and again; so it looks at every 16th. For one that samples seldom, the collector, who looks after
 * us now and then, leaves the time here. */
#define CLOCK_SAMPLES 16U

/* The same samples are timed while a collector wants to know what they cost. Not the thread's own clock: that is a
 * system call. */
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

/* Milliseconds since recording began; the coarse clock is a read of the vdso page. Returns when the sample
 * begins that is to be timed, or 0. */
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

/* A table without room may be one that may not grow. */
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

/* Inside the guard: a signal handler may have forked since we looked. From here on it would see that we are
 * at it, and its child will not write to its parent's tables. */
static inline bool is_still_on(void)
{
    return hs_lifecycle_is_on() || hs_lifecycle_follow_fork();
}

/* A sample that could not be recorded; what it stands for is missing from all figures. */
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

/* In a child that has not begun to record. True: now it has. */
static bool begin_for_free(const void *ptr, const struct hs_live_block *ret_block)
{
    if (!hs_lifecycle_is_waiting()) {
        return false;
    }
    if (!ret_block && hs_fork_note_free((uintptr_t)ptr)) {
        /* If it has begun this moment, who notes or who begins forgets the block. */
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
    /* Most allocators look at the block's own memory next: it may come while we look for the record. */
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

/* The hot way has it inline. */
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
                thread->block->free_count--; /* it was not one */
            }
        }
        hs_reentry_guard_leave();
    }
    if (hs_unlikely(loss != HS_LOSS_N)) {
        count_loss(loss, removed->size_bytes, removed->hits,
                   hs_region.header->interval_bytes[removed->interval_idx]);
    }
}
