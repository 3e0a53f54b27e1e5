/* Unwind tables that the collector writes into a region, and sections that a target has broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/region/region_tables.h"
#include "region_writer.h"
#include "rt/atomic.h"

#define SECTION_BYTES 65536U

static const struct region_plan plan = { .interval_bytes = 4096, .record_count = 64 };

static struct hs_unwind_table_v2 table_of(uint32_t bytes, uint8_t source)
{
    return (struct hs_unwind_table_v2){ .table_bytes = bytes, .source = source };
}

static void test_write(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_region region;
    struct hs_unwind_table_v2 head, tables[2] = { table_of(96, 1), table_of(96, 2) };
    uint64_t off = 0;
    region_writer_init(&w, &plan);
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_region_tables_size(&region), SECTION_BYTES);
    assert_int_equal(hs_region_tables_used(&region), 0);
    assert_int_equal(hs_region_tables_next(&region, &off, &head), -ENOENT);

    uint32_t generation = w.control->generation;
    uint64_t floor_bytes = w.control->floor_bytes;
    assert_int_equal(hs_region_tables_write(&region, 0, tables, sizeof(tables)), 0);
    assert_int_equal(hs_region_tables_next(&region, &off, &head), -ENOENT); /* not published */
    hs_region_tables_publish(&region, sizeof(tables));
    assert_int_equal(w.control->unwind_tables_bytes, sizeof(tables));
    assert_int_equal(w.control->generation, generation + 1);
    assert_true(w.control->floor_bytes > floor_bytes);
    assert_int_equal(hs_region_tables_next(&region, &off, &head), 0);
    assert_int_equal(head.source, 1);
    assert_int_equal(hs_region_tables_next(&region, &off, &head), 0);
    assert_int_equal(head.source, 2);
    assert_int_equal(hs_region_tables_next(&region, &off, &head), -ENOENT);

    assert_int_equal(hs_region_tables_write(&region, SECTION_BYTES - 88, tables, 96), -ENOSPC);
    assert_int_equal(hs_region_tables_write(&region, SECTION_BYTES + 8, tables, 96), -ENOSPC);
    hs_region_tables_publish(&region, SECTION_BYTES + 8); /* nothing */
    assert_int_equal(w.control->unwind_tables_bytes, sizeof(tables));
    hs_region_close(&region);
    region_writer_deinit(&w);
}

static void test_hostile(void **state)
{
    (void)state;
    struct region_writer w;
    struct hs_region region;
    struct hs_unwind_table_v2 head;
    region_writer_init(&w, &plan);
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    const uint64_t used[] = { 1, SECTION_BYTES + 8, UINT64_MAX, 0x8000000000000000 };
    for (unsigned i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
        hs_store_relaxed(&w.control->unwind_tables_bytes, used[i]);
        assert_int_equal(hs_region_tables_used(&region), SECTION_BYTES);
        assert_int_equal(hs_region_tables_write(&region, SECTION_BYTES, &head, 96), -ENOSPC);
    }
    const uint32_t sizes[] = { 0, 88, 100, SECTION_BYTES + 8, UINT32_MAX };
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct hs_unwind_table_v2 bad = table_of(sizes[i], 1);
        uint64_t off = 0;
        memcpy(region_writer_at(&w, HS_SECTION_UNWIND_TABLES, 0), &bad, sizeof(bad));
        assert_int_equal(hs_region_tables_next(&region, &off, &head), -EBADMSG);
    }
    hs_region_close(&region);

    /* A section that would lie over the control page. */
    hs_region_section(w.header, HS_SECTION_UNWIND_TABLES)->file_off = 0;
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), -EPROTO);
    /* An older client has no such section. */
    w.header->header_bytes = offsetof(struct hs_region_header_v2, later_sections[1]);
    assert_int_equal(hs_region_open(region_writer_dup(&w), w.file_bytes, &region, NULL), 0);
    assert_int_equal(hs_region_tables_size(&region), 0);
    assert_int_equal(hs_region_tables_write(&region, 0, &head, 96), -ENOSPC);
    hs_region_close(&region);
    region_writer_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
