/*
 * Recognizes HotSpot's objects that describe ranges: see jvm_spaces.h.
 */
#include "collect/ledger/jvm_spaces.h"

#include <stdlib.h>
#include <string.h>

#include "collect/ledger/memory_scan.h"
#include "util/array.h"

#define PAGE_BYTES UINT64_C(4096)
#define WORD_BYTES UINT64_C(8)
#define VA_END     (UINT64_C(1) << 47)
/* JDK 16 and newer reserve metaspace in pieces of this size; the class space is one larger. */
#define NODE_BYTES     UINT64_C(0x4000000)
#define HEAP_WORDS_MIN (UINT64_C(1) << 17)
#define HEAP_WORDS_MAX (VA_END / WORD_BYTES)
/* A card stands for 128 to 1024 bytes. */
#define CARD_SHIFT_MIN 7U
#define CARD_SHIFT_MAX 10U

/* A JVM has fewer than a hundred. */
#define SPACES_MAX 10000U
/* Of what is read: a large program in C can have started the JVM. */
#define MAPPING_BYTES_MAX (UINT64_C(8) << 20)
#define ALL_BYTES_MAX     (UINT64_C(64) << 20)
#define LOOKED_UP_BYTES   (UINT64_C(1) << 30) /* of a mapping, from its start */

static bool is_aligned(uint64_t number)
{
    return number % PAGE_BYTES == 0;
}

/* A power of two, a page or more. */
static bool is_alignment(uint64_t number)
{
    return number >= PAGE_BYTES && (number & (number - 1)) == 0;
}

static bool is_order(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return a <= b && b <= c && c <= d;
}

static int add(struct hs_jvm_spaces *spaces, uint64_t start_va, uint64_t end_va,
               enum hs_jvm_space_kind kind)
{
    int r = spaces->count < SPACES_MAX
                ? hs_array_reserve(&spaces->items, &spaces->capacity, spaces->count + 1,
                                   sizeof(spaces->items[0]))
                : 0;
    if (r == 0 && spaces->count < SPACES_MAX) {
        spaces->items[spaces->count++] = (struct hs_jvm_space){ start_va, end_va, kind };
    }
    return r;
}

/* --- the forms: w[0] is the first address ----------------------------------------------------- */

/* Both boundaries, what is committed, the same of three parts, and the alignments of the parts. */
static bool is_virtual_space(const uint64_t *w)
{
    return w[2] == w[0] && is_order(w[0], w[2], w[3], w[1]) && is_order(w[0], w[5], w[6], w[1]) &&
           w[7] >= w[6] && w[7] <= w[1] && is_order(w[0], w[8], w[9], w[10]) && w[10] == w[1] &&
           is_alignment(w[11]) && is_alignment(w[12]) && is_alignment(w[13]);
}

/* Is it a pointer into the JVM's library, as one to a table of virtual functions is? */
static bool is_in_library(const struct hs_address_space *space, uint64_t va)
{
    const struct hs_mapping *mapping = hs_address_space_find(space, va);
    return mapping && mapping->inode != 0 &&
           strstr(hs_mapping_path(space, mapping), "/libjvm.so") != NULL;
}

/* A pointer to the table of its virtual functions, the alignment, the boundaries of what is
 * reserved and of what is committed. */
static bool is_parallel_space(const struct hs_address_space *space, const uint64_t *w)
{
    return is_alignment(w[-1]) && is_order(w[0], w[2], w[3], w[1]) && is_in_library(space, w[-2]);
}

/* The boundaries, what is left behind the last page, the size of a page, a bit for each page. */
static bool is_g1_space(const uint64_t *w)
{
    uint64_t bytes = w[1] - w[0];
    return is_alignment(w[3]) && w[2] < w[3] && w[4] != 0 && w[5] == (bytes + w[3] - 1) / w[3];
}

/* What is reserved, with its alignment and size of a page; then the address once more, the size in
 * words, and how many of them are used. */
static bool is_node(const uint64_t *w)
{
    uint64_t words = w[1] / WORD_BYTES;
    bool is_found = false;
    for (size_t i = 5; i + 2 < HS_JVM_WORDS_BEHIND && !is_found; i++) {
        is_found = w[i] == w[0] && w[i + 1] == words && w[i + 2] <= words;
    }
    return is_found && is_alignment(w[3]) && (w[2] == 0 || is_alignment(w[2]));
}

static bool are_cards_of(uint64_t heap_words, uint64_t table_bytes, uint64_t page_bytes)
{
    bool is_found = false;
    for (unsigned shift = CARD_SHIFT_MIN; shift <= CARD_SHIFT_MAX; shift++) {
        uint64_t cards = heap_words * WORD_BYTES >> shift;
        is_found = is_found || (table_bytes >= cards && table_bytes - cards <= page_bytes);
    }
    return is_found;
}

static bool is_heap(const uint64_t *w)
{
    return is_aligned(w[0]) && w[0] != 0 && w[1] >= HEAP_WORDS_MIN && w[1] < HEAP_WORDS_MAX;
}

/* The heap's address and size in words, in older releases two numbers of cards, the size of a page,
 * the table's size, and its address. Returns where the heap's address is; NULL: it is no such
 * object. */
static const uint64_t *heap_of_cards(const uint64_t *w)
{
    const uint64_t *newer = w - 4, *older = w - 6;
    bool is_table = is_alignment(w[-2]) && w[-1] != 0 && is_aligned(w[-1]);
    if (is_table && is_heap(newer) && are_cards_of(newer[1], w[-1], w[-2])) {
        return newer;
    }
    return is_table && is_heap(older) && older[2] == older[3] + 1 &&
                   are_cards_of(older[1], w[-1], w[-2])
               ? older
               : NULL;
}

/* A collector's object has the heap's address and size in words, at a place that depends on the
 * release. So have objects of threads the end of their stack and its size, so that mappings must
 * begin and end there. */
static bool is_collected_heap(const struct hs_address_space *space, const uint64_t *w)
{
    uint64_t end_va = is_heap(w) ? w[0] + w[1] * WORD_BYTES : 0;
    const struct hs_mapping *first = end_va ? hs_address_space_find(space, w[0]) : NULL;
    const struct hs_mapping *last = first ? hs_address_space_find(space, end_va - 1) : NULL;
    return last && first->start_va == w[0] && last->end_va == end_va &&
           hs_mapping_is_plain(space, first) && !first->is_executable &&
           (is_in_library(space, w[-4]) || is_in_library(space, w[-6]));
}

/* --- what they describe ----------------------------------------------------------------------- */

static int take_boundaries(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                           const uint64_t *w)
{
    bool is_range = is_aligned(w[1]) && w[1] > w[0] && w[1] <= VA_END;
    return is_range && hs_mapping_rows_cover(rows, w[0], w[1]) &&
                   (is_virtual_space(w) || is_g1_space(w) || is_parallel_space(rows->space, w))
               ? add(spaces, w[0], w[1], HS_JVM_SPACE_OTHER)
               : 0;
}

static int take_node(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                     const uint64_t *w)
{
    bool is_range = is_aligned(w[1]) && w[1] > 0 && w[1] <= VA_END - w[0];
    return is_range && is_node(w) && hs_mapping_rows_cover(rows, w[0], w[0] + w[1])
               ? add(spaces, w[0], w[0] + w[1],
                     w[1] == NODE_BYTES ? HS_JVM_SPACE_METASPACE : HS_JVM_SPACE_CLASSES)
               : 0;
}

static int take_cards(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                      const uint64_t *w)
{
    const uint64_t *heap = heap_of_cards(w);
    uint64_t heap_end_va = heap ? heap[0] + heap[1] * WORD_BYTES : 0;
    if (!heap || !hs_mapping_rows_cover(rows, heap[0], heap_end_va) || w[-1] > VA_END - w[0] ||
        !hs_mapping_rows_cover(rows, w[0], w[0] + w[-1])) {
        return 0;
    }
    int r = add(spaces, w[0], w[0] + w[-1], HS_JVM_SPACE_OTHER);
    return r == 0 ? add(spaces, heap[0], heap_end_va, HS_JVM_SPACE_HEAP) : r;
}

static int take_heap(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                     const uint64_t *w)
{
    uint64_t end_va = w[0] + w[1] * WORD_BYTES;
    return is_collected_heap(rows->space, w) && hs_mapping_rows_cover(rows, w[0], end_va)
               ? add(spaces, w[0], end_va, HS_JVM_SPACE_HEAP)
               : 0;
}

int hs_jvm_spaces_take(struct hs_jvm_spaces *spaces, const struct hs_mapping_rows *rows,
                       const uint64_t *words)
{
    const uint64_t *w = words + HS_JVM_WORDS_BEFORE;
    if (!is_aligned(w[0]) || w[0] == 0 || w[0] >= VA_END) {
        return 0;
    }
    int r = take_boundaries(spaces, rows, w);
    r = r == 0 ? take_node(spaces, rows, w) : r;
    r = r == 0 ? take_cards(spaces, rows, w) : r;
    return r == 0 ? take_heap(spaces, rows, w) : r;
}

/* --- the search ------------------------------------------------------------------------------- */

#define CONTEXT_WORDS (HS_JVM_WORDS_BEFORE + HS_JVM_WORDS_BEHIND)

struct search {
    struct hs_jvm_spaces *spaces;
    const struct hs_mapping_rows *rows;
    /* The last words of the piece before, and the first ones of the next: an object can lie in
     * two. */
    uint64_t seam[2 * CONTEXT_WORDS];
};

static int take_all(struct search *search, const uint64_t *words, size_t word_count)
{
    int r = 0;
    for (size_t i = 0; i + CONTEXT_WORDS <= word_count && r == 0; i++) {
        r = is_aligned(words[i + HS_JVM_WORDS_BEFORE])
                ? hs_jvm_spaces_take(search->spaces, search->rows, words + i)
                : 0;
    }
    return r;
}

static int take_piece(void *ctx, const uint64_t *words, size_t word_count)
{
    struct search *search = ctx;
    memcpy(search->seam + CONTEXT_WORDS, words, CONTEXT_WORDS * sizeof(words[0]));
    int r = take_all(search, search->seam + 1, 2 * CONTEXT_WORDS - 2);
    memcpy(search->seam, words + word_count - CONTEXT_WORDS, CONTEXT_WORDS * sizeof(words[0]));
    return r == 0 ? take_all(search, words, word_count) : r;
}

/* Memory of malloc, of the JVM's data, and what nobody owns yet. */
static bool may_have_objects(const struct hs_address_space *space, const struct hs_mapping *mapping,
                             const struct hs_owned_ranges *owned)
{
    const struct hs_owned_range *owner = hs_owned_ranges_find(owned, mapping->start_va);
    return mapping->is_writable && !mapping->is_executable && mapping->rss_bytes > 0 &&
           (!owner || owner->kind == HS_OWNED_ELSEWHERE) &&
           (hs_mapping_is_plain(space, mapping) ||
            (!mapping->is_shared && strstr(hs_mapping_path(space, mapping), "/libjvm.so")));
}

int hs_jvm_spaces_find(const struct hs_remote_window *window, int pagemap_fd,
                       const struct hs_mapping_rows *rows, const struct hs_owned_ranges *owned,
                       struct hs_jvm_spaces *ret_spaces)
{
    struct search search = { .spaces = ret_spaces, .rows = rows };
    uint64_t left_bytes = ALL_BYTES_MAX;
    int r = 0;
    for (size_t i = 0; i < rows->space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &rows->space->items[i];
        uint64_t bytes = left_bytes < MAPPING_BYTES_MAX ? left_bytes : MAPPING_BYTES_MAX;
        struct hs_memory_scan scan = { .window = window,
                                       .pagemap_fd = pagemap_fd,
                                       .bytes_left = bytes,
                                       .take = take_piece,
                                       .ctx = &search };
        if (may_have_objects(rows->space, mapping, owned)) {
            uint64_t end_va = mapping->start_va + LOOKED_UP_BYTES;
            r = hs_memory_scan(&scan, mapping->start_va,
                               mapping->end_va < end_va ? mapping->end_va : end_va);
            left_bytes -= bytes - scan.bytes_left;
        }
    }
    return r;
}

void hs_jvm_spaces_deinit(struct hs_jvm_spaces *spaces)
{
    free(spaces->items);
    *spaces = (struct hs_jvm_spaces){ 0 };
}
