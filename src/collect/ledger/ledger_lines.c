/*
 * Sorts mappings into lines: see ledger_lines.h.
 */
#include "collect/ledger/ledger_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "util/array.h"

int hs_ledger_lines_add(struct hs_ledger_lines *lines, const struct hs_ledger_line *line,
                        const char *name)
{
    int r = hs_array_reserve(&lines->items, &lines->capacity, lines->count + 1,
                             sizeof(lines->items[0]));
    char *copy = r == 0 ? strdup(name) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    lines->items[lines->count] = *line;
    lines->items[lines->count++].name = copy;
    return 0;
}

int hs_ledger_lines_add_malloc(struct hs_ledger_lines *lines, const struct hs_malloc_space *space,
                               double pss_share)
{
    static const enum hs_ledger_kind kinds[HS_MALLOC_STATE_N] = {
        [HS_MALLOC_IN_USE] = HS_LEDGER_MALLOC_USED,
        [HS_MALLOC_MMAPPED] = HS_LEDGER_MALLOC_LARGE,
        [HS_MALLOC_BINNED] = HS_LEDGER_MALLOC_BINNED,
        [HS_MALLOC_FAST] = HS_LEDGER_MALLOC_FAST,
        [HS_MALLOC_CACHED] = HS_LEDGER_MALLOC_CACHED,
        [HS_MALLOC_TOP] = HS_LEDGER_MALLOC_TOP,
        [HS_MALLOC_INTERNAL] = HS_LEDGER_MALLOC_INTERNAL,
        [HS_MALLOC_UNREADABLE] = HS_LEDGER_MALLOC_UNREAD,
    };
    for (size_t i = 0; i < HS_MALLOC_STATE_N; i++) {
        const struct hs_malloc_sum *sum = &space->sums[i];
        const struct hs_ledger_line line = {
            .kind = kinds[i],
            .count = sum->count,
            .size_bytes = sum->bytes,
            .rss_bytes = sum->resident_bytes,
            .pss_bytes = (uint64_t)((double)sum->resident_bytes * pss_share),
            .swap_bytes = sum->swap_bytes,
            .rss_margin_bytes = sum->margin_bytes,
        };
        int r = sum->bytes > 0 ? hs_ledger_lines_add(lines, &line, "") : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* --- what a mapping is ------------------------------------------------------------------------ */

struct modules {
    const char **paths; /* of files with executable mappings, sorted */
    size_t count;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int find_modules(const struct hs_address_space *space, struct modules *modules)
{
    modules->paths = calloc(space->count + 1, sizeof(modules->paths[0]));
    if (!modules->paths) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < space->count; i++) {
        if (space->items[i].is_executable && space->items[i].inode != 0) {
            modules->paths[modules->count++] = hs_mapping_path(space, &space->items[i]);
        }
    }
    qsort(modules->paths, modules->count, sizeof(modules->paths[0]), compare_paths);
    return 0;
}

static bool is_module(const struct modules *modules, const char *path)
{
    return modules->count > 0 && bsearch(&path, modules->paths, modules->count,
                                         sizeof(modules->paths[0]), compare_paths) != NULL;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool hs_ledger_is_recorder(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return begins(path, "/memfd:heapscope") || begins(name, "libheapscope_preload.so") ||
           begins(name, "memfd:libheapscope_preload.so");
}

static bool is_shared_memory(const struct hs_mapping *mapping, const char *path)
{
    static const char *const prefixes[] = { "/memfd:", "/dev/shm/", "/dev/zero", "/SYSV",
                                            "[anon_shmem:" };
    for (size_t i = 0; i < HS_COUNT_OF(prefixes); i++) {
        if (begins(path, prefixes[i])) {
            return true;
        }
    }
    return mapping->inode == 0 && mapping->is_shared;
}

/* The kind of a mapping that is no module's. */
static enum hs_ledger_kind kind_of(const struct hs_mapping *mapping, const char *path)
{
    if (hs_ledger_is_recorder(path)) {
        return HS_LEDGER_RECORDER;
    }
    if (is_shared_memory(mapping, path)) {
        return HS_LEDGER_SHARED;
    }
    if (strcmp(path, "[heap]") == 0) {
        return HS_LEDGER_BRK;
    }
    if (strcmp(path, "[stack]") == 0) {
        return HS_LEDGER_STACK;
    }
    if (mapping->inode != 0) {
        return HS_LEDGER_FILE;
    }
    return path[0] == '\0' || begins(path, "[anon:") ? HS_LEDGER_ANONYMOUS : HS_LEDGER_KERNEL;
}

/* --- lines of mappings ------------------------------------------------------------------------ */

static uint64_t less(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static struct hs_ledger_line rest_of(const struct hs_mapping *mapping,
                                     const struct hs_mapping_claim *claim)
{
    return (struct hs_ledger_line){
        .count = 1,
        .size_bytes = less(mapping->end_va - mapping->start_va, claim->size_bytes),
        .rss_bytes = less(mapping->rss_bytes, claim->rss_bytes),
        .pss_bytes = less(mapping->pss_bytes, claim->pss_bytes),
        .swap_bytes = less(mapping->swap_bytes, claim->swap_bytes),
    };
}

/* A module's mapping: pages as in its file, and pages that differ from it. */
static int add_module(struct hs_ledger_lines *lines, const struct hs_mapping *mapping,
                      const char *path)
{
    struct hs_ledger_line line = rest_of(mapping, &(struct hs_mapping_claim){ 0 });
    uint64_t own_bytes =
        mapping->anonymous_bytes < line.rss_bytes ? mapping->anonymous_bytes : line.rss_bytes;
    struct hs_ledger_line data = line;
    bool is_data = mapping->is_writable;
    data.kind = HS_LEDGER_DATA;
    data.rss_bytes = own_bytes;
    /* Of what processes share, only file pages are left: the rest is counted as its own. */
    data.pss_bytes = own_bytes < line.pss_bytes ? own_bytes : line.pss_bytes;
    data.size_bytes = is_data ? line.size_bytes : own_bytes;
    data.count = is_data ? 1 : 0;
    line.kind = HS_LEDGER_CODE;
    line.rss_bytes -= own_bytes;
    line.pss_bytes -= data.pss_bytes;
    line.size_bytes = is_data ? line.rss_bytes : line.size_bytes;
    line.swap_bytes = 0;
    line.count = is_data ? 0 : 1;
    int r = hs_ledger_lines_add(lines, &line, path);
    return r < 0 ? r : hs_ledger_lines_add(lines, &data, path);
}

static const struct hs_thread_stack *stack_at(const struct hs_thread_stacks *stacks, uint64_t va,
                                              size_t *at)
{
    while (*at < stacks->count && stacks->items[*at].start_va < va) {
        ++*at;
    }
    return *at < stacks->count && stacks->items[*at].start_va == va ? &stacks->items[*at] : NULL;
}

static int add_other(struct hs_ledger_lines *lines, const char *path,
                     const struct hs_mapping *mapping, const struct hs_mapping_claim *claim,
                     const char *main_thread)
{
    struct hs_ledger_line line = rest_of(mapping, claim);
    if (line.size_bytes == 0 && line.rss_bytes == 0) {
        return 0;
    }
    line.kind = kind_of(mapping, path);
    const char *name = line.kind == HS_LEDGER_STACK                                    ? main_thread
                       : line.kind == HS_LEDGER_BRK || line.kind == HS_LEDGER_RECORDER ? ""
                                                                                       : path;
    return hs_ledger_lines_add(lines, &line, name);
}

int hs_ledger_lines_add_mappings(struct hs_ledger_lines *lines,
                                 const struct hs_address_space *space,
                                 const struct hs_mapping_claim *claims,
                                 const struct hs_thread_stacks *stacks, const char *main_thread)
{
    struct modules modules = { 0 };
    size_t stack_idx = 0;
    int r = find_modules(space, &modules);
    for (size_t i = 0; i < space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        const char *path = hs_mapping_path(space, mapping);
        const struct hs_thread_stack *stack = stack_at(stacks, mapping->start_va, &stack_idx);
        if (stack) {
            struct hs_ledger_line line = rest_of(mapping, &claims[i]);
            line.kind = HS_LEDGER_STACK;
            r = hs_ledger_lines_add(lines, &line, stack->name);
        } else if (mapping->inode != 0 && !hs_ledger_is_recorder(path) &&
                   is_module(&modules, path)) {
            r = add_module(lines, mapping, path);
        } else {
            r = add_other(lines, path, mapping, &claims[i], main_thread);
        }
    }
    free(modules.paths);
    return r;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct hs_ledger_line *left = a, *right = b;
    return left->kind != right->kind ? (left->kind < right->kind ? -1 : 1)
                                     : strcmp(left->name, right->name);
}

static int compare_sums(const void *a, const void *b)
{
    const struct hs_ledger_line *left = a, *right = b;
    if (left->rss_bytes != right->rss_bytes) {
        return left->rss_bytes > right->rss_bytes ? -1 : 1;
    }
    return compare_names(a, b);
}

static void add_line(void *to, void *from)
{
    struct hs_ledger_line *sum = to, *line = from;
    sum->count += line->count;
    sum->size_bytes += line->size_bytes;
    sum->rss_bytes += line->rss_bytes;
    sum->pss_bytes += line->pss_bytes;
    sum->swap_bytes += line->swap_bytes;
    hs_ledger_blocks_add(&sum->blocks, &line->blocks);
    free(line->name);
}

void hs_ledger_lines_merge(struct hs_ledger_lines *lines)
{
    if (lines->count == 0) {
        return;
    }
    lines->count = hs_array_merge(lines->items, lines->count, sizeof(lines->items[0]),
                                  compare_names, add_line);
    qsort(lines->items, lines->count, sizeof(lines->items[0]), compare_sums);
}

void hs_ledger_lines_deinit(struct hs_ledger_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i].name);
    }
    free(lines->items);
    *lines = (struct hs_ledger_lines){ 0 };
}
