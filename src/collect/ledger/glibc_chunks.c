/*
 * Takes the steps of a walk over chunks: see glibc_chunks.h.
 */
#include "collect/ledger/glibc_chunks.h"

#include "rt/base.h"
#include "util/array.h"

#define PAGE_BYTES UINT64_C(4096)
#define TRIES_MAX  4U
/* From where so many chunks in a row make sense, the walk goes on. */
#define RESUME_CHUNKS 8U
/* How often it looks for such a place in a piece, and how far. */
#define RESUMES_MAX      64U
#define RESUME_BYTES_MAX (UINT64_C(4) << 20)
#define REPAIRS_MAX      1024U
/* malloc_trim leaves the list pointers of a free chunk where they are. */
#define CHUNK_LINKS_BYTES 48U

void hs_glibc_begin_walk(struct hs_glibc_walking *walk)
{
    hs_remote_window_forget(walk->window);
    walk->window->residency = walk->residency;
}

void hs_glibc_end_walk(struct hs_glibc_walking *walk)
{
    walk->window->residency = NULL;
    hs_remote_window_forget(walk->window);
}

void hs_glibc_add_bytes(const struct hs_glibc_walking *walk, enum hs_malloc_state state,
                        uint64_t start_va, uint64_t end_va)
{
    struct hs_malloc_sum *sum = &walk->space->sums[state];
    start_va = start_va > walk->part_va ? start_va : walk->part_va;
    end_va = end_va < walk->part_end_va ? end_va : walk->part_end_va;
    if (start_va >= end_va) {
        return;
    }
    sum->bytes += end_va - start_va;
    sum->resident_bytes += hs_residency_bytes(walk->residency, start_va, end_va);
    sum->swap_bytes += hs_residency_swap_bytes(walk->residency, start_va, end_va);
}

void hs_glibc_end_run(struct hs_glibc_walking *walk, uint64_t va)
{
    if (va > walk->run_va) {
        hs_glibc_add_bytes(walk, walk->run_state, walk->run_va, va);
    }
    walk->run_va = va;
}

void hs_glibc_add_trim(struct hs_glibc_walking *walk, uint64_t end_va)
{
    uint64_t start_va = walk->trim_va + CHUNK_LINKS_BYTES;
    start_va = (start_va + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    /* The top of the main arena is cut off, but for a chunk of the least size. */
    end_va &= ~(PAGE_BYTES - 1);
    start_va = start_va > walk->part_va ? start_va : walk->part_va;
    end_va = end_va < walk->part_end_va ? end_va : walk->part_end_va;
    if (start_va < end_va) {
        walk->space->trim_bytes += hs_residency_bytes(walk->residency, start_va, end_va);
    }
}

void hs_glibc_end_trim(struct hs_glibc_walking *walk, uint64_t end_va, bool is_top)
{
    if (!is_top || walk->piece->is_main) {
        hs_glibc_add_trim(walk, end_va);
    }
    walk->trim_va = 0;
}

HS_COLD bool hs_glibc_read_head_anew(struct hs_glibc_walking *walk, uint64_t va,
                                     uint64_t prev_bytes, struct hs_glibc_head *ret_head)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (hs_remote_window_read(walk->window, va, ret_head, sizeof(*ret_head)) &&
            hs_glibc_is_sane(walk, ret_head, va, prev_bytes)) {
            return true;
        }
        hs_remote_window_forget(walk->window);
    }
    return false;
}

static void keep_wanted(struct hs_glibc_wanted *wanted, uint64_t va)
{
    if (wanted->count >= HS_GLIBC_WANTED_MAX) {
        wanted->is_cut = true;
        return;
    }
    int r = hs_array_reserve(&wanted->chunk_va, &wanted->capacity, wanted->count + 1,
                             sizeof(wanted->chunk_va[0]));
    if (r == 0) {
        wanted->chunk_va[wanted->count++] = va;
    } else {
        wanted->err = r;
    }
}

void hs_glibc_keep_used(const struct hs_glibc_walking *walk, uint64_t va, uint64_t word)
{
    if (walk->wanted->used) {
        hs_used_chunks_add(walk->wanted->used, va, word);
    }
}

enum hs_malloc_state hs_glibc_state_in_use(struct hs_glibc_walking *walk, uint64_t va,
                                           uint64_t size_bytes)
{
    while (walk->fast_left > 0 && walk->fast->va < va) {
        walk->fast++;
        walk->fast_left--;
    }
    if (walk->fast_left > 0 && walk->fast->va == va) {
        return HS_MALLOC_FAST;
    }
    if (size_bytes == walk->wanted->size_bytes) {
        keep_wanted(walk->wanted, va);
    }
    hs_glibc_keep_used(walk, va, size_bytes);
    return HS_MALLOC_IN_USE;
}

/* --- what changed meanwhile ------------------------------------------------------------------- */

bool hs_glibc_is_top_now(const struct hs_glibc_walking *walk, uint64_t va)
{
    const struct hs_glibc_piece *piece = walk->piece;
    const struct hs_residency *residency = walk->window->residency;
    if (!piece->has_top) {
        return false;
    }
    walk->window->residency = NULL; /* the arena may lie elsewhere */
    uint64_t top_va = hs_glibc_arena_top(walk->window, piece->arena_va);
    walk->window->residency = residency;
    hs_remote_window_forget(walk->window);
    return top_va >= piece->start_va && top_va <= va;
}

/* Was the chunk merged with the free one before it? Then the one behind it says so. */
static bool is_merged_now(struct hs_glibc_walking *walk, uint64_t va, uint64_t next_va,
                          struct hs_glibc_head *ret_next)
{
    struct hs_glibc_head merged;
    if (!hs_remote_window_read(walk->window, next_va, ret_next, sizeof(*ret_next)) ||
        (ret_next->word & HS_GLIBC_PREV_IN_USE) != 0 ||
        ret_next->prev_bytes > next_va - walk->piece->start_va) {
        return false;
    }
    uint64_t merged_va = next_va - ret_next->prev_bytes;
    return merged_va < va && merged_va % HS_GLIBC_CHUNK_HEAD == 0 &&
           hs_remote_window_read(walk->window, merged_va, &merged, sizeof(merged)) &&
           hs_glibc_size_of(&merged) == ret_next->prev_bytes &&
           hs_glibc_is_sane(walk, ret_next, next_va, ret_next->prev_bytes);
}

/* Do several chunks in a row make sense, or all up to the top? */
static bool is_row(struct hs_glibc_walking *walk, uint64_t va, struct hs_glibc_head *ret_head)
{
    const struct hs_glibc_piece *piece = walk->piece;
    struct hs_glibc_head head;
    uint64_t prev_bytes = 0;
    for (unsigned i = 0; i < RESUME_CHUNKS; i++) {
        if (!hs_remote_window_read(walk->window, va, &head, sizeof(head)) ||
            !hs_glibc_is_sane(walk, &head, va, prev_bytes) ||
            hs_glibc_size_of(&head) <= HS_GLIBC_FENCE_BYTES) {
            return false;
        }
        *ret_head = i == 0 ? head : *ret_head;
        prev_bytes = hs_glibc_size_of(&head);
        va += prev_bytes;
        if (piece->has_top && va >= piece->top_va) {
            return va == piece->top_va;
        }
    }
    return true;
}

bool hs_glibc_resume(struct hs_glibc_walking *walk, uint64_t *va, struct hs_glibc_head *ret_head)
{
    const struct hs_glibc_piece *piece = walk->piece;
    uint64_t end_va = piece->has_top ? piece->top_va : piece->end_va;
    if (walk->sample || walk->resume_count++ >= RESUMES_MAX) {
        return false;
    }
    end_va = end_va - *va > RESUME_BYTES_MAX ? *va + RESUME_BYTES_MAX : end_va;
    for (uint64_t at = *va + HS_GLIBC_CHUNK_HEAD; at < end_va; at += HS_GLIBC_CHUNK_HEAD) {
        if (is_row(walk, at, ret_head)) {
            hs_glibc_add_chunk(walk, HS_MALLOC_UNREADABLE, *va, at - *va);
            hs_glibc_keep_used(walk, *va, (at - *va) | HS_USED_IS_OWN);
            *va = at;
            return true;
        }
    }
    return false;
}

HS_COLD enum hs_glibc_repair hs_glibc_repair(struct hs_glibc_walking *walk, uint64_t *va,
                                             struct hs_glibc_head *head)
{
    struct hs_glibc_head now;
    uint64_t next_va = *va + hs_glibc_size_of(head);
    if (walk->repair_count++ >= REPAIRS_MAX) {
        return HS_GLIBC_LOST;
    }
    if (hs_glibc_is_top_now(walk, *va)) {
        return HS_GLIBC_IS_TOP;
    }
    if (hs_remote_window_read(walk->window, *va, &now, sizeof(now)) && now.word != head->word &&
        (now.word & HS_GLIBC_PREV_IN_USE) != 0 && hs_glibc_is_sane(walk, &now, *va, 0)) {
        *head = now;
        return HS_GLIBC_REPAIRED;
    }
    if (next_va < walk->piece->end_va && is_merged_now(walk, *va, next_va, &now)) {
        hs_glibc_add_chunk(walk, HS_MALLOC_BINNED, *va, next_va - *va);
        *va = next_va;
        *head = now;
        return HS_GLIBC_REPAIRED;
    }
    return hs_glibc_resume(walk, va, head) ? HS_GLIBC_REPAIRED : HS_GLIBC_LOST;
}
