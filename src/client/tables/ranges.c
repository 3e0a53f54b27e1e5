/*
 * The ordered list of address ranges. See ranges.h.
 */
#include "client/tables/ranges.h"

#include "client/host/pages.h"
#include "rt/bits.h"
#include "rt/check.h"
#include "rt/rand.h"

/* Nodes are in pieces, each twice as long as the one before. Together they hold more ranges than an
 * address space can have. */
#define FIRST_NODES  1024U
#define PIECES       20U
#define HEIGHT_SHIFT 2U /* of four ranges of one level, one is in the next level, too */

static struct hs_range *pieces[PIECES];
static struct {
    uint32_t first[HS_RANGE_LEVELS]; /* the first range of each level */
    uint32_t made_count;             /* nodes that were ever handed out; node 0 is not used */
    uint32_t free_first;             /* nodes that are in no list, linked by level 0 */
    uint64_t count;
    uint64_t random;
} list = { .made_count = 1, .random = 1 };

/* The piece of a node: piece n begins with node FIRST_NODES * (2^n - 1). */
static unsigned piece_of(uint32_t id)
{
    return 31U - (unsigned)__builtin_clz(id / FIRST_NODES + 1);
}

struct hs_range *hs_range_at(uint32_t id)
{
    unsigned piece = piece_of(id);
    HS_ASSERT(id != HS_RANGE_NONE && id < list.made_count);
    return &pieces[piece][id - FIRST_NODES * ((1U << piece) - 1)];
}

uint64_t hs_ranges_count(void)
{
    return list.count;
}

static uint32_t next_of(uint32_t id, unsigned level)
{
    return id == HS_RANGE_NONE ? list.first[level] : hs_range_at(id)->next[level];
}

static void set_next(uint32_t id, unsigned level, uint32_t next)
{
    uint32_t *link = id == HS_RANGE_NONE ? &list.first[level] : &hs_range_at(id)->next[level];
    *link = next;
}

/* In each level, the last range that starts below `va`; HS_RANGE_NONE: none does. */
static void find_before(uint64_t va, uint32_t ret_before[HS_RANGE_LEVELS])
{
    uint32_t at = HS_RANGE_NONE;
    for (unsigned level = HS_RANGE_LEVELS; level-- > 0;) {
        uint32_t next = next_of(at, level);
        while (next != HS_RANGE_NONE && hs_range_at(next)->start_va < va) {
            at = next;
            next = next_of(at, level);
        }
        ret_before[level] = at;
    }
}

uint32_t hs_ranges_find(uint64_t va)
{
    uint32_t before[HS_RANGE_LEVELS];
    find_before(va, before);
    bool is_in = before[0] != HS_RANGE_NONE && hs_range_at(before[0])->end_va > va;
    return is_in ? before[0] : next_of(before[0], 0);
}

uint32_t hs_ranges_next(uint32_t id)
{
    return hs_range_at(id)->next[0];
}

/* --- nodes ------------------------------------------------------------------------------------ */

static uint32_t take_node(void)
{
    uint32_t id = list.free_first;
    if (id != HS_RANGE_NONE) {
        list.free_first = hs_range_at(id)->next[0];
        return id;
    }
    id = list.made_count;
    unsigned piece = piece_of(id);
    if (piece >= PIECES) {
        return HS_RANGE_NONE;
    }
    if (!pieces[piece]) {
        pieces[piece] = hs_pages_map_sparse(sizeof(struct hs_range) * FIRST_NODES << piece);
    }
    if (!pieces[piece]) {
        return HS_RANGE_NONE;
    }
    list.made_count++;
    return id;
}

uint32_t hs_ranges_make(uint64_t start_va, uint64_t end_va, const struct hs_range *like)
{
    uint32_t id = take_node();
    HS_ASSERT(start_va < end_va);
    if (id != HS_RANGE_NONE) {
        struct hs_range copy = *like; /* it may be this node */
        copy.start_va = start_va;
        copy.end_va = end_va;
        copy.next[0] = HS_RANGE_NONE;
        *hs_range_at(id) = copy;
    }
    return id;
}

void hs_ranges_free(uint32_t id)
{
    hs_range_at(id)->next[0] = list.free_first;
    list.free_first = id;
}

/* --- the list --------------------------------------------------------------------------------- */

static uint8_t draw_height(void)
{
    uint8_t height = 1;
    list.random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = hs_mix64(list.random);
    while (height < HS_RANGE_LEVELS && (bits & ((1U << HEIGHT_SHIFT) - 1)) == 0) {
        bits >>= HEIGHT_SHIFT;
        height++;
    }
    return height;
}

void hs_ranges_link(uint32_t id)
{
    uint32_t before[HS_RANGE_LEVELS];
    struct hs_range *range = hs_range_at(id);
    find_before(range->start_va, before);
    range->height = draw_height();
    for (unsigned level = 0; level < range->height; level++) {
        range->next[level] = next_of(before[level], level);
        set_next(before[level], level, id);
    }
    HS_ASSERT(before[0] == HS_RANGE_NONE || hs_range_at(before[0])->end_va <= range->start_va);
    HS_ASSERT(range->next[0] == HS_RANGE_NONE ||
              hs_range_at(range->next[0])->start_va >= range->end_va);
    list.count++;
}

void hs_ranges_unlink(uint32_t id)
{
    uint32_t before[HS_RANGE_LEVELS];
    struct hs_range *range = hs_range_at(id);
    find_before(range->start_va, before);
    for (unsigned level = 0; level < range->height; level++) {
        HS_ASSERT(next_of(before[level], level) == id);
        set_next(before[level], level, range->next[level]);
    }
    range->next[0] = HS_RANGE_NONE;
    list.count--;
}

void hs_ranges_clear(void)
{
    for (unsigned level = 0; level < HS_RANGE_LEVELS; level++) {
        list.first[level] = HS_RANGE_NONE;
    }
    list.made_count = 1;
    list.free_first = HS_RANGE_NONE;
    list.count = 0;
}

bool hs_ranges_is_valid(void)
{
    uint64_t counts[HS_RANGE_LEVELS] = { 0 };
    for (unsigned level = 0; level < HS_RANGE_LEVELS; level++) {
        uint64_t end_va = 0;
        for (uint32_t id = list.first[level]; id != HS_RANGE_NONE;) {
            const struct hs_range *range = hs_range_at(id);
            if (range->height <= level || range->start_va < end_va ||
                range->start_va >= range->end_va) {
                return false;
            }
            end_va = range->end_va;
            counts[level]++;
            id = range->next[level];
        }
    }
    return counts[0] == list.count;
}
