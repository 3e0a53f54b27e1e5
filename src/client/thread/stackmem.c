/*
 * Verifying stack memory page by page. See stackmem.h.
 */
#include "client/thread/stackmem.h"

#include <stddef.h>

#include "client/host/linkmap.h"
#include "client/tables/region.h"
#include "rt/check.h"
#include "rt/sys.h"

#define PAGE 4096U
/* A stack that grew by more than this since the last sample is treated as a foreign one. */
#define GROW_MAX_BYTES (16U * 1024 * 1024)
/* Frames of one stack lie closer together than this. */
#define STEP_MAX_BYTES (1024U * 1024)

static uint64_t main_stack_end_va;

void hs_stackmem_init(void)
{
    void *const *end = hs_linkmap_search(NULL, NULL, "__libc_stack_end", NULL);
    main_stack_end_va = end ? (uint64_t)*end : 0;
}

static bool verify(uint64_t lo_page, uint64_t hi_va)
{
    for (uint64_t page = lo_page; page < hi_va; page += PAGE) {
        if (!hs_sys_is_readable(page)) {
            return false;
        }
    }
    return true;
}

/* Extends the verified part of the thread's own stack down to sp, if sp is on it. */
static HS_COLD bool grow_own(struct hs_thread *thread, uint64_t sp)
{
    uint64_t lo = hs_align_down(sp, PAGE);
    if (thread->foreign_lo_va <= sp && sp < thread->foreign_hi_va) {
        return false;
    }
    if (thread->stack_hi_va != 0) {
        if (sp < thread->stack_lo_va && thread->stack_lo_va - sp <= GROW_MAX_BYTES &&
            verify(lo, thread->stack_lo_va)) {
            thread->stack_lo_va = lo;
            return true;
        }
    } else {
        /* Our thread-local block lies above the stack of every thread except the main one. (Below
         * the main thread's block there could be a coroutine's stack, which may be unmapped.) */
        bool is_main = thread->block->tid == hs_region.header->pid;
        uint64_t top = is_main ? main_stack_end_va : (uint64_t)(uintptr_t)&hs_tls;
        if (sp < top && top - sp <= GROW_MAX_BYTES && verify(lo, top)) {
            thread->stack_lo_va = lo;
            thread->stack_hi_va = hs_align_down(top, 8);
            return true;
        }
    }
    /* Another stack: its neighbourhood is remembered, so that this is not tried again at each
     * sample. */
    thread->foreign_lo_va = lo;
    thread->foreign_hi_va = lo + 16 * PAGE;
    return false;
}

HS_COLD bool hs_stackmem_extend(struct hs_stack_window *window, uint64_t va)
{
    const struct hs_thread *thread = window->ctx;
    if (va >= thread->stack_lo_va && va + 8 <= thread->stack_hi_va) {
        window->lo_va = thread->stack_lo_va;
        window->hi_va = thread->stack_hi_va;
        return true;
    }
    if (va > UINT64_MAX / 2 || va < PAGE) {
        return false;
    }
    uint64_t end = hs_align_up(va + 8, PAGE);
    bool is_next = va >= window->lo_va && va - window->hi_va < STEP_MAX_BYTES;
    uint64_t first = is_next ? hs_align_down(window->hi_va, PAGE) : hs_align_down(va, PAGE);
    if (!verify(first, end)) {
        return false;
    }
    window->lo_va = is_next ? window->lo_va : va;
    window->hi_va = end;
    HS_ASSERT(va >= window->lo_va && va + 8 <= window->hi_va);
    HS_ASSERT_SLOW(verify(hs_align_down(window->lo_va, PAGE), window->hi_va));
    return true;
}

HS_COLD void hs_stackmem_look(struct hs_thread *thread, uint64_t sp,
                              struct hs_stack_window *ret_window)
{
    bool is_own = grow_own(thread, sp);
    ret_window->lo_va = is_own ? thread->stack_lo_va : sp;
    ret_window->hi_va = is_own ? thread->stack_hi_va : sp;
    HS_ASSERT(ret_window->lo_va <= sp && sp <= ret_window->hi_va);
    HS_ASSERT_SLOW(verify(hs_align_down(ret_window->lo_va, PAGE), ret_window->hi_va));
}
