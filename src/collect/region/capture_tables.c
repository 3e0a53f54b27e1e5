/*
 * Copies the tables of a region: see capture_tables.h.
 */
#include "collect/region/capture_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/region/capture_code_names.h"
#include "collect/region/capture_scopes.h"
#include "collect/region/capture_types.h"
#include "collect/region/peak_bound.h"
#include "rt/atomic.h"
#include "rt/check.h"

#define HS_PATH_BYTES_MAX    4096U
#define HS_CMDLINE_BYTES_MAX (2U << 20) /* the kernel's own limit for arguments */
#define HS_MODULES_MAX       (1U << 16)
/* limit for all module paths together: they may overlap */
#define HS_TEXT_BUDGET_BYTES (UINT64_C(64) << 20)

/* Copies a whole section into a new array with one spare element. */
static int copy_section(const struct hs_region *region, enum hs_section_id id, uint64_t count,
                        size_t elem_bytes, void **ret_elements)
{
    void *elements = calloc(count + 1, elem_bytes);
    if (!elements) {
        return -ENOMEM;
    }
    int r = hs_region_read(region, id, 0, count, elements);
    if (r < 0) {
        free(elements);
        return r;
    }
    *ret_elements = elements;
    return 0;
}

static int copy_module(const struct hs_region *region, const struct hs_module_v1 *from,
                       uint64_t *budget_bytes, struct hs_snap_module *ret_module)
{
    size_t max_bytes =
        *budget_bytes < HS_PATH_BYTES_MAX ? (size_t)*budget_bytes : HS_PATH_BYTES_MAX;
    int r = hs_region_read_text(region, from->path_off, max_bytes, &ret_module->path);
    if (r < 0) {
        return r;
    }
    *budget_bytes -= strlen(ret_module->path);
    ret_module->kind = from->kind <= HS_MODULE_MARKER ? from->kind : HS_MODULE_ANON;
    if (ret_module->path[0] == '\0' && ret_module->kind == HS_MODULE_ANON) {
        free(ret_module->path);
        ret_module->path = strdup("[anon]");
        if (!ret_module->path) {
            return -ENOMEM;
        }
    }
    if (from->build_id_bytes <= HS_BUILD_ID_BYTES) {
        ret_module->build_id_bytes = from->build_id_bytes;
        memcpy(ret_module->build_id, from->build_id, from->build_id_bytes);
    }
    ret_module->start_va = from->start_va;
    ret_module->end_va = from->end_va;
    ret_module->bias_va = from->bias_va;
    ret_module->exec_off = from->exec_off;
    ret_module->exec_sva = from->exec_sva;
    ret_module->exec_bytes = from->exec_bytes;
    ret_module->unload_ns = from->unload_ns;
    ret_module->has_unwind_table = from->table_source != 0;
    return 0;
}

static int copy_modules(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_MODULES);
    uint64_t budget_bytes = HS_TEXT_BUDGET_BYTES;
    struct hs_module_v1 *from;
    count = count < HS_MODULES_MAX ? count : HS_MODULES_MAX;
    int r = copy_section(region, HS_SECTION_MODULES, count, sizeof(*from), (void **)&from);
    if (r < 0) {
        return r;
    }
    /* Frames need a module to refer to, also before the client has written the first one. */
    snap->modules = calloc(count + 1, sizeof(*snap->modules));
    r = snap->modules ? 0 : -ENOMEM;
    if (r == 0 && count == 0) {
        snap->modules[0].kind = HS_MODULE_MARKER;
        snap->modules[0].path = strdup("");
        snap->module_count = 1;
        r = snap->modules[0].path ? 0 : -ENOMEM;
    }
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        r = copy_module(region, &from[i], &budget_bytes, &snap->modules[i]);
        snap->module_count = (uint32_t)i + 1;
    }
    free(from);
    return r;
}

static int copy_frames(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_FRAMES);
    struct hs_frame_v1 *from;
    if (count >= UINT32_MAX) {
        return -EPROTO;
    }
    int r = copy_section(region, HS_SECTION_FRAMES, count, sizeof(*from), (void **)&from);
    if (r < 0) {
        return r;
    }
    snap->frames = calloc(count + 1, sizeof(*snap->frames));
    snap->frame_count = snap->frames ? (uint32_t)count : 0;
    for (uint32_t i = 0; i < snap->frame_count; i++) {
        struct hs_snap_frame *frame = &snap->frames[i];
        frame->pc = from[i].pc;
        frame->flags = from[i].flags;
        frame->module_id = from[i].module_id;
        if (frame->flags & HS_FRAME_NAMED) {
            /* No marker, even if a hostile target says so. */
            frame->flags = HS_FRAME_NAMED;
            frame->module_id = HS_MODULE_ID_MARKER;
        }
        if (frame->module_id >= snap->module_count ||
            ((frame->flags & HS_FRAME_NAMED) && frame->pc >= snap->code_name_count)) {
            frame->module_id = HS_MODULE_ID_MARKER;
            frame->flags = HS_FRAME_MARKER;
            frame->pc = HS_FRAME_PC_END + HS_STACK_END_NO_MODULE;
            snap->bad_count++;
        }
        frame->rel_pc = frame->pc;
        if (!(frame->flags & (HS_FRAME_MARKER | HS_FRAME_NAMED))) {
            /* A return address lies behind its call, and may already be in the next function. */
            frame->rel_pc -=
                snap->modules[frame->module_id].bias_va + !(frame->flags & HS_FRAME_EXACT);
        }
    }
    free(from);
    return snap->frames ? 0 : -ENOMEM;
}

static bool are_frame_ids_good(const struct hs_snapshot *snap, uint32_t first, uint32_t count)
{
    if (first > snap->frame_id_count || count > snap->frame_id_count - first) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (snap->frame_ids[first + i] >= snap->frame_count) {
            return false;
        }
    }
    return true;
}

/* The needed part of the stacks' fixed fields, loaded once each, before the frames are copied: a
 * stack that was complete then has its frames in every later copy. */
struct stack_head {
    uint32_t frame_ids_idx;
    uint16_t frame_count;
};

static struct stack_head *load_stack_heads(const struct hs_region_map *stacks,
                                           struct hs_snapshot *snap)
{
    struct stack_head *heads = calloc((size_t)snap->stack_count + 1, sizeof(*heads));
    for (uint32_t i = 0; heads && i < snap->stack_count; i++) {
        const struct hs_stack_v1 *from = hs_region_map_at(stacks, i);
        /* ORDER stack: a stack with a hash is whole, and so are its frames and their modules. */
        if (hs_load_acquire(&from->hash) == 0) {
            continue;
        }
        struct hs_snap_stack *stack = &snap->stacks[i];
        heads[i].frame_ids_idx = hs_load_relaxed(&from->frame_ids_idx);
        heads[i].frame_count = hs_load_relaxed(&from->frame_count);
        stack->type_id = hs_load_relaxed(&from->type_id);
        stack->scope_id = hs_load_relaxed(&from->scope_id);
        stack->heap_id = hs_load_relaxed(&from->heap_id);
        stack->end = hs_load_relaxed(&from->end);
        stack->guessed_frame = hs_load_relaxed(&from->guessed_frame);
        if (stack->end >= HS_STACK_END_N) {
            stack->end = HS_STACK_END_BAD_INFO;
            snap->bad_count++;
        }
    }
    return heads;
}

static int copy_stacks(const struct hs_region *region, const struct stack_head *heads,
                       struct hs_snapshot *snap)
{
    snap->frame_id_count = hs_region_count(region, HS_SECTION_FRAME_IDS);
    int r = copy_section(region, HS_SECTION_FRAME_IDS, snap->frame_id_count, sizeof(uint32_t),
                         (void **)&snap->frame_ids);
    for (uint32_t i = 0; r == 0 && i < snap->stack_count; i++) {
        if (are_frame_ids_good(snap, heads[i].frame_ids_idx, heads[i].frame_count)) {
            snap->stacks[i].frame_count = heads[i].frame_count;
            snap->stacks[i].frame_ids = snap->frame_ids + heads[i].frame_ids_idx;
        } else {
            snap->stacks[i].frame_ids = snap->frame_ids;
            snap->bad_count++;
        }
    }
    return r;
}

/* Says for each thread whether it is listed. Entry 0 stands for the threads beyond the last entry,
 * and is always there. Of the others only those with live blocks or parts are listed: a server may
 * have had thousands of threads. */
static uint32_t find_listed(const struct hs_estimate *live, uint32_t count,
                            const struct hs_snapshot *snap, bool *is_listed)
{
    uint32_t listed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        is_listed[i] = i == 0 || live[i].count > 0;
    }
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (size_t i = 0; i < snap->part_count[view]; i++) {
            uint32_t id = snap->parts[view][i].key.thread_id;
            if (id < count) {
                is_listed[id] = true;
            }
        }
    }
    for (size_t i = 0; i < snap->block_count; i++) {
        is_listed[snap->blocks[i].thread_id < count ? snap->blocks[i].thread_id : 0] = true;
    }
    for (uint32_t i = 0; i < count; i++) {
        listed_count += is_listed[i];
    }
    return listed_count;
}

static int copy_threads(const struct hs_region *region, const struct hs_estimate *live,
                        uint32_t live_count, struct hs_snapshot *snap)
{
    uint64_t in_region = hs_region_count(region, HS_SECTION_THREADS);
    uint32_t count = in_region < live_count ? (uint32_t)in_region : live_count;
    struct hs_thread_v1 *from;
    int r = copy_section(region, HS_SECTION_THREADS, count, sizeof(*from), (void **)&from);
    if (r < 0) {
        return r;
    }
    count = count ? count : 1; /* entry 0 exists even when the section is empty */
    bool *is_listed = calloc(count, sizeof(is_listed[0]));
    if (is_listed) {
        snap->threads = calloc(find_listed(live, count, snap, is_listed), sizeof(*snap->threads));
    }
    r = is_listed && snap->threads ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        if (is_listed[i]) {
            struct hs_snap_thread *thread = &snap->threads[snap->thread_count++];
            thread->id = i;
            thread->tid = from[i].tid;
            thread->start_ms = from[i].start_ms;
            memcpy(thread->name, from[i].name, sizeof(thread->name));
            thread->name[sizeof(thread->name) - 1] = '\0';
            thread->live = live[i];
        }
    }
    free(is_listed);
    free(from);
    return r;
}

/* Is this a reason for which a sample is not recorded, so that its weight is in lost_bytes? Of
 * blocks that a child could not inherit only the number is known. */
static bool is_weighed(unsigned loss)
{
    return loss != HS_LOSS_STACK_EMPTY && loss != HS_LOSS_DUPLICATE && loss != HS_LOSS_INHERITED &&
           loss != HS_LOSS_UNSEEN_SYMBOLS && loss != HS_LOSS_UNSEEN_ALLOCATOR &&
           loss != HS_LOSS_UNSEEN_NAMESPACE;
}

/* A thread has one sum of lost bytes for all reasons, and seldom more than one reason. The sum is
 * divided in proportion to the lost samples. */
static void divide_weight(const struct hs_thread_block_v1 *block, struct hs_snapshot *snap)
{
    double all = 0;
    if (block->duplicate_bytes > 0) {
        snap->lost_bytes[HS_LOSS_DUPLICATE] += (double)block->duplicate_bytes;
        snap->lost_allocs[HS_LOSS_DUPLICATE] += (double)block->lost_count[HS_LOSS_DUPLICATE];
    }
    for (unsigned k = 0; k < HS_LOSS_N; k++) {
        all += is_weighed(k) ? (double)block->lost_count[k] : 0;
    }
    for (unsigned k = 0; k < HS_LOSS_N && all > 0; k++) {
        double share = is_weighed(k) ? (double)block->lost_count[k] / all : 0;
        snap->lost_bytes[k] += share * (double)block->lost_bytes;
        snap->lost_allocs[k] += share * (double)block->lost_alloc_fx / (1U << HS_COUNT_SHIFT);
    }
}

/* The module whose code had no unwind information in the middle of a stack. NULL: none. */
static struct hs_snap_module *guessed_module(const struct hs_snapshot *snap,
                                             const struct hs_snap_stack *stack)
{
    uint32_t frame = stack->guessed_frame - 1; /* 0 becomes an index beyond all frames */
    const uint32_t no_code = HS_FRAME_MARKER | HS_FRAME_NAMED;
    return frame < snap->frame_count && !(snap->frames[frame].flags & no_code)
               ? &snap->modules[snap->frames[frame].module_id]
               : NULL;
}

/* The module in which a stack ends that should go on, or in which a frame pointer was followed that
 * led there. NULL: the stack is whole, or it ends in no module. */
static struct hs_snap_module *cutting_module(const struct hs_snapshot *snap,
                                             const struct hs_snap_stack *stack)
{
    if (stack->end == HS_STACK_END || stack->end == HS_STACK_END_TOO_DEEP) {
        return NULL;
    }
    struct hs_snap_module *guessed = guessed_module(snap, stack);
    for (uint32_t i = guessed ? 0 : stack->frame_count; i > 0; i--) {
        const struct hs_snap_frame *frame = &snap->frames[stack->frame_ids[i - 1]];
        if (!(frame->flags & HS_FRAME_MARKER)) {
            return &snap->modules[frame->module_id];
        }
    }
    return guessed;
}

static void weigh_cut(struct hs_snap_module *module, const struct hs_snap_stack *stack)
{
    if (module && stack->alloc.count > 0) {
        module->cut_stack_count++;
        module->cut_bytes += stack->alloc.bytes;
        module->cut_allocs += stack->alloc.count;
        module->cut_live_bytes += stack->live.bytes;
    }
}

/* Sums up the allocations of stacks that end early, or that followed frame pointers; each stack
 * says which it is. */
static void weigh_stack_ends(struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        snap->stack_end_bytes[stack->end] += stack->alloc.bytes;
        snap->stack_end_allocs[stack->end] += stack->alloc.count;
        weigh_cut(cutting_module(snap, stack), stack);
        struct hs_snap_module *module = guessed_module(snap, stack);
        if (module && stack->alloc.count > 0) {
            module->guessed_stack_count++;
            module->guessed_bytes += stack->alloc.bytes;
            module->guessed_allocs += stack->alloc.count;
        }
    }
}

static int copy_counters(const struct hs_region *region, struct hs_snapshot *snap)
{
    uint64_t count = hs_region_count(region, HS_SECTION_BLOCKS);
    struct hs_thread_block_v1 *blocks;
    int r = copy_section(region, HS_SECTION_BLOCKS, count, sizeof(*blocks), (void **)&blocks);
    for (uint64_t i = 0; r == 0 && i < count; i++) {
        snap->sample_count += blocks[i].sample_count;
        snap->inherited_sample_count += blocks[i].inherited_count;
        snap->is_inherited_known |= blocks[i].is_inherited_known != 0;
        snap->free_count += blocks[i].free_count;
        snap->lost_scope_count += blocks[i].lost_scope_count;
        snap->timed_count += blocks[i].timed_count;
        snap->timed_ns += blocks[i].timed_ns;
        snap->replay_count += blocks[i].replay_count;
        snap->walk_count += blocks[i].walk_count;
        divide_weight(&blocks[i], snap);
        for (unsigned k = 0; k < HS_LOSS_N; k++) {
            snap->lost_count[k] += blocks[i].lost_count[k];
        }
        for (unsigned k = 0; k < HS_STACK_END_N; k++) {
            snap->stack_end_count[k] += blocks[i].stack_end_count[k];
        }
    }
    if (r == 0) {
        snap->peak_short_bytes = hs_peak_bound(region->control, blocks, count, snap->peak.bytes);
        free(blocks);
    }
    weigh_stack_ends(snap);
    return r;
}

static int copy_names(const struct hs_region *region, struct hs_snapshot *snap)
{
    const struct hs_region_header_v2 *header = &region->header;
    uint32_t cmdline_bytes = header->cmdline_bytes;
    memcpy(snap->comm, header->comm, sizeof(snap->comm));
    snap->pid = header->pid;
    snap->python_state = header->python_state;
    snap->python_version = header->python_version;
    snap->java_refusal = header->java.is_known ? header->java.refusal : HS_JAVA_READ;
    snap->java_version = header->java.is_known ? header->java.vm_major : 0;
    snap->ppid = header->ppid;
    snap->forked_from_pid = header->forked_from_pid;
    snap->is_from_startup = header->is_from_startup != 0;
    snap->start_mono_ns = header->start_mono_ns;
    snap->interval_bytes = hs_load_relaxed(&region->control->interval_bytes);
    snap->orig_interval_bytes =
        header->interval_count > 1 ? header->interval_bytes[1] : snap->interval_bytes;
    snap->region_bytes = hs_region_resident_bytes(region);
    if (header->real_malloc_module > 0 && header->real_malloc_module <= snap->module_count) {
        snprintf(snap->malloc_path, sizeof(snap->malloc_path), "%s",
                 snap->modules[header->real_malloc_module - 1].path);
    }
    int r = hs_region_read_text(region, header->exe_off, HS_PATH_BYTES_MAX, &snap->exe);
    if (cmdline_bytes > HS_CMDLINE_BYTES_MAX) {
        cmdline_bytes = 0;
    }
    snap->cmdline = calloc((size_t)cmdline_bytes + 1, 1);
    if (r == 0 && !snap->cmdline) {
        r = -ENOMEM;
    }
    if (r == 0 && cmdline_bytes > 0 &&
        hs_region_read(region, HS_SECTION_BYTES, header->cmdline_off, cmdline_bytes,
                       snap->cmdline) == 0) {
        snap->cmdline_bytes = cmdline_bytes;
    }
    return r;
}

int hs_capture_tables(const struct hs_region *region, const struct hs_region_map *stacks,
                      const struct hs_heap_peaks *heaps, const struct hs_estimate *thread_live,
                      uint32_t thread_count, struct hs_snapshot *snap)
{
    struct hs_region now = *region;
    struct stack_head *heads = load_stack_heads(stacks, snap);
    int r = heads ? 0 : -ENOMEM;
    if (r == 0) {
        /* Only after the stacks were loaded: everything that they refer to is then below these
         * counts. */
        r = hs_region_refresh(&now);
    }
    if (r == 0) {
        r = copy_modules(&now, snap);
    }
    if (r == 0) {
        r = hs_capture_code_names(&now, snap);
    }
    if (r == 0) {
        r = copy_frames(&now, snap);
    }
    if (r == 0) {
        r = copy_stacks(&now, heads, snap);
    }
    if (r == 0) {
        r = hs_capture_scopes(&now, snap);
    }
    if (r == 0) {
        r = hs_capture_types(&now, snap);
    }
    if (r == 0) {
        r = copy_threads(&now, thread_live, thread_count, snap);
    }
    if (r == 0) {
        r = hs_heap_peaks_fill(heaps, snap);
    }
    if (r == 0) {
        r = copy_counters(&now, snap);
    }
    if (r == 0) {
        r = copy_names(&now, snap);
    }
    free(heads);
    HS_ASSERT_SLOW(r < 0 || (snap->module_count > 0 && hs_snapshot_is_valid(snap)));
    return r;
}
