/*
 * Walks over a sample of the chunks of a piece: see glibc_walk.h and glibc_sample.h.
 */
#include "collect/ledger/glibc_chunks.h"
#include "rt/base.h"
#include "rt/check.h"
#include "util/page_sample.h"

#define PAGE_BYTES UINT64_C(4096)
#define TRIES_MAX  4U
/* It walks over so much instead of going to a known chunk behind it. */
#define LEAP_BYTES_MIN 4096U
#define START_BYTES    65536U
/* Behind a part, it reads the head of one more chunk. */
#define BEHIND_BYTES 512U
/* So often it goes to the next known chunk, because one makes no sense. */
#define LOST_MAX 256U
/* It is no sample of the heap, if it does so in more parts than these. */
#define LOST_MIN   16U
#define LOST_SHARE 16U

/* Ends the part that the walk has left, and finds the one that contains `va` or is behind it. The
 * last chunk may fill parts between them. False: there is no more. */
static bool next_part(struct hs_glibc_walking *walk, uint64_t va)
{
    do {
        if (walk->part_end_va > walk->part_va) {
            hs_glibc_add_bytes(walk, walk->run_state, walk->run_va, va);
            if (walk->trim_va != 0) {
                hs_glibc_add_trim(walk, va);
            }
            hs_glibc_sample_end_part(walk->sample);
            walk->part_count++;
        }
        if (walk->part_end_va >= walk->parts_end_va) {
            return false; /* the last part may end in the middle of a cluster */
        }
        uint64_t page = hs_page_sample_next(walk->part_end_va / PAGE_BYTES, walk->sample->shift);
        walk->part_va = page * PAGE_BYTES;
        walk->part_end_va = walk->part_va + HS_PAGE_SAMPLE_CLUSTER_PAGES * PAGE_BYTES;
        if (walk->part_va >= walk->parts_end_va) {
            return false;
        }
        walk->part_end_va =
            walk->part_end_va < walk->parts_end_va ? walk->part_end_va : walk->parts_end_va;
    } while (walk->part_end_va <= va);
    return true;
}

/* The head of a recorded block's chunk. What is before it may be free. */
static bool read_known(struct hs_glibc_walking *walk, uint64_t va, struct hs_glibc_head *ret_head)
{
    return hs_remote_window_read(walk->window, va, ret_head, sizeof(*ret_head)) &&
           hs_glibc_is_sane(walk, ret_head, va, ret_head->prev_bytes) &&
           hs_glibc_size_of(ret_head) > HS_GLIBC_FENCE_BYTES;
}

/* Goes on at a chunk that is in use. */
static void leap_to(struct hs_glibc_walking *walk, uint64_t va)
{
    walk->run_va = va;
    walk->run_state = HS_MALLOC_IN_USE;
    walk->trim_va = 0;
}

/* Goes to the last known chunk in front of the part, if it is far from *va. */
static bool leap(struct hs_glibc_walking *walk, uint64_t *va, struct hs_glibc_head *head)
{
    struct hs_glibc_head known;
    uint64_t until_va = walk->part_va;
    for (unsigned i = 0; i < TRIES_MAX && until_va > *va + LEAP_BYTES_MIN; i++) {
        uint64_t known_va = hs_glibc_sample_before(walk->sample, *va + LEAP_BYTES_MIN, until_va);
        if (known_va == 0) {
            return false;
        }
        hs_remote_window_expect(walk->window, walk->part_end_va + BEHIND_BYTES - known_va);
        if (read_known(walk, known_va, &known)) {
            leap_to(walk, known_va);
            *va = known_va;
            *head = known;
            return true;
        }
        until_va = known_va - 1;
    }
    return false;
}

/* What is behind *va makes no sense: goes to the next known chunk. False: there is no more. */
static bool skip_lost(struct hs_glibc_walking *walk, uint64_t *va, struct hs_glibc_head *head)
{
    uint64_t from_va = *va, known_va = *va, end_va = walk->parts_end_va;
    do {
        known_va = hs_glibc_sample_behind(walk->sample, known_va, end_va);
    } while (walk->lost_count++ < LOST_MAX && known_va != 0 && !read_known(walk, known_va, head));
    if (known_va != 0 && walk->lost_count <= LOST_MAX) {
        end_va = known_va;
    }
    hs_glibc_add_chunk(walk, HS_MALLOC_UNREADABLE, from_va, end_va - from_va);
    hs_glibc_keep_used(walk, from_va, (end_va - from_va) | HS_USED_IS_OWN);
    if (end_va >= walk->part_end_va && !next_part(walk, end_va)) {
        return false;
    }
    hs_glibc_end_run(walk, end_va);
    leap_to(walk, end_va);
    *va = end_va;
    return true;
}

/* The walk is at *va, behind the part. False: there is no more. */
static HS_COLD bool go_on(struct hs_glibc_walking *walk, uint64_t *va, struct hs_glibc_head *head)
{
    if (!next_part(walk, *va)) {
        return false;
    }
    /* The lists of the arena's first thread are near its start. */
    if (*va >= walk->piece->start_va + START_BYTES) {
        leap(walk, va, head);
    }
    return true;
}

static uint64_t fill_up(struct hs_glibc_walking *walk, enum hs_malloc_state state, uint64_t va)
{
    hs_glibc_add_chunk(walk, state, va, walk->parts_end_va - va);
    return walk->parts_end_va;
}

static void walk_parts(struct hs_glibc_walking *walk)
{
    struct hs_glibc_head head, next;
    uint64_t va = walk->piece->start_va;
    bool has_more = next_part(walk, va) &&
                    (hs_glibc_read_sane_head(walk, va, 0, &head) || skip_lost(walk, &va, &head));
    while (has_more) {
        uint64_t size_bytes = hs_glibc_size_of(&head), next_va = va + size_bytes;
        if (size_bytes <= HS_GLIBC_FENCE_BYTES) {
            va = fill_up(walk, HS_MALLOC_INTERNAL, va);
        } else if (next_va <= walk->parts_end_va && next_va < walk->piece->end_va &&
                   hs_glibc_read_sane_head(walk, next_va, size_bytes, &next)) {
            bool is_free = (next.word & HS_GLIBC_PREV_IN_USE) == 0;
            hs_glibc_add_chunk(
                walk, is_free ? HS_MALLOC_BINNED : hs_glibc_state_in_use(walk, va, size_bytes), va,
                size_bytes);
            va = next_va;
            head = next;
        } else {
            switch (hs_glibc_repair(walk, &va, &head)) {
            case HS_GLIBC_REPAIRED:
                break;
            case HS_GLIBC_IS_TOP:
                va = fill_up(walk, HS_MALLOC_TOP, va);
                break;
            case HS_GLIBC_LOST:
                has_more = skip_lost(walk, &va, &head);
                break;
            }
        }
        if (has_more && va >= walk->part_end_va) {
            has_more = go_on(walk, &va, &head);
        }
    }
}

bool hs_glibc_walk_parts(struct hs_remote_window *window, const struct hs_residency *residency,
                         const struct hs_glibc_piece *piece, const struct hs_glibc_hidden *fast,
                         size_t fast_count, struct hs_glibc_wanted *wanted,
                         struct hs_glibc_sample *sample, struct hs_malloc_space *space)
{
    uint64_t end_va = piece->has_top ? piece->top_va : piece->end_va;
    uint64_t first_va = piece->start_va & ~(PAGE_BYTES - 1);
    struct hs_glibc_walking walk = {
        .window = window,
        .residency = residency,
        .piece = piece,
        .fast = fast,
        .fast_left = fast_count,
        .wanted = wanted,
        .space = &sample->seen,
        .run_state = HS_MALLOC_IN_USE,
        .run_va = piece->start_va,
        .part_va = first_va,
        .part_end_va = first_va,
        .sample = sample,
        .parts_end_va = end_va,
    };
    struct hs_glibc_sample sample_before = *sample;
    struct hs_malloc_space space_before = *space;
    size_t wanted_before = wanted->count;
    HS_ASSERT(piece->start_va < end_va && end_va <= piece->end_va);
    sample->all_bytes += end_va - piece->start_va;
    sample->all_resident_bytes += hs_residency_bytes(residency, piece->start_va, end_va);
    sample->all_swap_bytes += hs_residency_swap_bytes(residency, piece->start_va, end_va);
    hs_glibc_begin_walk(&walk);
    walk_parts(&walk);
    hs_glibc_end_walk(&walk);
    if (piece->has_top) {
        walk.space = space;
        walk.part_va = walk.trim_va = end_va;
        walk.part_end_va = piece->end_va;
        hs_glibc_add_bytes(&walk, HS_MALLOC_TOP, end_va, piece->end_va);
        hs_glibc_end_trim(&walk, piece->end_va, true);
        space->sums[HS_MALLOC_TOP].count++;
    }
    if (walk.lost_count <= LOST_MIN + walk.part_count / LOST_SHARE) {
        return true;
    }
    sample_before.parts = sample->parts;
    sample_before.part_capacity = sample->part_capacity;
    *sample = sample_before;
    *space = space_before;
    wanted->count = wanted_before;
    return false;
}
