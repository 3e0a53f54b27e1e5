/*
 * Recognizes tables of Go's runtime: see go_tables.h.
 */
#include "collect/ledger/go_tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/memory_scan.h"
#include "collect/ledger/residency.h"
#include "rt/base.h"
#include "trace/ledger.h"
#include "util/array.h"

#define PAGE_BYTES        UINT64_C(4096)
#define VA_END            (UINT64_C(1) << 47)
#define DATA_BYTES_MAX    (UINT64_C(64) << 20)

#define LEVELS            5U
#define LEVEL_SHIFT       14U /* of the first one; each has eight times as many elements */
#define CHUNK_TABLES      8192U
#define CHUNK_TABLE_BYTES (UINT64_C(1) << 20)

#define ARENA_BYTES       (UINT64_C(64) << 20)
#define ARENA_TABLE_BYTES (UINT64_C(32) << 20)
/* Addresses are counted from here on x86-64, whose upper half is negative. */
#define ARENA_BASE_VA   (UINT64_C(1) << 47)
#define HEAP_PAGE_BYTES UINT64_C(8192)
#define SPANS_BYTES     (ARENA_BYTES / HEAP_PAGE_BYTES * 8)
#define SPANS_LOOKED_AT 512U
#define ARENAS_MAX      65536U
/* Behind the table of spans: three bits for each page, and a few words. */
#define ARENA_REST_BYTES (3 * ARENA_BYTES / HEAP_PAGE_BYTES / 8 + 1)

#define HEADS_MAX        4096U
#define SPANS_MAX        128U
/* A data segment can be full of pointers that look like those of the runtime. */
#define LOOKS_MAX 100000U

static const char tables_name[] = "Go runtime";

/* Where the table of spans begins in the description of an arena: behind bitmaps of the heap, which
 * releases have in two bits a word, in one, or elsewhere. */
static const uint64_t spans_offs[] = { 0x200000, 0x104000, 0 };

/* The first words of what describes a span: three links, the address, the number of pages, and
 * among the others the addresses of its bitmaps. */
#define SPAN_WORDS      20U
#define SPAN_START      3U
#define SPAN_PAGE_COUNT 4U
#define SPAN_POINTERS   5U

/* Memory in pieces, each of which has the address of the next one. */
static const struct chain {
    uint64_t piece_bytes;
    size_t next_idx; /* of the word that has the address */
    /* The first word says how many bytes are used. */
    bool has_used;
    bool has_spans; /* descriptions of spans are there; otherwise, bitmaps of spans */
} chains[] = {
    { UINT64_C(0x40000), 0, false, true },
    { UINT64_C(0x10000), 1, true, false },
};
/* The runtime has four lists of bitmaps, side by side. */
#define LISTS_APART_MAX (3 * sizeof(uint64_t))

struct head {
    uint64_t word_va, piece_va;
};

struct search {
    const struct hs_go_program *program;
    struct hs_memory_scan scan;
    struct hs_owned_ranges *owned;
    struct head *heads; /* pointers to what may be the first piece of a chain */
    size_t head_count, head_capacity;
    uint64_t spans[SPANS_MAX][SPAN_WORDS]; /* as they are, with the first word replaced by where */
    size_t span_count;
    uint64_t arena_table_va; /* 0: it was not found */
    unsigned looks_left;
};

/* Reads what is resident. */
static bool look(struct search *search, uint64_t va, void *ret_bytes, size_t byte_count)
{
    int fd = search->program->pagemap_fd;
    if (search->looks_left == 0) {
        return false;
    }
    search->looks_left--;
    return hs_residency_is_resident(fd, va) && hs_residency_is_resident(fd, va + byte_count - 1) &&
           hs_remote_window_peek(search->program->window, va, ret_bytes, byte_count);
}

/* Is all of it mapped, and does it begin in private anonymous memory that nobody owns? */
static bool is_free_memory(const struct search *search, uint64_t va, uint64_t bytes)
{
    const struct hs_mapping_rows *rows = search->program->rows;
    const struct hs_mapping *mapping =
        va % PAGE_BYTES == 0 && va < VA_END ? hs_address_space_find(rows->space, va) : NULL;
    return mapping && hs_mapping_is_plain(rows->space, mapping) && !mapping->is_executable &&
           hs_mapping_rows_cover(rows, va, va + bytes) && !hs_owned_ranges_find(search->owned, va);
}

static int own(struct search *search, uint64_t va, uint64_t bytes)
{
    const struct hs_owned_range range = { va, va + bytes, HS_LEDGER_RUNTIME, tables_name };
    return hs_owned_ranges_add(search->owned, &range);
}

/* --- summaries of free pages ------------------------------------------------------------------ */

static bool are_summaries(const struct search *search, const uint64_t *slices)
{
    bool are_all = true;
    for (unsigned level = 0; level < LEVELS && are_all; level++) {
        const uint64_t *slice = slices + 3 * level; /* address, length, capacity */
        uint64_t count = UINT64_C(1) << (LEVEL_SHIFT + 3 * level);
        are_all = slice[2] == count && slice[1] <= count &&
                  is_free_memory(search, slice[0], count * sizeof(uint64_t));
    }
    return are_all;
}

/* The bitmaps to which the pointers at `va` lead. */
static int add_chunk_tables(struct search *search, uint64_t va)
{
    uint64_t tables[64];
    int r = 0;
    for (unsigned i = 0; i < CHUNK_TABLES && r == 0; i += HS_COUNT_OF(tables)) {
        if (!look(search, va + i * sizeof(tables[0]), tables, sizeof(tables))) {
            continue;
        }
        for (size_t n = 0; n < HS_COUNT_OF(tables) && r == 0; n++) {
            r = tables[n] != 0 && is_free_memory(search, tables[n], CHUNK_TABLE_BYTES)
                    ? own(search, tables[n], CHUNK_TABLE_BYTES)
                    : 0;
        }
    }
    return r;
}

static int take_summaries(struct search *search, uint64_t va)
{
    uint64_t slices[3 * LEVELS];
    int r = 0;
    if (!look(search, va, slices, sizeof(slices)) || !are_summaries(search, slices)) {
        return 0;
    }
    for (unsigned level = 0; level < LEVELS && r == 0; level++) {
        r = own(search, slices[3 * level], slices[3 * level + 2] * sizeof(uint64_t));
    }
    return r == 0 ? add_chunk_tables(search, va + sizeof(slices)) : r;
}

/* --- arenas ----------------------------------------------------------------------------------- */

/* Reads a description of the span that has the page; a large one begins in an earlier arena. */
static bool read_span(struct search *search, uint64_t va, uint64_t page_va, uint64_t *ret_words)
{
    return va % sizeof(va) == 0 && va < VA_END && look(search, va, ret_words, SPAN_WORDS * 8) &&
           ret_words[SPAN_START] != 0 && ret_words[SPAN_START] <= page_va &&
           ret_words[SPAN_PAGE_COUNT] < VA_END / HEAP_PAGE_BYTES &&
           page_va - ret_words[SPAN_START] < ret_words[SPAN_PAGE_COUNT] * HEAP_PAGE_BYTES;
}

/* Does the table at `va` point to descriptions of spans of the arena? Keeps some of them. */
static bool has_spans(struct search *search, uint64_t va, uint64_t arena_va)
{
    uint64_t spans[64], words[SPAN_WORDS];
    bool is_first = search->span_count == 0, are_spans = false;
    for (unsigned i = 0; i < SPANS_LOOKED_AT && (is_first || !are_spans); i += HS_COUNT_OF(spans)) {
        bool is_there = look(search, va + i * sizeof(spans[0]), spans, sizeof(spans));
        for (size_t n = 0; n < HS_COUNT_OF(spans) && is_there; n++) {
            uint64_t page_va = arena_va + (i + n) * HEAP_PAGE_BYTES;
            if (!read_span(search, spans[n], page_va, words)) {
                continue;
            }
            are_spans = true;
            if (search->span_count < SPANS_MAX) {
                words[0] = spans[n];
                memcpy(search->spans[search->span_count++], words, sizeof(words));
            }
        }
    }
    return are_spans;
}

static uint64_t arena_entry_va(uint64_t table_va, uint64_t arena_va)
{
    return table_va + (arena_va + ARENA_BASE_VA) / ARENA_BYTES * sizeof(uint64_t);
}

/* The description of an arena, if the table has one. */
static int add_arena(struct search *search, uint64_t table_va, uint64_t arena_va, bool *ret_is)
{
    uint64_t va;
    int r = 0;
    *ret_is = false;
    if (!look(search, arena_entry_va(table_va, arena_va), &va, sizeof(va)) ||
        !is_free_memory(search, va, SPANS_BYTES)) {
        return 0;
    }
    for (size_t i = 0; i < HS_COUNT_OF(spans_offs) && r == 0 && !*ret_is; i++) {
        uint64_t bytes = spans_offs[i] + SPANS_BYTES + ARENA_REST_BYTES;
        bytes = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
        if (is_free_memory(search, va, bytes)) {
            *ret_is = has_spans(search, va + spans_offs[i], arena_va);
            r = *ret_is ? own(search, va, bytes) : 0;
        }
    }
    return r;
}

static int take_arenas(struct search *search, uint64_t table_va)
{
    const struct hs_go_program *program = search->program;
    bool is_arena;
    int r = add_arena(search, table_va, program->heap_start_va, &is_arena);
    if (r < 0 || !is_arena) {
        return r;
    }
    search->arena_table_va = table_va;
    r = own(search, table_va, ARENA_TABLE_BYTES);
    uint64_t arena_va = program->heap_start_va + ARENA_BYTES;
    for (unsigned i = 0; i < ARENAS_MAX && arena_va < program->heap_end_va && r == 0; i++) {
        r = add_arena(search, table_va, arena_va, &is_arena);
        arena_va += ARENA_BYTES;
    }
    return r;
}

/* --- chains ----------------------------------------------------------------------------------- */

static bool is_known(const struct search *search, const struct chain *chain, uint64_t piece_va)
{
    size_t first = chain->has_spans ? 0 : SPAN_POINTERS, end = chain->has_spans ? 1 : SPAN_WORDS;
    bool is_found = false;
    for (size_t i = 0; i < search->span_count && !is_found; i++) {
        for (size_t word = first; word < end; word++) {
            is_found = is_found || search->spans[i][word] - piece_va < chain->piece_bytes;
        }
    }
    return is_found;
}

/* Follows a chain; adds its pieces, if `owns`. False: it is none. */
static bool follow(struct search *search, const struct chain *chain, uint64_t va, bool owns,
                   bool *ret_is_known)
{
    uint64_t head[2];
    bool is_chain = true;
    *ret_is_known = false;
    while (va != 0 && is_chain) {
        *ret_is_known = *ret_is_known || (!owns && is_known(search, chain, va));
        is_chain = is_free_memory(search, va, chain->piece_bytes) &&
                   look(search, va, head, sizeof(head)) &&
                   (!chain->has_used || head[0] <= chain->piece_bytes) &&
                   (!owns || own(search, va, chain->piece_bytes) == 0);
        va = head[chain->next_idx];
    }
    return is_chain;
}

/* A chain is one of the runtime's if spans lead to one of its pieces, or if it stands beside
 * another such list of bitmaps. */
static void add_chains(struct search *search, const struct chain *chain)
{
    uint64_t known_va = 0;
    bool is_known_chain;
    for (size_t i = 0; i < search->head_count && known_va == 0; i++) {
        const struct head *head = &search->heads[i];
        known_va = follow(search, chain, head->piece_va, false, &is_known_chain) && is_known_chain
                       ? head->word_va
                       : 0;
    }
    for (size_t i = 0; i < search->head_count && known_va != 0; i++) {
        const struct head *head = &search->heads[i];
        uint64_t apart =
            head->word_va > known_va ? head->word_va - known_va : known_va - head->word_va;
        if (apart <= (chain->has_used ? LISTS_APART_MAX : 0) &&
            follow(search, chain, head->piece_va, false, &is_known_chain)) {
            follow(search, chain, head->piece_va, true, &is_known_chain);
        }
    }
}

/* --- the search ------------------------------------------------------------------------------- */

static int add_head(struct search *search, uint64_t word_va, uint64_t piece_va)
{
    if (search->head_count == HEADS_MAX) {
        return 0;
    }
    int r = hs_array_reserve(&search->heads, &search->head_capacity, search->head_count + 1,
                             sizeof(search->heads[0]));
    if (r == 0) {
        search->heads[search->head_count++] = (struct head){ word_va, piece_va };
    }
    return r;
}

static int take_words(void *ctx, const uint64_t *words, size_t word_count)
{
    struct search *search = ctx;
    int r = 0;
    for (size_t i = 0; i < word_count && r == 0; i++) {
        if (words[i] == 0 || words[i] % PAGE_BYTES != 0 ||
            !is_free_memory(search, words[i], PAGE_BYTES)) {
            continue;
        }
        uint64_t va = search->scan.piece_va + i * sizeof(words[0]);
        r = take_summaries(search, va);
        if (r == 0 && !search->arena_table_va &&
            is_free_memory(search, words[i], ARENA_TABLE_BYTES)) {
            r = take_arenas(search, words[i]);
        }
        r = r == 0 ? add_head(search, va, words[i]) : r;
    }
    return r;
}

int hs_go_tables_find(const struct hs_go_program *program, struct hs_owned_ranges *owned)
{
    struct search *search = calloc(1, sizeof(*search));
    if (!search) {
        return -ENOMEM;
    }
    search->program = program;
    search->owned = owned;
    search->looks_left = LOOKS_MAX;
    search->scan = (struct hs_memory_scan){ .window = program->window,
                                            .pagemap_fd = program->pagemap_fd,
                                            .bytes_left = DATA_BYTES_MAX,
                                            .take = take_words,
                                            .ctx = search };
    int r = hs_memory_scan(&search->scan, program->data_start_va, program->data_end_va);
    for (size_t i = 0; i < HS_COUNT_OF(chains) && r == 0; i++) {
        add_chains(search, &chains[i]);
    }
    free(search->heads);
    free(search);
    return r;
}
