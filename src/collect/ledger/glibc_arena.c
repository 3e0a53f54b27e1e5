/*
 * Finds and reads arenas: see glibc_arena.h.
 */
#include "collect/ledger/glibc_arena.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/check.h"
#include "util/array.h"

#define LIST_COUNT      127U /* of free blocks; fast ones have lists of their own */
#define EMPTY_MIN       8U   /* an arena that has no more empty lists than this is not recognized */
#define IS_CONTIGUOUS_N 2U   /* bit of `flags`; if it is set, the arena is NOT contiguous */
#define VA_MAX          (UINT64_C(1) << 56)
/* A thread that allocates without a pause moves the top about once while an arena is read. */
#define READS_MAX 16U

/* struct malloc_state of glibc 2.27 to 2.41, on 64 bits. */
struct arena_state {
    uint32_t mutex;
    uint32_t flags;
    uint32_t has_fast_chunks;
    uint32_t pad;
    uint64_t fast[HS_GLIBC_FAST_LISTS];
    uint64_t top;
    uint64_t last_remainder;
    uint64_t bins[2 * LIST_COUNT]; /* fd and bk of each list */
    uint32_t bin_map[4];
    uint64_t next;
    uint64_t next_free;
    uint64_t thread_count;
    uint64_t system_bytes;
    uint64_t system_bytes_max;
};
static_assert(sizeof(struct arena_state) == HS_GLIBC_ARENA_BYTES, "the layout of glibc");

static bool is_chunk(uint64_t va)
{
    return va % HS_GLIBC_CHUNK_HEAD == 0 && va >= 4096 && va < VA_MAX;
}

/* The head of a list is taken for a chunk whose pointers are the list's. */
static uint64_t list_va(uint64_t arena_va, unsigned list)
{
    return arena_va + offsetof(struct arena_state, bins) + 16ULL * list - HS_GLIBC_CHUNK_HEAD;
}

static bool are_lists_sane(const struct arena_state *state, uint64_t va)
{
    unsigned empty_count = 0;
    for (unsigned i = 0; i < LIST_COUNT; i++) {
        uint64_t head = list_va(va, i), first = state->bins[2 * i], last = state->bins[2 * i + 1];
        bool is_empty = first == head && last == head;
        if (!is_empty && (first == head || last == head || !is_chunk(first) || !is_chunk(last))) {
            return false;
        }
        empty_count += is_empty;
    }
    return empty_count >= EMPTY_MIN;
}

static bool is_sane(const struct arena_state *state, uint64_t va)
{
    return are_lists_sane(state, va) && state->mutex <= 2 && is_chunk(state->top) &&
           state->next >= 4096 && state->next < VA_MAX && state->next % 8 == 0 &&
           state->system_bytes <= state->system_bytes_max && state->system_bytes < VA_MAX;
}

uint64_t hs_glibc_arena_find(struct hs_remote_window *window, uint64_t start_va, uint64_t end_va)
{
    struct arena_state state;
    for (uint64_t va = (start_va + 7) & ~UINT64_C(7); va + sizeof(state) <= end_va; va += 8) {
        uint64_t word, last_va = list_va(va, LIST_COUNT - 1), head = last_va + HS_GLIBC_CHUNK_HEAD;
        /* The last list is of blocks of a megabyte and more, and is nearly always empty; so is one
         * of the lists before it. */
        if (!hs_remote_window_word(window, head, &word)) {
            va = (va | (4096 - 1)) + 1 - 8; /* no memory in this page or the next */
            continue;
        }
        if (word != last_va && word % HS_GLIBC_CHUNK_HEAD != 0) {
            continue;
        }
        if (hs_remote_window_word(window, va + offsetof(struct arena_state, bins), &word) &&
            is_chunk(word) && hs_remote_window_read(window, va, &state, sizeof(state)) &&
            is_sane(&state, va)) {
            return va;
        }
    }
    return 0;
}

/* An arena without memory has a list's head for its top. */
static bool has_top(const struct arena_state *state, uint64_t va)
{
    return state->top != list_va(va, 0);
}

uint64_t hs_glibc_arena_top(struct hs_remote_window *window, uint64_t arena_va)
{
    uint64_t top_va;
    hs_remote_window_forget(window);
    return hs_remote_window_word(window, arena_va + offsetof(struct arena_state, top), &top_va)
               ? top_va
               : 0;
}

/*
 * Reads an arena and the size of its top, which are of one moment if both are the same when they
 * are read again. 0; 1: they never were; -EPROTO: it is no arena.
 */
static int read_state(struct hs_remote_window *window, uint64_t va, struct arena_state *ret_state,
                      uint64_t *ret_top_word)
{
    struct arena_state before;
    for (unsigned i = 0; i < READS_MAX; i++) {
        before = *ret_state;
        hs_remote_window_forget(window);
        if (!hs_remote_window_read(window, va, ret_state, sizeof(*ret_state)) ||
            !is_sane(ret_state, va)) {
            return -EPROTO;
        }
        if (i > 0 && before.top == ret_state->top &&
            before.system_bytes == ret_state->system_bytes &&
            (*ret_top_word != 0 || !has_top(ret_state, va))) {
            return 0;
        }
        *ret_top_word = 0;
        if (has_top(ret_state, va)) {
            hs_remote_window_forget(window);
            /* malloc moves the top before it writes the size, for which the kernel may have to add
             * a page. */
            (void)hs_remote_window_word(window, ret_state->top + 8, ret_top_word);
        }
    }
    return 1;
}

static int add(struct hs_remote_window *window, uint64_t va, bool is_main,
               struct hs_glibc_arenas *arenas, uint64_t *ret_next_va)
{
    struct arena_state state = { 0 };
    uint64_t top_word = 0;
    int steady = read_state(window, va, &state, &top_word);
    if (steady < 0) {
        return steady;
    }
    int r = hs_array_reserve(&arenas->items, &arenas->capacity, arenas->count + 1,
                             sizeof(arenas->items[0]));
    if (r < 0) {
        return r;
    }
    struct hs_glibc_arena *arena = &arenas->items[arenas->count++];
    *arena = (struct hs_glibc_arena){
        .va = va,
        .is_main = is_main,
        .is_contiguous = (state.flags & IS_CONTIGUOUS_N) == 0,
        .is_steady = steady == 0,
        .top_va = has_top(&state, va) ? state.top : 0,
        .top_bytes = has_top(&state, va) ? top_word & ~(uint64_t)HS_GLIBC_FLAGS : 0,
        .system_bytes = state.system_bytes,
        .thread_count = state.thread_count,
    };
    memcpy(arena->fast_va, state.fast, sizeof(arena->fast_va));
    *ret_next_va = state.next;
    return 0;
}

int hs_glibc_arenas_read(struct hs_remote_window *window, uint64_t main_va,
                         struct hs_glibc_arenas *arenas)
{
    uint64_t va = main_va;
    arenas->count = 0;
    do {
        int r = arenas->count < HS_GLIBC_ARENAS_MAX ? add(window, va, va == main_va, arenas, &va)
                                                    : -EPROTO;
        if (r < 0) {
            return r;
        }
    } while (va != main_va);
    return 0;
}

void hs_glibc_arenas_deinit(struct hs_glibc_arenas *arenas)
{
    free(arenas->items);
    *arenas = (struct hs_glibc_arenas){ 0 };
}
