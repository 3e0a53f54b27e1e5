/*
 * Adds up blocks with equal contents: see dupes.h.
 */
#include "profile/analyse/dupes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/dump_heaps.h"
#include "profile/model/frame_class.h"

struct sizes {
    uint64_t count, size_bytes, first;
};

static void add_block(struct hs_dupe_sums *sums, const struct hs_dupe_block *block,
                      uint64_t size_bytes, uint64_t copies)
{
    sums->block_count++;
    sums->bytes += size_bytes;
    if (copies > 1) {
        sums->copied_count++;
        sums->copied_bytes += size_bytes;
        double share = (double)(copies - 1) / (double)copies;
        sums->extra_bytes += (double)size_bytes * share;
        sums->extra_never_written_bytes += (double)block->never_written_bytes * share;
    }
    sums->zero_count += block->is_zero;
    sums->zero_bytes += block->is_zero ? size_bytes : 0;
    sums->zero_page_bytes += block->zero_page_bytes;
    sums->zero_word_bytes += block->zero_word_bytes;
    sums->never_written_count += block->never_written_bytes > 0;
    sums->never_written_bytes += block->never_written_bytes;
    sums->zero_never_written_bytes += block->is_zero ? block->never_written_bytes : 0;
    sums->sparse_bytes += block->sparse_bytes;
}

/* The node of the aggregation that a block's stack ends at; HS_NODE_NONE: it has no sample. */
static uint32_t find_node(const struct hs_selection *selection, const struct hs_agg *agg,
                          const struct hs_profile_block *block)
{
    const struct hs_profile *p = selection->profile;
    const struct hs_profile_dump *dump = &p->dumps[selection->dumps[0]];
    const struct hs_profile_sample *sample =
        hs_profile_sample_at(p, dump, block->node, block->heap);
    return sample ? agg->sample_nodes[sample - (p->samples + dump->sample_first)] : HS_NODE_NONE;
}

/* Blocks with the same key are one row: function and line, or the type. */
struct keyed {
    uint64_t key;
    uint32_t node, type;
    const struct hs_dupe_block *block;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *left = a, *right = b;
    return left->key != right->key      ? (left->key < right->key ? -1 : 1)
           : left->block < right->block ? -1
                                        : left->block > right->block;
}

static int compare_rows(const void *a, const void *b)
{
    const struct hs_dupe_row *left = a, *right = b;
    return left->sums.extra_bytes != right->sums.extra_bytes
               ? (left->sums.extra_bytes > right->sums.extra_bytes ? -1 : 1)
           : left->sums.bytes != right->sums.bytes ? (left->sums.bytes > right->sums.bytes ? -1 : 1)
           : left->node != right->node             ? (left->node < right->node ? -1 : 1)
                                       : (left->type > right->type) - (left->type < right->type);
}

static int compare_zeros(const void *a, const void *b)
{
    const struct hs_dupe_row *left = a, *right = b;
    uint64_t left_bytes = hs_dupe_zeros(&left->sums), right_bytes = hs_dupe_zeros(&right->sums);
    return left_bytes != right_bytes ? (left_bytes > right_bytes ? -1 : 1) : compare_rows(a, b);
}

/* Returns the rows with the most zero bytes first; NULL: no memory. */
static struct hs_dupe_row *sort_by_zeros(const struct hs_dupe_row *rows, uint32_t count)
{
    struct hs_dupe_row *sorted = malloc(((size_t)count + 1) * sizeof(sorted[0]));
    if (sorted && count > 0) {
        memcpy(sorted, rows, count * sizeof(sorted[0]));
        qsort(sorted, count, sizeof(sorted[0]), compare_zeros);
    }
    return sorted;
}

static int add_rows(const struct hs_profile *p, struct keyed *keyed, uint32_t count,
                    const struct sizes *groups, struct hs_dupe_row **ret_rows, uint32_t *ret_count)
{
    struct hs_dupe_row *rows = calloc((size_t)count + 1, sizeof(rows[0]));
    uint32_t row_count = 0;
    if (!rows) {
        return -ENOMEM;
    }
    qsort(keyed, count, sizeof(keyed[0]), compare_keyed);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || keyed[i].key != keyed[i - 1].key) {
            rows[row_count++] =
                (struct hs_dupe_row){ .node = keyed[i].node, .type = keyed[i].type };
        }
        add_block(&rows[row_count - 1].sums, keyed[i].block,
                  p->blocks[keyed[i].block->block].size_bytes, groups[keyed[i].block->group].count);
    }
    qsort(rows, row_count, sizeof(rows[0]), compare_rows);
    *ret_rows = rows;
    *ret_count = row_count;
    return 0;
}

static int add_places(const struct hs_selection *selection, const struct hs_agg *agg,
                      const struct hs_dupe_block *blocks, uint32_t count, struct keyed *keyed,
                      const struct sizes *groups, struct hs_dupes *dupes)
{
    const struct hs_profile *p = selection->profile;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = find_node(selection, agg, &p->blocks[blocks[i].block]);
        node = node == HS_NODE_NONE ? node : hs_agg_headline(agg, node);
        uint64_t key = UINT64_MAX;
        if (node != HS_NODE_NONE) {
            key = (uint64_t)agg->nodes[node].function << 32 | agg->nodes[node].line;
        }
        keyed[i] = (struct keyed){ .key = key, .node = node, .block = &blocks[i] };
    }
    int r = add_rows(p, keyed, count, groups, &dupes->places, &dupes->place_count);
    for (uint32_t i = 0; r == 0 && i < dupes->place_count; i++) {
        struct hs_dupe_row *row = &dupes->places[i];
        row->is_blamed =
            row->node != HS_NODE_NONE &&
            agg->functions[agg->nodes[row->node].function].class_ == HS_FRAME_CLASS_USER;
    }
    return r;
}

static int add_types(const struct hs_profile *p, const struct hs_dupe_block *blocks, uint32_t count,
                     struct keyed *keyed, const struct sizes *groups, struct hs_dupes *dupes)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = p->blocks[blocks[i].block].type;
        keyed[i] = (struct keyed){ .key = type, .type = type, .block = &blocks[i] };
    }
    return add_rows(p, keyed, count, groups, &dupes->types, &dupes->type_count);
}

static int compare_groups(const void *a, const void *b)
{
    const struct hs_dupe_group *left = a, *right = b;
    uint64_t left_bytes = (left->count - 1) * left->size_bytes;
    uint64_t right_bytes = (right->count - 1) * right->size_bytes;
    return left_bytes != right_bytes    ? (left_bytes > right_bytes ? -1 : 1)
           : left->first < right->first ? -1
                                        : left->first > right->first;
}

static int add_groups(const struct sizes *groups, uint32_t count, struct hs_dupes *dupes)
{
    dupes->groups = calloc((size_t)count + 1, sizeof(dupes->groups[0]));
    if (!dupes->groups) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        dupes->unique_count++;
        dupes->unique_bytes += groups[i].size_bytes;
        if (groups[i].count > 1 && groups[i].size_bytes > 0) {
            dupes->groups[dupes->group_count++] =
                (struct hs_dupe_group){ groups[i].count, groups[i].size_bytes, groups[i].first };
        }
    }
    qsort(dupes->groups, dupes->group_count, sizeof(dupes->groups[0]), compare_groups);
    return 0;
}

int hs_dupes_build(const struct hs_selection *selection, const struct hs_agg *agg,
                   struct hs_dupe_block *blocks, uint32_t block_count, uint32_t group_count,
                   struct hs_dupes *ret_dupes)
{
    const struct hs_profile *p = selection->profile;
    struct hs_dupes dupes = { .places = NULL };
    struct sizes *groups = calloc((size_t)group_count + 1, sizeof(groups[0]));
    struct keyed *keyed = malloc(((size_t)block_count + 1) * sizeof(keyed[0]));
    int r = groups && keyed ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < block_count; i++) {
        struct sizes *group = &groups[blocks[i].group];
        group->first = group->count == 0 ? blocks[i].block : group->first;
        group->size_bytes = p->blocks[blocks[i].block].size_bytes;
        group->count++;
    }
    for (uint32_t i = 0; r == 0 && i < block_count; i++) {
        add_block(&dupes.all, &blocks[i], groups[blocks[i].group].size_bytes,
                  groups[blocks[i].group].count);
    }
    r = r == 0 ? add_places(selection, agg, blocks, block_count, keyed, groups, &dupes) : r;
    r = r == 0 ? add_types(p, blocks, block_count, keyed, groups, &dupes) : r;
    r = r == 0 ? add_groups(groups, group_count, &dupes) : r;
    if (r == 0) {
        dupes.zero_places = sort_by_zeros(dupes.places, dupes.place_count);
        dupes.zero_types = sort_by_zeros(dupes.types, dupes.type_count);
        r = dupes.zero_places && dupes.zero_types ? 0 : -ENOMEM;
    }
    free(groups);
    free(keyed);
    if (r < 0) {
        hs_dupes_deinit(&dupes);
        return r;
    }
    *ret_dupes = dupes;
    return 0;
}

void hs_dupes_deinit(struct hs_dupes *dupes)
{
    free(dupes->places);
    free(dupes->types);
    free(dupes->zero_places);
    free(dupes->zero_types);
    free(dupes->groups);
    *dupes = (struct hs_dupes){ .places = NULL };
}
