/*
 * Walks over chunks: see glibc_walk.h.
 */
#include "collect/ledger/glibc_walk.h"

#include <string.h>

#include "collect/ledger/glibc_arena.h"
#include "rt/base.h"
#include "rt/check.h"
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
/* The end of a heap that is full: chunks without a block. */
#define FENCE_BYTES 16U

struct head {
    uint64_t prev_bytes; /* only if the chunk before is free */
    uint64_t word;       /* size and flags */
};

struct walk {
    struct hs_remote_window *window;
    const struct hs_residency *residency;
    const struct hs_glibc_piece *piece;
    const struct hs_glibc_hidden *fast; /* the next one */
    size_t fast_left;
    struct hs_glibc_wanted *wanted;
    struct hs_malloc_space *space;
    /* Neighbours of one state, whose pages are not looked up yet. */
    enum hs_malloc_state run_state;
    uint64_t run_va;
    /* Neighbours that malloc_trim would merge; 0: none. */
    uint64_t trim_va;
    unsigned repair_count, resume_count;
};

static inline uint64_t size_of(const struct head *head)
{
    return head->word & ~(uint64_t)HS_GLIBC_FLAGS;
}

static void add_bytes(const struct walk *walk, enum hs_malloc_state state, uint64_t start_va,
                      uint64_t end_va)
{
    struct hs_malloc_sum *sum = &walk->space->sums[state];
    sum->bytes += end_va - start_va;
    sum->resident_bytes += hs_residency_bytes(walk->residency, start_va, end_va);
    sum->swap_bytes += hs_residency_swap_bytes(walk->residency, start_va, end_va);
}

static void end_run(struct walk *walk, uint64_t va)
{
    if (va > walk->run_va) {
        add_bytes(walk, walk->run_state, walk->run_va, va);
    }
    walk->run_va = va;
}

/* Free chunks that are neighbours end at `end_va`. */
static void end_trim(struct walk *walk, uint64_t end_va, bool is_top)
{
    uint64_t start_va = walk->trim_va + CHUNK_LINKS_BYTES;
    walk->trim_va = 0;
    start_va = (start_va + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    /* The top of the main arena is cut off, but for a chunk of the least size. */
    end_va &= ~(PAGE_BYTES - 1);
    if (start_va < end_va && (!is_top || walk->piece->is_main)) {
        walk->space->trim_bytes += hs_residency_bytes(walk->residency, start_va, end_va);
    }
}

static inline void add_chunk(struct walk *walk, enum hs_malloc_state state, uint64_t va,
                             uint64_t size_bytes)
{
    bool is_merged = state == HS_MALLOC_BINNED || state == HS_MALLOC_FAST || state == HS_MALLOC_TOP;
    if (state != walk->run_state) {
        end_run(walk, va);
        walk->run_state = state;
    }
    if (is_merged && walk->trim_va == 0) {
        walk->trim_va = va;
    } else if (!is_merged && walk->trim_va != 0) {
        end_trim(walk, va, false);
    }
    if (state == HS_MALLOC_TOP) {
        end_trim(walk, va + size_bytes, true);
    }
    walk->space->sums[state].count++;
}

/* Is it a chunk? The chunk before it has `prev_bytes`; 0: it is the first. */
static inline bool is_sane(const struct walk *walk, const struct head *head, uint64_t va,
                           uint64_t prev_bytes)
{
    uint64_t size_bytes = size_of(head), left_bytes = walk->piece->end_va - va;
    bool is_prev_free = (head->word & HS_GLIBC_PREV_IN_USE) == 0;
    if ((head->word & HS_GLIBC_IS_MMAPPED) != 0 || size_bytes % HS_GLIBC_CHUNK_HEAD != 0 ||
        size_bytes > left_bytes || (size_bytes < HS_GLIBC_CHUNK_MIN && size_bytes != FENCE_BYTES)) {
        return size_bytes == 0 && left_bytes <= 2 * FENCE_BYTES;
    }
    return !is_prev_free || (prev_bytes != 0 && head->prev_bytes == prev_bytes);
}

HS_COLD static bool read_head_anew(struct walk *walk, uint64_t va, uint64_t prev_bytes,
                                   struct head *ret_head)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        if (hs_remote_window_read(walk->window, va, ret_head, sizeof(*ret_head)) &&
            is_sane(walk, ret_head, va, prev_bytes)) {
            return true;
        }
        hs_remote_window_forget(walk->window);
    }
    return false;
}

/* This runs for each chunk. */
static inline bool read_sane_head(struct walk *walk, uint64_t va, uint64_t prev_bytes,
                                  struct head *ret_head)
{
    const uint8_t *at = hs_remote_window_held(walk->window, va, sizeof(*ret_head));
    if (at) {
        memcpy(ret_head, at, sizeof(*ret_head));
        if (is_sane(walk, ret_head, va, prev_bytes)) {
            return true;
        }
    }
    return read_head_anew(walk, va, prev_bytes, ret_head);
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

/* Notes a chunk that keeps its pages. */
static void keep_used(const struct walk *walk, uint64_t va, uint64_t word)
{
    if (walk->wanted->used) {
        hs_used_chunks_add(walk->wanted->used, va, word);
    }
}

/* The state of a chunk that looks as if it were in use. */
static enum hs_malloc_state state_in_use(struct walk *walk, uint64_t va, uint64_t size_bytes)
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
    keep_used(walk, va, size_bytes);
    return HS_MALLOC_IN_USE;
}

/* --- what changed meanwhile ------------------------------------------------------------------- */

/* Has the arena's top moved to this chunk, or in front of it? Then all from here on is free. */
static bool is_top_now(const struct walk *walk, uint64_t va)
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
static bool is_merged_now(struct walk *walk, uint64_t va, uint64_t next_va, struct head *ret_next)
{
    struct head merged;
    if (!hs_remote_window_read(walk->window, next_va, ret_next, sizeof(*ret_next)) ||
        (ret_next->word & HS_GLIBC_PREV_IN_USE) != 0 ||
        ret_next->prev_bytes > next_va - walk->piece->start_va) {
        return false;
    }
    uint64_t merged_va = next_va - ret_next->prev_bytes;
    return merged_va < va && merged_va % HS_GLIBC_CHUNK_HEAD == 0 &&
           hs_remote_window_read(walk->window, merged_va, &merged, sizeof(merged)) &&
           size_of(&merged) == ret_next->prev_bytes &&
           is_sane(walk, ret_next, next_va, ret_next->prev_bytes);
}

/* Do several chunks in a row make sense, or all up to the top? */
static bool is_row(struct walk *walk, uint64_t va, struct head *ret_head)
{
    const struct hs_glibc_piece *piece = walk->piece;
    struct head head;
    uint64_t prev_bytes = 0;
    for (unsigned i = 0; i < RESUME_CHUNKS; i++) {
        if (!hs_remote_window_read(walk->window, va, &head, sizeof(head)) ||
            !is_sane(walk, &head, va, prev_bytes) || size_of(&head) <= FENCE_BYTES) {
            return false;
        }
        *ret_head = i == 0 ? head : *ret_head;
        prev_bytes = size_of(&head);
        va += prev_bytes;
        if (piece->has_top && va >= piece->top_va) {
            return va == piece->top_va;
        }
    }
    return true;
}

/* Looks for the next place from which on chunks make sense. What is before it is unreadable. */
static bool resume(struct walk *walk, uint64_t *va, struct head *ret_head)
{
    const struct hs_glibc_piece *piece = walk->piece;
    uint64_t end_va = piece->has_top ? piece->top_va : piece->end_va;
    if (walk->resume_count++ >= RESUMES_MAX) {
        return false;
    }
    end_va = end_va - *va > RESUME_BYTES_MAX ? *va + RESUME_BYTES_MAX : end_va;
    for (uint64_t at = *va + HS_GLIBC_CHUNK_HEAD; at < end_va; at += HS_GLIBC_CHUNK_HEAD) {
        if (is_row(walk, at, ret_head)) {
            add_chunk(walk, HS_MALLOC_UNREADABLE, *va, at - *va);
            keep_used(walk, *va, (at - *va) | HS_USED_IS_OWN);
            *va = at;
            return true;
        }
    }
    return false;
}

enum repair { REPAIRED, IS_TOP, LOST };

/* What is behind the chunk at *va makes no sense. REPAIRED: the walk goes on at *va. */
static HS_COLD enum repair repair(struct walk *walk, uint64_t *va, struct head *head)
{
    struct head now;
    uint64_t next_va = *va + size_of(head);
    if (walk->repair_count++ >= REPAIRS_MAX) {
        return LOST;
    }
    if (is_top_now(walk, *va)) {
        return IS_TOP;
    }
    if (hs_remote_window_read(walk->window, *va, &now, sizeof(now)) && now.word != head->word &&
        (now.word & HS_GLIBC_PREV_IN_USE) != 0 && is_sane(walk, &now, *va, 0)) {
        *head = now;
        return REPAIRED;
    }
    if (next_va < walk->piece->end_va && is_merged_now(walk, *va, next_va, &now)) {
        add_chunk(walk, HS_MALLOC_BINNED, *va, next_va - *va);
        *va = next_va;
        *head = now;
        return REPAIRED;
    }
    return resume(walk, va, head) ? REPAIRED : LOST;
}

/* --- the walk --------------------------------------------------------------------------------- */

static uint64_t end_with_top(struct walk *walk, uint64_t va)
{
    add_chunk(walk, HS_MALLOC_TOP, va, walk->piece->end_va - va);
    return walk->piece->end_va;
}

/* Adds chunks until one makes no sense. Returns the address behind the last one. */
static uint64_t walk_chunks(struct walk *walk)
{
    const struct hs_glibc_piece *piece = walk->piece;
    struct head head, next;
    uint64_t va = piece->start_va;
    if (va >= piece->end_va || (!read_sane_head(walk, va, 0, &head) && !resume(walk, &va, &head))) {
        return va;
    }
    while (!piece->has_top || va < piece->top_va) {
        uint64_t size_bytes = size_of(&head), next_va = va + size_bytes;
        if (size_bytes <= FENCE_BYTES) {
            add_chunk(walk, HS_MALLOC_INTERNAL, va, piece->end_va - va);
            keep_used(walk, va, (piece->end_va - va) | HS_USED_IS_OWN);
            return piece->end_va;
        }
        if (next_va >= piece->end_va || !read_sane_head(walk, next_va, size_bytes, &next)) {
            enum repair done = repair(walk, &va, &head);
            if (done != REPAIRED) {
                return done == IS_TOP ? end_with_top(walk, va) : va;
            }
            continue;
        }
        bool is_free = (next.word & HS_GLIBC_PREV_IN_USE) == 0;
        add_chunk(walk, is_free ? HS_MALLOC_BINNED : state_in_use(walk, va, size_bytes), va,
                  size_bytes);
        va = next_va;
        head = next;
    }
    return va == piece->top_va || is_top_now(walk, va) ? end_with_top(walk, va) : va;
}

void hs_glibc_walk(struct hs_remote_window *window, const struct hs_residency *residency,
                   const struct hs_glibc_piece *piece, const struct hs_glibc_hidden *fast,
                   size_t fast_count, struct hs_glibc_wanted *wanted, struct hs_malloc_space *space)
{
    struct walk walk = {
        .window = window,
        .residency = residency,
        .piece = piece,
        .fast = fast,
        .fast_left = fast_count,
        .wanted = wanted,
        .space = space,
        .run_state = HS_MALLOC_IN_USE,
        .run_va = piece->start_va,
    };
    hs_remote_window_forget(window);
    window->residency = residency;
    uint64_t end_va = walk_chunks(&walk);
    window->residency = NULL;
    hs_remote_window_forget(window);
    HS_ASSERT(end_va <= piece->end_va);
    end_run(&walk, end_va);
    if (walk.trim_va != 0) {
        end_trim(&walk, end_va, false);
    }
    if (end_va < piece->end_va) {
        /* The arena itself says where its top is. */
        bool has_top = piece->has_top && piece->top_va >= end_va && piece->top_va < piece->end_va;
        uint64_t top_va = has_top ? piece->top_va : piece->end_va;
        space->sums[HS_MALLOC_UNREADABLE].count++;
        keep_used(&walk, end_va, (top_va - end_va) | HS_USED_IS_OWN);
        add_bytes(&walk, HS_MALLOC_UNREADABLE, end_va, top_va);
        add_bytes(&walk, HS_MALLOC_TOP, top_va, piece->end_va);
        space->sums[HS_MALLOC_TOP].count += has_top;
    }
}
