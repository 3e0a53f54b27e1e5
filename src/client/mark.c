/*
 * Looking at a mark that was set earlier. See mark.h.
 */
#include "client/mark.h"

#include "client/sandbox.h"
#include "client/thread.h"
#include "rt/sys.h"

HS_COLD bool hs_mark_is_gone(uintptr_t mark_va, uintptr_t sp)
{
    const struct hs_thread *self = hs_tls.self;
    bool is_own = self && mark_va >= self->stack_lo_va && mark_va < self->stack_hi_va;
    /* A new mark at the same place, or an overwritten one. Another stack may be there no more. */
    if (mark_va == sp || (!is_own && !hs_sys_is_readable(mark_va)) ||
        hs_load_relaxed((const uint64_t *)mark_va) != (mark_va ^ HS_MARK_KEY)) {
        return true;
    }
    /* Not so far in as the mark. But a signal stack may lie further out, in a frame of the program. */
    return is_own && sp > mark_va && sp < self->stack_hi_va && !hs_sandbox_is_tight() &&
           !hs_sys_is_on_signal_stack();
}
