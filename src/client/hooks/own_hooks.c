/*
 * The hooks of private allocators, by kinds of functions. See own_hooks.h.
 */
#include "client/hooks/own_hooks.h"

#include <stddef.h>

#include "client/hooks/heap_report.h"
#include "client/hooks/hooks.h"
#include "client/hooks/nested_hook.h"
#include "client/hooks/record.h"
#include "client/hooks/sampler.h"
#include "client/host/real.h"
#include "client/patch/own_hook_table.h"
#include "client/tables/filter.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/live.h"
#include "fmt/allocator_functions.h"
#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/check.h"

/* --- slow ------------------------------------------------------------------------------------- */

static bool is_resize(enum hs_function_kind kind)
{
    return kind == HS_FUNCTION_EXPAND || kind == HS_FUNCTION_RESIZE ||
           kind == HS_FUNCTION_RESIZE_FREE || kind == HS_FUNCTION_RESIZE_COUNT ||
           kind == HS_FUNCTION_RESIZE_LAST || kind == HS_FUNCTION_GROW;
}

/* The size that the program requested. The hot half has checked that products do not overflow. */
static uint64_t wanted_bytes(enum hs_function_kind kind, const uint64_t args[4])
{
    switch (kind) {
    case HS_FUNCTION_SIZE:
        return args[0];
    case HS_FUNCTION_COUNT_SIZE:
        return args[0] * args[1];
    case HS_FUNCTION_OUT:
        return args[2];
    case HS_FUNCTION_RESIZE_COUNT:
        return args[1] * args[2];
    case HS_FUNCTION_RESIZE_LAST:
        return args[3];
    default:
        return args[1];
    }
}

/* The block that exists after the call. */
static void *block_of(enum hs_function_kind kind, const uint64_t args[4], uint64_t result,
                      uint64_t size_bytes)
{
    switch (kind) {
    case HS_FUNCTION_OUT:
        return (int)result == 0 ? *(void **)args[0] : NULL;
    case HS_FUNCTION_GROW:
        return result >= size_bytes ? (void *)args[0] : NULL;
    default:
        return (void *)result;
    }
}

HS_COLD bool hs_own_hook_has_covered(uintptr_t addr)
{
    bool is_covered = hs_live_covers(addr);
    for (uint32_t set = 0; !is_covered && set < HS_ALLOCATOR_SETS; set++) {
        uint8_t heap_id = hs_own_hooks[set * HS_ALLOCATOR_FUNCTION_COUNT]->heap_id;
        is_covered = heap_id != 0 && hs_heap_blocks_covers(heap_id, addr);
    }
    return is_covered;
}

/* Ends an observation. True: an inner hook has recorded the block, which was not known to happen
 * until this call. */
static bool end(const struct hs_nested_hook *probe, struct hs_own_hook *hook, const void *ptr)
{
    if (hs_likely(!hs_nested_hook_end(probe)) || probe->is_muting ||
        !hs_own_hook_has_covered((uintptr_t)ptr)) {
        return false;
    }
    hs_store_relaxed(&hook->does_call, true);
    return true;
}

/* The slow half for an allocator with a heap of its own. If the heap is carved, what its functions
 * take from malloc is recorded as malloc's as well. */
static uint64_t slow_in_heap(const uint64_t args[4], struct hs_own_hook *hook,
                             const struct hs_regs *regs)
{
    const enum hs_function_kind kind = hook->kind;
    const uint64_t size_bytes = wanted_bytes(kind, args);
    const uint8_t heap_id = hook->heap_id;
    struct hs_nested_hook probe;
    struct hs_live_block removed;
    bool was_recorded = is_resize(kind) && hs_heap_blocks_may_have(heap_id, args[0]) &&
                        hs_heap_report_free(heap_id, args[0], &removed);
    if (!hook->is_carved) {
        hs_nested_hook_begin(&probe, HS_NESTED_HOOK_MUTE);
    }
    uint64_t result = hook->real(args[0], args[1], args[2], args[3], 0, 0);
    if (!hook->is_carved && hs_nested_hook_end(&probe)) {
        hs_store_relaxed(&hook->does_call, true);
    }
    void *ptr = block_of(kind, args, result, size_bytes);
    if (!ptr && was_recorded && size_bytes > 0 && kind != HS_FUNCTION_RESIZE_FREE) {
        hs_heap_report_put_back(heap_id, &removed);
    }
    bool is_muted = hs_tls.probe != HS_NESTED_HOOK_NONE &&
                    hs_nested_hook_notice((uintptr_t)__builtin_frame_address(0));
    if (ptr && !is_muted) {
        hs_heap_report_alloc(heap_id, (uintptr_t)ptr, size_bytes, regs);
    }
    return result;
}

uint64_t hs_slow_own(uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3,
                     struct hs_own_hook *hook, const struct hs_regs *regs)
{
    const uint64_t args[4] = { arg0, arg1, arg2, arg3 };
    const enum hs_function_kind kind = hook->kind;
    const uint64_t size_bytes = wanted_bytes(kind, args);
    struct hs_nested_hook probe;
    struct hs_live_block removed;
    struct hs_sample sample;
    if (hook->heap_id != 0) {
        return slow_in_heap(args, hook, regs);
    }
    bool was_recorded =
        is_resize(kind) && hs_filter_test(arg0) && hs_record_free((void *)arg0, &removed);
    hs_nested_hook_begin(&probe, hs_load_relaxed(&hook->does_call) ? HS_NESTED_HOOK_MUTE
                                                                   : HS_NESTED_HOOK_WATCH);
    uint64_t result = hook->real(arg0, arg1, arg2, arg3, 0, 0);
    void *ptr = block_of(kind, args, result, size_bytes);
    bool is_recorded = end(&probe, hook, ptr);
    if (!ptr && was_recorded && size_bytes > 0 && kind != HS_FUNCTION_RESIZE_FREE) {
        hs_record_put_back(&removed);
    }
    if (!is_recorded && hs_sampler_hit(size_bytes, &sample) && ptr) {
        hs_record_alloc(ptr, size_bytes, &sample, regs);
    }
    return result;
}

/* May the block be recorded? */
static inline bool may_have(const struct hs_own_hook *hook, uint64_t ptr)
{
    return hs_unlikely(hook->heap_id != 0) ? hs_heap_blocks_may_have(hook->heap_id, ptr)
                                           : hs_filter_test(ptr);
}

static bool forget(const struct hs_own_hook *hook, uint64_t ptr, struct hs_live_block *ret_block)
{
    return hook->heap_id != 0 ? hs_heap_report_free(hook->heap_id, ptr, ret_block)
                              : hs_record_free((void *)ptr, ret_block);
}

/* The old block among the arguments of a function whose result is not followed; NULL: there is
 * none. */
static inline const void *moved_block(enum hs_function_kind kind, uint64_t arg0, uint64_t arg1)
{
    if (kind == HS_FUNCTION_MOVE_AT) {
        return arg0 ? *(void **)arg0 : NULL;
    }
    return (const void *)(kind == HS_FUNCTION_MOVE_SECOND ? arg1 : arg0);
}

static HS_COLD uint64_t move(const struct hs_own_hook *hook, const uint64_t args[6])
{
    struct hs_live_block removed;
    bool was_recorded =
        forget(hook, (uintptr_t)moved_block(hook->kind, args[0], args[1]), &removed);
    uint64_t result = hook->real(args[0], args[1], args[2], args[3], args[4], args[5]);
    bool has_failed = hook->kind == HS_FUNCTION_MOVE_AT ? (int)result != 0 : result == 0;
    if (has_failed && was_recorded) {
        if (hook->heap_id != 0) {
            hs_heap_report_put_back(hook->heap_id, &removed);
        } else {
            hs_record_put_back(&removed);
        }
    }
    return result;
}

/* --- hot -------------------------------------------------------------------------------------- */

#define ARGS                                                                                       \
    uint64_t arg0, uint64_t arg1, uint64_t arg2, uint64_t arg3, uint64_t arg4, uint64_t arg5
#define PASSED arg0, arg1, arg2, arg3, arg4, arg5

static inline __attribute__((always_inline)) bool drop(const struct hs_own_hook *hook,
                                                       uint64_t size_bytes)
{
    return hs_unlikely(hook->heap_id != 0) ? hs_heap_report_drop(hook->heap_id, size_bytes)
                                           : hs_sampler_drop(size_bytes);
}

/* Not a jump: our frame says whose calls of mmap() are made inside (mapping.c). */
static inline __attribute__((always_inline)) uint64_t call_real(const struct hs_own_hook *hook,
                                                                ARGS)
{
    uint64_t result = hook->real(PASSED);
    __asm__ volatile("" : "+r"(result));
    return result;
}

/* An allocation of `size_bytes`; `old`: the block that it replaces, or 0. */
static inline __attribute__((always_inline)) uint64_t
own_take(struct hs_own_hook *hook, uint64_t size_bytes, uint64_t old, ARGS)
{
    if (hs_likely(old == 0 || !may_have(hook, old)) && !hs_load_relaxed(&hook->does_call) &&
        hs_likely(drop(hook, size_bytes))) {
        return call_real(hook, PASSED);
    }
    return hs_entry_own(arg0, arg1, arg2, arg3, hook);
}

static inline __attribute__((always_inline)) uint64_t
own_take_many(struct hs_own_hook *hook, uint64_t count, uint64_t size_bytes, uint64_t old, ARGS)
{
    uint64_t total_bytes;
    if (hs_unlikely(__builtin_mul_overflow(count, size_bytes, &total_bytes))) {
        return call_real(hook, PASSED);
    }
    return own_take(hook, total_bytes, old, PASSED);
}

static inline __attribute__((always_inline)) uint64_t own_free(const struct hs_own_hook *hook, ARGS)
{
    if (hs_unlikely(may_have(hook, arg0))) {
        forget(hook, arg0, NULL);
    }
    return call_real(hook, PASSED);
}

static inline __attribute__((always_inline)) uint64_t own_move(const struct hs_own_hook *hook,
                                                               enum hs_function_kind kind, ARGS)
{
    if (hs_unlikely(may_have(hook, (uintptr_t)moved_block(kind, arg0, arg1)))) {
        return move(hook, (const uint64_t[6]){ PASSED });
    }
    return call_real(hook, PASSED);
}

/* `kind` is a compile-time constant. */
static inline __attribute__((always_inline)) uint64_t own_hot(struct hs_own_hook *hook,
                                                              enum hs_function_kind kind, ARGS)
{
    HS_ASSERT(hs_load_relaxed(&hook->real) != NULL); /* nothing leads here before it is set */
    HS_ASSERT(hook->kind == kind);
    switch (kind) {
    case HS_FUNCTION_SIZE:
        return own_take(hook, arg0, 0, PASSED);
    case HS_FUNCTION_ALIGN_SIZE:
        return own_take(hook, arg1, 0, PASSED);
    case HS_FUNCTION_COUNT_SIZE:
        return own_take_many(hook, arg0, arg1, 0, PASSED);
    case HS_FUNCTION_OUT:
        return own_take(hook, arg2, 0, PASSED);
    case HS_FUNCTION_EXPAND:
    case HS_FUNCTION_RESIZE:
    case HS_FUNCTION_RESIZE_FREE:
    case HS_FUNCTION_GROW:
        return own_take(hook, arg1, arg0, PASSED);
    case HS_FUNCTION_RESIZE_COUNT:
        return own_take_many(hook, arg1, arg2, arg0, PASSED);
    case HS_FUNCTION_RESIZE_LAST:
        return own_take(hook, arg3, arg0, PASSED);
    case HS_FUNCTION_FREE:
        return own_free(hook, PASSED);
    default:
        return own_move(hook, kind, PASSED);
    }
}

/* --- the hooks, by kinds ---------------------------------------------------------------------- */

#define HOOK(name, its_kind)                                                                       \
    static struct hs_own_hook its_##name = { .kind = HS_FUNCTION_##its_kind };                     \
    static uint64_t hook_##name(ARGS)                                                              \
    {                                                                                              \
        return own_hot(&its_##name, HS_FUNCTION_##its_kind, PASSED);                               \
    }
#define HOOK_OF_FIRST(name, kind, whose)  HOOK(first_##name, kind)
#define HOOK_OF_SECOND(name, kind, whose) HOOK(second_##name, kind)

HS_ALLOCATOR_FUNCTIONS(HOOK_OF_FIRST)
HS_ALLOCATOR_FUNCTIONS(HOOK_OF_SECOND)

#define ENTER_FIRST(name, kind, whose)  &its_first_##name,
#define ENTER_SECOND(name, kind, whose) &its_second_##name,
struct hs_own_hook *const hs_own_hooks[] = { HS_ALLOCATOR_FUNCTIONS(ENTER_FIRST)
                                                 HS_ALLOCATOR_FUNCTIONS(ENTER_SECOND) };

/* The collector reads it from outside: HS_OWN_HOOKS_SYMBOL. */
struct own_hooks_v1 {
    uint64_t count;
    hs_own_fn hooks[HS_ALLOCATOR_SETS * HS_ALLOCATOR_FUNCTION_COUNT];
};

extern const struct own_hooks_v1 heapscope_own_hooks_v1;

#define ADDRESS_OF_FIRST(name, kind, whose)  hook_first_##name,
#define ADDRESS_OF_SECOND(name, kind, whose) hook_second_##name,
HS_EXPORT const struct own_hooks_v1 heapscope_own_hooks_v1 = {
    .count = HS_ALLOCATOR_SETS * HS_ALLOCATOR_FUNCTION_COUNT,
    .hooks = { HS_ALLOCATOR_FUNCTIONS(ADDRESS_OF_FIRST) HS_ALLOCATOR_FUNCTIONS(ADDRESS_OF_SECOND) }
};

const uint32_t hs_own_hook_count = HS_COUNT_OF(hs_own_hooks);

_Static_assert(HS_COUNT_OF(hs_own_hooks) == HS_ALLOCATOR_SETS * HS_ALLOCATOR_FUNCTION_COUNT,
               "one of each, twice");

/* --- the C library's own ---------------------------------------------------------------------- */

/* The first call resolves all of them. */
static HS_COLD void look_for_real(void)
{
    hs_real_resolve();
    hs_own_hook_table_bind_libc();
}

/* If the C library has no such function, no program can have called it. */
#define LATE_HOOK(declared, hook, its_kind)                                                        \
    static struct hs_own_hook hook = { .kind = HS_FUNCTION_##its_kind };                           \
    declared(ARGS)                                                                                 \
    {                                                                                              \
        if (hs_unlikely(!hs_load_relaxed(&(hook).real))) {                                         \
            look_for_real();                                                                       \
        }                                                                                          \
        return own_hot(&(hook), HS_FUNCTION_##its_kind, PASSED);                                   \
    }

/* The functions of the C library that have second names, which programs call. An allocator may
 * define these names, too: they are found like all others. */
#define SECOND_NAMES(FUNCTION)                                                                     \
    FUNCTION(__libc_malloc, SIZE)                                                                  \
    FUNCTION(__libc_calloc, COUNT_SIZE)                                                            \
    FUNCTION(__libc_realloc, RESIZE)                                                               \
    FUNCTION(__libc_free, FREE)                                                                    \
    FUNCTION(__libc_memalign, ALIGN_SIZE)                                                          \
    FUNCTION(__libc_valloc, SIZE)                                                                  \
    FUNCTION(__libc_pvalloc, SIZE)

/* The C library's functions, whichever allocator serves malloc. */
#define FIRST_NAMES(FUNCTION)                                                                      \
    FUNCTION(malloc, SIZE)                                                                         \
    FUNCTION(calloc, COUNT_SIZE)                                                                   \
    FUNCTION(realloc, RESIZE)                                                                      \
    FUNCTION(free, FREE)                                                                           \
    FUNCTION(memalign, ALIGN_SIZE)                                                                 \
    FUNCTION(valloc, SIZE)                                                                         \
    FUNCTION(pvalloc, SIZE)                                                                        \
    FUNCTION(posix_memalign, OUT)                                                                  \
    FUNCTION(aligned_alloc, ALIGN_SIZE)                                                            \
    FUNCTION(reallocarray, RESIZE_COUNT)                                                           \
    FUNCTION(cfree, FREE)                                                                          \
    FUNCTION(free_sized, FREE)                                                                     \
    FUNCTION(free_aligned_sized, FREE)

#define SECOND_HOOK(name, kind)                                                                    \
    uint64_t name(ARGS);                                                                           \
    LATE_HOOK(HS_EXPORT uint64_t name, its_##name, kind)                                           \
    HS_HOOK_NAME(name)
#define FIRST_HOOK(name, kind) LATE_HOOK(static uint64_t libc_##name, its_libc_##name, kind)

SECOND_NAMES(SECOND_HOOK)
FIRST_NAMES(FIRST_HOOK)

#define ENTER_SECOND_NAME(name, kind) { #name, &its_##name, name },
#define ENTER_FIRST_NAME(name, kind)  { #name, &its_libc_##name, libc_##name },
const struct hs_libc_hook hs_libc_second_hooks[] = { SECOND_NAMES(ENTER_SECOND_NAME) };
const uint32_t hs_libc_second_hook_count = HS_COUNT_OF(hs_libc_second_hooks);
const struct hs_libc_hook hs_libc_first_hooks[] = { FIRST_NAMES(ENTER_FIRST_NAME) };
const uint32_t hs_libc_first_hook_count = HS_COUNT_OF(hs_libc_first_hooks);
