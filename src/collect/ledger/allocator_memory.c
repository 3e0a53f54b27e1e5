/*
 * Finds the memory of allocators: see allocator_memory.h.
 */
#include "collect/ledger/allocator_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/block_places.h"
#include "collect/ledger/mimalloc_segments.h"
#include "rt/base.h"
#include "trace/ledger.h"

#define PAGE_BYTES UINT64_C(4096)
/* Memory that the loader makes for thread-local variables contains pointers to an allocator's data
 * and back, and is smaller than anything that an allocator maps for blocks. */
#define POINTED_BYTES_MIN (UINT64_C(64) << 10)
#define DATA_BYTES_MAX    (UINT64_C(64) << 20)

static const char mimalloc_name[] = "mimalloc";

static const struct library {
    const char *prefix, *name;
    /* All of it lies where the library's data points to. jemalloc has tables for it. */
    bool is_pointed_to;
} libraries[] = {
    { "libjemalloc", "jemalloc", false },
    { "libmimalloc", mimalloc_name, true },
    { "libtcmalloc", "tcmalloc", true },
};

struct search {
    const struct hs_allocator_search *of;
    struct hs_owned_ranges *owned;
    struct hs_va_ranges gaps; /* memory without an owner */
    const char **names;       /* of the owner of each gap; NULL: it is not known */
    const struct library *library;
};

static const struct library *find_library(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < HS_COUNT_OF(libraries); i++) {
        if (slash && strncmp(slash + 1, libraries[i].prefix, strlen(libraries[i].prefix)) == 0) {
            return &libraries[i];
        }
    }
    return NULL;
}

/* --- what a library's data points to ---------------------------------------------------------- */

static int take_pointers(void *ctx, const uint64_t *words, size_t word_count)
{
    struct search *search = ctx;
    for (size_t i = 0; i < word_count; i++) {
        size_t gap = words[i] >= PAGE_BYTES ? hs_va_ranges_find(&search->gaps, words[i])
                                            : search->gaps.count;
        if (gap < search->gaps.count && !search->names[gap] &&
            search->gaps.items[gap].end_va - search->gaps.items[gap].start_va >=
                POINTED_BYTES_MIN) {
            search->names[gap] = search->library->name;
        }
    }
    return 0;
}

/* Where the zeroed data ends that may follow a mapping of a module. */
static uint64_t data_end(const struct search *search, uint64_t mapping_end_va)
{
    const struct hs_owned_range *zeroed = hs_owned_ranges_find(search->owned, mapping_end_va);
    return zeroed && zeroed->start_va == mapping_end_va && zeroed->kind == HS_OWNED_ELSEWHERE
               ? zeroed->end_va
               : mapping_end_va;
}

static int scan_libraries(struct search *search)
{
    struct hs_memory_scan scan = {
        .window = search->of->window,
        .pagemap_fd = search->of->pagemap_fd,
        .bytes_left = DATA_BYTES_MAX,
        .take = take_pointers,
        .ctx = search,
    };
    const struct hs_address_space *space = search->of->space;
    int r = 0;
    for (size_t i = 0; i < space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        const struct library *library = mapping->inode != 0 && mapping->is_writable
                                            ? find_library(hs_mapping_path(space, mapping))
                                            : NULL;
        if (library && library->is_pointed_to) {
            search->library = library;
            r = hs_memory_scan(&scan, mapping->start_va, data_end(search, mapping->end_va));
        }
    }
    hs_mimalloc_segments_find(search->of->window, search->of->pagemap_fd, &search->gaps,
                              mimalloc_name, search->names);
    return r;
}

/* --- recorded blocks -------------------------------------------------------------------------- */

static const char unnamed_malloc[] = "the program's malloc";

/* The name of what serves malloc; NULL: it is the C library, whose heap has lines of its own. Of an
 * allocator in the executable, the client may know the C library's module. */
static int malloc_name(const struct hs_allocator_search *search, const char **ret_name)
{
    const struct hs_region *region = search->region;
    uint32_t id = region->header.real_malloc_module;
    struct hs_module_v1 module;
    char *path = NULL;
    *ret_name = search->is_glibc_used ? NULL : unnamed_malloc;
    if (id == 0 || hs_region_read(region, HS_SECTION_MODULES, id - 1, 1, &module) < 0) {
        return 0;
    }
    int r = hs_region_read_text(region, module.path_off, PATH_MAX, &path);
    if (r == 0) {
        const struct library *library = find_library(path);
        *ret_name = library ? library->name : *ret_name;
    }
    free(path);
    return r;
}

/* Its blocks may lie in malloc's memory; its arenas are known by their pools. */
static bool is_python(const struct hs_heap_v2 *heap)
{
    return (heap->flags & HS_HEAP_NAMED) && strcmp(heap->name, HS_HEAP_NAME_PYTHON) == 0;
}

static int name_by_blocks(struct search *search)
{
    const struct hs_region *region = search->of->region;
    struct hs_heap_v2 *heaps = search->of->heaps;
    bool is_left_out[HS_REGION_HEAPS];
    const char *of_malloc = NULL;
    uint32_t *heap_ids = calloc(search->gaps.count + 1, sizeof(heap_ids[0]));
    int count = hs_region_read_heaps(region, heaps);
    int r = heap_ids && count >= 0 ? malloc_name(search->of, &of_malloc) : 0;
    if (!heap_ids || count < 0 || r < 0) {
        free(heap_ids);
        return heap_ids ? r : -ENOMEM;
    }
    for (unsigned i = 0; i < HS_REGION_HEAPS; i++) {
        heaps[i].name[sizeof(heaps[i].name) - 1] = '\0';
        is_left_out[i] = i == 0 ? !of_malloc
                                : !(heaps[i].flags & HS_HEAP_NAMED) ||
                                      (heaps[i].flags & HS_HEAP_CARVED) ||
                                      strcmp(heaps[i].name, HS_HEAP_NAME_MMAP) == 0;
        is_left_out[i] |= is_python(&heaps[i]);
    }
    r = hs_block_places_find(region, &search->gaps, is_left_out, heap_ids);
    r = r == -ENOMEM ? r : 0; /* without the records, no memory is named after them */
    for (size_t i = 0; i < search->gaps.count && r == 0; i++) {
        if (heap_ids[i] != HS_BLOCK_PLACE_NONE && !search->names[i]) {
            search->names[i] = heap_ids[i] == 0 ? of_malloc : heaps[heap_ids[i]].name;
        }
    }
    free(heap_ids);
    return r;
}

static int add_gaps(struct search *search)
{
    int r = 0;
    for (size_t i = 0; i < search->gaps.count && r == 0; i++) {
        if (search->names[i]) {
            r = hs_owned_ranges_add(
                search->owned, &(struct hs_owned_range){ .start_va = search->gaps.items[i].start_va,
                                                         .end_va = search->gaps.items[i].end_va,
                                                         .kind = HS_LEDGER_ALLOCATOR,
                                                         .name = search->names[i] });
        }
    }
    return r;
}

int hs_allocator_memory_find(const struct hs_allocator_search *of, struct hs_owned_ranges *owned)
{
    struct search search = { .of = of, .owned = owned };
    int r = hs_owned_ranges_gaps(owned, of->space, &search.gaps);
    search.names = r == 0 ? calloc(search.gaps.count + 1, sizeof(search.names[0])) : NULL;
    r = r == 0 && !search.names ? -ENOMEM : r;
    r = r == 0 ? scan_libraries(&search) : r;
    r = r == 0 && of->region ? name_by_blocks(&search) : r;
    r = r == 0 ? add_gaps(&search) : r;
    free(search.names);
    hs_va_ranges_deinit(&search.gaps);
    return r;
}
