/*
 * Tests of collect/region_reader: an invalid region is refused with a reason. No claim of a region
 * makes us read outside it, allocate much, or touch pages that do not exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/region/capture.h"
#include "collect/region/region_reader.h"
#include "region_writer.h"
#include "rt/bits.h"

static void expect_refusal(int fd, uint64_t bytes, const char *part)
{
    struct hs_region region;
    const char *why = NULL;
    assert_int_equal(hs_region_open(fd, bytes, &region, &why), -EPROTO);
    assert_non_null(why);
    if (!strstr(why, part)) {
        fail_msg("\"%s\" does not say \"%s\"", why, part);
    }
    close(fd);
}

static void test_what_is_no_region_is_refused(void **state)
{
    (void)state;
    expect_refusal(open("/dev/zero", O_RDWR), 1 << 20, "sealed memfd");
    expect_refusal(open("/proc/self/exe", O_RDONLY), 1 << 20, "sealed memfd");
    int fd = memfd_create("x", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    expect_refusal(dup(fd), 1 << 20, "sealed memfd");
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    expect_refusal(dup(fd), 1 << 21, "size");
    expect_refusal(dup(fd), 1 << 20, "not a region");
    close(fd);
    fd = memfd_create("small", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    expect_refusal(fd, 4096, "size");
}

static void test_a_hostile_header_is_refused(void **state)
{
    (void)state;
    struct region_writer w;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    struct hs_region_header_v2 good = *w.header;

    w.header->version = 99;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "version");
    *w.header = good;
    w.header->sections[HS_SECTION_STACKS].elem_bytes = 1;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "size");
    *w.header = good;
    w.header->sections[HS_SECTION_RECORDS].max_count = UINT64_MAX / 32;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "inside");
    *w.header = good;
    w.header->sections[HS_SECTION_RECORDS].file_off = UINT64_MAX - 63;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "inside");
    *w.header = good;
    w.header->sections[HS_SECTION_RECORDS].file_off = 64;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "inside");
    *w.header = good;
    w.header->sections[HS_SECTION_RECORDS].file_off += 8;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "inside");
    region_writer_deinit(&w);
}

static void test_a_sparse_claim_costs_nothing(void **state)
{
    (void)state;
    struct region_writer w;
    struct stat before, after;
    region_writer_init(&w, &(struct region_plan){ UINT64_C(1) << 30, 4096 });
    assert_int_equal(fstat(w.fd, &before), 0);
    w.header->sections[HS_SECTION_RECORDS].count = UINT64_C(1) << 30; /* 32 GiB, all holes */
    expect_refusal(region_writer_dup(&w), w.file_bytes, "claims more");
    assert_int_equal(fstat(w.fd, &after), 0);
    assert_int_equal(before.st_blocks, after.st_blocks);
    region_writer_deinit(&w);
}

static void test_reads_stay_inside(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_region region;
    struct hs_region_map map;
    char *text;
    struct hs_module_v1 module;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    w.header->sections[HS_SECTION_RECORDS].count = 1000; /* a writer whose count exceeds its file */
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_region_count(&region, HS_SECTION_RECORDS), 64);
    assert_int_equal(hs_region_read(&region, HS_SECTION_MODULES, 0, 1, &module), 0);
    assert_int_equal(hs_region_read(&region, HS_SECTION_MODULES, 0, 2, &module), -ERANGE);
    assert_int_equal(hs_region_read(&region, HS_SECTION_MODULES, UINT64_MAX, 1, &module), -ERANGE);
    assert_int_equal(hs_region_read_text(&region, w.header->exe_off, 100, &text), 0);
    assert_string_equal(text, "/bin/writer");
    free(text);
    assert_int_equal(hs_region_read_text(&region, w.header->exe_off, 4, &text), 0);
    assert_string_equal(text, "/bin");
    free(text);
    assert_int_equal(hs_region_read_text(&region, UINT32_MAX, 100, &text), 0);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(hs_region_map_section(&region, HS_SECTION_FRAMES, &map), 0);
    assert_null(map.data);
    hs_region_unmap(&map);
    hs_region_close(&region);
    region_writer_deinit(&w);
}

/* Moves the elements of a section apart, as a later version with longer elements lays them out. */
static void lengthen(struct region_writer *w, enum hs_section_id id, uint32_t elem_bytes)
{
    struct hs_section_v1 *section = &w->header->sections[id];
    uint32_t known_bytes = section->elem_bytes;
    uint8_t *base = w->base + section->file_off;
    for (uint64_t i = section->count; i-- > 0;) {
        memmove(base + i * elem_bytes, base + i * known_bytes, known_bytes);
        memset(base + i * elem_bytes + known_bytes, 0xa5, elem_bytes - known_bytes);
    }
    section->max_count = section->max_count * known_bytes / elem_bytes;
    section->elem_bytes = elem_bytes;
}

static void test_longer_elements_are_read(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_region region;
    struct hs_heap_v2 heaps[HS_REGION_HEAPS];
    struct hs_region_map map;
    struct hs_module_v1 module;
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    region_writer_heap(&w, "arena", HS_HEAP_CARVED);
    uint32_t module_id = region_writer_module(&w, "/bin/x", 0x1000, 0);
    uint32_t first = region_writer_stacks(&w, 3);
    lengthen(&w, HS_SECTION_HEAPS, sizeof(struct hs_heap_v2) + 24);
    lengthen(&w, HS_SECTION_MODULES, sizeof(struct hs_module_v1) + 8);
    lengthen(&w, HS_SECTION_STACKS, sizeof(struct hs_stack_v1) + 64);
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_region_read_heaps(&region, heaps), 2);
    assert_string_equal(heaps[0].name, "libc.malloc");
    assert_string_equal(heaps[1].name, "arena");
    assert_int_equal(heaps[1].flags, HS_HEAP_NAMED | HS_HEAP_CARVED);
    assert_int_equal(hs_region_read(&region, HS_SECTION_MODULES, module_id, 1, &module), 0);
    assert_int_equal(module.start_va, 0x1000);
    assert_int_equal(hs_region_map_section(&region, HS_SECTION_STACKS, &map), 0);
    const struct hs_stack_v1 *stack = hs_region_map_at(&map, first + 2);
    assert_int_equal(stack->hash, first + 3);
    assert_int_equal(stack->frame_count, 1);
    hs_region_unmap(&map);
    hs_region_close(&region);
    /* Texts and frame ids are plain numbers: they cannot become longer. */
    w.header->sections[HS_SECTION_FRAME_IDS].elem_bytes = 8;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "size");
    w.header->sections[HS_SECTION_FRAME_IDS].elem_bytes = 4;
    w.header->sections[HS_SECTION_STACKS].elem_bytes = sizeof(struct hs_stack_v1) - 8;
    expect_refusal(region_writer_dup(&w), w.file_bytes, "size");
    region_writer_deinit(&w);
}

static void test_version_1_is_read(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_region region;
    struct hs_heap_v2 heaps[HS_REGION_HEAPS];
    region_writer_init(&w, &(struct region_plan){ 64, 4096 });
    for (unsigned i = HS_SECTION_N_V1; i < HS_SECTION_N; i++) {
        *hs_region_section(w.header, i) = (struct hs_section_v1){ .elem_bytes = 0 };
    }
    /* Behind its one page the header of version 1 would overlap the first section: its place is
     * taken from there. */
    struct hs_region_header_v1 *old = (void *)w.header;
    w.header->sections[HS_SECTION_BLOCKS].file_off += 4096;
    w.header->sections[HS_SECTION_BLOCKS].max_count = 8;
    w.header->version = 1;
    w.header->header_bytes = sizeof(*old);
    memset(old->heaps, 0, sizeof(old->heaps));
    memcpy(old->heaps[0].name, "libc.malloc", 12);
    memset(old->heaps[63].name, 'x', sizeof(old->heaps[63].name)); /* without an end */
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    assert_int_equal(region.header.pid, getpid());
    assert_int_equal(hs_region_count(&region, HS_SECTION_HEAPS), 0);
    assert_int_equal(hs_region_count(&region, HS_SECTION_MODULES), 1);
    assert_int_equal(hs_region_read_heaps(&region, heaps), HS_REGION_HEAPS_V1);
    assert_string_equal(heaps[0].name, "libc.malloc");
    assert_int_equal(heaps[1].flags, 0);
    assert_int_equal(strlen(heaps[63].name), 63);
    hs_region_close(&region);
    w.header->header_bytes = sizeof(struct hs_region_header_v2);
    expect_refusal(region_writer_dup(&w), w.file_bytes, "impossible header");
    region_writer_deinit(&w);
}

/* Random bytes in all places that hold data: the reader answers and never crashes. */
static void test_random_data_gives_an_answer(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 50; round++) {
        struct region_writer w;
        struct hs_region region;
        struct hs_snapshot *snap = NULL;
        region_writer_init(&w, &(struct region_plan){ 4096, 4096 });
        for (unsigned id = 0; id < HS_SECTION_N; id++) {
            struct hs_section_v1 *section = hs_region_section(w.header, id);
            uint64_t *words = (void *)(w.base + section->file_off);
            section->count = section->max_count;
            for (uint64_t i = 0; i < section->max_count * section->elem_bytes / 8; i++) {
                /* Small numbers in some rounds, so that some ids are valid. */
                uint64_t word = hs_mix64(i + (round << 40) + ((uint64_t)id << 50));
                words[i] = round % 3 == 0   ? word
                           : round % 3 == 1 ? word & 0x0f0000000f
                                            : word >> 52;
            }
        }
        assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
        int r = hs_capture(&region, round & 1, 1, &snap);
        if (r == 0) {
            assert_int_equal(snap->stack_count, RW_STACKS_MAX);
            hs_snapshot_free(snap);
        } else {
            assert_int_equal(r, -EPROTO);
        }
        hs_region_close(&region);
        region_writer_deinit(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_region_is_refused),
        cmocka_unit_test(test_a_hostile_header_is_refused),
        cmocka_unit_test(test_a_sparse_claim_costs_nothing),
        cmocka_unit_test(test_reads_stay_inside),
        cmocka_unit_test(test_longer_elements_are_read),
        cmocka_unit_test(test_version_1_is_read),
        cmocka_unit_test(test_random_data_gives_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
