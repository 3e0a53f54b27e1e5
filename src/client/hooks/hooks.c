/*
 * The hooks of the C allocation functions: a program calls these in place of its allocator's.
 *
 * Each hook has two halves. The hot half subtracts the size from the thread's countdown, compares
 * the result with the floor (sampler.h), and jumps to the real function. It calls the slow half
 * only when the allocation may be sampled, when the block that is freed may have been, or when the
 * real function is known to call other hooked functions. The slow half calls the real function and
 * records what it did. hooks.h says how one half reaches the other.
 *
 * These rules make the accounts exact:
 *
 *   - An allocation is recorded after the real function has returned: no other thread can know the
 *     block before that. NULL is not an allocation.
 *   - A free is recorded before the real free: afterwards another thread may already own the
 *     address.
 *   - A realloc is a free and then an allocation. If it fails, the old block is put back. A
 *     realloc(p, 0) that returns NULL has freed p.
 *   - A real function may allocate through another hook: nested_hook.h says how such a block is
 *     recorded only once.
 *   - Blocks that were never recorded are not in the free filter. These are the blocks from before
 *     the client was loaded, unsampled blocks, and blocks of other allocators.
 *
 * Threads   any; also signal handlers, constructors and exit handlers.
 * Fails     only as the real function fails; errno is the real function's.
 * See       sampler.h (which allocations are sampled), record.c (what a sampled one costs).
 */
#include "client/hooks/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "client/hooks/nested_hook.h"
#include "client/hooks/own_hooks.h"
#include "client/hooks/python_hooks.h"
#include "client/hooks/record.h"
#include "client/hooks/sampler.h"
#include "client/host/real.h"
#include "client/patch/python_interpreters.h"
#include "client/patch/python_slots.h"
#include "client/tables/filter.h"
#include "client/tables/live.h"
#include "client/thread/call_stack.h"

/* These are C23, and cfree() is a name that glibc removed: the headers here declare none of
 * them. */
void free_sized(void *ptr, size_t size_bytes);
void free_aligned_sized(void *ptr, size_t align_bytes, size_t size_bytes);
void cfree(void *ptr);

/* Whether the real function of this name was seen to call other hooked functions: see
 * nested_hook.h. */
static bool does_malloc_call, does_calloc_call, does_realloc_call, does_memalign_call,
    does_posix_memalign_call, does_valloc_call, does_pvalloc_call;
bool hs_does_aligned_alloc_call;

static void begin(struct hs_nested_hook *probe, const bool *does_call)
{
    hs_nested_hook_begin(probe,
                         hs_load_relaxed(does_call) ? HS_NESTED_HOOK_MUTE : HS_NESTED_HOOK_WATCH);
}

/* Ends what begin() began. True: an inner hook has recorded the block, which was not known to
 * happen until this call. */
static bool end(const struct hs_nested_hook *probe, bool *does_call, const void *ptr)
{
    if (hs_likely(!hs_nested_hook_end(probe)) || probe->is_muting ||
        !hs_own_hook_has_covered((uintptr_t)ptr)) {
        return false;
    }
    hs_store_relaxed(does_call, true);
    return true;
}

static void *keep(void *ptr, size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_sample sample;
    if (hs_sampler_hit(size_bytes, &sample) && ptr) {
        hs_record_alloc(ptr, size_bytes, &sample, regs);
    }
    return ptr;
}

/* --- slow halves ------------------------------------------------------------------------------ */

/* A malloc that is not the C library's may call the C library's (as __libc_malloc, or through
 * RTLD_NEXT), which is hooked too. When the slow half has found that out, the hot half must mute
 * the inner hook as well. A test in each malloc of every program would be too expensive; so in such
 * a program this function takes the place of the real one. */
static void *malloc_and_mute(size_t size_bytes)
{
    struct hs_nested_hook probe;
    hs_nested_hook_begin(&probe, HS_NESTED_HOOK_MUTE);
    void *ptr = hs_real.found_malloc(size_bytes);
    hs_nested_hook_end(&probe);
    return ptr;
}

static HS_COLD void *slow_foreign_malloc(size_t padded_bytes, size_t size_bytes,
                                         const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_malloc_call);
    void *ptr = hs_real.malloc(padded_bytes);
    bool is_recorded = end(&probe, &does_malloc_call, ptr);
    if (does_malloc_call) {
        hs_store_relaxed(&hs_real.malloc, malloc_and_mute);
    }
    return is_recorded ? ptr : keep(ptr, size_bytes, regs);
}

void *hs_slow_malloc_padded(size_t padded_bytes, size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_sample sample;
    if (hs_unlikely(hs_python_tls.asked_bytes != 0) && size_bytes <= 1) {
        return hs_python_give();
    }
    if (hs_unlikely(hs_real.is_foreign)) {
        return slow_foreign_malloc(padded_bytes, size_bytes, regs);
    }
    bool is_hit = hs_sampler_is_exact(size_bytes, &sample) || hs_sampler_hit(size_bytes, &sample);
    if (is_hit) {
        hs_call_stack_prefetch(regs);
    }
    void *ptr = hs_real.malloc(padded_bytes);
    if (is_hit && ptr) {
        hs_record_alloc(ptr, size_bytes, &sample, regs);
    }
    return ptr;
}

void *hs_slow_malloc(size_t size_bytes, const struct hs_regs *regs)
{
    return hs_slow_malloc_padded(size_bytes, size_bytes, regs);
}

void *hs_slow_calloc(size_t count, size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_calloc_call);
    void *ptr = hs_real.calloc(count, size_bytes);
    bool is_recorded = end(&probe, &does_calloc_call, ptr);
    /* The hot half has checked that the product does not overflow. */
    return is_recorded ? ptr : keep(ptr, count * size_bytes, regs);
}

void *hs_slow_realloc(void *ptr, size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    struct hs_live_block removed;
    hs_python_note_realloc(ptr);
    bool was_recorded = hs_filter_test((uintptr_t)ptr) && hs_record_free(ptr, &removed);
    begin(&probe, &does_realloc_call);
    void *moved = hs_real.realloc(ptr, size_bytes);
    bool is_recorded = end(&probe, &does_realloc_call, moved);
    if (!moved && was_recorded && size_bytes > 0) {
        hs_record_put_back(&removed);
    }
    return is_recorded ? moved : keep(moved, size_bytes, regs);
}

static void *say_why(void *moved, size_t total_bytes)
{
    if (hs_unlikely(!moved) && total_bytes > 0) {
        errno = ENOMEM;
    }
    return moved;
}

void *hs_slow_reallocarray(void *ptr, size_t total_bytes, const struct hs_regs *regs)
{
    return say_why(hs_slow_realloc(ptr, total_bytes, regs), total_bytes);
}

void *hs_slow_memalign(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_memalign_call);
    void *ptr = hs_real.memalign(align_bytes, size_bytes);
    bool is_recorded = end(&probe, &does_memalign_call, ptr);
    return is_recorded ? ptr : keep(ptr, size_bytes, regs);
}

int hs_slow_posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes,
                           const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_posix_memalign_call);
    int err = hs_real.posix_memalign(ret_ptr, align_bytes, size_bytes);
    void *ptr = err == 0 ? *ret_ptr : NULL;
    if (!end(&probe, &does_posix_memalign_call, ptr)) {
        keep(ptr, size_bytes, regs);
    }
    return err;
}

void *hs_slow_aligned_alloc_padded(size_t align_bytes, size_t padded_bytes, size_t size_bytes,
                                   const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &hs_does_aligned_alloc_call);
    void *ptr = hs_real.aligned_alloc(align_bytes, padded_bytes);
    bool is_recorded = end(&probe, &hs_does_aligned_alloc_call, ptr);
    return is_recorded ? ptr : keep(ptr, size_bytes, regs);
}

void *hs_slow_aligned_alloc(size_t align_bytes, size_t size_bytes, const struct hs_regs *regs)
{
    return hs_slow_aligned_alloc_padded(align_bytes, size_bytes, size_bytes, regs);
}

void *hs_slow_valloc(size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_valloc_call);
    void *ptr = hs_real.valloc(size_bytes);
    bool is_recorded = end(&probe, &does_valloc_call, ptr);
    return is_recorded ? ptr : keep(ptr, size_bytes, regs);
}

void *hs_slow_pvalloc(size_t size_bytes, const struct hs_regs *regs)
{
    struct hs_nested_hook probe;
    begin(&probe, &does_pvalloc_call);
    void *ptr = hs_real.pvalloc(size_bytes);
    bool is_recorded = end(&probe, &does_pvalloc_call, ptr);
    return is_recorded ? ptr : keep(ptr, size_bytes, regs);
}

static HS_COLD void forget(void *ptr)
{
    hs_record_free(ptr, NULL);
}

/* --- hot halves ------------------------------------------------------------------------------- */

HS_EXPORT void *malloc(size_t size_bytes)
{
    if (hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.malloc(size_bytes);
    }
    return hs_entry_malloc(size_bytes);
}

HS_EXPORT void free(void *ptr)
{
    if (hs_unlikely(hs_filter_test((uintptr_t)ptr))) {
        forget(ptr);
    }
    hs_real.free(ptr);
}

HS_EXPORT void *calloc(size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (hs_unlikely(__builtin_mul_overflow(count, size_bytes, &total_bytes)) ||
        (!hs_load_relaxed(&does_calloc_call) && hs_likely(hs_sampler_drop(total_bytes)))) {
        return hs_real.calloc(count, size_bytes);
    }
    return hs_entry_calloc(count, size_bytes);
}

HS_EXPORT void *realloc(void *ptr, size_t size_bytes)
{
    if (hs_likely(!hs_filter_test((uintptr_t)ptr)) && !hs_load_relaxed(&does_realloc_call) &&
        hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.realloc(ptr, size_bytes);
    }
    return hs_entry_realloc(ptr, size_bytes);
}

/* Does what every reallocarray does: multiplies, calls realloc, and sets ENOMEM if either fails
 * (some reallocs do not set errno). */
HS_EXPORT void *reallocarray(void *ptr, size_t count, size_t size_bytes)
{
    size_t total_bytes;
    if (hs_unlikely(__builtin_mul_overflow(count, size_bytes, &total_bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    if (hs_likely(!hs_filter_test((uintptr_t)ptr)) && !hs_load_relaxed(&does_realloc_call) &&
        hs_likely(hs_sampler_drop(total_bytes))) {
        return say_why(hs_real.realloc(ptr, total_bytes), total_bytes);
    }
    return hs_entry_reallocarray(ptr, total_bytes);
}

HS_EXPORT void *memalign(size_t align_bytes, size_t size_bytes)
{
    if (!hs_load_relaxed(&does_memalign_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.memalign(align_bytes, size_bytes);
    }
    return hs_entry_memalign(align_bytes, size_bytes);
}

HS_EXPORT int posix_memalign(void **ret_ptr, size_t align_bytes, size_t size_bytes)
{
    if (!hs_load_relaxed(&does_posix_memalign_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.posix_memalign(ret_ptr, align_bytes, size_bytes);
    }
    return hs_entry_posix_memalign(ret_ptr, align_bytes, size_bytes);
}

HS_EXPORT void *aligned_alloc(size_t align_bytes, size_t size_bytes)
{
    if (!hs_load_relaxed(&hs_does_aligned_alloc_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.aligned_alloc(align_bytes, size_bytes);
    }
    return hs_entry_aligned_alloc(align_bytes, size_bytes);
}

HS_EXPORT void *valloc(size_t size_bytes)
{
    if (!hs_load_relaxed(&does_valloc_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.valloc(size_bytes);
    }
    return hs_entry_valloc(size_bytes);
}

HS_EXPORT void *pvalloc(size_t size_bytes)
{
    if (!hs_load_relaxed(&does_pvalloc_call) && hs_likely(hs_sampler_drop(size_bytes))) {
        return hs_real.pvalloc(size_bytes);
    }
    return hs_entry_pvalloc(size_bytes);
}

HS_EXPORT void free_sized(void *ptr, size_t size_bytes)
{
    if (hs_unlikely(hs_filter_test((uintptr_t)ptr))) {
        forget(ptr);
    }
    hs_real.free_sized(ptr, size_bytes);
}

HS_EXPORT void free_aligned_sized(void *ptr, size_t align_bytes, size_t size_bytes)
{
    if (hs_unlikely(hs_filter_test((uintptr_t)ptr))) {
        forget(ptr);
    }
    hs_real.free_aligned_sized(ptr, align_bytes, size_bytes);
}

HS_EXPORT void cfree(void *ptr)
{
    free(ptr);
}

/* dlclose() may unmap code, and what is cached about that code must not be used for code that is
 * mapped there later. Another thread may map something there before dlclose() returns. Therefore
 * the caches are flushed twice: before the call, when the program no longer runs that code; and
 * after it, for what was cached while the code was being unloaded. */
HS_EXPORT int dlclose(void *handle)
{
    hs_record_flush();
    hs_python_slots_before_unload();
    hs_python_interpreters_before_unload();
    int err = hs_real.dlclose(handle);
    hs_python_interpreters_after_unload();
    hs_python_slots_after_unload();
    hs_record_flush();
    return err;
}

/* --- their own names -------------------------------------------------------------------------- */

HS_HOOK_NAME(malloc)
HS_HOOK_NAME(calloc)
HS_HOOK_NAME(realloc)
HS_HOOK_NAME(reallocarray)
HS_HOOK_NAME(free)
HS_HOOK_NAME(free_sized)
HS_HOOK_NAME(free_aligned_sized)
HS_HOOK_NAME(cfree)
HS_HOOK_NAME(memalign)
HS_HOOK_NAME(posix_memalign)
HS_HOOK_NAME(aligned_alloc)
HS_HOOK_NAME(valloc)
HS_HOOK_NAME(pvalloc)
HS_HOOK_NAME(dlclose)
