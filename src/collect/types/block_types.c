/*
 * Finds the types of blocks: see block_types.h.
 *
 * The word before an array or an object is trusted only if it agrees with the size of the block: a
 * structure whose second member is an object also has a vtable there, and is not of that type.
 */
#include "collect/types/block_types.h"

#include <stdbool.h>
#include <stdio.h>

#include "collect/types/block_heads.h"
#include "collect/types/process_memory.h"
#include "collect/types/python_types.h"
#include "collect/types/vtable_types.h"
#include "rt/check.h"
#include "rt/clock.h"

#define WORD_BYTES sizeof(uint64_t)
/* A block of whole pages is not one object: a program divides it among objects, of which the first
 * one is at its start. */
#define SLAB_BYTES UINT64_C(4096)

struct search {
    const struct hs_type_memory *memory;
    struct hs_typed_block *blocks;
    struct hs_block_types *types;
    struct hs_vtable_types vtables;
    struct hs_python_types python;
    struct hs_block_heads heads;
    size_t piece; /* of the heads, in which the block begins */
};

void hs_block_types_deinit(struct hs_block_types *types)
{
    hs_type_names_deinit(&types->names);
    *types = (struct hs_block_types){ 0 };
}

/* --- behind a word that says how much follows ------------------------------------------------- */

static bool read_word(const struct search *search, uint64_t va, uint64_t *ret_word)
{
    return hs_block_heads_word(&search->heads, search->piece, va, ret_word) ||
           search->memory->read(search->memory->ctx, va, ret_word, sizeof(*ret_word));
}

/* Do `count` elements of equal size fill the block from `off` on, the second of which begins as the
 * first one does? One element alone proves nothing. */
static bool is_array(const struct search *search, const struct hs_typed_block *block, uint64_t off,
                     uint64_t count, uint64_t vtable_va)
{
    uint64_t bytes = block->size_bytes - off, word;
    return count >= 2 && count <= bytes / WORD_BYTES && bytes % count == 0 &&
           bytes / count % WORD_BYTES == 0 &&
           read_word(search, block->va + off + bytes / count, &word) && word == vtable_va;
}

static int put_array(struct search *search, uint32_t element_idx, uint32_t *ret_idx)
{
    char name[HS_TYPE_NAME_BYTES_MAX + sizeof("[]")];
    snprintf(name, sizeof(name), "%s[]", hs_type_names_text(&search->types->names, element_idx));
    return hs_type_names_put(&search->types->names, HS_TYPE_CXX, name, ret_idx);
}

/* new[] puts the count right before the array; an allocator puts the size before the block that it
 * gives to the program, with its own words or without. */
static int look_behind(struct search *search, const struct hs_typed_block *block,
                       const uint64_t *words, unsigned word_idx, uint32_t *ret_idx)
{
    struct hs_vtable_type vtable;
    uint64_t off = word_idx * WORD_BYTES, before = words[word_idx - 1];
    int r = hs_vtable_types_find(&search->vtables, words[word_idx], &vtable);
    *ret_idx = 0;
    if (r < 0 || vtable.type_idx == 0 || !vtable.has_rtti) {
        return r;
    }
    if (is_array(search, block, off, before, words[word_idx])) {
        return put_array(search, vtable.type_idx, ret_idx);
    }
    bool is_size = before == block->size_bytes || before == block->size_bytes - off ||
                   words[0] == block->size_bytes || words[0] == block->size_bytes - off;
    *ret_idx = is_size ? vtable.type_idx : 0;
    return 0;
}

/* --- a block ---------------------------------------------------------------------------------- */

static int find_class(struct search *search, const struct hs_typed_block *block,
                      const uint64_t *words, unsigned word_count, uint32_t *ret_idx)
{
    struct hs_vtable_type vtable;
    int r = hs_vtable_types_find(&search->vtables, words[0], &vtable);
    *ret_idx = vtable.type_idx;
    for (unsigned i = 1; i <= 2 && i < word_count && *ret_idx == 0 && r == 0; i++) {
        r = look_behind(search, block, words, i, ret_idx);
    }
    return r;
}

static int find_type(struct search *search, const struct hs_typed_block *block,
                     const uint64_t *words, unsigned word_count, uint32_t *ret_idx)
{
    int r = 0;
    *ret_idx = 0;
    if (block->size_bytes % SLAB_BYTES != 0) {
        r = find_class(search, block, words, word_count, ret_idx);
    }
    if (*ret_idx == 0 && r == 0) {
        r = hs_python_types_find(&search->python, words, word_count, block->size_bytes, ret_idx);
    }
    return r;
}

static int take_block(struct search *search, size_t i)
{
    uint64_t words[HS_BLOCK_HEAD_WORDS];
    size_t idx;
    uint32_t type_idx = 0;
    unsigned word_count = hs_block_heads_words(&search->heads, search->piece, i, words, &idx);
    struct hs_block_type_counts *counts = &search->types->counts;
    struct hs_typed_block *block = &search->blocks[idx];
    int r = word_count > 0 ? find_type(search, block, words, word_count, &type_idx) : 0;
    if (r < 0) {
        return r;
    }
    /* A block without a whole word cannot have a type. */
    bool is_unreadable = word_count == 0 && block->size_bytes >= WORD_BYTES;
    block->type_idx = type_idx;
    block->is_read = !is_unreadable;
    counts->named_count += type_idx != 0;
    counts->unreadable_count += is_unreadable;
    counts->unknown_count += type_idx == 0 && !is_unreadable;
    return 0;
}

static int take_blocks(struct search *search, uint64_t end_ns)
{
    struct hs_block_heads *heads = &search->heads;
    size_t late_idx = heads->next; /* in their order: the first one that is not reached in time */
    int r = 0;
    while (r == 0 && hs_clock_ns(CLOCK_MONOTONIC) < end_ns &&
           hs_block_heads_next(heads, search->memory)) {
        for (search->piece = 0; search->piece < heads->piece_count && r == 0; search->piece++) {
            const struct hs_type_piece *piece = &heads->pieces[search->piece];
            bool is_late = hs_clock_ns(CLOCK_MONOTONIC) >= end_ns;
            for (size_t i = piece->first_idx; i < piece->end_idx && r == 0 && !is_late; i++) {
                r = take_block(search, i);
            }
            late_idx = is_late ? late_idx : piece->end_idx;
        }
    }
    search->types->next_va = late_idx < heads->count ? hs_block_heads_va(heads, late_idx) : 0;
    return r;
}

/* When the search is to end. It has half of the time for reading, however long it took to sort the
 * blocks: otherwise no search would get anywhere. */
static uint64_t end_of(uint64_t start_ns, uint64_t time_ns_max)
{
    uint64_t end_ns = start_ns + time_ns_max;
    uint64_t half_end_ns = hs_clock_ns(CLOCK_MONOTONIC) + time_ns_max / 2;
    return time_ns_max == 0 ? UINT64_MAX : end_ns > half_end_ns ? end_ns : half_end_ns;
}

int hs_block_types_find(const struct hs_type_memory *memory, struct hs_typed_block *blocks,
                        size_t count, uint64_t time_ns_max, struct hs_block_types *types)
{
    struct search search = { .memory = memory, .blocks = blocks, .types = types };
    struct hs_block_type_counts *counts = &types->counts;
    uint64_t start_cpu_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t start_ns = hs_clock_ns(CLOCK_MONOTONIC);
    *counts = (struct hs_block_type_counts){ .looked_count = count };
    for (size_t i = 0; i < count; i++) {
        blocks[i].type_idx = 0;
        blocks[i].is_read = false;
    }
    int r = hs_block_heads_init(blocks, count, types->next_va, &search.heads);
    if (r < 0) {
        return r;
    }
    hs_vtable_types_init(&search.vtables, memory, &types->names);
    hs_python_types_init(&search.python, memory, &types->names);
    r = take_blocks(&search, end_of(start_ns, time_ns_max));
    hs_python_types_deinit(&search.python);
    hs_vtable_types_deinit(&search.vtables);
    hs_block_heads_deinit(&search.heads);
    HS_ASSERT(counts->named_count + counts->unknown_count + counts->unreadable_count <= count);
    counts->late_count =
        count - counts->named_count - counts->unknown_count - counts->unreadable_count;
    counts->cpu_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_cpu_ns;
    return r;
}

int hs_block_types_read(pid_t pid, const struct hs_address_space *space,
                        struct hs_typed_block *blocks, size_t count, uint64_t time_ns_max,
                        struct hs_block_types *types)
{
    struct hs_process_memory process;
    struct hs_type_memory memory;
    int r = hs_process_memory_open(pid, space, &process);
    if (r < 0) {
        return r;
    }
    hs_process_memory_view(&process, &memory);
    r = hs_block_types_find(&memory, blocks, count, time_ns_max, types);
    hs_process_memory_close(&process);
    return r;
}
