/*
 * collect/ledger/jvm_memory.h, jvm_perf_data.h, v8_memory.h and go_memory.h: memory of runtimes is
 * found by what they publish, or by what is there, and not otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/go_memory.h"
#include "collect/ledger/jvm_memory.h"
#include "collect/ledger/jvm_perf_data.h"
#include "collect/ledger/residency.h"
#include "collect/ledger/v8_memory.h"
#include "trace/ledger.h"

#define MIB UINT64_C(0x100000)

/* --- JVM -------------------------------------------------------------------------------------- */

/* The heap in two parts, a piece of metaspace, a class space, code, and rows of other sizes. */
static const char jvm_maps[] = "687400000-68f200000 rw-p 00000000 00:00 0 \n"
                               "68f200000-800000000 ---p 00000000 00:00 0 \n"
                               "7f1090000000-7f1093000000 rw-p 00000000 00:00 0 \n"
                               "7f1093000000-7f10931b0000 rw-p 00000000 00:00 0 \n"
                               "7f10931b0000-7f1097000000 ---p 00000000 00:00 0 \n"
                               "7f1098000000-7f1098040000 rw-p 00000000 00:00 0 \n"
                               "7f1098040000-7f10d8000000 ---p 00000000 00:00 0 \n"
                               "7f1101400000-7f1101670000 rwxp 00000000 00:00 0 \n"
                               "7f1101670000-7f1110400000 ---p 00000000 00:00 0 \n"
                               "7f1200000000-7f1200001000 rwxp 00000000 00:00 0 \n";

static struct hs_owned_ranges match_in(const char *maps, const struct hs_jvm_perf_data *data)
{
    struct hs_address_space space;
    struct hs_mapping_rows rows;
    const struct hs_jvm_spaces none = { 0 };
    struct hs_owned_ranges owned = { 0 };
    assert_int_equal(hs_address_space_parse(maps, strlen(maps), &space), 0);
    assert_int_equal(hs_mapping_rows_init(&space, &rows), 0);
    assert_int_equal(hs_jvm_memory_match(data, &none, &rows, &owned), 0);
    hs_mapping_rows_deinit(&rows);
    hs_address_space_deinit(&space);
    return owned;
}

static struct hs_owned_ranges match(const struct hs_jvm_perf_data *data)
{
    return match_in(jvm_maps, data);
}

static const char *name_at(const struct hs_owned_ranges *owned, uint64_t va)
{
    const struct hs_owned_range *range = hs_owned_ranges_find(owned, va);
    assert_true(!range || range->kind == HS_LEDGER_RUNTIME);
    return range ? range->name : "";
}

static void test_rows_of_published_sizes(void **state)
{
    (void)state;
    const struct hs_jvm_perf_data serial = {
        .generation_max_bytes = { 0x178c00000 - 0xfb2b0000, 0xfb2b0000 },
        .metaspace_bytes = 0x1b0000 + 0x40000,
        .class_space_bytes = 0x40000,
        .class_space_max_bytes = 1024 * MIB,
    };
    struct hs_owned_ranges owned = match(&serial);
    assert_string_equal(name_at(&owned, 0x687400000), "JVM heap");
    assert_string_equal(name_at(&owned, 0x7ffffffff), "JVM heap");
    assert_string_equal(name_at(&owned, 0x7f1093000000), "JVM metaspace");
    assert_string_equal(name_at(&owned, 0x7f1098000000), "JVM class space");
    assert_string_equal(name_at(&owned, 0x7f1101400000), "JVM compiled code");
    assert_string_equal(name_at(&owned, 0x7f1090000000), "");
    assert_string_equal(name_at(&owned, 0x7f1200000000), "");
    hs_owned_ranges_deinit(&owned);
    const struct hs_jvm_perf_data regions = { .generation_max_bytes = { 0x178c00018,
                                                                        0x178c00008 } };
    owned = match(&regions);
    assert_string_equal(name_at(&owned, 0x687400000), "JVM heap");
    hs_owned_ranges_deinit(&owned);
}

/* A collector with regions publishes the whole heap twice: the sum is the size of the class space
 * here. */
static void test_a_heap_half_as_large_as_the_class_space(void **state)
{
    (void)state;
    static const char maps[] = "e0000000-f7a00000 rw-p 00000000 00:00 0 \n"
                               "f7a00000-ffe00000 ---p 00000000 00:00 0 \n"
                               "ffe00000-ffe75000 rw-p 00c77000 fe:00 318054 /classes.jsa\n"
                               "ffe75000-100000000 rw-p 00000000 00:00 0 \n"
                               "7f1098000000-7f1098040000 rw-p 00000000 00:00 0 \n"
                               "7f1098040000-7f10d8000000 ---p 00000000 00:00 0 \n";
    const struct hs_jvm_perf_data regions = {
        .generation_max_bytes = { 512 * MIB + 24, 512 * MIB + 8 },
        .class_space_bytes = 0x40000,
        .class_space_max_bytes = 1024 * MIB,
    };
    struct hs_owned_ranges owned = match_in(maps, &regions);
    assert_string_equal(name_at(&owned, 0xe0000000), "JVM heap");
    assert_string_equal(name_at(&owned, 0xfffff000), "JVM heap");
    assert_string_equal(name_at(&owned, 0x7f1098000000), "JVM class space");
    hs_owned_ranges_deinit(&owned);
}

static void test_rows_of_other_sizes_are_not_named(void **state)
{
    (void)state;
    const struct hs_jvm_perf_data other = {
        .generation_max_bytes = { 0, 0x178c01000 },
        .metaspace_bytes = 0x1b0000 + 2 * MIB,
        .class_space_bytes = 2 * MIB - 4096,
        .class_space_max_bytes = 1024 * MIB,
    };
    struct hs_owned_ranges owned = match(&other);
    assert_string_equal(name_at(&owned, 0x687400000), "");
    assert_string_equal(name_at(&owned, 0x7f1093000000), "");
    assert_string_equal(name_at(&owned, 0x7f1098000000), "");
    hs_owned_ranges_deinit(&owned);
    const struct hs_jvm_perf_data huge = { .generation_max_bytes = { UINT64_MAX, UINT64_MAX },
                                           .class_space_bytes = 1,
                                           .class_space_max_bytes = UINT64_MAX };
    owned = match(&huge);
    assert_int_equal(owned.count, 1); /* compiled code */
    hs_owned_ranges_deinit(&owned);
}

/* Adds a counter; returns the offset behind it. */
static size_t put(uint8_t *bytes, size_t off, const char *name, char type, uint64_t value)
{
    uint32_t name_bytes = (uint32_t)strlen(name) + 1;
    uint32_t data_off = (20 + name_bytes + 7) / 8 * 8;
    const uint32_t head[] = { data_off + 8, 20, 0 };
    memcpy(bytes + off, head, sizeof(head));
    bytes[off + 12] = (uint8_t)type;
    memcpy(bytes + off + 16, &data_off, sizeof(data_off));
    memcpy(bytes + off + 20, name, name_bytes);
    memcpy(bytes + off + data_off, &value, sizeof(value));
    return off + data_off + 8;
}

static void test_perf_data(void **state)
{
    (void)state;
    uint8_t bytes[512] = { 0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1 };
    const uint32_t entries[] = { 32, 4 };
    struct hs_jvm_perf_data data;
    memcpy(bytes + 24, entries, sizeof(entries));
    size_t off = put(bytes, 32, "sun.gc.generation.1.maxCapacity", 'J', 77);
    off = put(bytes, off, "sun.gc.metaspace.capacity", 'B', 5);
    off = put(bytes, off, "sun.gc.generation.1.maxCapacityX", 'J', 6);
    off = put(bytes, off, "sun.gc.compressedclassspace.capacity", 'J', 9);
    assert_true(hs_jvm_perf_data_parse(bytes, off, &data));
    assert_int_equal(data.generation_max_bytes[1], 77);
    assert_int_equal(data.metaspace_bytes, 0);
    assert_int_equal(data.class_space_bytes, 9);
    assert_true(hs_jvm_perf_data_parse(bytes, off - 1, &data));
    assert_int_equal(data.class_space_bytes, 0);
    bytes[4] = 0; /* the other byte order */
    assert_false(hs_jvm_perf_data_parse(bytes, off, &data));
    assert_false(hs_jvm_perf_data_parse(bytes, 31, &data));
}

/* --- V8 --------------------------------------------------------------------------------------- */

#define CHUNK UINT64_C(0x40000)

static size_t find_chunks(struct hs_owned_ranges *owned)
{
    struct hs_address_space space;
    struct hs_remote_window window;
    int pagemap_fd = hs_residency_open(getpid());
    assert_int_equal(hs_address_space_read(getpid(), &space), 0);
    assert_int_equal(hs_remote_window_open(getpid(), &window), 0);
    assert_int_equal(hs_v8_memory_find(&window, pagemap_fd, &space, owned), 0);
    assert_int_equal(hs_owned_ranges_settle(owned), 0);
    hs_remote_window_close(&window);
    hs_address_space_deinit(&space);
    close(pagemap_fd);
    return owned->count;
}

static void test_v8_pages(void **state)
{
    (void)state;
    struct hs_owned_ranges owned = { 0 };
    char *all = mmap(NULL, 5 * CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t va = ((uint64_t)(uintptr_t)all + CHUNK - 1) / CHUNK * CHUNK;
    uint64_t *first = (uint64_t *)(uintptr_t)va;
    uint64_t *second = first + CHUNK / sizeof(*first);
    assert_int_equal(mprotect(first, 3 * CHUNK, PROT_READ | PROT_WRITE), 0);
    uint64_t *pages[] = { first, second };
    for (size_t i = 0; i < 2; i++) {
        uint64_t start_va = va + i * CHUNK;
        const uint64_t head[] = { CHUNK, 0x12, (uint64_t)(uintptr_t)&owned, start_va + 0x1148,
                                  start_va + CHUNK };
        memcpy(pages[i], head, sizeof(head));
    }
    assert_int_equal(find_chunks(&owned), 1);
    assert_int_equal(owned.items[0].start_va, va);
    assert_int_equal(owned.items[0].end_va, va + 2 * CHUNK); /* joined */
    assert_string_equal(owned.items[0].name, "V8 heap");
    hs_owned_ranges_deinit(&owned);
    for (size_t word = 0; word < 5; word++) { /* each word of the head counts */
        uint64_t before = first[word];
        first[word] = word == 1 ? 0 : 12345;
        assert_int_equal(find_chunks(&owned), 0);
        hs_owned_ranges_deinit(&owned);
        first[word] = before;
    }
    munmap(all, 5 * CHUNK);
}

/* The heads of pages of node 22 and node 24: there the page points to its description. */
static void test_v8_pages_of_newer_releases(void **state)
{
    (void)state;
    struct hs_owned_ranges owned = { 0 };
    char *all = mmap(NULL, 3 * CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t va = ((uint64_t)(uintptr_t)all + CHUNK - 1) / CHUNK * CHUNK;
    uint64_t heap_va = (uint64_t)(uintptr_t)&owned;
    uint64_t *page = (uint64_t *)(uintptr_t)va;
    uint64_t elsewhere[16] = { heap_va, va,         CHUNK,   0x3fff0,   0,      0x3d2f8,
                               CHUNK,   va + CHUNK, heap_va, va + 0x10, heap_va };
    const uint64_t described_va = (uint64_t)(uintptr_t)elsewhere;
    const uint64_t heads[2][6] = {
        { 0x800a, va, CHUNK, heap_va, va + 0x1140, va + CHUNK },
        { 0x4000a, described_va, 12345, 12345, 12345, 12345 },
    };
    assert_int_equal(mprotect(page, CHUNK, PROT_READ | PROT_WRITE), 0);
    for (size_t i = 0; i < 2; i++) {
        memcpy(page, heads[i], sizeof(heads[i]));
        assert_int_equal(find_chunks(&owned), 1);
        assert_int_equal(owned.items[0].start_va, va);
        assert_int_equal(owned.items[0].end_va, va + CHUNK);
        hs_owned_ranges_deinit(&owned);
        for (size_t word = 0; word < (i == 0 ? 6 : 2); word++) { /* each word of the head counts */
            page[word] = word == 0 ? 0 : 12345;
            assert_int_equal(find_chunks(&owned), 0);
            page[word] = heads[i][word];
        }
    }
    for (size_t word = 7; word <= 9; word += 2) { /* the area's end and start */
        uint64_t before = elsewhere[word];
        elsewhere[word] = 12345;
        assert_int_equal(find_chunks(&owned), 0);
        elsewhere[word] = before;
    }
    elsewhere[2] = elsewhere[6] = CHUNK + 1; /* the size */
    assert_int_equal(find_chunks(&owned), 0);
    munmap(all, 3 * CHUNK);
}

/* --- Go --------------------------------------------------------------------------------------- */

/* Where Go's heap would be, in a program that is none of Go's. */
static void test_other_memory_at_gos_addresses(void **state)
{
    (void)state;
    static const char maps[] = "c000000000-c000400000 rw-p 00000000 00:00 0 \n";
    struct hs_address_space space;
    struct hs_owned_ranges owned = { 0 };
    assert_int_equal(hs_address_space_parse(maps, sizeof(maps) - 1, &space), 0);
    const struct hs_go_search search = { .pid = getpid(), .pagemap_fd = -1, .space = &space };
    assert_int_equal(hs_go_memory_find(&search, &owned), 0);
    assert_int_equal(owned.added_count, 0);
    hs_address_space_deinit(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_published_sizes),
        cmocka_unit_test(test_a_heap_half_as_large_as_the_class_space),
        cmocka_unit_test(test_rows_of_other_sizes_are_not_named),
        cmocka_unit_test(test_perf_data),
        cmocka_unit_test(test_v8_pages),
        cmocka_unit_test(test_v8_pages_of_newer_releases),
        cmocka_unit_test(test_other_memory_at_gos_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
