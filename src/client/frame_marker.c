/*
 * Looking at a mark that was set earlier. See frame_marker.h.
 */
#include "client/frame_marker.h"

#include "client/sandbox.h"
#include "client/stackmem.h"
#include "client/thread.h"
#include "rt/sys.h"

/* Of the running thread's own stack, whose known part may not reach down to the mark yet: that grows
 * with samples, and frees are deeper, our own frames too. */
static bool is_on_own_stack(struct hs_thread *self, uintptr_t va)
{
    if (va < self->stack_lo_va) {
        struct hs_stack_window unused;
        hs_stackmem_look(self, va, &unused);
    }
    return va >= self->stack_lo_va && va < self->stack_hi_va;
}

HS_COLD bool hs_frame_marker_is_gone(uintptr_t mark_va, uintptr_t sp)
{
    struct hs_thread *self = hs_tls.self;
    bool is_own = self && is_on_own_stack(self, mark_va);
    /* A new mark at the same place, or an overwritten one. Another stack may be there no more. */
    if (mark_va == sp || (!is_own && !hs_sys_is_readable(mark_va)) ||
        hs_load_relaxed((const uint64_t *)mark_va) != (mark_va ^ HS_FRAME_MARKER_KEY)) {
        return true;
    }
    /* Not so far in as the mark. But a signal stack may lie further out, in a frame of the program. */
    return is_own && sp > mark_va && sp < self->stack_hi_va && !hs_sandbox_is_tight() &&
           !hs_sys_is_on_signal_stack();
}
