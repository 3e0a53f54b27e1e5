/*
 * Determines the id of the running thread's stack, by replay or by a walk. See call_stack.h.
 */
#include "client/thread/call_stack.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "client/host/pages.h"
#include "client/patch/hook_table.h"
#include "client/tables/modules.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/combined_stack.h"
#include "client/thread/java_frames.h"
#include "client/thread/js_frames.h"
#include "rt/sys.h"
#include "unwind/unwind.h"
#include "unwind/vm_replay.h"

/* The unwinder's reasons for ending a walk and the region's are the same numbers. */
_Static_assert((int)HS_UNWIND_END_N == (int)HS_STACK_END_N &&
                   (int)HS_UNWIND_TOO_DEEP == (int)HS_STACK_END_TOO_DEEP &&
                   (int)HS_UNWIND_NO_ADVANCE == (int)HS_STACK_END_NO_ADVANCE,
               "one numbering");

/* Entries of the rule cache. They take 1 MiB of address space, of which a small program touches
 * four pages. */
#define RULE_COUNT 65536U

/* The first instructions of a program have no caller, and often no unwind information that says so:
 * a walk that ends this close behind an entry point is complete. */
#define ENTRY_BYTES 128U

struct hs_rule_cache hs_call_stack_rules;
static struct hs_rule_entry *rule_entries; /* NULL: not mapped yet */
static uint64_t entry_va[2];               /* entry points of the executable and of its loader */
static struct hs_unwinder unwinder;
/* Once a stack had a frame of our code, this is the one frame id that stands for all our code;
 * frames of this id are left out of stacks. */
static uint32_t own_frame_id = HS_ID_NONE;

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

/* Is this code without a module HotSpot's? */
static bool is_java(uint64_t pc)
{
    bool is_new = false;
    bool is_code = hs_java_frames_has(pc, &is_new);
    if (is_new) {
        hs_call_stack_flush(); /* its code had rules of code without information until now */
    }
    return is_code;
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
    ret_resolved->is_vm = module_id == HS_MODULE_ID_ANON && is_java(pc);
    if (ret_resolved->is_vm) {
        return true;
    }
    if (module_id == HS_MODULE_ID_ANON &&
        (pc < 4096 || pc > UINT64_MAX / 2 || !hs_sys_is_readable(pc & ~UINT64_C(7)))) {
        return false;
    }
    ret_resolved->user = intern(pc, module_id, is_exact);
    return ret_resolved->user != HS_ID_NONE;
}

/* Implements hs_unwinder.name_frame until it is known whether the process has V8. */
static bool name_first_frame(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                             bool *ret_is_lasting, uint32_t *ret_user)
{
    hs_name_frame_fn name_frame = hs_js_frames_find_runtime();
    hs_store_relaxed(&unwinder.name_frame, name_frame);
    return name_frame && name_frame(reader, sp, bp, ret_is_lasting, ret_user);
}

bool hs_call_stack_init(void)
{
    if (!rule_entries) {
        rule_entries = hs_pages_map_sparse(HS_RULE_CACHE_BYTES(RULE_COUNT));
        if (!rule_entries) {
            return false;
        }
        hs_rule_cache_init(&hs_call_stack_rules, rule_entries, RULE_COUNT);
    }
    unwinder = (struct hs_unwinder){ .cache = &hs_call_stack_rules,
                                     .resolve = resolve,
                                     .vm_frame = hs_java_frames_describe,
                                     .name_frame = name_first_frame };
    hs_java_frames_begin();
    own_frame_id = HS_ID_NONE;
    const ElfW(Ehdr) *loader = (const ElfW(Ehdr) *)getauxval(AT_BASE);
    entry_va[0] = getauxval(AT_ENTRY);
    entry_va[1] = loader ? (uint64_t)(uintptr_t)loader + loader->e_entry : entry_va[0];
    return true;
}

void hs_call_stack_clear(void)
{
    if (rule_entries) {
        hs_rule_cache_flush(&hs_call_stack_rules);
        hs_sys_madvise(rule_entries, HS_RULE_CACHE_BYTES(RULE_COUNT), MADV_DONTNEED);
    }
    for (struct hs_thread *thread = hs_thread_first(); thread; thread = thread->next) {
        hs_thread_drop_replay(thread);
        hs_js_frames_forget(thread);
        hs_readable_pages_forget(&thread->pages);
    }
    hs_combined_clear();
}

void hs_call_stack_flush(void)
{
    hs_rule_cache_flush(&hs_call_stack_rules);
}

/* --- walking ---------------------------------------------------------------------------------- */

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

/* --- frames of virtual machines --------------------------------------------------------------- */

/* Implements hs_vm_check_fn. */
static bool check_note(void *ctx, const struct hs_vm_note *note, uint64_t sp, uint32_t *ret_user)
{
    return note->kind == HS_VM_NOTE_FUNCTION ? hs_js_frames_find_again(ctx, sp + note->at, ret_user)
                                             : hs_java_frames_is_same(note);
}

/* Searches the thread's stacks with frames of virtual machines. */
static bool find_vm_stack(struct hs_thread *thread, const struct hs_regs *regs,
                          struct hs_stack_window *window, uint64_t generation, uint32_t *ret_id)
{
    if (hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_NATIVE_ONLY) {
        return false;
    }
    hs_js_frames_begin_walk(thread);
    return hs_vm_replay_find(thread->vm_replay, regs, window, generation, check_note, thread,
                             ret_id);
}

/* Keeps the thread's walk, which has notes. */
static void keep_vm_walk(struct hs_thread *thread, const struct hs_regs *regs, uint64_t generation,
                         uint32_t id)
{
    if (!thread->vm_replay) {
        thread->vm_replay = hs_pages_map_sparse(sizeof(*thread->vm_replay));
        if (!thread->vm_replay) {
            return;
        }
        hs_vm_replay_init(thread->vm_replay);
    }
    hs_vm_replay_store(thread->vm_replay, regs, &thread->walk, generation, id);
}

static HS_COLD uint32_t walk_stack(struct hs_thread *thread, const struct hs_regs *regs,
                                   struct hs_stack_window *window, uint64_t generation)
{
    struct hs_walk *walk = &thread->walk;
    hs_unwind_prefetch(&unwinder, regs->sp, window, walk);
    /* Code made at run time may be where other code was a moment ago. The first block that it
     * allocates tells from when on it was there, and its name is that of this time. */
    thread->clock_ms = hs_region_now_ms();
    hs_js_frames_begin_walk(thread);
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
    if (id != HS_ID_NONE && walk->note_count != 0) {
        keep_vm_walk(thread, regs, generation, id);
    } else if (id != HS_ID_NONE) {
        hs_replay_store(&thread->replay, regs, walk, generation, id);
        if (hs_unlikely(thread->replay.lost_count >= thread->replay.slot_count)) {
            hs_thread_enlarge_replay(thread);
        }
    }
    return id;
}

HS_COLD bool hs_call_stack_has_own(struct hs_thread *thread, const struct hs_regs *regs)
{
    struct hs_stack_window window;
    struct hs_walk *walk = &thread->walk;
    bool is_found = false;
    hs_stackmem_window(thread, regs->sp, &window);
    hs_js_frames_begin_walk(thread);
    hs_unwind_walk(&unwinder, regs, false, &window, walk);
    uint32_t own_id = hs_load_relaxed(&own_frame_id);
    for (uint32_t i = 0; own_id != HS_ID_NONE && i < walk->frame_count; i++) {
        is_found |= walk->frames[i] == own_id;
    }
    return is_found;
}

/* Searches the replay table with the whole stack window, then walks. */
uint32_t hs_call_stack_find_slow(struct hs_thread *thread, const struct hs_regs *regs,
                                 uint64_t generation)
{
    struct hs_stack_window window;
    uint32_t id;
    hs_stackmem_window(thread, regs->sp, &window);
    bool is_found = hs_unlikely(thread->vm_replay != NULL) &&
                    find_vm_stack(thread, regs, &window, generation, &id);
    if (is_found || hs_replay_find(&thread->replay, regs, &window, generation, &id)) {
        thread->block->replay_count++;
    } else {
        id = walk_stack(thread, regs, &window, generation);
    }
    return id;
}
