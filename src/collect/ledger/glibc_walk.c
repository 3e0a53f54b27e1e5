/*
 * Walks over all chunks of a piece: see glibc_walk.h.
 */
#include "collect/ledger/glibc_walk.h"

#include "collect/ledger/glibc_chunks.h"
#include "rt/check.h"

static uint64_t end_with_top(struct hs_glibc_walking *walk, uint64_t va)
{
    hs_glibc_add_chunk(walk, HS_MALLOC_TOP, va, walk->piece->end_va - va);
    return walk->piece->end_va;
}

/* Adds chunks until one makes no sense. Returns the address behind the last one. */
static uint64_t walk_chunks(struct hs_glibc_walking *walk)
{
    const struct hs_glibc_piece *piece = walk->piece;
    struct hs_glibc_head head, next;
    uint64_t va = piece->start_va;
    if (va >= piece->end_va ||
        (!hs_glibc_read_sane_head(walk, va, 0, &head) && !hs_glibc_resume(walk, &va, &head))) {
        return va;
    }
    while (!piece->has_top || va < piece->top_va) {
        uint64_t size_bytes = hs_glibc_size_of(&head), next_va = va + size_bytes;
        if (size_bytes <= HS_GLIBC_FENCE_BYTES) {
            hs_glibc_add_chunk(walk, HS_MALLOC_INTERNAL, va, piece->end_va - va);
            hs_glibc_keep_used(walk, va, (piece->end_va - va) | HS_USED_IS_OWN);
            return piece->end_va;
        }
        if (next_va >= piece->end_va ||
            !hs_glibc_read_sane_head(walk, next_va, size_bytes, &next)) {
            enum hs_glibc_repair done = hs_glibc_repair(walk, &va, &head);
            if (done != HS_GLIBC_REPAIRED) {
                return done == HS_GLIBC_IS_TOP ? end_with_top(walk, va) : va;
            }
            continue;
        }
        bool is_free = (next.word & HS_GLIBC_PREV_IN_USE) == 0;
        hs_glibc_add_chunk(walk,
                           is_free ? HS_MALLOC_BINNED : hs_glibc_state_in_use(walk, va, size_bytes),
                           va, size_bytes);
        va = next_va;
        head = next;
    }
    return va == piece->top_va || hs_glibc_is_top_now(walk, va) ? end_with_top(walk, va) : va;
}

void hs_glibc_walk(struct hs_remote_window *window, const struct hs_residency *residency,
                   const struct hs_glibc_piece *piece, const struct hs_glibc_hidden *fast,
                   size_t fast_count, struct hs_glibc_wanted *wanted, struct hs_malloc_space *space)
{
    struct hs_glibc_walking walk = {
        .window = window,
        .residency = residency,
        .piece = piece,
        .fast = fast,
        .fast_left = fast_count,
        .wanted = wanted,
        .space = space,
        .run_state = HS_MALLOC_IN_USE,
        .run_va = piece->start_va,
        .part_va = piece->start_va,
        .part_end_va = piece->end_va,
    };
    hs_glibc_begin_walk(&walk);
    uint64_t end_va = walk_chunks(&walk);
    hs_glibc_end_walk(&walk);
    HS_ASSERT(end_va <= piece->end_va);
    hs_glibc_end_run(&walk, end_va);
    if (walk.trim_va != 0) {
        hs_glibc_end_trim(&walk, end_va, false);
    }
    if (end_va < piece->end_va) {
        /* The arena itself says where its top is. */
        bool has_top = piece->has_top && piece->top_va >= end_va && piece->top_va < piece->end_va;
        uint64_t top_va = has_top ? piece->top_va : piece->end_va;
        space->sums[HS_MALLOC_UNREADABLE].count++;
        hs_glibc_keep_used(&walk, end_va, (top_va - end_va) | HS_USED_IS_OWN);
        hs_glibc_add_bytes(&walk, HS_MALLOC_UNREADABLE, end_va, top_va);
        hs_glibc_add_bytes(&walk, HS_MALLOC_TOP, top_va, piece->end_va);
        space->sums[HS_MALLOC_TOP].count += has_top;
    }
}
