/*
 * The slow path of a walk: takes one frame further, in every case. See unwind.c.
 */
#include "arch/rule.h"
#include "arch/sigframe.h"
#include "rt/base.h"
#include "rt/check.h"
#include "unwind/frame_step.h"
#include "unwind/rule_make.h"
#include "unwind/walker.h"

static bool end(struct hs_walker *w, enum hs_unwind_end why)
{
    w->walk->end = why;
    return false;
}

static bool resolve(const struct hs_walker *w, uint64_t pc, bool is_exact, struct hs_resolved *ret)
{
    return w->unwinder->resolve(w->unwinder->resolve_ctx, pc, is_exact, ret);
}

/* What there is at a pc. */
enum code {
    CODE_NONE,
    CODE_RULE, /* code whose rule is cached */
    CODE_VM,   /* code of a virtual machine, which has no rule */
};

/* The cache's word for the current pc, which is made if it is missing. */
static enum code find_word(struct hs_walker *w, uint64_t *ret_word)
{
    struct hs_rule_cache *cache = w->unwinder->cache;
    uint64_t key = hs_rule_cache_key(w->pc, w->is_exact, w->generation);
    uint32_t mask = hs_load_relaxed(&cache->mask);
    uint64_t word;
    if (!hs_rule_cache_find(cache->entries, mask, w->pc, key, &word)) {
        struct hs_resolved resolved = { .is_vm = false };
        if (!resolve(w, w->pc, w->is_exact, &resolved)) {
            return CODE_NONE;
        }
        if (resolved.is_vm) {
            return CODE_VM;
        }
        uint32_t rule = hs_rule_make(resolved.module, w->pc, w->is_exact);
        if (hs_rule_is_made_by_hand(rule) && !resolve(w, w->pc, true, &resolved)) {
            return CODE_NONE;
        }
        word = (uint64_t)rule << 32 | resolved.user;
        hs_rule_cache_insert(cache, w->pc, key, word);
    }
    *ret_word = word;
    return CODE_RULE;
}

static void emit(struct hs_walker *w, uint32_t user)
{
    HS_ASSERT(w->out_idx < HS_FRAMES_KEPT && w->count < HS_FRAMES_WALK_MAX);
    w->walk->frames[w->out_idx++] = user;
    w->count++;
    hs_walker_wrap(w);
}

static bool go_to(struct hs_walker *w, uint64_t pc, uint64_t sp)
{
    /* Interrupted code may be about to jump into its caller, whose stack it already has:
     * longjmp. */
    if (sp < w->sp || (sp == w->sp && !w->is_exact)) {
        return end(w, HS_UNWIND_NO_ADVANCE);
    }
    w->pc = pc;
    w->sp = sp;
    w->is_exact = false;
    w->is_guess = false;
    return true;
}

/* Loads the value of bp, on which the walk depends from now on. */
static bool use_bp(struct hs_walker *w)
{
    if (w->bp_va == HS_BP_IS_START) {
        w->walk->has_used_bp = true;
    } else if (w->bp_va != HS_BP_IS_NOTED && !hs_stack_read(&w->reader, w->bp_va, &w->bp)) {
        return false;
    }
    w->bp_va = HS_BP_IS_NOTED;
    return true;
}

static bool step_plain(struct hs_walker *w, uint64_t cfa, uint64_t bp_bytes)
{
    uint64_t ra;
    if (cfa <= w->sp) {
        return end(w, HS_UNWIND_NO_ADVANCE);
    }
    if (!hs_stack_read(&w->reader, cfa - 8, &ra)) {
        return end(w, HS_UNWIND_UNREADABLE);
    }
    if (bp_bytes != HS_RULE_BP_SAME_BYTES) {
        w->bp_va = cfa - bp_bytes;
        if (!hs_stack_window_has(w->reader.window, w->bp_va)) {
            return end(w, HS_UNWIND_UNREADABLE);
        }
    }
    return go_to(w, ra, cfa);
}

/* Code without information: if bp looks like a frame pointer, it is taken for one. */
static bool step_frame_pointer(struct hs_walker *w)
{
    if (!use_bp(w) || w->bp < w->sp || w->bp % 8 != 0 || w->bp > UINT64_MAX - 16) {
        return end(w, HS_UNWIND_NO_INFO);
    }
    if (!hs_stack_window_has(w->reader.window, w->bp) ||
        !hs_stack_window_has(w->reader.window, w->bp + 8)) {
        w->walk->is_replayable = false; /* another window might have had it */
        return end(w, HS_UNWIND_NO_INFO);
    }
    if (!step_plain(w, w->bp + 16, 16)) {
        return false;
    }
    w->is_guess = true;
    return true;
}

static bool step_guess(struct hs_walker *w, uint32_t user)
{
    bool has_caller = step_frame_pointer(w);
    if (has_caller && w->walk->guessed_frame == 0) {
        w->walk->guessed_frame = user + 1;
    }
    return has_caller;
}

/* Code without information, whose frame is in the walk as number `place`. It may belong to a
 * function that its frame names: then its frame pointer is no guess. */
static bool step_without_info(struct hs_walker *w, uint32_t user, uint32_t place)
{
    const hs_name_frame_fn name_frame = hs_load_relaxed(&w->unwinder->name_frame);
    bool is_lasting = true;
    /* An interrupted function may not have made its frame yet. */
    if (!name_frame || w->is_exact || !use_bp(w) || w->bp < w->sp || w->bp % 8 != 0) {
        return step_guess(w, user);
    }
    bool has_name = name_frame(&w->reader, w->sp, w->bp, &is_lasting, &w->walk->frames[place]);
    w->walk->is_replayable &= is_lasting;
    return has_name ? step_frame_pointer(w) : step_guess(w, user);
}

/* The frame pointer led to something that is not code, but the frame pointer itself may be good: V8
 * has stubs that push a value where a return address would be, then `push %rbp; mov %rsp, %rbp`,
 * and call C. So the caller of that frame is tried, once. */
static bool skip_value(struct hs_walker *w)
{
    uint64_t word;
    if (!step_frame_pointer(w)) {
        return false;
    }
    if (find_word(w, &word) == CODE_NONE) {
        return end(w, HS_UNWIND_NO_INFO);
    }
    w->walk->is_replayable = false; /* another time the same value may be the address of code */
    return true;
}

static bool step_drap(struct hs_walker *w, uint64_t off_bytes)
{
    uint64_t cfa;
    if (!use_bp(w) || !hs_stack_read(&w->reader, w->bp - off_bytes, &cfa) ||
        !hs_stack_window_has(w->reader.window, w->bp)) {
        return end(w, HS_UNWIND_UNREADABLE);
    }
    w->bp_va = w->bp;
    /* It may be the highest word of all, and is later read without a check. */
    w->reader.top_va = w->bp + 8 > w->reader.top_va ? w->bp + 8 : w->reader.top_va;
    return step_plain(w, cfa, HS_RULE_BP_SAME_BYTES);
}

static void set_bp(struct hs_walker *w, const struct hs_frame *frame)
{
    w->bp = hs_frame_has(frame, HS_DWARF_BP) ? frame->reg[HS_DWARF_BP] : 0;
    w->bp_va = HS_BP_IS_NOTED;
}

/* Continues in an interrupted frame, perhaps on another stack. Such a walk is not kept for replay,
 * because what it depends on is hardly ever the same again. */
static bool enter_interrupted(struct hs_walker *w, const struct hs_frame *frame)
{
    if (++w->signal_count > HS_SIGNALS_WALK_MAX) {
        return end(w, HS_UNWIND_NO_ADVANCE);
    }
    w->walk->is_replayable = false;
    w->pc = frame->reg[HS_DWARF_RA];
    w->sp = frame->reg[HS_DWARF_SP];
    set_bp(w, frame);
    w->reader.base_va = w->sp;
    w->is_exact = true;
    w->is_guess = false;
    w->anchor = *frame;
    w->anchor_count = w->count;
    return true;
}

static bool step_sigreturn(struct hs_walker *w)
{
    struct hs_frame frame = { .is_exact = true };
    for (unsigned i = 0; i < HS_SIGFRAME_REG_N; i++) {
        uint64_t value;
        if (!hs_stack_read(&w->reader, w->sp + hs_sigframe[i].off, &value)) {
            return end(w, HS_UNWIND_UNREADABLE);
        }
        hs_frame_set(&frame, hs_sigframe[i].dwarf_reg, value);
    }
    return enter_interrupted(w, &frame);
}

static bool end_of_step(struct hs_walker *w, enum hs_frame_step why)
{
    switch (why) {
    case HS_FRAME_END:
        return end(w, HS_UNWIND_END);
    case HS_FRAME_NO_INFO:
        return end(w, HS_UNWIND_NO_INFO);
    case HS_FRAME_UNREADABLE:
        return end(w, HS_UNWIND_UNREADABLE);
    default:
        return end(w, HS_UNWIND_BAD_INFO);
    }
}

static enum hs_frame_step step_module(struct hs_walker *w, struct hs_frame *frame)
{
    struct hs_resolved resolved = { .is_vm = false };
    if (!resolve(w, frame->reg[HS_DWARF_RA], frame->is_exact, &resolved) || !resolved.module) {
        return HS_FRAME_NO_INFO;
    }
    return hs_frame_step(resolved.module, &w->reader, frame);
}

/* The start as a frame with all its registers. */
static void frame_of_start(const struct hs_regs *start, bool is_exact, struct hs_frame *ret_frame)
{
    ret_frame->valid_mask = 0;
    ret_frame->is_exact = is_exact;
    hs_frame_set(ret_frame, HS_DWARF_RA, start->pc);
    hs_frame_set(ret_frame, HS_DWARF_SP, start->sp);
    hs_frame_set(ret_frame, HS_DWARF_BP, start->bp);
    hs_frame_set(ret_frame, HS_DWARF_RBX, start->bx);
    hs_frame_set(ret_frame, HS_DWARF_R12, start->r12);
    hs_frame_set(ret_frame, HS_DWARF_R13, start->r13);
    hs_frame_set(ret_frame, HS_DWARF_R14, start->r14);
    hs_frame_set(ret_frame, HS_DWARF_R15, start->r15);
}

/* Recovers all registers of the current frame (number count - 1, as it is already emitted) by
 * stepping through the frames since the anchor once more. */
static bool recover_registers(struct hs_walker *w, struct hs_frame *ret_frame)
{
    struct hs_frame frame;
    if (w->anchor_count > 0) {
        frame = w->anchor;
    } else {
        frame_of_start(w->start, w->is_start_exact, &frame);
    }
    w->walk->is_replayable = false;
    for (uint32_t n = w->anchor_count; n + 1 < w->count; n++) {
        if (step_module(w, &frame) != HS_FRAME_STEPPED) {
            return false;
        }
    }
    if (frame.reg[HS_DWARF_RA] != w->pc || frame.reg[HS_DWARF_SP] != w->sp) {
        return false;
    }
    *ret_frame = frame;
    return true;
}

static bool step_general(struct hs_walker *w)
{
    struct hs_frame frame = { .is_exact = w->is_exact };
    if (!use_bp(w)) {
        return end(w, HS_UNWIND_UNREADABLE);
    }
    hs_frame_set(&frame, HS_DWARF_RA, w->pc);
    hs_frame_set(&frame, HS_DWARF_SP, w->sp);
    hs_frame_set(&frame, HS_DWARF_BP, w->bp);

    enum hs_frame_step result = step_module(w, &frame);
    bool is_recovered = false;
    if (result == HS_FRAME_UNKNOWN) {
        is_recovered = recover_registers(w, &frame);
        result = is_recovered ? step_module(w, &frame) : HS_FRAME_BAD_INFO;
    }
    if (result != HS_FRAME_STEPPED) {
        return end_of_step(w, result);
    }
    if (frame.is_exact) {
        return enter_interrupted(w, &frame);
    }
    if (is_recovered) {
        w->anchor = frame;
        w->anchor_count = w->count;
    }
    set_bp(w, &frame);
    return go_to(w, frame.reg[HS_DWARF_RA], frame.reg[HS_DWARF_SP]);
}

/* The caller of an interpreted method. A compiled one has moved the arguments, so its sp is not
 * what lies behind the return address. */
static bool step_vm_interpreted(struct hs_walker *w, uint64_t caller_sp)
{
    uint64_t bp = w->bp;
    if (bp < w->sp || bp > UINT64_MAX - 16 || caller_sp <= bp || caller_sp % 8 != 0 ||
        !hs_stack_window_has(w->reader.window, bp) || !step_plain(w, bp + 16, 16)) {
        return end(w, HS_UNWIND_NO_INFO);
    }
    /* A method handle may have taken an argument off the stack on the way. */
    w->sp = caller_sp > w->sp ? caller_sp : w->sp;
    return true;
}

bool hs_vm_frame_bp(const struct hs_vm_frame *frame, uint64_t *ret_bp)
{
    if (!use_bp(frame->walker)) {
        return false;
    }
    *ret_bp = frame->walker->bp;
    return true;
}

/* A frame of a virtual machine, which may stand for several functions. */
static HS_COLD bool step_vm(struct hs_walker *w)
{
    struct hs_vm_frame frame; /* its ids are many, and most are not used */
    frame.pc = w->pc;
    frame.sp = w->sp;
    frame.is_exact = w->is_exact;
    frame.reader = &w->reader;
    frame.walker = w;
    frame.is_replayable = false;
    frame.caller = HS_VM_UNKNOWN;
    frame.frame_bytes = 0;
    frame.caller_sp = 0;
    frame.id_count = 0;
    bool is_described = w->unwinder->vm_frame(w->unwinder->resolve_ctx, &frame);
    w->walk->is_replayable &= frame.is_replayable;
    if (!is_described) {
        w->walk->is_replayable = false;
        return w->is_guess ? skip_value(w) : end(w, HS_UNWIND_NO_MODULE);
    }
    HS_ASSERT(frame.id_count >= 1 && frame.id_count <= HS_VM_IDS_MAX);
    for (uint32_t i = 0; i < frame.id_count && w->count < HS_FRAMES_WALK_MAX; i++) {
        emit(w, frame.ids[i]);
    }
    switch (frame.caller) {
    case HS_VM_FIXED:
        return step_plain(w, w->sp + frame.frame_bytes, 16);
    case HS_VM_INTERPRETED:
        return use_bp(w) ? step_vm_interpreted(w, frame.caller_sp) : end(w, HS_UNWIND_NO_INFO);
    case HS_VM_FRAME_POINTER:
        return use_bp(w) ? step_vm_interpreted(w, w->bp + 16) : end(w, HS_UNWIND_NO_INFO);
    case HS_VM_GUESS:
        return step_guess(w, frame.ids[0]);
    default:
        return end(w, HS_UNWIND_NO_INFO);
    }
}

bool hs_walker_step(struct hs_walker *w)
{
    uint64_t word;
    if (w->pc == 0) {
        return end(w, HS_UNWIND_END); /* how threads and coroutines mark the end by hand */
    }
    enum code code = find_word(w, &word);
    if (code != CODE_RULE) {
        return code == CODE_VM ? step_vm(w)
               : w->is_guess   ? skip_value(w)
                               : end(w, HS_UNWIND_NO_MODULE);
    }
    uint32_t place = w->out_idx;
    emit(w, (uint32_t)word);
    uint32_t rule = (uint32_t)(word >> 32);
    switch (hs_rule_kind(rule)) {
    case HS_RULE_SP:
        return step_plain(w, w->sp + hs_rule_cfa_off(rule), hs_rule_bp_bytes(rule));
    case HS_RULE_BP:
        if (!use_bp(w)) {
            return end(w, HS_UNWIND_UNREADABLE);
        }
        return step_plain(w, w->bp + hs_rule_cfa_off(rule), hs_rule_bp_bytes(rule));
    case HS_RULE_FP:
        return step_without_info(w, (uint32_t)word, place);
    case HS_RULE_DRAP:
        return step_drap(w, hs_rule_cfa_off(rule));
    case HS_RULE_SIGRETURN:
        return step_sigreturn(w);
    case HS_RULE_GENERAL:
        return step_general(w);
    case HS_RULE_END:
        return end(w, HS_UNWIND_END);
    default:
        return end(w, HS_UNWIND_BAD_INFO);
    }
}
