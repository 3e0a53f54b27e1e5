/*
 * Tables of the section UNWIND_TABLES: found and opened, searched, and refused when broken; and the
 * client's search for the table of a module, in its own region.
 */
#include "client_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi_builder.h"
#include "client/tables/modules.h"
#include "client/tables/unwind_tables.h"
#include "unwind/eh_find.h"
#include "unwind/unwind_table.h"

#define BIAS  UINT64_C(0x7f0000000000)
#define COUNT 5U

static uint8_t section[65536];

/* A table with functions of 16 bytes, 32 apart, from 0x1000 on. Returns its size. */
static uint32_t build(uint8_t *at, const struct hs_module_v1 *module)
{
    struct cfi_builder frame = { .va = module->bias_va + 0x3000 };
    struct hs_unwind_entry_v2 entries[COUNT];
    uint32_t cie_at = put_cie(&frame);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t fde_at = open_fde(&frame, cie_at, HS_EH_PE_PCREL | HS_EH_PE_SDATA4,
                                   module->bias_va + 0x1000 + 32 * i, 16);
        entries[i] = (struct hs_unwind_entry_v2){ (int32_t)(32 * i), (int32_t)fde_at };
        close_entry(&frame);
    }
    struct hs_unwind_table_v2 head = { .bias_va = module->bias_va,
                                       .exec_sva = module->exec_sva,
                                       .exec_bytes = module->exec_bytes,
                                       .build_id_bytes = module->build_id_bytes,
                                       .source = HS_UNWIND_TABLE_MINI,
                                       .code_sva = 0x1000,
                                       .cfi_sva = 0x3000,
                                       .entry_count = COUNT,
                                       .cfi_bytes = frame.size_bytes };
    memcpy(head.build_id, module->build_id, sizeof(head.build_id));
    head.table_bytes = (uint32_t)hs_align_up(sizeof(head) + sizeof(entries) + frame.size_bytes, 8);
    memset(at, 0, head.table_bytes);
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), entries, sizeof(entries));
    memcpy(at + sizeof(head) + sizeof(entries), frame.bytes, frame.size_bytes);
    return head.table_bytes;
}

static const struct hs_module_v1 like = { .bias_va = BIAS,
                                          .exec_sva = 0x1000,
                                          .exec_bytes = 0x1000,
                                          .build_id = { 1, 2, 3 },
                                          .build_id_bytes = 3 };

static int find(const struct hs_unwind_table *table, uint64_t va, struct hs_cfi_fde *ret_fde)
{
    struct hs_unwind_module module = { .table = table };
    return hs_eh_find(&module, va, ret_fde);
}

static void test_search(void **state)
{
    (void)state;
    uint32_t bytes = build(section, &like);
    struct hs_unwind_table_v2 head;
    struct hs_unwind_table table;
    struct hs_cfi_fde fde;
    assert_true(hs_unwind_table_head(section, bytes, 0, &head));
    assert_true(hs_unwind_table_open(section, &head, &table));
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t start_va = BIAS + 0x1000 + 32 * i;
        assert_int_equal(find(&table, start_va, &fde), 0);
        assert_int_equal(fde.start_va, start_va);
        assert_int_equal(find(&table, start_va + 15, &fde), 0);
        assert_int_equal(find(&table, start_va + 16, &fde), -ENOENT);
    }
    assert_int_equal(find(&table, BIAS + 0xfff, &fde), -ENOENT);
    assert_int_equal(find(&table, 0, &fde), -ENOENT);
    assert_int_equal(find(&table, UINT64_MAX, &fde), -ENOENT);
}

static void test_broken(void **state)
{
    (void)state;
    uint32_t bytes = build(section, &like);
    struct hs_unwind_table_v2 head, good;
    struct hs_unwind_table table;
    struct hs_cfi_fde fde;
    assert_true(hs_unwind_table_head(section, bytes, 0, &good));
    assert_false(hs_unwind_table_head(section, bytes - 1, 0, &head));
    assert_false(hs_unwind_table_head(section, bytes, bytes, &head));
    assert_false(hs_unwind_table_head(section, bytes, UINT64_MAX, &head));
    const uint32_t bad_sizes[] = { 0, 8, sizeof(head) - 8, sizeof(head) + 4, UINT32_MAX };
    for (unsigned i = 0; i < HS_COUNT_OF(bad_sizes); i++) {
        memcpy(section, &bad_sizes[i], sizeof(bad_sizes[i]));
        assert_false(hs_unwind_table_head(section, bytes, 0, &head));
    }
    head = good;
    head.entry_count = UINT32_MAX;
    assert_false(hs_unwind_table_open(section, &head, &table));
    head = good;
    head.cfi_bytes = bytes;
    assert_false(hs_unwind_table_open(section, &head, &table));
    /* An entry that leads out of the section. */
    int32_t far_off = INT32_MIN;
    memcpy(section + sizeof(good) + 4, &far_off, sizeof(far_off));
    assert_true(hs_unwind_table_open(section, &good, &table));
    assert_int_equal(find(&table, BIAS + 0x1000, &fde), -EBADMSG);
    assert_int_equal(find(&table, BIAS + 0x1020, &fde), 0);
}

/* The client's section as a collector reaches it: through a descriptor. */
static void write_section(int fd, uint64_t off, const uint8_t *table, uint32_t bytes)
{
    const struct hs_section_v1 *place =
        hs_region_section(hs_region.header, HS_SECTION_UNWIND_TABLES);
    assert_int_equal(pwrite(fd, table, bytes, (off_t)(place->file_off + off)), bytes);
    hs_store_release(&hs_control_page.control.unwind_tables_bytes, off + bytes);
}

static void test_client(void **state)
{
    (void)state;
    int fd;
    struct hs_module_v1 module = like, other = like, unknown = like;
    struct hs_unwind_table table;
    struct hs_cfi_fde fde;
    other.bias_va += 0x10000;
    unknown.build_id[0]++;
    assert_int_equal(hs_region_create(&fd), 0);
    assert_true(hs_modules_init());
    assert_false(hs_unwind_tables_are_new());
    assert_false(hs_unwind_tables_find(&module, &table));

    uint32_t bytes = build(section, &module);
    write_section(fd, 0, section, bytes);
    assert_true(hs_unwind_tables_are_new());
    assert_false(hs_modules_take_tables()); /* no module is known */
    assert_false(hs_unwind_tables_are_new());
    assert_true(hs_unwind_tables_find(&module, &table));
    assert_int_equal(module.table_source, HS_UNWIND_TABLE_MINI);
    assert_int_equal(find(&table, BIAS + 0x1000, &fde), 0);
    assert_false(hs_unwind_tables_find(&other, &table));
    assert_false(hs_unwind_tables_find(&unknown, &table));

    /* A second table, far behind the first mapping; the first one stays where it is. */
    struct hs_unwind_table first = table;
    assert_true(hs_unwind_tables_find(&module, &first));
    uint8_t *large = calloc(1, 3U << 20);
    build(large, &unknown);
    memcpy(large, &(uint32_t){ 3U << 20 }, sizeof(uint32_t));
    write_section(fd, bytes, large, 3U << 20);
    write_section(fd, bytes + (3U << 20), section, build(section, &other));
    free(large);
    hs_unwind_tables_look();
    assert_true(hs_unwind_tables_find(&other, &table));
    assert_int_equal(find(&table, BIAS + 0x11000, &fde), 0);
    assert_int_equal(find(&first, BIAS + 0x1000, &fde), 0);

    /* Another region: the old tables are still found, as in a forked child. */
    int next_fd;
    assert_int_equal(hs_region_create_file(&next_fd), 0);
    assert_int_equal(hs_region_replace(next_fd), 0);
    assert_true(hs_unwind_tables_find(&module, &table));
    assert_int_equal(find(&first, BIAS + 0x1000, &fde), 0);
    hs_region_abandon();
    assert_false(hs_unwind_tables_find(&module, &table));
    assert_int_equal(find(&first, BIAS + 0x1000, &fde), -EBADMSG); /* all is 0 */
    close(next_fd);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
