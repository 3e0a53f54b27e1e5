/*
 * Examining a marker that was set earlier. See frame_marker.h.
 */
#include "client/thread/frame_marker.h"

#include "client/host/sandbox.h"
#include "client/tables/thread_state.h"
#include "client/thread/stackmem.h"
#include "rt/sys.h"

/* Is `va` on the running thread's own stack? The known part of that stack may not reach down to the
 * marker yet: it grows with samples, and frees are deeper, including our own frames. */
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
    /* A new marker takes the same place, or the old one was overwritten. Another stack may not
     * exist any more. */
    if (mark_va == sp || (!is_own && !hs_sys_is_readable(mark_va)) ||
        hs_load_relaxed((const uint64_t *)mark_va) != (mark_va ^ HS_FRAME_MARKER_KEY)) {
        return true;
    }
    /* The running frame lies further out than the marker. But a signal stack may lie further out
     * too, in a frame of the program. */
    return is_own && sp > mark_va && sp < self->stack_hi_va && !hs_sandbox_is_tight() &&
           !hs_sys_is_on_signal_stack();
}
