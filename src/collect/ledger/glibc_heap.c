/*
 * Reads the heap of glibc's malloc: see glibc_heap.h.
 */
#include "collect/ledger/glibc_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ledger/glibc_arena.h"
#include "collect/ledger/glibc_free_lists.h"
#include "collect/ledger/glibc_sample.h"
#include "collect/ledger/glibc_walk.h"
#include "collect/ledger/remote_window.h"
#include "collect/ledger/residency.h"
#include "util/array.h"

#define HEAPS_MAX       65536U
#define CHUNK_ALIGN(va) (((va) + HS_GLIBC_CHUNK_HEAD - 1) & ~(uint64_t)(HS_GLIBC_CHUNK_HEAD - 1))

/* Of a heap that is sampled. */
#define USED_CHUNKS_SAMPLED_MAX (UINT32_C(1) << 17)

/* A piece, with the pages that are resident. */
struct walked {
    struct hs_glibc_piece piece;
    bool is_first; /* of its arena */
    struct hs_residency residency;
};

struct reading {
    struct hs_remote_window window;
    int pagemap_fd;
    struct hs_residency data_residency; /* of glibc's writable data */
    struct hs_glibc_links links;
    struct hs_glibc_arenas arenas;
    struct hs_glibc_free_lists fast;
    struct hs_glibc_sample sample;
    struct hs_glibc_wanted wanted; /* chunks that may contain the lists of a thread */
    struct walked *walked;
    size_t walked_count, walked_capacity;
    const struct hs_address_space *space;
    struct hs_glibc_heap *heap;
};

/* struct heap_info: the start of each heap of an arena that is not the main one. */
struct heap_info {
    uint64_t arena_va;
    uint64_t prev_va;
    uint64_t size_bytes;
};

static void look_up(struct hs_va_range *range, const struct hs_residency *residency)
{
    range->rss_bytes = hs_residency_bytes(residency, range->start_va, range->end_va);
    range->swap_bytes = hs_residency_swap_bytes(residency, range->start_va, range->end_va);
}

static void add_sum(struct hs_malloc_sum *sum, const struct hs_residency *residency,
                    uint64_t start_va, uint64_t end_va)
{
    sum->count++;
    sum->bytes += end_va - start_va;
    sum->resident_bytes += hs_residency_bytes(residency, start_va, end_va);
    sum->swap_bytes += hs_residency_swap_bytes(residency, start_va, end_va);
}

/* Walks over all of a piece, or over a sample of it. */
static void walk(struct reading *reading, const struct walked *walked)
{
    const struct hs_glibc_piece *piece = &walked->piece;
    const struct hs_glibc_free_lists *fast = &reading->fast;
    struct hs_malloc_space *space = &reading->heap->space;
    uint64_t end_va = piece->has_top ? piece->top_va : piece->end_va;
    if (reading->sample.shift > 0 && end_va > piece->start_va &&
        end_va - piece->start_va >= HS_GLIBC_SAMPLED_PIECE_MIN &&
        hs_glibc_walk_parts(&reading->window, &walked->residency, piece, fast->items, fast->count,
                            &reading->wanted, &reading->sample, space)) {
        return;
    }
    hs_glibc_walk(&reading->window, &walked->residency, piece, fast->items, fast->count,
                  &reading->wanted, space);
}

/* Walks over a piece that is part of the range [range_va, end_va): what is before it is malloc's
 * own. */
static int walk_piece(struct reading *reading, uint64_t range_va, bool is_first,
                      const struct hs_glibc_piece *piece)
{
    int r = hs_array_reserve(&reading->walked, &reading->walked_capacity, reading->walked_count + 1,
                             sizeof(reading->walked[0]));
    if (r < 0) {
        return r;
    }
    struct walked *walked = &reading->walked[reading->walked_count];
    walked->piece = *piece;
    walked->is_first = is_first;
    r = hs_residency_read(reading->pagemap_fd, range_va, piece->end_va, &walked->residency);
    if (r < 0) {
        return r;
    }
    reading->walked_count++;
    struct hs_malloc_space *space = &reading->heap->space;
    if (piece->start_va > range_va) {
        add_sum(&space->sums[HS_MALLOC_INTERNAL], &walked->residency, range_va, piece->start_va);
    }
    if (walked->is_first && reading->wanted.used && piece->start_va > range_va) {
        hs_used_chunks_add(reading->wanted.used, range_va,
                           (piece->start_va - range_va) | HS_USED_IS_OWN);
    }
    walk(reading, walked);
    struct hs_va_ranges *arenas = &reading->heap->arenas;
    r = reading->wanted.err < 0 ? reading->wanted.err : reading->sample.err;
    r = r < 0 ? r : hs_va_ranges_add(arenas, range_va, piece->end_va);
    if (r == 0) {
        look_up(&arenas->items[arenas->count - 1], &walked->residency);
    }
    return r;
}

/* Is it memory of the process, and so small that it can be memory of malloc's? */
static bool is_mapped(const struct reading *reading, uint64_t start_va, uint64_t end_va)
{
    const struct hs_mapping *first = hs_address_space_find(reading->space, start_va);
    const struct hs_mapping *last = hs_address_space_find(reading->space, end_va - 1);
    for (; first && last && first < last; first++) {
        if (first[1].start_va != first->end_va) {
            return false;
        }
    }
    return first && last && start_va < end_va;
}

/* Where the mappings from `start_va` on end that follow each other without a gap; 0: none is
 * there. */
static uint64_t mapped_end(const struct reading *reading, uint64_t start_va)
{
    const struct hs_mapping *mapping = hs_address_space_find(reading->space, start_va);
    const struct hs_mapping *end = reading->space->items + reading->space->count;
    while (mapping && mapping + 1 < end && mapping[1].start_va == mapping->end_va) {
        mapping++;
    }
    return mapping ? mapping->end_va : 0;
}

/*
 * Where the main arena begins and ends: its end minus what it has got from the kernel, if these are
 * of one moment. Otherwise it begins where the kernel's heap does, unless the program has used brk
 * before its first allocation; the walk over it then finds no chunk. False: it has no memory.
 */
static bool find_main(const struct reading *reading, const struct hs_glibc_arena *arena,
                      uint64_t *ret_start_va, uint64_t *ret_end_va)
{
    uint64_t end_va = arena->top_va + arena->top_bytes;
    const struct hs_mapping *mapping = hs_address_space_find(reading->space, arena->top_va);
    for (size_t i = 0; !mapping && !arena->is_steady && i < reading->space->count; i++) {
        /* It has grown since the mappings were read. */
        const struct hs_mapping *at = &reading->space->items[i];
        mapping = strcmp(hs_mapping_path(reading->space, at), "[heap]") == 0 ? at : NULL;
    }
    while (mapping && !arena->is_steady && mapping > reading->space->items &&
           mapping[-1].end_va == mapping->start_va &&
           strcmp(hs_mapping_path(reading->space, &mapping[-1]), "[heap]") == 0) {
        mapping--;
    }
    *ret_start_va = CHUNK_ALIGN(end_va - arena->system_bytes);
    *ret_end_va = end_va;
    if (!arena->is_steady && mapping) {
        *ret_start_va = CHUNK_ALIGN(mapping->start_va);
        *ret_end_va = mapping->start_va + arena->system_bytes;
    }
    return arena->top_va != 0 && (!arena->is_steady || arena->system_bytes <= end_va);
}

static int walk_main(struct reading *reading, const struct hs_glibc_arena *arena)
{
    uint64_t start_va, end_va;
    if (!find_main(reading, arena, &start_va, &end_va)) {
        return 0;
    }
    uint64_t mapped_end_va = mapped_end(reading, start_va);
    /* The arena may have grown since the mappings were read. */
    end_va = mapped_end_va > start_va && mapped_end_va < end_va ? mapped_end_va : end_va;
    const struct hs_glibc_piece piece = {
        .start_va = start_va,
        .end_va = end_va,
        .is_main = true,
        .arena_va = arena->va,
        .has_top = arena->top_va < end_va,
        .top_va = arena->top_va,
    };
    return is_mapped(reading, piece.start_va, end_va)
               ? walk_piece(reading, piece.start_va, true, &piece)
               : -EPROTO;
}

/* Walks over the heaps of another arena: from the one with its top back to the first. */
static int walk_heaps(struct reading *reading, const struct hs_glibc_arena *arena)
{
    struct heap_info info;
    uint64_t first_bytes = arena->va % HS_GLIBC_HEAP_BYTES_MAX;
    uint64_t heap_va = arena->top_va - arena->top_va % HS_GLIBC_HEAP_BYTES_MAX;
    for (size_t i = 0; heap_va != 0 && i < HEAPS_MAX; i++, heap_va = info.prev_va) {
        if (!hs_remote_window_peek(&reading->window, heap_va, &info, sizeof(info)) ||
            info.arena_va != arena->va || info.size_bytes > HS_GLIBC_HEAP_BYTES_MAX ||
            heap_va % HS_GLIBC_HEAP_BYTES_MAX != 0) {
            return -EPROTO;
        }
        bool is_first = heap_va == arena->va - first_bytes;
        struct hs_glibc_piece piece = {
            .start_va =
                is_first ? CHUNK_ALIGN(arena->va + HS_GLIBC_ARENA_BYTES) : heap_va + first_bytes,
            .end_va = heap_va + info.size_bytes,
            .arena_va = arena->va,
            .has_top = i == 0,
            .top_va = arena->top_va,
        };
        int r = piece.start_va < piece.end_va && reading->walked_count < HEAPS_MAX &&
                        is_mapped(reading, heap_va, piece.end_va)
                    ? walk_piece(reading, heap_va, is_first, &piece)
                    : -EPROTO;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static void choose_sample(struct reading *reading, const struct hs_live_blocks *blocks)
{
    uint64_t heap_bytes = 0;
    for (size_t i = 0; i < reading->arenas.count; i++) {
        heap_bytes += reading->arenas.items[i].system_bytes;
    }
    hs_glibc_sample_choose(&reading->sample, heap_bytes, blocks);
    if (reading->sample.shift > 0 && reading->wanted.used) {
        hs_used_chunks_thin(reading->wanted.used, reading->sample.shift);
        reading->wanted.used->count_max = USED_CHUNKS_SAMPLED_MAX;
    }
}

static int walk_arenas(struct reading *reading)
{
    for (size_t i = 0; i < reading->arenas.count; i++) {
        int r = hs_glibc_free_lists_add_fast(&reading->window, &reading->links,
                                             &reading->arenas.items[i], &reading->fast);
        if (r < 0) {
            return r;
        }
    }
    hs_glibc_free_lists_sort(&reading->fast);
    for (size_t i = 0; i < reading->arenas.count; i++) {
        const struct hs_glibc_arena *arena = &reading->arenas.items[i];
        int r = arena->is_main ? walk_main(reading, arena) : walk_heaps(reading, arena);
        if (r < 0) {
            return r;
        }
    }
    if (reading->sample.part_count > 0) {
        hs_glibc_sample_finish(&reading->sample, &reading->heap->space);
    }
    reading->heap->space.arena_count = (uint32_t)reading->arenas.count;
    reading->heap->is_free_cut = reading->fast.is_cut;
    return 0;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct hs_va_range *left = a, *right = b;
    return left->start_va < right->start_va ? -1 : left->start_va > right->start_va;
}

static int compare_walked(const void *a, const void *b)
{
    const struct walked *left = a, *right = b;
    return left->piece.start_va < right->piece.start_va
               ? -1
               : left->piece.start_va > right->piece.start_va;
}

/* The pieces are sorted. */
static const struct walked *find_walked(const struct reading *reading, uint64_t va)
{
    size_t low = 0, high = reading->walked_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reading->walked[middle].piece.end_va <= va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < reading->walked_count && reading->walked[low].piece.start_va <= va
               ? &reading->walked[low]
               : NULL;
}

static void subtract(struct hs_malloc_sum *sum, const struct hs_malloc_sum *less)
{
    sum->count -= less->count < sum->count ? less->count : sum->count;
    sum->bytes -= less->bytes < sum->bytes ? less->bytes : sum->bytes;
    sum->resident_bytes -=
        less->resident_bytes < sum->resident_bytes ? less->resident_bytes : sum->resident_bytes;
    sum->swap_bytes -= less->swap_bytes < sum->swap_bytes ? less->swap_bytes : sum->swap_bytes;
}

/* The chunks in the lists of threads were counted as in use. */
static int count_cached(struct reading *reading)
{
    struct hs_glibc_free_lists cached = { 0 };
    struct hs_malloc_sum *sums = reading->heap->space.sums;
    struct hs_malloc_sum *cached_sum = &sums[HS_MALLOC_CACHED];
    int r = 0;
    if (reading->walked_count > 1) {
        qsort(reading->walked, reading->walked_count, sizeof(reading->walked[0]), compare_walked);
    }
    for (size_t i = 0; i < reading->wanted.count && r == 0; i++) {
        r = hs_glibc_free_lists_add_thread(&reading->window, &reading->links,
                                           reading->wanted.chunk_va[i], &cached);
    }
    for (size_t i = 0; i < cached.count; i++) {
        const struct hs_glibc_hidden *chunk = &cached.items[i];
        const struct walked *walked = find_walked(reading, chunk->va);
        if (walked) {
            add_sum(cached_sum, &walked->residency, chunk->va, chunk->va + chunk->size_bytes);
        }
        if (walked && reading->wanted.used) {
            hs_used_chunks_add_cached(reading->wanted.used, chunk->va);
        }
    }
    subtract(&sums[HS_MALLOC_IN_USE], cached_sum);
    reading->heap->is_free_cut |= cached.is_cut || reading->wanted.is_cut;
    hs_glibc_free_lists_deinit(&cached);
    return r;
}

/* Begins or ends a search through glibc's writable data. */
static void search_data(struct reading *reading, bool is_begin)
{
    reading->window.residency = is_begin ? &reading->data_residency : NULL;
    hs_remote_window_search(&reading->window, is_begin);
}

static void keep_large(struct hs_used_chunks *used, const struct hs_va_range *range,
                       const struct hs_residency *residency)
{
    if (used) {
        hs_used_chunks_add_large(used, &(struct hs_used_large){
                                           .start_va = range->start_va,
                                           .end_va = range->end_va,
                                           .resident_bytes = hs_residency_bytes(
                                               residency, range->start_va, range->end_va),
                                       });
    }
}

static int count_mmapped(struct reading *reading, const struct hs_glibc_place *place,
                         const struct hs_live_blocks *blocks)
{
    const struct hs_glibc_arena *arena = &reading->arenas.items[0];
    struct hs_glibc_heap *heap = reading->heap;
    search_data(reading, true);
    const struct hs_glibc_mmapped_search search = {
        .window = &reading->window,
        .pagemap_fd = reading->pagemap_fd,
        .space = reading->space,
        .arenas = &heap->arenas,
        .blocks = blocks,
        .sum = hs_glibc_mmapped_sum_read(&reading->window, place->data_va, place->data_end_va,
                                         arena->top_va + arena->top_bytes - arena->system_bytes),
    };
    search_data(reading, false);
    int r = hs_glibc_mmapped_find(&search, &heap->mmapped);
    for (size_t i = 0; i < heap->mmapped.count && r == 0; i++) {
        struct hs_va_range *range = &heap->mmapped.items[i];
        struct hs_residency residency;
        r = hs_residency_read(reading->pagemap_fd, range->start_va, range->end_va, &residency);
        if (r == 0) {
            add_sum(&heap->space.sums[HS_MALLOC_MMAPPED], &residency, range->start_va,
                    range->end_va);
            look_up(range, &residency);
            keep_large(reading->wanted.used, range, &residency);
            hs_residency_deinit(&residency);
        }
    }
    return r;
}

/* Two arenas of one piece of memory are no arenas. */
static bool are_apart(struct hs_va_ranges *ranges)
{
    if (ranges->count > 1) {
        qsort(ranges->items, ranges->count, sizeof(ranges->items[0]), compare_ranges);
    }
    for (size_t i = 1; i < ranges->count; i++) {
        if (ranges->items[i].start_va < ranges->items[i - 1].end_va) {
            return false;
        }
    }
    return true;
}

static int read_heap(struct reading *reading, const struct hs_glibc_place *place,
                     const struct hs_live_blocks *blocks)
{
    int r = hs_residency_read(reading->pagemap_fd, place->data_va, place->data_end_va,
                              &reading->data_residency);
    if (r < 0) {
        return r;
    }
    search_data(reading, true);
    uint64_t main_va = hs_glibc_arena_find(&reading->window, place->data_va, place->data_end_va);
    search_data(reading, false);
    if (main_va == 0) {
        return -ENOENT;
    }
    r = hs_glibc_arenas_read(&reading->window, main_va, &reading->arenas);
    if (r == 0) {
        choose_sample(reading, blocks);
        r = walk_arenas(reading);
    }
    r = r == 0 && !are_apart(&reading->heap->arenas) ? -EPROTO : r;
    r = r == 0 ? count_cached(reading) : r;
    return r == 0 ? count_mmapped(reading, place, blocks) : r;
}

/* Hands over the pieces, with what is resident of them. */
static void give_pieces(struct reading *reading, struct hs_used_chunks *used)
{
    for (size_t i = 0; i < reading->walked_count; i++) {
        struct walked *walked = &reading->walked[i];
        hs_used_chunks_add_piece(used, &(struct hs_used_piece){
                                           .start_va = walked->residency.start_va,
                                           .end_va = walked->piece.end_va,
                                           .is_main = walked->piece.is_main,
                                           .has_top = walked->piece.has_top,
                                           .is_first = walked->is_first,
                                           .residency = walked->residency,
                                       });
    }
    reading->walked_count = 0;
}

static void end_reading(struct reading *reading)
{
    hs_residency_deinit(&reading->data_residency);
    for (size_t i = 0; i < reading->walked_count; i++) {
        hs_residency_deinit(&reading->walked[i].residency);
    }
    free(reading->walked);
    free(reading->wanted.chunk_va);
    hs_glibc_sample_deinit(&reading->sample);
    hs_glibc_free_lists_deinit(&reading->fast);
    hs_glibc_arenas_deinit(&reading->arenas);
    hs_remote_window_close(&reading->window);
    if (reading->pagemap_fd >= 0) {
        close(reading->pagemap_fd);
    }
}

int hs_glibc_heap_read(pid_t pid, const struct hs_address_space *space,
                       const struct hs_glibc_place *place, const struct hs_live_blocks *blocks,
                       struct hs_used_chunks *used, struct hs_glibc_heap *ret_heap)
{
    struct hs_glibc_heap heap = { .is_free_cut = false };
    struct reading reading = { .space = space, .heap = &heap, .pagemap_fd = -1 };
    if (!hs_glibc_links_of(place->major, place->minor, &reading.links)) {
        return -ENOTSUP;
    }
    reading.wanted.size_bytes = reading.links.thread_chunk_bytes;
    reading.wanted.used = used;
    int r = hs_remote_window_open(pid, &reading.window);
    if (r < 0) {
        return r;
    }
    reading.window.has_shared_pages = hs_address_space_is_forked(space);
    r = reading.pagemap_fd = hs_residency_open(pid);
    r = r >= 0 ? read_heap(&reading, place, blocks) : r;
    r = r == -EFBIG ? -EPROTO : r;
    heap.copied_bytes = reading.window.copied_bytes;
    if (r == 0 && used) {
        give_pieces(&reading, used);
    }
    end_reading(&reading);
    if (r < 0) {
        hs_glibc_heap_deinit(&heap);
        return r;
    }
    *ret_heap = heap;
    return 0;
}

void hs_glibc_heap_deinit(struct hs_glibc_heap *heap)
{
    hs_va_ranges_deinit(&heap->arenas);
    hs_va_ranges_deinit(&heap->mmapped);
}
