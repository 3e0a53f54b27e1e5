/*
 * profile/analyse/rss_verdict and ledger_diff: why the resident memory changed, for changes made by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_ledger.h"
#include "fixture_profile.h"
#include "profile/analyse/ledger_diff.h"
#include "profile/analyse/rss_verdict.h"
#include "rt/base.h"
#include "util/buf.h"

#define MIB 1048576.0

static void assert_says(const struct hs_rss_growth *growth, const char *verdict, const char *advice)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_verdict_write(growth, "", &text);
    assert_string_equal(hs_buf_text(&text), verdict);
    hs_buf_clear(&text);
    hs_rss_advice_write(growth, &text);
    if (!strstr(hs_buf_text(&text), advice)) {
        fail_msg("%s is not in: %s", advice, hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

static void test_blocks(void **state)
{
    (void)state;
    const struct hs_rss_growth growth = {
        .all_bytes = 8 * MIB,
        .parts_bytes = { [HS_LEDGER_PART_HELD] = 7 * MIB, [HS_LEDGER_PART_FREE] = MIB },
        .least_bytes = 65536
    };
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_HELD);
    assert_says(
        &growth,
        "Resident memory grew by 8.00 MiB: blocks from malloc +7.00 MiB, memory that malloc "
        "keeps free +1.00 MiB.",
        "blocks that the program holds");
}

static void test_free_memory(void **state)
{
    (void)state;
    struct hs_rss_growth growth = {
        .all_bytes = 16 * MIB,
        .parts_bytes = { [HS_LEDGER_PART_HELD] = -MIB, [HS_LEDGER_PART_FREE] = 17 * MIB },
        .top_bytes = MIB,
        .least_bytes = 65536,
        .arenas_before = 1,
        .arenas_after = 1,
        .process_count = 1,
        .trim_bytes = 1048576
    };
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_SCATTERED);
    assert_says(&growth,
                "Resident memory grew by 16.0 MiB: memory that malloc keeps free +17.0 MiB, blocks "
                "from malloc \xe2\x88\x92"
                "1.00 MiB.",
                "malloc_trim(0) would give back 1.00 MiB");
    growth.top_bytes = 16 * MIB;
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_RETAINED);
    growth.arenas_after = 4; /* of a few, a limit of two changes little */
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_RETAINED);
    growth.arenas_after = 9;
    growth.process_count = 2;
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_RETAINED);
    growth.process_count = 1;
    growth.arenas_after = 9;
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_ARENAS);
    assert_says(
        &growth,
        "Resident memory grew by 16.0 MiB: memory that malloc keeps free +17.0 MiB, blocks "
        "from malloc \xe2\x88\x92"
        "1.00 MiB.",
        "The number of arenas went from 1 to 9. A thread cannot use what is free in the arena "
        "of another: MALLOC_ARENA_MAX=2");
}

static void test_steady(void **state)
{
    (void)state;
    const struct hs_rss_growth growth = {
        .all_bytes = 1000,
        .parts_bytes = { [HS_LEDGER_PART_HELD] = -MIB, [HS_LEDGER_PART_FREE] = MIB + 1000 },
        .least_bytes = 65536
    };
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_STEADY);
    assert_says(&growth,
                "Resident memory stayed about the same: memory that malloc keeps free +1.00 MiB, "
                "blocks from malloc \xe2\x88\x92"
                "1.00 MiB.",
                "");
    const struct hs_rss_growth nothing = { .least_bytes = 0 };
    assert_int_equal(hs_rss_cause_of(&nothing), HS_RSS_STEADY);
    assert_says(&nothing, "Resident memory stayed about the same.", "");
}

/* What shrank is named, too, and a part that grew meanwhile is not its cause. */
static void test_shrinks(void **state)
{
    (void)state;
    const struct hs_rss_growth growth = {
        .all_bytes = -8 * MIB,
        .parts_bytes = { [HS_LEDGER_PART_HELD] = 7 * MIB, [HS_LEDGER_PART_FILES] = -15 * MIB },
        .least_bytes = 65536
    };
    assert_int_equal(hs_rss_cause_of(&growth), HS_RSS_FILES);
    assert_says(&growth,
                "Resident memory shrank by 8.00 MiB: mapped files \xe2\x88\x92"
                "15.0 MiB, blocks "
                "from malloc +7.00 MiB.",
                "");
}

/* What the tables of functions can say, a sentence of its own says: the page has a link instead. */
static void test_where_to_look(void **state)
{
    (void)state;
    static const struct {
        enum hs_ledger_part_kind part;
        const char *where;
    } all[] = {
        { HS_LEDGER_PART_HELD, " The tables of functions of heapscope diff say whose they are." },
        { HS_LEDGER_PART_MMAP, " The tables of functions of heapscope diff say which functions "
                               "map it (--heap mmap)." },
        { HS_LEDGER_PART_ALLOCATOR, " The tables of functions of heapscope diff say whether "
                                    "blocks were added." },
        { HS_LEDGER_PART_FILES, "" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(all); i++) {
        struct hs_rss_growth growth = { .all_bytes = MIB };
        struct hs_buf text = HS_BUF_INIT;
        growth.parts_bytes[all[i].part] = MIB;
        hs_rss_where_write(&growth, &text);
        assert_string_equal(hs_buf_text(&text), all[i].where);
        hs_buf_clear(&text);
        hs_rss_advice_write(&growth, &text);
        assert_null(strstr(hs_buf_text(&text), "heapscope"));
        hs_buf_clear(&text);
        growth.all_bytes = growth.parts_bytes[all[i].part] = -MIB;
        hs_rss_where_write(&growth, &text);
        assert_string_equal(hs_buf_text(&text), "");
        hs_buf_deinit(&text);
    }
}

static void test_each_part_has_a_cause(void **state)
{
    (void)state;
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        struct hs_rss_growth growth = { .all_bytes = MIB };
        growth.parts_bytes[part] = MIB;
        enum hs_rss_cause cause = hs_rss_cause_of(&growth);
        assert_int_not_equal(cause, HS_RSS_STEADY);
        assert_string_not_equal(hs_rss_cause_key(cause), "");
    }
}

/* The same names have other ids in another profile. */
static void test_lines_of_two_profiles(void **state)
{
    (void)state;
    struct fixture fx[HS_DIFF_SIDE_N];
    struct hs_selection selections[HS_DIFF_SIDE_N];
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    struct hs_ledger_diff diff;
    for (unsigned i = 0; i < HS_DIFF_SIDE_N; i++) {
        fx[i] = fixture_new();
        fixture_process(&fx[i], 100, "prog");
        fixture_dump(&fx[i], 5);
        fixture_ledger(&fx[i], 4, 1000 + 500 * i);
        fixture_ledger_line(&fx[i], HS_LEDGER_FILE, i ? "/new" : "/gone", 100);
        fixture_ledger_line(&fx[i], HS_LEDGER_FILE, "/data", 600 + 450 * i);
        fixture_ledger_line(&fx[i], HS_LEDGER_MALLOC_TOP, "", 300 + 50 * i);
        assert_int_equal(hs_select_dumps(&fx[i].p, &spec, &selections[i]), 0);
    }
    assert_int_equal(hs_ledger_diff_build(&selections[0], &selections[1], &diff), 0);
    assert_true(diff.is_known && diff.is_whole && !diff.is_pss);
    assert_int_equal(diff.line_count, 4);
    assert_int_equal(diff.lines[0].kind, HS_LEDGER_MALLOC_TOP);
    assert_true(diff.lines[0].delta_bytes == 50);
    assert_string_equal(diff.lines[1].name, "/data");
    assert_int_equal(diff.lines[1].bytes[HS_DIFF_BEFORE], 600);
    assert_int_equal(diff.lines[1].bytes[HS_DIFF_AFTER], 1050);
    assert_true(diff.parts[HS_LEDGER_PART_FILES].delta_bytes == 450);
    assert_true(diff.all.delta_bytes == 500);
    hs_ledger_diff_deinit(&diff);
    for (unsigned i = 0; i < HS_DIFF_SIDE_N; i++) {
        hs_selection_deinit(&selections[i]);
        fixture_deinit(&fx[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_free_memory),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_where_to_look),
        cmocka_unit_test(test_each_part_has_a_cause),
        cmocka_unit_test(test_lines_of_two_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
