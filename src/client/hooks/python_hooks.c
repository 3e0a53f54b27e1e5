/*
 * Recording what pymalloc serves. See python_hooks.h.
 */
#include "client/hooks/python_hooks.h"

#include "client/hooks/heap_report.h"
#include "client/hooks/nested_hook.h"
#include "client/hooks/sampler.h"
#include "client/life/python_heap.h"
#include "client/patch/python_slots.h"
#include "client/tables/filter.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/life_state.h"
#include "client/tables/live.h"
#include "client/thread/countdown.h"
#include "client/thread/heap_countdown.h"
#include "client/thread/thread.h"

/* --- slow ------------------------------------------------------------------------------------- */

/* Can pymalloc serve a request of this size? */
static inline bool is_small(size_t size_bytes)
{
    return size_bytes - 1 < HS_PYTHON_SMALL_BYTES;
}

static struct hs_heap_countdown *countdown_of(const struct hs_thread *thread)
{
    return thread && thread->heap_countdowns ? &thread->heap_countdowns[hs_python_heap_id] : NULL;
}

/* Counts down an allocation, with the countdown in its usual place meanwhile. */
static bool is_hit(uint8_t heap_id, size_t size_bytes, struct hs_sample *ret_sample)
{
    struct hs_heap_countdown *countdown = countdown_of(hs_thread_self());
    if (countdown && hs_python_tls.left_bytes != 0) {
        countdown->left_bytes = hs_python_tls.left_bytes;
    }
    bool is = hs_heap_report_hit(heap_id, size_bytes, ret_sample);
    if (hs_life_state_is_alive() || hs_life_state_is_waiting()) {
        countdown = countdown_of(hs_tls.self);
        hs_python_tls.left_bytes = countdown ? countdown->left_bytes : 0;
    } else {
        /* The next session raises the floor. */
        hs_python_tls.left_bytes =
            hs_load_relaxed(&hs_control_page.control.floor_bytes) + HS_COUNTDOWN_NEVER;
    }
    return is;
}

static void *call_real(void *ctx, uintptr_t arg1, size_t arg2, uint64_t call)
{
    switch (call) {
    case HS_PYTHON_MALLOC:
        return hs_python_real.malloc(ctx, arg1);
    case HS_PYTHON_CALLOC:
        return hs_python_real.calloc(ctx, arg1, arg2);
    default:
        return hs_python_real.realloc(ctx, (void *)arg1, arg2);
    }
}

/* realloc() of a block that pymalloc or malloc may serve. *ret_is_malloc true: it is malloc's, and
 * its hook has recorded what there was to record. */
static void *resize_unknown(void *ctx, void *ptr, size_t size_bytes, bool *ret_is_malloc)
{
    struct hs_nested_hook probe;
    /* Every hook that is called inside takes its slow half. */
    hs_nested_hook_begin(&probe, HS_NESTED_HOOK_WATCH);
    hs_python_tls.moved_va = (uintptr_t)ptr;
    void *moved = hs_python_real.realloc(ctx, ptr, size_bytes);
    *ret_is_malloc = hs_python_tls.moved_va == 0;
    hs_python_tls.moved_va = 0;
    hs_nested_hook_end(&probe);
    return moved;
}

/* The block is in the free filter. */
static bool forget(const void *ptr, struct hs_live_block *ret_block)
{
    uint8_t heap_id = hs_load_relaxed(&hs_python_heap_id);
    return heap_id != 0 && hs_heap_report_free(heap_id, (uintptr_t)ptr, ret_block);
}

/* If no arena can be mapped, malloc serves small objects, too. */
static bool is_in_malloc(const void *ptr)
{
    return hs_filter_test((uintptr_t)ptr) && hs_live_covers((uintptr_t)ptr);
}

void *hs_slow_python(void *ctx, uintptr_t arg1, size_t arg2, uint64_t call,
                     const struct hs_regs *regs)
{
    const void *old = call == HS_PYTHON_REALLOC ? (const void *)arg1 : NULL;
    size_t size_bytes = call == HS_PYTHON_MALLOC   ? arg1
                        : call == HS_PYTHON_CALLOC ? arg1 * arg2
                                                   : arg2;
    struct hs_live_block removed;
    struct hs_sample sample;
    bool is_malloc = false;
    bool was_recorded = old && hs_filter_test((uintptr_t)old) && forget(old, &removed);
    void *ptr = old && !was_recorded && is_small(size_bytes)
                    ? resize_unknown(ctx, (void *)arg1, arg2, &is_malloc)
                    : call_real(ctx, arg1, arg2, call);
    if (!ptr && was_recorded) {
        hs_heap_report_put_back(hs_python_heap_id, &removed);
    }
    uint8_t heap_id = is_small(size_bytes) ? hs_python_heap_make() : 0;
    if (heap_id != 0 && is_hit(heap_id, size_bytes, &sample) && ptr && !is_malloc &&
        !is_in_malloc(ptr)) {
        hs_heap_report_record(heap_id, (uintptr_t)ptr, size_bytes, &sample, regs);
    }
    return ptr;
}

static HS_COLD void free_recorded(void *ctx, void *ptr)
{
    forget(ptr, NULL);
    hs_python_real.free(ctx, ptr);
}

/* --- hot -------------------------------------------------------------------------------------- */

/* Counts down an allocation that is not recorded. False: it may have to be. */
static inline __attribute__((always_inline)) bool drop(size_t size_bytes)
{
    uint64_t left;
    if (hs_unlikely(
            __builtin_sub_overflow(hs_python_tls.left_bytes, (uint64_t)size_bytes, &left)) ||
        hs_unlikely(left <= hs_load_relaxed(&hs_control_page.control.floor_bytes))) {
        return false;
    }
    hs_python_tls.left_bytes = left;
    return true;
}

static void *python_malloc(void *ctx, size_t size_bytes)
{
    if (!is_small(size_bytes) || hs_likely(drop(size_bytes))) {
        return hs_python_real.malloc(ctx, size_bytes);
    }
    return hs_entry_python(ctx, size_bytes, 0, HS_PYTHON_MALLOC);
}

static void *python_calloc(void *ctx, size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (hs_unlikely(__builtin_mul_overflow(count, size_bytes, &total_bytes)) ||
        !is_small(total_bytes) || hs_likely(drop(total_bytes))) {
        return hs_python_real.calloc(ctx, count, size_bytes);
    }
    return hs_entry_python(ctx, count, size_bytes, HS_PYTHON_CALLOC);
}

static void *python_realloc(void *ctx, void *ptr, size_t size_bytes)
{
    if (hs_likely(!hs_filter_test((uintptr_t)ptr)) &&
        (!is_small(size_bytes) || hs_likely(drop(size_bytes)))) {
        return hs_python_real.realloc(ctx, ptr, size_bytes);
    }
    return hs_entry_python(ctx, (uintptr_t)ptr, size_bytes, HS_PYTHON_REALLOC);
}

static void python_free(void *ctx, void *ptr)
{
    if (hs_unlikely(hs_filter_test((uintptr_t)ptr))) {
        free_recorded(ctx, ptr);
    } else {
        hs_python_real.free(ctx, ptr);
    }
}

const struct hs_python_functions hs_python_hooks = {
    .malloc = python_malloc,
    .calloc = python_calloc,
    .realloc = python_realloc,
    .free = python_free,
};
