/*
 * Finds owners: see pin_owners.h.
 */
#include "collect/ledger/pin_owners.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/bits.h"
#include "util/array.h"
#include "util/page_sample.h"

#define HEAD_BYTES  16U /* a block's address minus its chunk's */
#define WORD_BYTES  8U  /* of a chunk that the block cannot use */
#define FAST_BYTES  128U
#define PAGE_SHIFT  12U
#define CLASS_EXACT 256U /* up to here each size of chunks is a class; then eight an octave */
#define CLASS_N     336U

/* Sizes of chunks that differ by an eighth at most. */
static unsigned class_of(uint64_t bytes)
{
    if (bytes < CLASS_EXACT) {
        return (unsigned)(bytes / 16);
    }
    unsigned log2 = hs_log2_floor(bytes);
    unsigned class = 16 + (log2 - 8) * 8 + ((unsigned)(bytes >> (log2 - 3)) & 7);
    return class < CLASS_N ? class : CLASS_N - 1;
}

struct finding {
    const struct hs_live_blocks *blocks;
    struct hs_pin_table *table;
    uint32_t *owner_of; /* by stack id; 0: none yet */
    size_t block_idx, cached_idx;
};

static int add_owner(struct hs_pin_table *table, const struct hs_pin_owner *owner)
{
    int r = hs_array_reserve(&table->owners, &table->owner_capacity, table->owner_count + 1,
                             sizeof(table->owners[0]));
    if (r == 0) {
        table->owners[table->owner_count++] = *owner;
    }
    return r;
}

/* The owner for a stack; 0: there is no memory. */
static uint32_t owner_for(struct finding *finding, uint32_t stack_id)
{
    uint32_t *owner = &finding->owner_of[stack_id];
    if (*owner == 0 &&
        add_owner(finding->table, &(struct hs_pin_owner){ .stack_id = stack_id }) == 0) {
        *owner = (uint32_t)finding->table->owner_count - 1;
    }
    return *owner;
}

/* How many blocks a record stands for. *ret_var: the variance of that number. */
static double weight_of(const struct hs_live_blocks *blocks, uint32_t asked_bytes,
                        unsigned interval, double *ret_var)
{
    *ret_var = 0;
    if (interval >= HS_REGION_INTERVALS || interval == HS_LIVE_EXACT ||
        blocks->interval_bytes[interval] == 0) {
        return 1;
    }
    double size_bytes = asked_bytes > 0 ? asked_bytes : 1;
    double p = -expm1(-size_bytes / (double)blocks->interval_bytes[interval]);
    p = p > 1e-9 ? p : 1e-9;
    *ret_var = (1 - p) / (p * p);
    return 1 / p;
}

static void add_block(struct finding *finding, uint32_t owner, const struct hs_pair *block,
                      uint64_t chunk_bytes)
{
    struct hs_pin_table *table = finding->table;
    struct hs_pin_owner *sum = &table->owners[owner];
    double var, asked_bytes = hs_live_block_size(block);
    double weight =
        weight_of(finding->blocks, hs_live_block_size(block), hs_live_block_interval(block), &var);
    double added_bytes = (double)chunk_bytes - asked_bytes;
    if (hs_live_block_size(block) == HS_LIVE_SIZE_MAX || added_bytes < WORD_BYTES) {
        added_bytes = WORD_BYTES;
    }
    sum->block_count += weight;
    sum->block_bytes += weight * (double)chunk_bytes;
    sum->rounding_bytes += weight * added_bytes;
    table->rounding_bytes += weight * added_bytes;
    table->head_bytes += weight * WORD_BYTES;
}

/* The block that begins in [va, end_va), if there is one. */
static const struct hs_pair *next_block(struct finding *finding, uint64_t va, uint64_t end_va)
{
    const struct hs_live_blocks *blocks = finding->blocks;
    while (finding->block_idx < blocks->count && blocks->items[finding->block_idx].key < va) {
        finding->block_idx++;
    }
    if (finding->block_idx < blocks->count && blocks->items[finding->block_idx].key < end_va) {
        const struct hs_pair *block = &blocks->items[finding->block_idx];
        return hs_live_block_stack(block) < blocks->stack_count ? block : NULL;
    }
    return NULL;
}

static bool is_cached(const struct hs_used_chunks *chunks, struct finding *finding, uint64_t va)
{
    while (finding->cached_idx < chunks->cached_count &&
           chunks->cached[finding->cached_idx].key < va) {
        finding->cached_idx++;
    }
    return finding->cached_idx < chunks->cached_count &&
           chunks->cached[finding->cached_idx].key == va;
}

/* Returns 0, or -ENOMEM. */
static int find_owner(struct finding *finding, const struct hs_used_chunks *chunks, uint64_t word,
                      struct hs_pin_chunk *chunk)
{
    struct hs_pin_table *table = finding->table;
    uint64_t bytes = chunk->end_va - chunk->va, block_va = chunk->va + HEAD_BYTES;
    chunk->is_cached = is_cached(chunks, finding, chunk->va);
    chunk->is_held = !chunk->is_cached && (word & HS_USED_IS_OWN) == 0;
    if (!chunk->is_held) {
        return 0;
    }
    const struct hs_pair *block = next_block(finding, block_va, block_va + 1);
    if (!block) {
        bool may_be_unsampled = bytes - WORD_BYTES < finding->blocks->widest_bytes;
        chunk->owner = may_be_unsampled && !table->is_exact ? HS_PIN_UNSAMPLED : HS_PIN_OWN;
        return 0;
    }
    chunk->owner = owner_for(finding, hs_live_block_stack(block));
    chunk->asked_bytes = hs_live_block_size(block);
    chunk->interval = hs_live_block_interval(block);
    if (chunk->owner == HS_PIN_OWN) {
        return -ENOMEM;
    }
    table->owners[chunk->owner].is_merged_at_once |= bytes > FAST_BYTES;
    if (hs_page_is_sampled(chunk->va >> PAGE_SHIFT, table->page_shift)) {
        add_block(finding, chunk->owner, block, bytes);
    }
    return 0;
}

static int find_all(struct finding *finding, const struct hs_used_chunks *chunks,
                    struct hs_pin_chunk *out, size_t *ret_count)
{
    uint64_t end_va = 0;
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; i < chunks->count && r == 0; i++) {
        uint64_t va = chunks->items[i].key, word = chunks->items[i].value;
        uint64_t bytes = word & ~(uint64_t)HS_USED_IS_OWN;
        if (va >= end_va && bytes > WORD_BYTES && va + bytes > va) {
            struct hs_pin_chunk *chunk = &out[count++];
            end_va = va + bytes;
            *chunk = (struct hs_pin_chunk){
                .va = va, .end_va = end_va, .page = UINT32_MAX, .interval = HS_LIVE_EXACT
            };
            r = find_owner(finding, chunks, word, chunk);
        }
    }
    *ret_count = count;
    return r;
}

/* The first block in [va, end_va), if there is one. */
static const struct hs_pair *search_block(const struct hs_live_blocks *blocks, uint64_t va,
                                          uint64_t end_va)
{
    size_t low = 0, high = blocks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blocks->items[middle].key < va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < blocks->count && blocks->items[low].key < end_va &&
                   hs_live_block_stack(&blocks->items[low]) < blocks->stack_count
               ? &blocks->items[low]
               : NULL;
}

/* Large blocks are always recorded, and keep no page besides their own. */
static int find_large(struct finding *finding, const struct hs_used_chunks *chunks)
{
    for (size_t i = 0; i < chunks->large_count; i++) {
        const struct hs_used_large *large = &chunks->large[i];
        const struct hs_pair *block = search_block(finding->blocks, large->start_va, large->end_va);
        if (block) {
            uint32_t owner = owner_for(finding, hs_live_block_stack(block));
            if (owner == HS_PIN_OWN) {
                return -ENOMEM;
            }
            /* Their pages are not among those that are sampled: undo the scale. */
            double scale = 1.0 / (double)(1U << finding->table->page_shift);
            double bytes = (double)(large->end_va - large->start_va);
            double asked_bytes = hs_live_block_size(block);
            double added_bytes = hs_live_block_size(block) < HS_LIVE_SIZE_MAX && asked_bytes < bytes
                                     ? bytes - asked_bytes
                                     : HEAD_BYTES;
            struct hs_pin_owner *sum = &finding->table->owners[owner];
            sum->large_bytes += large->resident_bytes;
            sum->block_count += scale;
            sum->block_bytes += scale * bytes;
            sum->rounding_bytes += scale * added_bytes;
            finding->table->rounding_bytes += scale * added_bytes;
            finding->table->head_bytes += scale * HEAD_BYTES;
        }
    }
    return 0;
}

int hs_pin_owners_find(const struct hs_used_chunks *chunks, const struct hs_live_blocks *blocks,
                       struct hs_pin_table *table, struct hs_pin_chunk **ret_chunks,
                       size_t *ret_count)
{
    struct finding finding = { .blocks = blocks, .table = table };
    struct hs_pin_chunk *out = malloc((chunks->count + 1) * sizeof(out[0]));
    finding.owner_of = calloc((size_t)blocks->stack_count + 1, sizeof(finding.owner_of[0]));
    int r = out && finding.owner_of ? add_owner(table, &(struct hs_pin_owner){ 0 }) : -ENOMEM;
    r = r < 0 ? r : find_all(&finding, chunks, out, ret_count);
    r = r < 0 ? r : find_large(&finding, chunks);
    free(finding.owner_of);
    if (r < 0) {
        free(out);
        return r;
    }
    table->stratum_first = (uint32_t)table->owner_count;
    *ret_chunks = out;
    return 0;
}

/* --- strata ----------------------------------------------------------------------------------- */

struct stratifying {
    struct hs_pin_table *table;
    uint32_t index[CLASS_N][HS_PIN_LEVELS]; /* + 1; 0: there is none yet */
    struct hs_pair *samples;                /* stratum and owner; the bits of the weight */
    size_t sample_count, sample_capacity;
};

static struct hs_pin_stratum *stratum_of(struct stratifying *s, const struct hs_pin_chunk *chunk,
                                         uint32_t *ret_idx)
{
    struct hs_pin_table *table = s->table;
    unsigned used_bytes = table->pages[chunk->page].used_bytes;
    unsigned level = (used_bytes * 8 + HS_PIN_PAGE_BYTES - 1) / HS_PIN_PAGE_BYTES;
    uint32_t *index = &s->index[class_of(chunk->end_va - chunk->va)]
                               [level < HS_PIN_LEVELS ? level : HS_PIN_LEVELS - 1];
    if (*index == 0) {
        if (hs_array_reserve(&table->strata, &table->stratum_capacity, table->stratum_count + 1,
                             sizeof(table->strata[0])) < 0 ||
            add_owner(table, &(struct hs_pin_owner){ 0 }) < 0) {
            return NULL;
        }
        table->strata[table->stratum_count++] = (struct hs_pin_stratum){ 0 };
        *index = (uint32_t)table->stratum_count;
    }
    *ret_idx = *index - 1;
    return &table->strata[*index - 1];
}

static int stratify_one(struct stratifying *s, const struct hs_live_blocks *blocks,
                        struct hs_pin_chunk *chunk)
{
    uint32_t idx;
    struct hs_pin_stratum *stratum = stratum_of(s, chunk, &idx);
    if (!stratum) {
        return -ENOMEM;
    }
    stratum->chunk_count++;
    if (chunk->owner == HS_PIN_UNSAMPLED) {
        chunk->owner = s->table->stratum_first + idx;
        return 0;
    }
    double var, weight = weight_of(blocks, chunk->asked_bytes, chunk->interval, &var);
    stratum->sample_count++;
    stratum->weight += weight;
    stratum->weight_var += var;
    int r = hs_array_reserve(&s->samples, &s->sample_capacity, s->sample_count + 1,
                             sizeof(s->samples[0]));
    if (r == 0) {
        s->samples[s->sample_count++] =
            (struct hs_pair){ (uint64_t)idx << 32 | chunk->owner, hs_double_bits(weight) };
    }
    return r;
}

/* One share for each stratum and owner. */
static int make_shares(struct stratifying *s)
{
    struct hs_pin_table *table = s->table;
    int r = hs_sort_pairs(s->samples, s->sample_count);
    for (size_t i = 0; i < s->sample_count && r == 0; i++) {
        const struct hs_pair *sample = &s->samples[i];
        double weight = hs_double_of_bits(sample->value);
        if (i > 0 && sample[-1].key == sample->key) {
            table->shares[table->share_count - 1].weight += weight;
            continue;
        }
        r = hs_array_reserve(&table->shares, &table->share_capacity, table->share_count + 1,
                             sizeof(table->shares[0]));
        if (r == 0) {
            uint32_t idx = (uint32_t)(sample->key >> 32);
            struct hs_pin_stratum *stratum = &table->strata[idx];
            stratum->share_first =
                stratum->share_count == 0 ? table->share_count : stratum->share_first;
            stratum->share_count++;
            table->shares[table->share_count++] =
                (struct hs_pin_share){ idx, (uint32_t)sample->key, weight };
        }
    }
    return r;
}

int hs_pin_owners_stratify(const struct hs_live_blocks *blocks, struct hs_pin_table *table,
                           struct hs_pin_chunk *chunks, size_t count)
{
    struct stratifying *s = calloc(1, sizeof(*s));
    int r = s ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        struct hs_pin_chunk *chunk = &chunks[i];
        bool is_small = chunk->end_va - chunk->va - WORD_BYTES < blocks->widest_bytes;
        if (chunk->page == UINT32_MAX) {
            /* It keeps no page of the table. */
            chunk->owner = chunk->owner == HS_PIN_UNSAMPLED ? HS_PIN_OWN : chunk->owner;
        } else if (chunk->owner != HS_PIN_OWN && is_small) {
            s->table = table;
            r = stratify_one(s, blocks, chunk);
        }
    }
    r = r < 0 || !s || s->sample_count == 0 ? r : make_shares(s);
    if (s) {
        free(s->samples);
    }
    free(s);
    return r;
}
