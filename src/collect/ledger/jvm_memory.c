/*
 * Finds the memory of a JVM: see jvm_memory.h.
 */
#include "collect/ledger/jvm_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collect/ledger/jvm_perf_data.h"
#include "rt/base.h"
#include "trace/ledger.h"

#define PAGE_BYTES UINT64_C(4096)
/* JDK 16 and newer reserve metaspace in pieces of this size, at multiples of the second one. */
#define NODE_BYTES UINT64_C(0x4000000)
#define NODE_ALIGN UINT64_C(0x400000)
/* The smallest code cache; libraries that make small functions at run time take less. */
#define CODE_ROW_BYTES_MIN (UINT64_C(2) << 20)
/* Collectors that mark have a bit for each 8 bytes of the heap, in rows of this share of it. */
#define MARKS_SHARE 64U

static const char heap_name[] = "JVM heap";
static const char classes_name[] = "JVM class space";
static const char metaspace_name[] = "JVM metaspace";
static const char code_name[] = "JVM compiled code";
static const char other_name[] = "JVM internal memory";

/* Does a mapping end exactly `bytes` behind the start of mapping `i`, with no hole before? */
static bool is_row(const struct hs_mapping_rows *rows, size_t i, uint64_t bytes)
{
    const struct hs_mapping *first = &rows->space->items[i];
    if (bytes == 0 || bytes > rows->end_va[i] - first->start_va) {
        return false;
    }
    const struct hs_mapping *last = hs_address_space_find(rows->space, first->start_va + bytes - 1);
    return last && last->end_va == first->start_va + bytes;
}

static int add(struct hs_owned_ranges *owned, const char *name, uint64_t start_va, uint64_t end_va)
{
    const struct hs_owned_range range = { start_va, end_va, HS_LEDGER_RUNTIME, name };
    return hs_owned_ranges_add(owned, &range);
}

/* What can be accessed of private anonymous memory in [start_va, end_va). `*ret_is_pure`: nothing
 * else is there. */
static uint64_t committed_bytes(const struct hs_mapping_rows *rows, size_t i, uint64_t end_va,
                                bool *ret_is_pure)
{
    uint64_t bytes = 0;
    *ret_is_pure = true;
    for (; i < rows->space->count && rows->space->items[i].start_va < end_va; i++) {
        const struct hs_mapping *mapping = &rows->space->items[i];
        bool is_plain = hs_mapping_is_plain(rows->space, mapping) && !mapping->is_executable;
        *ret_is_pure = *ret_is_pure && is_plain;
        bytes += is_plain && mapping->is_writable ? mapping->end_va - mapping->start_va : 0;
    }
    return bytes;
}

static bool may_begin(const struct hs_mapping_rows *rows, const struct hs_owned_ranges *owned,
                      size_t i)
{
    const struct hs_mapping *mapping = &rows->space->items[i];
    return hs_mapping_is_plain(rows->space, mapping) && !mapping->is_executable &&
           !hs_owned_ranges_find(owned, mapping->start_va);
}

/* --- the heap --------------------------------------------------------------------------------- */

/* Collectors with regions publish the whole heap as the most that a generation can be, and some
 * bytes more, so that it is no number of pages; others divide it. */
static int add_heap(const struct hs_jvm_perf_data *data, const struct hs_mapping_rows *rows,
                    struct hs_owned_ranges *owned)
{
    const uint64_t *most = data->generation_max_bytes;
    uint64_t sum_bytes = (most[0] + most[1]) & ~(PAGE_BYTES - 1);
    uint64_t one_bytes = most[1] & ~(PAGE_BYTES - 1);
    bool has_regions = one_bytes != most[1];
    const uint64_t sizes[] = { has_regions ? one_bytes : sum_bytes,
                               has_regions ? sum_bytes : one_bytes };
    for (size_t n = 0; n < HS_COUNT_OF(sizes); n++) {
        for (size_t i = 0; i < rows->space->count; i++) {
            uint64_t start_va = rows->space->items[i].start_va;
            if (may_begin(rows, owned, i) && is_row(rows, i, sizes[n])) {
                return add(owned, heap_name, start_va, start_va + sizes[n]);
            }
        }
    }
    return 0;
}

/* --- the metaspace ---------------------------------------------------------------------------- */

/* The JVM publishes what is committed when it collects, and commits more afterwards. */
static bool may_be_now(uint64_t bytes, uint64_t published_bytes)
{
    return published_bytes > 0 && bytes >= published_bytes &&
           bytes - published_bytes <= published_bytes / 4 + (UINT64_C(2) << 20);
}

static int add_class_space(const struct hs_jvm_perf_data *data, const struct hs_mapping_rows *rows,
                           struct hs_owned_ranges *owned)
{
    uint64_t reserved_bytes = data->class_space_max_bytes;
    for (size_t i = 0; i < rows->space->count; i++) {
        uint64_t start_va = rows->space->items[i].start_va;
        bool is_pure;
        if (may_begin(rows, owned, i) && is_row(rows, i, reserved_bytes) &&
            may_be_now(committed_bytes(rows, i, start_va + reserved_bytes, &is_pure),
                       data->class_space_bytes) &&
            is_pure) {
            return add(owned, classes_name, start_va, start_va + reserved_bytes);
        }
    }
    return 0;
}

static bool is_node(const struct hs_mapping_rows *rows, const struct hs_owned_ranges *owned,
                    size_t i, uint64_t *ret_committed_bytes)
{
    uint64_t start_va = rows->space->items[i].start_va;
    bool is_pure = false;
    if (start_va % NODE_ALIGN != 0 || !may_begin(rows, owned, i) || !is_row(rows, i, NODE_BYTES)) {
        return false;
    }
    *ret_committed_bytes = committed_bytes(rows, i, start_va + NODE_BYTES, &is_pure);
    return is_pure && *ret_committed_bytes > 0;
}

/* All rows that could be pieces of the metaspace are, if together they are as large. */
static int add_metaspace(const struct hs_jvm_perf_data *data, const struct hs_mapping_rows *rows,
                         struct hs_owned_ranges *owned)
{
    uint64_t sum_bytes = 0, bytes;
    uint64_t wanted_bytes = data->metaspace_bytes - data->class_space_bytes;
    int r = 0;
    for (size_t i = 0; i < rows->space->count; i++) {
        sum_bytes += is_node(rows, owned, i, &bytes) ? bytes : 0;
    }
    if (data->metaspace_bytes <= data->class_space_bytes ||
        data->generation_max_bytes[1] / MARKS_SHARE == NODE_BYTES ||
        !may_be_now(sum_bytes, wanted_bytes)) {
        return 0;
    }
    for (size_t i = 0; i < rows->space->count && r == 0; i++) {
        if (is_node(rows, owned, i, &bytes)) {
            uint64_t start_va = rows->space->items[i].start_va;
            r = add(owned, metaspace_name, start_va, start_va + NODE_BYTES);
        }
    }
    return r;
}

/* --- compiled code ---------------------------------------------------------------------------- */

static int add_code(const struct hs_mapping_rows *rows, struct hs_owned_ranges *owned)
{
    int r = 0;
    for (size_t i = 0; i < rows->space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &rows->space->items[i];
        if (hs_mapping_is_plain(rows->space, mapping) && mapping->is_executable &&
            rows->end_va[i] - mapping->start_va >= CODE_ROW_BYTES_MIN) {
            r = add(owned, code_name, mapping->start_va, mapping->end_va);
        }
    }
    return r;
}

/* --- what the JVM's objects describe ---------------------------------------------------------- */

static const char *name_of(const struct hs_jvm_perf_data *data, const struct hs_jvm_space *space)
{
    static const char *const names[] = {
        [HS_JVM_SPACE_HEAP] = heap_name,
        [HS_JVM_SPACE_METASPACE] = metaspace_name,
        [HS_JVM_SPACE_CLASSES] = classes_name,
        [HS_JVM_SPACE_OTHER] = other_name,
    };
    bool is_classes = space->kind == HS_JVM_SPACE_METASPACE &&
                      space->end_va - space->start_va == data->class_space_max_bytes;
    return is_classes ? classes_name : names[space->kind];
}

/* What an object does not say what it is for can be a part of the heap or of compiled code, so it
 * comes last. */
static int add_spaces(const struct hs_jvm_perf_data *data, const struct hs_jvm_spaces *spaces,
                      bool has_purpose, struct hs_owned_ranges *owned)
{
    int r = 0;
    for (size_t i = 0; i < spaces->count && r == 0; i++) {
        const struct hs_jvm_space *space = &spaces->items[i];
        if ((space->kind != HS_JVM_SPACE_OTHER) == has_purpose) {
            r = add(owned, name_of(data, space), space->start_va, space->end_va);
        }
    }
    return r == 0 ? hs_owned_ranges_settle(owned) : r;
}

static bool has_kind(const struct hs_jvm_spaces *spaces, enum hs_jvm_space_kind kind)
{
    bool is_found = false;
    for (size_t i = 0; i < spaces->count; i++) {
        is_found = is_found || spaces->items[i].kind == kind;
    }
    return is_found;
}

/* --- the whole -------------------------------------------------------------------------------- */

int hs_jvm_memory_match(const struct hs_jvm_perf_data *data, const struct hs_jvm_spaces *spaces,
                        const struct hs_mapping_rows *rows, struct hs_owned_ranges *owned)
{
    int r = add_code(rows, owned);
    r = r == 0 ? add_spaces(data, spaces, true, owned) : r;
    r = r == 0 && !has_kind(spaces, HS_JVM_SPACE_HEAP) ? add_heap(data, rows, owned) : r;
    r = r == 0 ? hs_owned_ranges_settle(owned) : r; /* the heap is no piece of the metaspace */
    if (r == 0 && !has_kind(spaces, HS_JVM_SPACE_METASPACE)) {
        r = add_class_space(data, rows, owned);
        r = r == 0 ? hs_owned_ranges_settle(owned) : r;
        r = r == 0 ? add_metaspace(data, rows, owned) : r;
        r = r == 0 ? hs_owned_ranges_settle(owned) : r;
    }
    return r == 0 ? add_spaces(data, spaces, false, owned) : r;
}

/* Without such a file, the figures stay 0. */
static int read_perf_data(const struct hs_remote_window *window, const struct hs_mapping *mapping,
                          struct hs_jvm_perf_data *ret_data)
{
    uint64_t bytes = mapping->end_va - mapping->start_va;
    uint8_t *copy = bytes <= HS_JVM_PERF_BYTES_MAX ? malloc(bytes) : NULL;
    if (!copy) {
        return bytes <= HS_JVM_PERF_BYTES_MAX ? -ENOMEM : 0;
    }
    if (hs_remote_window_peek(window, mapping->start_va, copy, bytes)) {
        hs_jvm_perf_data_parse(copy, bytes, ret_data);
    }
    free(copy);
    return 0;
}

static int find(const struct hs_remote_window *window, int pagemap_fd,
                const struct hs_address_space *space, const struct hs_jvm_perf_data *data,
                struct hs_owned_ranges *owned)
{
    struct hs_mapping_rows rows;
    struct hs_jvm_spaces spaces = { 0 };
    int r = hs_mapping_rows_init(space, &rows);
    if (r < 0) {
        return r;
    }
    r = hs_jvm_spaces_find(window, pagemap_fd, &rows, owned, &spaces);
    r = r == 0 ? hs_jvm_memory_match(data, &spaces, &rows, owned) : r;
    hs_jvm_spaces_deinit(&spaces);
    hs_mapping_rows_deinit(&rows);
    return r;
}

int hs_jvm_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                       const struct hs_address_space *space, struct hs_owned_ranges *owned)
{
    struct hs_jvm_perf_data data = { .metaspace_bytes = 0 };
    bool is_jvm = false;
    int r = 0;
    for (size_t i = 0; i < space->count && r == 0; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        const char *path = mapping->inode != 0 ? hs_mapping_path(space, mapping) : "";
        is_jvm = is_jvm || (mapping->is_executable && strstr(path, "/libjvm.so"));
        if (strstr(path, "/hsperfdata_")) {
            r = read_perf_data(window, mapping, &data);
        }
    }
    return r == 0 && is_jvm ? find(window, pagemap_fd, space, &data, owned) : r;
}
