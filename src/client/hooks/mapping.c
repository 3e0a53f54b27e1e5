/*
 * Recording what the program maps. See mapping.h.
 */
#include "client/hooks/mapping.h"

#include "client/hooks/record_steps.h"
#include "client/hooks/sampler.h"
#include "client/host/allocator_code.h"
#include "client/host/real.h"
#include "client/life/python_heap.h"
#include "client/tables/heaps.h"
#include "client/tables/mapped_check.h"
#include "client/tables/stacks.h"
#include "client/thread/call_stack.h"
#include "client/thread/thread.h"
#include "fmt/ctl_layout.h"

/* A step of ours: inside the guard and the lock. */
struct step {
    struct hs_frame_marker mark;
    struct hs_thread *thread; /* NULL: a signal handler interrupted our own code */
    uint64_t old_mask;
    bool is_outermost;
};

/* Is the caller the allocator that serves malloc? If that is a part of the executable, only the
 * callers' functions tell. */
static bool is_allocators(const struct step *step, const struct hs_regs *regs)
{
    return step->thread && hs_load_relaxed(&heapscope_detours_v1.count) > 0 &&
           hs_call_stack_has_own(step->thread, regs);
}

/* Enters the guard. False: recording has ended. */
static bool begin(struct step *step)
{
    struct hs_thread *thread = hs_thread_self();
    step->is_outermost = hs_reentry_guard_enter(&step->mark);
    step->thread = step->is_outermost ? thread : NULL;
    if (!hs_record_is_still_on()) {
        if (step->is_outermost) {
            hs_reentry_guard_leave();
        }
        return false;
    }
    return true;
}

static void end(struct step *step)
{
    if (step->is_outermost) {
        hs_reentry_guard_leave();
    }
}

/* Takes the lock. False: not in time, and `lost_bytes` are counted as lost. */
static bool enter(struct step *step, uint64_t lost_bytes)
{
    if (!hs_mapped_enter(&step->old_mask)) {
        hs_mapped_note_missed(lost_bytes);
        return false;
    }
    if (hs_unlikely(hs_mapped_take_suspicion())) {
        const struct hs_mapped_opener none = { .origin = { .thread = step->thread } };
        hs_mapped_check(&none);
    }
    return true;
}

/* The end of the pages of [start_va, start_va + len_bytes). 0: the kernel refuses such a call. */
static uint64_t end_of(uint64_t start_va, uint64_t len_bytes)
{
    uint64_t end_va;
    if (len_bytes == 0 || start_va % HS_MAPPED_PAGE_BYTES != 0 ||
        __builtin_add_overflow(start_va, len_bytes, &end_va) ||
        end_va > UINT64_MAX - HS_MAPPED_PAGE_BYTES) {
        return 0;
    }
    return hs_align_up(end_va, HS_MAPPED_PAGE_BYTES);
}

/* --- taking away ------------------------------------------------------------------------------ */

void hs_mapping_take(uint64_t start_va, uint64_t len_bytes, struct hs_mapped_chain *chain)
{
    struct step step;
    uint64_t end_va = end_of(start_va, len_bytes);
    if (end_va == 0 || !hs_mapped_has_any() || !hs_sampler_is_ready() || !begin(&step)) {
        return;
    }
    if (enter(&step, 0)) {
        hs_mapped_take(step.thread, start_va, end_va, chain);
        hs_mapped_leave(step.old_mask);
    }
    end(&step);
}

static HS_COLD void give_back(struct hs_mapped_chain *chain, bool is_reserved)
{
    struct step step;
    if (chain->first == HS_RANGE_NONE || !begin(&step)) {
        return;
    }
    if (enter(&step, 0)) {
        hs_mapped_put_back(step.thread, chain, is_reserved);
        hs_mapped_leave(step.old_mask);
    }
    end(&step);
}

HS_COLD void hs_mapping_put_back(struct hs_mapped_chain *chain)
{
    if (chain->first != HS_RANGE_NONE) {
        give_back(chain, false);
        hs_mapped_suspect();
    }
}

void hs_mapping_close(struct hs_mapped_chain *chain)
{
    give_back(chain, true);
}

void hs_mapping_drop(struct hs_mapped_chain *chain)
{
    struct step step;
    if (chain->first != HS_RANGE_NONE && begin(&step)) {
        hs_mapped_drop(chain);
        end(&step);
    }
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Fills in what a new block of ours is recorded with, except for the heap. */
static uint32_t look(struct hs_thread *thread, const struct hs_regs *regs)
{
    if (--thread->name_countdown % HS_CLOCK_SAMPLES == 0) {
        hs_record_look_at_clock(thread);
        if (thread->name_countdown == 0) {
            hs_thread_refresh_name(thread);
        }
    }
    return hs_call_stack_find(thread, regs);
}

/* Says where a block comes from. False: its stack has no room. */
static bool find_origin(struct step *step, uint32_t base_id, struct hs_mapped_origin *ret_origin)
{
    uint8_t heap_id = hs_mapped_make_heap();
    *ret_origin = (struct hs_mapped_origin){ .thread = step->thread };
    if (!step->thread || heap_id == 0 || base_id == HS_ID_NONE) {
        return !step->thread;
    }
    ret_origin->birth_ms = hs_record_now_ms(step->thread);
    ret_origin->stack_id = hs_record_stack_of(step->thread, heap_id, 0, base_id);
    return ret_origin->stack_id != HS_ID_NONE;
}

static void add(struct step *step, const struct hs_mapping_new *mapping, uint64_t end_va,
                const struct hs_regs *regs)
{
    struct hs_mapped_origin origin = { .thread = step->thread };
    uint64_t start_va = mapping->start_va;
    bool is_open = mapping->is_open;
    uint32_t base_id = is_open && step->thread ? look(step->thread, regs) : HS_ID_NONE;
    if (!enter(step, is_open ? end_va - start_va : 0)) {
        return;
    }
    enum hs_range_kind kind = is_open ? HS_RANGE_MEMORY : HS_RANGE_RESERVED;
    if (is_open && !find_origin(step, base_id, &origin)) {
        kind = HS_RANGE_UNRECORDED;
        hs_record_count_loss(hs_record_reason_of(HS_LOSS_TABLE_FULL), end_va - start_va, 0, 1);
    }
    origin.is_shared = mapping->is_shared;
    hs_mapped_add(&origin, start_va, end_va, kind);
    hs_mapped_leave(step->old_mask);
}

/* What is mapped there now is nothing that is followed. */
static void forget(uint64_t start_va, uint64_t len_bytes)
{
    struct hs_mapped_chain chain = { 0 };
    hs_mapping_take(start_va, len_bytes, &chain);
    hs_mapping_drop(&chain);
}

void hs_mapping_add(const struct hs_mapping_new *mapping, const struct hs_regs *regs)
{
    struct step step;
    uint64_t start_va = mapping->start_va, len_bytes = mapping->len_bytes;
    uint64_t end_va = end_of(start_va, len_bytes);
    if (end_va == 0 || !hs_sampler_is_ready()) {
        return;
    }
    if (!hs_heaps_is_wanted(HS_HEAP_NAME_MMAP) || hs_allocator_code_has(regs->pc) ||
        hs_python_heap_maps(regs->pc, len_bytes)) {
        forget(start_va, len_bytes);
        return;
    }
    bool is_forgotten = false;
    if (begin(&step)) {
        is_forgotten = is_allocators(&step, regs);
        if (!is_forgotten) {
            add(&step, mapping, end_va, regs);
        }
        end(&step);
    }
    if (is_forgotten) {
        forget(start_va, len_bytes);
    }
}

/* Several mappings can move at once if their length stays (Linux 6.17). One that becomes longer is
 * one mapping, whose end has moved. */
static void add_pieces(const struct hs_mapped_chain *old, const struct hs_mapping_move *moved,
                       const struct hs_mapped_origin *origin, bool has_stack)
{
    uint64_t old_end_va = end_of(moved->from_va, moved->old_bytes);
    uint64_t new_end_va = end_of(moved->to_va, moved->new_bytes);
    for (uint32_t id = old->first; id != HS_RANGE_NONE; id = hs_range_at(id)->next[0]) {
        const struct hs_range piece = *hs_range_at(id);
        uint64_t start_va = piece.start_va - moved->from_va + moved->to_va;
        uint64_t end_va =
            piece.end_va == old_end_va ? new_end_va : piece.end_va - moved->from_va + moved->to_va;
        enum hs_range_kind kind = piece.kind == HS_RANGE_RESERVED ? HS_RANGE_RESERVED
                                  : has_stack                     ? HS_RANGE_MEMORY
                                                                  : HS_RANGE_UNRECORDED;
        end_va = end_va < new_end_va ? end_va : new_end_va; /* it may be shorter now */
        if (start_va < end_va) {
            struct hs_mapped_chain replaced = { 0 };
            struct hs_mapped_origin of_piece = *origin;
            of_piece.is_shared = piece.is_shared;
            hs_mapped_take(origin->thread, start_va, end_va, &replaced);
            hs_mapped_drop(&replaced);
            hs_mapped_add(&of_piece, start_va, end_va, kind);
        }
    }
}

static void add_moved(struct step *step, const struct hs_mapped_chain *old,
                      const struct hs_mapping_move *moved, const struct hs_regs *regs)
{
    struct hs_mapped_origin origin;
    uint32_t base_id = step->thread ? look(step->thread, regs) : HS_ID_NONE;
    if (!enter(step, moved->new_bytes)) {
        return;
    }
    bool has_stack = find_origin(step, base_id, &origin);
    if (!has_stack) {
        hs_record_count_loss(hs_record_reason_of(HS_LOSS_TABLE_FULL), moved->new_bytes, 0, 1);
    }
    if (hs_mapped_is_current(old)) {
        add_pieces(old, moved, &origin, has_stack);
    }
    hs_mapped_leave(step->old_mask);
}

bool hs_mapping_is_whole(const struct hs_mapped_chain *chain, uint64_t start_va, uint64_t len_bytes)
{
    uint64_t at_va = start_va, end_va = end_of(start_va, len_bytes);
    uint32_t id = hs_mapped_is_current(chain) ? chain->first : HS_RANGE_NONE;
    for (; id != HS_RANGE_NONE && hs_range_at(id)->start_va == at_va;
         id = hs_range_at(id)->next[0]) {
        at_va = hs_range_at(id)->end_va;
    }
    return at_va == end_va;
}

void hs_mapping_add_moved(const struct hs_mapped_chain *old, const struct hs_mapping_move *moved,
                          const struct hs_regs *regs)
{
    struct step step;
    bool is_followed = old->first != HS_RANGE_NONE && hs_heaps_is_wanted(HS_HEAP_NAME_MMAP) &&
                       !hs_allocator_code_has(regs->pc);
    if (!is_followed && !moved->is_fixed) {
        forget(moved->to_va, moved->new_bytes);
    } else if (is_followed && hs_sampler_is_ready() && begin(&step)) {
        add_moved(&step, old, moved, regs);
        end(&step);
    }
}

/* Is any part of these addresses known to be closed? */
static bool has_closed(struct step *step, uint64_t start_va, uint64_t end_va)
{
    bool is_found = false;
    if (enter(step, 0)) {
        for (uint32_t id = hs_ranges_find(start_va);
             !is_found && id != HS_RANGE_NONE && hs_range_at(id)->start_va < end_va;
             id = hs_ranges_next(id)) {
            is_found = hs_range_at(id)->kind == HS_RANGE_RESERVED;
        }
        hs_mapped_leave(step->old_mask);
    }
    return is_found;
}

static void open_known(struct step *step, uint64_t start_va, uint64_t end_va,
                       const struct hs_regs *regs)
{
    struct hs_mapped_origin origin;
    if (!has_closed(step, start_va, end_va)) {
        return;
    }
    uint32_t base_id = step->thread ? look(step->thread, regs) : HS_ID_NONE;
    if (enter(step, 0)) {
        if (find_origin(step, base_id, &origin)) {
            hs_mapped_open(&origin, start_va, end_va);
        } else {
            hs_record_count_loss(hs_record_reason_of(HS_LOSS_TABLE_FULL), end_va - start_va, 0, 1);
        }
        hs_mapped_leave(step->old_mask);
    }
}

static void open_with(uint64_t start_va, uint64_t len_bytes, const struct hs_regs *regs,
                      void (*open)(struct step *, uint64_t, uint64_t, const struct hs_regs *))
{
    struct step step;
    uint64_t end_va = end_of(start_va, len_bytes);
    if (end_va == 0 || !hs_mapped_has_any() || !hs_sampler_is_ready()) {
        return;
    }
    if (!hs_heaps_is_wanted(HS_HEAP_NAME_MMAP) || hs_allocator_code_has(regs->pc)) {
        return;
    }
    if (begin(&step)) {
        if (!is_allocators(&step, regs)) {
            open(&step, start_va, end_va, regs);
        }
        end(&step);
    }
}

void hs_mapping_open(uint64_t start_va, uint64_t len_bytes, const struct hs_regs *regs)
{
    open_with(start_va, len_bytes, regs, open_known);
}

static void open_partly(struct step *step, uint64_t start_va, uint64_t end_va,
                        const struct hs_regs *regs)
{
    uint32_t base_id = step->thread ? look(step->thread, regs) : HS_ID_NONE;
    if (enter(step, 0)) {
        struct hs_mapped_opener opener = { .start_va = start_va, .end_va = end_va };
        if (find_origin(step, base_id, &opener.origin)) {
            hs_mapped_check(&opener);
        }
        hs_mapped_leave(step->old_mask);
    }
}

HS_COLD void hs_mapping_open_partly(uint64_t start_va, uint64_t len_bytes,
                                    const struct hs_regs *regs)
{
    open_with(start_va, len_bytes, regs, open_partly);
}

bool hs_mapping_kind(uint64_t va, enum hs_range_kind *ret_kind)
{
    struct step step;
    bool is_known = false;
    if (!hs_mapped_has_any() || !hs_sampler_is_ready() || !begin(&step)) {
        return false;
    }
    if (enter(&step, 0)) {
        uint32_t id = hs_ranges_find(va);
        is_known = id != HS_RANGE_NONE && hs_range_at(id)->start_va <= va;
        *ret_kind = is_known ? (enum hs_range_kind)hs_range_at(id)->kind : HS_RANGE_RESERVED;
        hs_mapped_leave(step.old_mask);
    }
    end(&step);
    return is_known;
}
