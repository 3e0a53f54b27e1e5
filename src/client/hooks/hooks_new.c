/*
 * C++'s operators new and delete, in all their forms.
 *
 * The C++ runtime's own operators call malloc, some of them through one another, and each call
 * passes through our hooks. So the hooks call the real malloc and free directly, which takes less
 * time than the program's operators do without the client. Only when memory is short do they call
 * the runtime's operator, which runs handlers and throws exceptions. Operators that are not those
 * of the C++ runtime are called. Such an operator may call malloc, whose hook then records the
 * allocation; that of an allocator's library may call internal functions instead. The hooks find
 * out which it is by observation: see nested_hook.h.
 *
 * A library that is loaded late and privately (a plugin's C++ runtime, or a plugin itself) may
 * define the operators. Since our definitions are found first everywhere, the real one is looked up
 * again until there is one that stays (operators.h).
 *
 * Ensures   a block is recorded once: by the operator, or by the malloc inside it.
 * Threads   any.
 * Fails     as the real operator: exceptions pass through (the slow path has unwind information).
 *           Without any C++ runtime, operator new is malloc, and aborts where it would throw.
 */
#include <stdlib.h>

#include "client/hooks/hooks.h"
#include "client/hooks/nested_hook.h"
#include "client/hooks/own_hooks.h"
#include "client/hooks/record.h"
#include "client/hooks/sampler.h"
#include "client/host/real.h"
#include "client/life/lifecycle.h"
#include "client/patch/operators.h"
#include "client/tables/filter.h"
#include "client/tables/live.h"

typedef void *(*new_fn)(size_t size_bytes, size_t arg1, size_t arg2);
typedef void (*delete_fn)(void *ptr, size_t arg1, size_t arg2);

/* What is known of a real operator. */
enum hs_inside {
    HS_INSIDE_UNKNOWN,
    HS_INSIDE_HOOKED, /* its allocations come to another hook */
    HS_INSIDE_ALONE,  /* they do not: the operator's own hook must record them */
    HS_INSIDE_PLAIN,  /* it is malloc or aligned_alloc, which is called in its place */
};

/* A signal handler does not allocate inside this many observations in a row. */
#define SEEN_ENOUGH 4U

struct hs_new_hook {
    new_fn real;
    uint32_t inside;     /* enum hs_inside */
    uint32_t seen_count; /* observations that saw a hooked function inside */
    bool is_nothrow;
    struct hs_operator op;
};

struct hs_delete_hook {
    delete_fn real;
    struct hs_operator op;
};

/* What operator new does in a process without a C++ runtime. */
static void *plain_new(struct hs_new_hook *hook, size_t size_bytes, size_t align_bytes)
{
    void *ptr = NULL;
    if (!hook->op.is_aligned) {
        ptr = malloc(size_bytes ? size_bytes : 1);
    } else if (posix_memalign(&ptr, align_bytes, size_bytes ? size_bytes : 1) != 0) {
        ptr = NULL;
    }
    if (!ptr && !hook->is_nothrow) {
        abort();
    }
    return ptr;
}

/* The size that malloc is called with: blocks of size 0 have addresses of their own, too. */
static inline size_t at_least_one(size_t size_bytes)
{
    return size_bytes + (size_bytes == 0);
}

/* The size that aligned_alloc is called with: a multiple of the alignment. 0: the runtime's
 * operator must be called, which decides what happens. */
static inline size_t align_padded(size_t size_bytes, size_t align_bytes)
{
    size_t mask = align_bytes - 1;
    size_t padded_bytes = (at_least_one(size_bytes) + mask) & ~mask;
    bool is_usual = align_bytes >= sizeof(void *) && (align_bytes & mask) == 0;
    return is_usual && padded_bytes >= size_bytes ? padded_bytes : 0;
}

/* Called before anything is known of the operator. Once the client has started, an allocator in the
 * executable has been redirected to our hooks, or never will be (detours.h). */
static HS_COLD new_fn find_real(struct hs_new_hook *hook, const struct hs_regs *regs)
{
    bool is_kept, is_plain;
    hs_lifecycle_is_on();
    new_fn real = (new_fn)hs_operator_find(&hook->op, regs->pc, &is_kept, &is_plain);
    if (is_plain) {
        hs_store_relaxed(&hook->inside, HS_INSIDE_PLAIN);
    }
    if (is_kept) {
        hs_store_relaxed(&hook->real, real);
    }
    return real;
}

/* Learns from one observation. True: the caller must record the block. */
static bool learn(struct hs_new_hook *hook, bool has_seen, const void *ptr)
{
    uint32_t unknown = HS_INSIDE_UNKNOWN;
    if (!has_seen) {
        hs_cas_relaxed(&hook->inside, &unknown, HS_INSIDE_ALONE);
        return true;
    }
    /* If the block is not recorded, it was not sampled, or a signal handler made the observed
     * call. */
    bool is_inside = hs_own_hook_has_covered((uintptr_t)ptr);
    if (is_inside || hs_add_relaxed(&hook->seen_count, 1) + 1 == SEEN_ENOUGH) {
        hs_cas_relaxed(&hook->inside, &unknown, HS_INSIDE_HOOKED);
    }
    return !is_inside;
}

static void *slow_plain(const struct hs_new_hook *hook, size_t size_bytes, size_t align_bytes,
                        const struct hs_regs *regs)
{
    if (!hook->op.is_aligned) {
        return hs_slow_malloc_padded(at_least_one(size_bytes), size_bytes, regs);
    }
    size_t padded_bytes = align_padded(size_bytes, align_bytes);
    return padded_bytes == 0
               ? NULL
               : hs_slow_aligned_alloc_padded(align_bytes, padded_bytes, size_bytes, regs);
}

void *hs_slow_new(size_t size_bytes, size_t arg1, size_t arg2, struct hs_new_hook *hook,
                  const struct hs_regs *regs)
{
    struct hs_sample sample;
    void *ptr;
    new_fn real = hs_load_relaxed(&hook->real);
    real = real ? real : find_real(hook, regs);
    if (!real) {
        return plain_new(hook, size_bytes, arg1);
    }
    if (hook->inside == HS_INSIDE_PLAIN) {
        ptr = slow_plain(hook, size_bytes, arg1, regs);
        return ptr ? ptr : real(size_bytes, arg1, arg2);
    }
    bool is_ours = hook->inside == HS_INSIDE_ALONE;
    if (hook->inside == HS_INSIDE_UNKNOWN) {
        struct hs_nested_hook probe;
        hs_nested_hook_begin(&probe, HS_NESTED_HOOK_WATCH);
        ptr = real(size_bytes, arg1, arg2); /* may throw: then the next call observes again */
        bool has_seen = hs_nested_hook_end(&probe);
        is_ours = hs_load_relaxed(&hook->real) ? learn(hook, has_seen, ptr) : !has_seen;
    } else {
        ptr = real(size_bytes, arg1, arg2);
    }
    if (is_ours && hs_sampler_hit(size_bytes, &sample) && ptr) {
        hs_record_alloc(ptr, size_bytes, &sample, regs);
    }
    return ptr;
}

/* When memory is short and the runtime's operator is called, no frame of ours lies below it. */
static inline __attribute__((always_inline)) void *
new_hot(struct hs_new_hook *hook, bool is_aligned, size_t size_bytes, size_t arg1, size_t arg2)
{
    uint32_t inside = hs_load_relaxed(&hook->inside);
    if (!is_aligned && hs_likely(inside == HS_INSIDE_PLAIN) &&
        hs_likely(hs_sampler_drop(size_bytes))) {
        void *ptr = hs_real.malloc(at_least_one(size_bytes));
        return hs_likely(ptr != NULL) ? ptr : hook->real(size_bytes, arg1, arg2);
    }
    size_t padded_bytes = is_aligned ? align_padded(size_bytes, arg1) : 0;
    if (is_aligned && hs_likely(inside == HS_INSIDE_PLAIN) && hs_likely(padded_bytes != 0) &&
        !hs_load_relaxed(&hs_does_aligned_alloc_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        void *ptr = hs_real.aligned_alloc(arg1, padded_bytes);
        return hs_likely(ptr != NULL) ? ptr : hook->real(size_bytes, arg1, arg2);
    }
    if (hs_likely(inside == HS_INSIDE_HOOKED) ||
        (inside == HS_INSIDE_ALONE && hs_likely(hs_sampler_drop(size_bytes)))) {
        return hook->real(size_bytes, arg1, arg2);
    }
    return hs_entry_new(size_bytes, arg1, arg2, hook);
}

static void delete_first(struct hs_delete_hook *hook, void *ptr, size_t arg1, size_t arg2,
                         uint64_t caller_va)
{
    bool is_kept, is_plain;
    delete_fn found = (delete_fn)hs_operator_find(&hook->op, caller_va, &is_kept, &is_plain);
    if (is_plain && !hook->op.is_aligned) {
        found = (delete_fn)(void (*)(void))hs_real.free; /* which ignores the other arguments */
    }
    if (is_kept) {
        hs_store_relaxed(&hook->real, found);
    }
    if (found) {
        found(ptr, arg1, arg2);
    } else {
        free(ptr);
    }
}

/* Does everything, as the last call of the hot half, which therefore needs no stack frame. */
static __attribute__((noinline)) void delete_slow(struct hs_delete_hook *hook, void *ptr,
                                                  size_t arg1, size_t arg2, uint64_t caller_va)
{
    if (hs_filter_test((uintptr_t)ptr)) {
        hs_record_free(ptr, NULL);
    }
    delete_fn known = hs_load_relaxed(&hook->real);
    if (known) {
        known(ptr, arg1, arg2);
    } else {
        delete_first(hook, ptr, arg1, arg2, caller_va);
    }
}

static inline __attribute__((always_inline)) void delete_hot(struct hs_delete_hook *hook, void *ptr,
                                                             size_t arg1, size_t arg2)
{
    delete_fn known = hs_load_relaxed(&hook->real);
    if (hs_unlikely(hs_filter_test((uintptr_t)ptr)) || hs_unlikely(!known)) {
        delete_slow(hook, ptr, arg1, arg2, (uint64_t)__builtin_return_address(0));
    } else {
        known(ptr, arg1, arg2);
    }
}

/* Arguments that an operator does not have are passed on with whatever is in their registers. */
#define OPERATOR_NEW(symbol, nothrow, aligned)                                                     \
    HS_EXPORT void *symbol(size_t size_bytes, size_t arg1, size_t arg2);                           \
    static struct hs_new_hook hook_##symbol = {                                                    \
        .is_nothrow = (nothrow), .op = { .name = #symbol, .is_aligned = (aligned) }                \
    };                                                                                             \
    HS_EXPORT void *symbol(size_t size_bytes, size_t arg1, size_t arg2)                            \
    {                                                                                              \
        return new_hot(&hook_##symbol, (aligned), size_bytes, arg1, arg2);                         \
    }                                                                                              \
    HS_HOOK_NAME(symbol)

#define OPERATOR_DELETE(symbol, aligned)                                                           \
    HS_EXPORT void symbol(void *ptr, size_t arg1, size_t arg2);                                    \
    static struct hs_delete_hook hook_##symbol = { .op = { .name = #symbol,                        \
                                                           .is_aligned = (aligned) } };            \
    HS_EXPORT void symbol(void *ptr, size_t arg1, size_t arg2)                                     \
    {                                                                                              \
        delete_hot(&hook_##symbol, ptr, arg1, arg2);                                               \
    }                                                                                              \
    HS_HOOK_NAME(symbol)

OPERATOR_NEW(_Znwm, false, false)
OPERATOR_NEW(_Znam, false, false)
OPERATOR_NEW(_ZnwmRKSt9nothrow_t, true, false)
OPERATOR_NEW(_ZnamRKSt9nothrow_t, true, false)
OPERATOR_NEW(_ZnwmSt11align_val_t, false, true)
OPERATOR_NEW(_ZnamSt11align_val_t, false, true)
OPERATOR_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, true, true)
OPERATOR_NEW(_ZnamSt11align_val_tRKSt9nothrow_t, true, true)
OPERATOR_DELETE(_ZdlPv, false)
OPERATOR_DELETE(_ZdaPv, false)
OPERATOR_DELETE(_ZdlPvm, false)
OPERATOR_DELETE(_ZdaPvm, false)
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, false)
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, false)
OPERATOR_DELETE(_ZdlPvSt11align_val_t, true)
OPERATOR_DELETE(_ZdaPvSt11align_val_t, true)
OPERATOR_DELETE(_ZdlPvmSt11align_val_t, true)
OPERATOR_DELETE(_ZdaPvmSt11align_val_t, true)
OPERATOR_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, true)
OPERATOR_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, true)
