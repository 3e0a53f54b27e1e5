/*
 * Recording what pymalloc serves. See python_hooks.h.
 */
#include "client/hooks/python_hooks.h"

#include <errno.h>
#include <string.h>

#include "client/hooks/heap_report.h"
#include "client/hooks/nested_hook.h"
#include "client/hooks/record.h"
#include "client/hooks/record_steps.h"
#include "client/hooks/sampler.h"
#include "client/life/python_heap.h"
#include "client/life/python_stash.h"
#include "client/patch/python_slots.h"
#include "client/tables/filter.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heaps.h"
#include "client/tables/life_state.h"
#include "client/tables/live.h"
#include "client/tables/mapped_reserve.h"
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
    bool is_outdated = hs_heaps_is_outdated();
    bool is = hs_heap_report_hit(heap_id, size_bytes, ret_sample);
    if (is_outdated) {
        hs_python_heap_follow(); /* the interval may have become too small for moving */
    }
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

/* --- moving samples --------------------------------------------------------------------------- */

/* Serves the malloc(1) that pymalloc's malloc(0) has become. */
void *hs_python_give(void)
{
    size_t size_bytes = hs_python_tls.asked_bytes;
    hs_python_tls.asked_bytes = 0;
    void *ptr = hs_python_stash_take(size_bytes);
    hs_python_tls.given_va = (uintptr_t)ptr;
    return ptr;
}

/* Where a sample is to lie. */
enum place {
    PLACE_ARENA,  /* its free comes to our hook */
    PLACE_MALLOC, /* it is in *ret_ptr */
    PLACE_NONE,   /* it is lost */
};

/* Allocates a sample by the malloc that the interpreter itself calls for larger objects, and
 * through it, so that its count of such blocks holds. */
static enum place place_sample(void *ctx, size_t size_bytes, void **ret_ptr)
{
    struct hs_nested_hook probe;
    int old_errno = errno;
    if (hs_python_heap_sees_free()) {
        return PLACE_ARENA;
    }
    hs_nested_hook_begin(&probe, HS_NESTED_HOOK_MUTE);
    hs_python_tls.asked_bytes = size_bytes;
    hs_python_tls.given_va = 0;
    void *ptr = hs_python_real.malloc(ctx, 0);
    bool was_asked = hs_python_tls.asked_bytes == 0;
    hs_python_tls.asked_bytes = 0;
    hs_nested_hook_end(&probe);
    if (ptr && (uintptr_t)ptr == hs_python_tls.given_va) {
        *ret_ptr = ptr;
        return PLACE_MALLOC;
    }
    if (ptr) {
        hs_python_real.free(ctx, ptr);
    }
    errno = old_errno; /* pymalloc may serve the object all the same */
    /* Debug hooks or the program's own functions stand between pymalloc and malloc, or there is no
     * memory. */
    bool is_memory_short = was_asked && hs_python_tls.given_va == 0;
    return !is_memory_short && hs_python_heap_stop_moving() ? PLACE_ARENA : PLACE_NONE;
}

/* The heap `mmap` gives up a range that holds an arena. */
static void note_arena(const void *ptr)
{
    struct hs_frame_marker mark;
    struct hs_thread *thread = hs_thread_self();
    if (hs_mapped_reserve_may_be_at((uintptr_t)ptr) && hs_reentry_guard_enter(&mark)) {
        if (thread && hs_record_is_still_on()) {
            hs_mapped_reserve_note(thread, (uintptr_t)ptr, 1);
        }
        hs_reentry_guard_leave();
    }
}

/* Asks pymalloc where it would have served the sample. */
static void note_next_arena(void *ctx, size_t size_bytes)
{
    void *ptr = hs_python_real.malloc(ctx, size_bytes);
    if (ptr) {
        note_arena(ptr);
        hs_python_real.free(ctx, ptr);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

struct request {
    void *ctx;
    uintptr_t arg1;
    size_t arg2;
    uint64_t call; /* enum hs_python_call */
    void *old;     /* of realloc */
    size_t size_bytes;
};

static void *call_real(const struct request *request)
{
    switch (request->call) {
    case HS_PYTHON_MALLOC:
        return hs_python_real.malloc(request->ctx, request->arg1);
    case HS_PYTHON_CALLOC:
        return hs_python_real.calloc(request->ctx, request->arg1, request->arg2);
    default:
        return hs_python_real.realloc(request->ctx, request->old, request->arg2);
    }
}

/* realloc() of a block that pymalloc or malloc may serve. *ret_is_malloc true: it is malloc's, and
 * its hook has recorded what there was to record. */
static void *resize_unknown(const struct request *request, bool *ret_is_malloc)
{
    struct hs_nested_hook probe;
    /* Every hook that is called inside takes its slow half. */
    hs_nested_hook_begin(&probe, HS_NESTED_HOOK_WATCH);
    hs_python_tls.moved_va = (uintptr_t)request->old;
    void *moved = call_real(request);
    *ret_is_malloc = hs_python_tls.moved_va == 0;
    hs_python_tls.moved_va = 0;
    hs_nested_hook_end(&probe);
    return moved;
}

/* Records an object that lies in an arena, or moves it and records it then. */
static void *keep(const struct request *request, uint8_t heap_id, void *ptr,
                  const struct hs_sample *sample, const struct hs_regs *regs)
{
    void *moved = NULL;
    switch (place_sample(request->ctx, request->size_bytes, &moved)) {
    case PLACE_ARENA:
        hs_heap_report_record(heap_id, (uintptr_t)ptr, request->size_bytes, sample, regs);
        return ptr;
    case PLACE_MALLOC:
        memcpy(moved, ptr, request->size_bytes);
        note_arena(ptr);
        hs_python_real.free(request->ctx, ptr);
        hs_record_alloc_in(heap_id, moved, request->size_bytes, sample, regs);
        return moved;
    default:
        hs_record_count_loss(HS_LOSS_UNMOVED, request->size_bytes, sample->hits,
                             sample->interval_bytes);
        return ptr;
    }
}

/* A sample for which there is no older block. NULL: pymalloc is to serve it. */
static void *allocate_moved(const struct request *request, uint8_t heap_id,
                            const struct hs_sample *sample, const struct hs_regs *regs)
{
    void *ptr = NULL;
    if (place_sample(request->ctx, request->size_bytes, &ptr) != PLACE_MALLOC) {
        return NULL;
    }
    if (request->call == HS_PYTHON_CALLOC) {
        memset(ptr, 0, request->size_bytes);
    }
    hs_record_alloc_in(heap_id, ptr, request->size_bytes, sample, regs);
    note_next_arena(request->ctx, request->size_bytes);
    return ptr;
}

/* Serves a request, and records it if it is sampled. `removed`: what was recorded at request->old,
 * in an arena; NULL: nothing. */
static void *serve(const struct request *request, const struct hs_live_block *removed,
                   const struct hs_regs *regs)
{
    struct hs_sample sample;
    bool is_malloc = false;
    uint8_t heap_id = is_small(request->size_bytes) ? hs_python_heap_make() : 0;
    bool is_due = heap_id != 0 && is_hit(heap_id, request->size_bytes, &sample);
    void *ptr = is_due && !request->old && !hs_python_heap_sees_free()
                    ? allocate_moved(request, heap_id, &sample, regs)
                    : NULL;
    if (ptr) {
        return ptr;
    }
    ptr = is_due && request->old && !removed ? resize_unknown(request, &is_malloc)
                                             : call_real(request);
    if (!ptr && removed) {
        hs_heap_report_put_back(hs_python_heap_id, removed);
    }
    return is_due && ptr && !is_malloc && !is_in_malloc(ptr)
               ? keep(request, heap_id, ptr, &sample, regs)
               : ptr;
}

/* realloc() of a sample that was moved. If it stays small, it is pymalloc's again, unless it is a
 * sample again. */
static void *resize_moved(const struct request *request, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    if (!is_small(request->size_bytes)) {
        return call_real(request); /* malloc's hook forgets the sample, and sees the new block */
    }
    hs_nested_hook_begin(&probe, HS_NESTED_HOOK_MUTE);
    void *ptr = call_real(request);
    hs_nested_hook_end(&probe);
    const struct request again = { request->ctx, request->size_bytes, 0, HS_PYTHON_MALLOC,
                                   NULL,         request->size_bytes };
    void *moved = ptr ? serve(&again, NULL, regs) : NULL;
    if (!moved) {
        return ptr;
    }
    memcpy(moved, ptr, request->size_bytes);
    hs_python_real.free(request->ctx, ptr);
    return moved;
}

void *hs_slow_python(void *ctx, uintptr_t arg1, size_t arg2, uint64_t call,
                     const struct hs_regs *regs)
{
    struct hs_live_block removed;
    bool was_recorded = false;
    const struct request request = {
        .ctx = ctx,
        .arg1 = arg1,
        .arg2 = arg2,
        .call = call,
        .old = call == HS_PYTHON_REALLOC ? (void *)arg1 : NULL,
        .size_bytes = call == HS_PYTHON_MALLOC   ? arg1
                      : call == HS_PYTHON_CALLOC ? arg1 * arg2
                                                 : arg2,
    };
    if (request.old && hs_filter_test(arg1)) {
        was_recorded = forget(request.old, &removed);
        if (!was_recorded && hs_live_is_in_heap(arg1, hs_load_relaxed(&hs_python_heap_id))) {
            return resize_moved(&request, regs);
        }
    }
    return serve(&request, was_recorded ? &removed : NULL, regs);
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
