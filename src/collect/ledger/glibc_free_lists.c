/*
 * Follows lists of free chunks: see glibc_free_lists.h.
 */
#include "collect/ledger/glibc_free_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* Each step of a list is a system call, except where the next chunk is near. */
#define FOLLOWED_MAX      200000U
#define THREAD_LISTS      64U
#define THREAD_CHUNK_MAX  1024U
#define LINK_SHIFT        12U
#define THREAD_LENGTH_MAX 65535U

bool hs_glibc_links_of(unsigned major, unsigned minor, struct hs_glibc_links *ret_links)
{
    if (major != 2 || minor < 27 || minor > 41) {
        return false;
    }
    /* Numbers became 16 bits wide with 2.30. */
    size_t number_bytes = minor < 30 ? 1 : 2;
    *ret_links = (struct hs_glibc_links){
        .are_mangled = minor >= 32,
        .thread_chunk_bytes = HS_GLIBC_CHUNK_HEAD + THREAD_LISTS * (number_bytes + 8),
        .thread_count_bytes = number_bytes,
    };
    return true;
}

static uint64_t follow(const struct hs_glibc_links *links, uint64_t link_va, uint64_t word)
{
    return links->are_mangled ? word ^ link_va >> LINK_SHIFT : word;
}

static int add(struct hs_glibc_free_lists *lists, uint64_t va, uint64_t size_bytes)
{
    int r = hs_array_reserve(&lists->items, &lists->capacity, lists->count + 1,
                             sizeof(lists->items[0]));
    if (r == 0) {
        lists->items[lists->count++] = (struct hs_glibc_hidden){ va, (uint32_t)size_bytes };
    }
    return r;
}

/* A chunk that is in a list: its size, and the word with the link to the next. */
struct linked {
    uint64_t size_word;
    uint64_t link;
};

/* Reads the chunk if it has this size. False also when enough chunks were read. */
static bool read_linked(const struct hs_remote_window *window, struct hs_glibc_free_lists *lists,
                        uint64_t chunk_va, uint64_t size_bytes, struct linked *ret_linked)
{
    return lists->step_count++ < FOLLOWED_MAX && chunk_va % HS_GLIBC_CHUNK_HEAD == 0 &&
           hs_remote_window_peek(window, chunk_va + 8, ret_linked, sizeof(*ret_linked)) &&
           (ret_linked->size_word & ~(uint64_t)HS_GLIBC_FLAGS) == size_bytes;
}

int hs_glibc_free_lists_add_fast(const struct hs_remote_window *window,
                                 const struct hs_glibc_links *links,
                                 const struct hs_glibc_arena *arena,
                                 struct hs_glibc_free_lists *lists)
{
    struct linked linked;
    for (unsigned i = 0; i < HS_GLIBC_FAST_LISTS; i++) {
        uint64_t size_bytes = HS_GLIBC_CHUNK_MIN + 16ULL * i;
        for (uint64_t va = arena->fast_va[i]; va != 0;) {
            if (!read_linked(window, lists, va, size_bytes, &linked)) {
                lists->is_cut = true;
                break;
            }
            int r = add(lists, va, size_bytes);
            if (r < 0) {
                return r;
            }
            va = follow(links, va + HS_GLIBC_CHUNK_HEAD, linked.link);
        }
    }
    return 0;
}

struct thread_lists {
    uint32_t lengths[THREAD_LISTS];
    uint64_t first_va[THREAD_LISTS]; /* blocks, not chunks */
};

static bool read_thread_lists(const struct hs_remote_window *window,
                              const struct hs_glibc_links *links, uint64_t chunk_va,
                              struct thread_lists *ret_lists)
{
    uint8_t bytes[THREAD_CHUNK_MAX];
    uint64_t table_bytes = links->thread_chunk_bytes - HS_GLIBC_CHUNK_HEAD;
    bool has_chunks = false;
    if (!hs_remote_window_peek(window, chunk_va + HS_GLIBC_CHUNK_HEAD, bytes, table_bytes)) {
        return false;
    }
    memcpy(ret_lists->first_va, bytes + THREAD_LISTS * links->thread_count_bytes,
           sizeof(ret_lists->first_va));
    for (unsigned i = 0; i < THREAD_LISTS; i++) {
        uint32_t length = bytes[i * links->thread_count_bytes];
        length |= links->thread_count_bytes == 2 ? (uint32_t)bytes[i * 2 + 1] << 8 : 0;
        ret_lists->lengths[i] = length;
        has_chunks |= length != 0;
        if ((length != 0) != (ret_lists->first_va[i] != 0) ||
            ret_lists->first_va[i] % HS_GLIBC_CHUNK_HEAD != 0) {
            return false;
        }
    }
    return has_chunks;
}

/* Adds one list. *ret_is_list: it is a list of that length and size. */
static int add_thread_list(const struct hs_remote_window *window,
                           const struct hs_glibc_links *links, const struct thread_lists *thread,
                           unsigned list, struct hs_glibc_free_lists *lists, bool *ret_is_list)
{
    struct linked linked;
    uint64_t size_bytes = HS_GLIBC_CHUNK_MIN + 16ULL * list, block_va = thread->first_va[list];
    *ret_is_list = false;
    for (uint32_t i = 0; i < thread->lengths[list]; i++) {
        if (block_va == 0 ||
            !read_linked(window, lists, block_va - HS_GLIBC_CHUNK_HEAD, size_bytes, &linked)) {
            return 0;
        }
        int r = add(lists, block_va - HS_GLIBC_CHUNK_HEAD, size_bytes);
        if (r < 0) {
            return r;
        }
        block_va = follow(links, block_va, linked.link);
    }
    *ret_is_list = block_va == 0;
    return 0;
}

int hs_glibc_free_lists_add_thread(const struct hs_remote_window *window,
                                   const struct hs_glibc_links *links, uint64_t chunk_va,
                                   struct hs_glibc_free_lists *lists)
{
    struct thread_lists thread;
    size_t count_before = lists->count;
    unsigned good_count = 0, bad_count = 0;
    if (!read_thread_lists(window, links, chunk_va, &thread)) {
        return 0;
    }
    for (unsigned i = 0; i < THREAD_LISTS; i++) {
        bool is_list;
        size_t list_start = lists->count;
        if (thread.lengths[i] == 0) {
            continue;
        }
        int r = add_thread_list(window, links, &thread, i, lists, &is_list);
        if (r < 0) {
            return r;
        }
        good_count += is_list;
        bad_count += !is_list;
        lists->count = is_list ? lists->count : list_start;
    }
    /* The thread may change a list while it is followed. A chunk of the program's has none that is
     * right. */
    if (good_count == 0) {
        lists->count = count_before;
    } else {
        lists->is_cut |= bad_count > 0;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct hs_glibc_hidden *left = a, *right = b;
    return left->va < right->va ? -1 : left->va > right->va;
}

void hs_glibc_free_lists_sort(struct hs_glibc_free_lists *lists)
{
    if (lists->count > 1) {
        qsort(lists->items, lists->count, sizeof(lists->items[0]), compare);
    }
}

void hs_glibc_free_lists_deinit(struct hs_glibc_free_lists *lists)
{
    free(lists->items);
    *lists = (struct hs_glibc_free_lists){ 0 };
}
