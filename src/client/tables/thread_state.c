/*
 * The list of all threads' states, and losses. See thread_state.h.
 */
#include "client/tables/thread_state.h"

#include "client/tables/life_state.h"
#include "rt/atomic.h"

_Thread_local _Alignas(64) struct hs_tls hs_tls;
_Thread_local struct hs_python_tls hs_python_tls;

static struct hs_thread *all_threads;
/* Losses of threads without a counter block; they are added to the next block. */
static uint64_t orphan_losses[HS_LOSS_N];
static uint64_t orphan_bytes, orphan_alloc_fx;

struct hs_thread *hs_thread_first(void)
{
    /* ORDER thread-list: a thread's fields before it is linked. */
    return hs_load_acquire(&all_threads);
}

void hs_thread_link(struct hs_thread *thread)
{
    struct hs_thread *head = hs_load_relaxed(&all_threads);
    do {
        thread->next = head;
        /* ORDER thread-list: a thread's fields before it is linked. */
    } while (!hs_cas_acq_rel(&all_threads, &head, thread));
}

HS_COLD void hs_thread_count_loss(enum hs_loss loss, uint64_t bytes, uint64_t alloc_fx)
{
    struct hs_thread *self = hs_tls.self;
    /* A child that has not begun to record leaves its parent's counters alone. */
    if (self && hs_life_state_is_alive()) {
        self->block->lost_count[loss]++;
        self->block->lost_bytes += bytes;
        self->block->lost_alloc_fx += alloc_fx;
    } else {
        hs_add_relaxed(&orphan_losses[loss], 1);
        hs_add_relaxed(&orphan_bytes, bytes);
        hs_add_relaxed(&orphan_alloc_fx, alloc_fx);
    }
}

void hs_thread_adopt_losses(struct hs_thread_block_v1 *block)
{
    for (unsigned i = 0; i < HS_LOSS_N; i++) {
        if (hs_load_relaxed(&orphan_losses[i]) != 0) {
            block->lost_count[i] += hs_swap_relaxed(&orphan_losses[i], 0);
        }
    }
    if (hs_load_relaxed(&orphan_alloc_fx) != 0) {
        block->lost_bytes += hs_swap_relaxed(&orphan_bytes, 0);
        block->lost_alloc_fx += hs_swap_relaxed(&orphan_alloc_fx, 0);
    }
}
