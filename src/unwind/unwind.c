/*
 * The walk.
 *
 * Two functions take turns. run_hot() continues as long as every rule is a cached plain one and the
 * stack up to the frame is known to be readable. It makes no calls and keeps everything in
 * registers, and its chain of dependent instructions is pc -> cache entry -> frame address ->
 * return address. In every other case it changes nothing and leaves the frame to hs_walker_step(),
 * which handles all cases, one frame at a time.
 *
 * Registers other than pc, sp and bp are not followed. When a frame's information needs another one
 * (for example in hand-written assembly under a signal handler), the walk is repeated from the last
 * place where all registers were known, its start or a signal frame: see step.c.
 *
 * Holds     every word that is read lies in the window at that moment. sp rises from frame to
 *           frame, except at up to HS_SIGNALS_WALK_MAX signal frames: so every walk ends.
 */
#include "unwind/unwind.h"

#include "arch/rule.h"
#include "rt/base.h"
#include "rt/check.h"
#include "unwind/walker.h"

/* How far above its start the hot loop goes; larger stacks are walked by the slow path. */
#define HOT_SPAN_MAX (UINT64_C(0xffffffff) & ~UINT64_C(7))

/* How many frames run_hot() may take before its limits have to be checked again. */
static uint32_t hot_room(const struct hs_walker *w)
{
    uint32_t frames = HS_FRAMES_KEPT - w->out_idx, left = HS_FRAMES_WALK_MAX - w->count;
    frames = frames < left ? frames : left;
    uint32_t words = (HS_WALK_WORDS_MAX - w->walk->word_count) / 2;
    return frames < words ? frames : words;
}

/* For assertions: is a frame's end `cfa` above sp, with a return address that may be read? */
static inline __attribute__((unused)) bool is_in_window(const struct hs_walker *w, uint64_t sp,
                                                        uint64_t cfa)
{
    const struct hs_stack_window *window = w->reader.window;
    return cfa > sp && cfa - sp >= 8 && cfa - 8 >= window->lo_va && cfa <= window->hi_va;
}

/*
 * Takes frames that are plain, cached and readable. `shift` is a constant 0 in process.
 *
 * A saved bp is not read when it is restored but when a rule uses it: in code without frame
 * pointers it is data, different each time, and a replay that compared it would hardly ever
 * succeed.
 */
static inline __attribute__((always_inline)) void run_hot_shifted(struct hs_walker *w, uint64_t hi,
                                                                  uint64_t shift, uint32_t room)
{
    struct hs_walk *walk = w->walk;
    const struct hs_rule_entry *entries = w->unwinder->cache->entries;
    const uint64_t mask = hs_load_relaxed(&w->unwinder->cache->mask);
    const uint64_t generation = w->generation;
    uint64_t pc = w->pc, sp = w->sp, bp = w->bp, bp_va = w->bp_va;
    uint32_t *frame = walk->frames + w->out_idx;
    uint32_t *const frame_stop = frame + room;
    uint32_t words = walk->word_count;

    while (frame < frame_stop) {
        uint64_t word;
        if (!hs_rule_cache_find(entries, mask, pc, pc ^ generation, &word)) {
            break;
        }
        uint32_t rule = (uint32_t)(word >> 32);
        uint64_t bp_bytes = hs_rule_bp_bytes(rule);
        uint64_t cfa_off = word >> (32 + HS_RULE_OFF_SHIFT);
        uint64_t cfa = sp + cfa_off;
        if (hs_rule_kind(rule) != HS_RULE_SP) {
            if (hs_rule_kind(rule) != HS_RULE_BP) {
                break;
            }
            if (bp_va != HS_BP_IS_NOTED) {
                if (bp_va == HS_BP_IS_START) {
                    walk->has_used_bp = true;
                } else {
                    HS_ASSERT(bp_va >= w->reader.window->lo_va && bp_va <= hi - 8);
                    bp = hs_stack_load(bp_va, shift);
                    walk->word_va_low[words] = (uint32_t)bp_va;
                    walk->word[words++] = bp;
                }
                bp_va = HS_BP_IS_NOTED;
            }
            cfa = bp + cfa_off;
            /* Slots must lie at or above sp, without wrapping around. (HS_RULE_SP ensures that.) */
            if (cfa - sp > hi - sp || cfa - sp < bp_bytes) {
                break;
            }
        }
        if (hs_unlikely(cfa > hi)) {
            break;
        }
        HS_ASSERT(is_in_window(w, sp, cfa));
        *frame++ = (uint32_t)word;
        pc = hs_stack_load(cfa - 8, shift);
        walk->word_va_low[words] = (uint32_t)cfa - 8;
        walk->word[words++] = pc;
        bp_va = bp_bytes != HS_RULE_BP_SAME_BYTES ? cfa - bp_bytes : bp_va;
        sp = cfa;
    }
    uint32_t advanced = (uint32_t)(frame - walk->frames) - w->out_idx;
    w->is_guess &= advanced == 0;
    w->pc = pc;
    w->sp = sp;
    w->bp = bp;
    w->bp_va = bp_va;
    w->out_idx += advanced;
    w->count += advanced;
    walk->word_count = words;
}

static __attribute__((noinline)) void run_hot(struct hs_walker *w)
{
    const struct hs_stack_window *window = w->reader.window;
    uint64_t base = w->reader.base_va, hi = window->hi_va;
    /* Behind a signal frame the window may still be that of the signal's stack. */
    if (w->is_exact || w->sp < window->lo_va || w->sp > hi) {
        return;
    }
    /* Only 32 bits of a word's address are kept; and no CFA may wrap around. */
    if (hi - base > HOT_SPAN_MAX) {
        hi = base + HOT_SPAN_MAX;
    }
    if (w->sp > hi || hi > UINT64_MAX - HOT_SPAN_MAX) {
        return;
    }
    if (w->bp_va > HS_BP_IS_START &&
        (w->bp_va < window->lo_va || w->bp_va < base || w->bp_va > hi - 8)) {
        return;
    }
    if (window->shift == 0) {
        run_hot_shifted(w, hi, 0, hot_room(w));
    } else {
        run_hot_shifted(w, hi, window->shift, hot_room(w));
    }
}

static void reverse(uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t id = ids[i];
        ids[i] = ids[count - 1 - i];
        ids[count - 1 - i] = id;
    }
}

/* Puts the ring of outer frames in order, and sets the gap. */
static void finish(struct hs_walker *w)
{
    struct hs_walk *walk = w->walk;
    walk->frame_count = w->count;
    walk->top_va = w->reader.top_va > w->sp ? w->reader.top_va : w->sp;
    walk->cut_idx = 0;
    walk->skipped_count = 0;
    if (w->count > HS_FRAMES_KEPT) {
        uint32_t *ring = walk->frames + HS_FRAMES_INNER;
        uint32_t oldest = w->out_idx - HS_FRAMES_INNER;
        reverse(ring, oldest);
        reverse(ring + oldest, HS_FRAMES_OUTER - oldest);
        reverse(ring, HS_FRAMES_OUTER);
        walk->frame_count = HS_FRAMES_KEPT;
        walk->cut_idx = HS_FRAMES_INNER;
        walk->skipped_count = w->count - HS_FRAMES_KEPT;
    }
    HS_ASSERT(walk->frame_count <= HS_FRAMES_MAX - 1 && walk->word_count <= HS_WALK_WORDS_MAX);
    HS_ASSERT(walk->end < HS_UNWIND_END_N && w->signal_count <= HS_SIGNALS_WALK_MAX + 1);
    /* The other ends depend on what was readable at that moment. */
    if (walk->end != HS_UNWIND_END && walk->end != HS_UNWIND_NO_MODULE &&
        walk->end != HS_UNWIND_NO_INFO) {
        walk->is_replayable = false;
    }
}

static void begin(struct hs_walker *w, const struct hs_unwinder *unwinder,
                  const struct hs_regs *start, bool is_exact, struct hs_stack_window *window,
                  struct hs_walk *walk)
{
    w->unwinder = unwinder;
    w->walk = walk;
    w->reader = (struct hs_stack_reader){ .window = window, .walk = walk, .base_va = start->sp };
    w->generation = hs_rule_cache_generation(unwinder->cache);
    w->pc = start->pc;
    w->sp = start->sp;
    w->bp = start->bp;
    w->bp_va = HS_BP_IS_START;
    w->out_idx = 0;
    w->count = 0;
    w->signal_count = 0;
    w->is_exact = is_exact;
    w->is_start_exact = is_exact;
    w->is_guess = false;
    w->start = start;
    w->anchor_count = 0;
    walk->guessed_frame = 0;
    walk->has_used_bp = false;
    walk->is_replayable = !is_exact;
    walk->word_count = 0;
    walk->note_count = 0;
}

static void run(struct hs_walker *w)
{
    struct hs_walk *walk = w->walk;
    do {
        run_hot(w);
        hs_walker_wrap(w);
        if (walk->word_count > HS_WALK_WORDS_MAX - 2) {
            walk->is_replayable = false; /* more words than can be kept: they are dropped */
            walk->word_count = 0;
        }
        if (w->count >= HS_FRAMES_WALK_MAX) {
            walk->end = HS_UNWIND_TOO_DEEP;
            return;
        }
    } while (hs_walker_step(w));
}

void hs_unwind_prefetch(const struct hs_unwinder *unwinder, uint64_t sp,
                        const struct hs_stack_window *window, const struct hs_walk *last)
{
    const struct hs_rule_cache *cache = unwinder->cache;
    const uint64_t mask = hs_load_relaxed(&cache->mask);
    const uint64_t readable = sp >= window->lo_va && sp < window->hi_va ? window->hi_va - sp : 0;
    for (uint32_t i = 0; i < last->word_count; i++) {
        uint32_t off = last->word_va_low[i] - (uint32_t)sp;
        if ((uint64_t)off + 8 <= readable) {
            uint64_t pc = hs_stack_load(sp + off, window->shift);
            __builtin_prefetch(&cache->entries[hs_rule_cache_idx(pc, mask)]);
        }
    }
}

void hs_unwind_walk(const struct hs_unwinder *unwinder, const struct hs_regs *start, bool is_exact,
                    struct hs_stack_window *window, struct hs_walk *ret_walk)
{
    struct hs_walker w;
    begin(&w, unwinder, start, is_exact, window, ret_walk);
    run(&w);
    finish(&w);
}
