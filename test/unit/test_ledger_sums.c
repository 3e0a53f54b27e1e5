/*
 * profile/analyse/ledger_sums and ledger_parts: sums of ledgers made by hand, and what of them is
 * not explained.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_ledger.h"
#include "fixture_profile.h"
#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/ledger_sums.h"

static struct hs_ledger_sums sums_of(const struct hs_profile *p, bool is_rss_peak)
{
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    struct hs_selection selection;
    struct hs_ledger_sums sums;
    assert_int_equal(hs_select_dumps(p, &spec, &selection), 0);
    assert_int_equal(hs_ledger_sums_of(&selection, is_rss_peak, &sums), 0);
    hs_selection_deinit(&selection);
    return sums;
}

static void test_lines_of_one_name_are_added_up(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    for (uint32_t i = 0; i < 2; i++) {
        fixture_process(&fx, 100 + i, "prog");
        fixture_dump(&fx, 5);
        fixture_ledger(&fx, 4, 3000);
        fixture_ledger_line(&fx, HS_LEDGER_FILE, "/data", 2000);
        fixture_ledger_line(&fx, HS_LEDGER_FILE, "/small", 500 + i);
        fixture_ledger_line(&fx, HS_LEDGER_MALLOC_USED, "", 400);
        fixture_ledger_line(&fx, HS_LEDGER_FILE, "/data", 100 - i);
    }
    struct hs_ledger_sums sums = sums_of(&fx.p, false);
    assert_int_equal(sums.process_count, 2);
    assert_int_equal(sums.line_count, 3);
    assert_int_equal(sums.lines[0].kind, HS_LEDGER_MALLOC_USED);
    assert_int_equal(sums.lines[0].rss_bytes, 800);
    assert_string_equal(hs_profile_string(&fx.p, sums.lines[1].name), "/data");
    assert_int_equal(sums.lines[1].rss_bytes, 4199);
    assert_int_equal(sums.lines[1].pss_bytes, 4199 / 2);
    assert_int_equal(hs_ledger_sums_measure(&sums, &sums.lines[1]), 4199 / 2);
    assert_int_equal(sums.lines[2].rss_bytes, 1001);
    assert_ptr_equal(hs_ledger_sums_find(&sums, HS_LEDGER_FILE, sums.lines[2].name),
                     &sums.lines[2]);
    assert_null(hs_ledger_sums_find(&sums, HS_LEDGER_SHARED, sums.lines[2].name));
    assert_int_equal(sums.kinds[HS_LEDGER_FILE].rss_bytes, 5200);
    assert_int_equal(sums.all.rss_bytes, 6000);
    assert_int_equal(sums.changed_bytes, 0);
    assert_int_equal(sums.unexplained.rss_bytes, 0);
    hs_ledger_sums_deinit(&sums);
    fixture_deinit(&fx);
}

static void test_not_explained(void **state)
{
    (void)state;
    static const struct {
        enum hs_ledger_kind kind;
        const char *name;
        bool is_explained;
    } lines[] = {
        { HS_LEDGER_ANONYMOUS, "", false },     { HS_LEDGER_ANONYMOUS, "[anon:v8]", true },
        { HS_LEDGER_MALLOC_UNREAD, "", false }, { HS_LEDGER_BRK, "", false },
        { HS_LEDGER_UNKNOWN, "named", false },  { HS_LEDGER_MALLOC_USED, "", true },
        { HS_LEDGER_STACK, "", true },          { HS_LEDGER_RECORDER, "", true },
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct fixture fx = fixture_new();
        fixture_process(&fx, 100, "prog");
        fixture_dump(&fx, 5);
        fixture_ledger(&fx, 4, 1000);
        fixture_ledger_line(&fx, lines[i].kind, lines[i].name, 1000);
        struct hs_ledger_sums sums = sums_of(&fx.p, false);
        assert_int_equal(sums.unexplained.rss_bytes, lines[i].is_explained ? 0 : 1000);
        hs_ledger_sums_deinit(&sums);
        fixture_deinit(&fx);
    }
}

/* Of one process the lines have too much, of the other too little: the errors do not cancel out. */
static void test_what_changed_is_not_explained(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    for (uint32_t i = 0; i < 2; i++) {
        fixture_process(&fx, 100 + i, "prog");
        fixture_dump(&fx, 5);
        fixture_ledger(&fx, 4, 1000);
        fixture_ledger_line(&fx, HS_LEDGER_STACK, "", i == 0 ? 900 : 1100);
    }
    struct hs_ledger_sums sums = sums_of(&fx.p, false);
    assert_int_equal(sums.changed_bytes, 200);
    assert_int_equal(sums.unexplained.rss_bytes, 200);
    hs_ledger_sums_deinit(&sums);
    fixture_deinit(&fx);
}

static void test_processes_without_a_ledger(void **state)
{
    (void)state;
    for (uint64_t peak = 0; peak <= 70; peak += 70) {
        struct fixture fx = fixture_new();
        fixture_process(&fx, 100, "prog");
        fixture_dump(&fx, 5);
        fixture_ledger(&fx, 4, 10);
        fixture_process(&fx, 101, "short");
        fixture_dump(&fx, 5)->rss_peak_bytes = peak;
        struct hs_ledger_sums sums = sums_of(&fx.p, true);
        assert_int_equal(sums.process_count, 1);
        assert_int_equal(sums.missing_count, 1);
        assert_int_equal(sums.missing_bytes, peak);
        assert_int_equal(sums.is_missing_known, peak > 0);
        hs_ledger_sums_deinit(&sums);
        fixture_deinit(&fx);
    }
}

/* A kind that no part names is in the last one. */
static void test_parts_add_up(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_ledger_part parts[HS_LEDGER_PARTS];
    uint64_t sum = 0;
    fixture_process(&fx, 100, "prog");
    fixture_dump(&fx, 5);
    fixture_ledger(&fx, 4, 1);
    for (uint32_t kind = 0; kind < HS_LEDGER_KIND_N; kind++) {
        fixture_ledger_line(&fx, kind, "", 1u << kind);
    }
    struct hs_ledger_sums sums = sums_of(&fx.p, false);
    hs_ledger_parts_of(&sums, parts);
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        sum += parts[i].rss_bytes;
        assert_true(parts[i].rss_bytes > 0 && parts[i].words[0] != '\0');
        assert_string_not_equal(hs_ledger_part_key((enum hs_ledger_part_kind)i), "");
    }
    assert_int_equal(sum, (1u << HS_LEDGER_KIND_N) - 1);
    assert_int_equal(parts[HS_LEDGER_PART_HELD].rss_bytes,
                     1u << HS_LEDGER_MALLOC_USED | 1u << HS_LEDGER_MALLOC_LARGE);
    hs_ledger_sums_deinit(&sums);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_one_name_are_added_up),
        cmocka_unit_test(test_not_explained),
        cmocka_unit_test(test_what_changed_is_not_explained),
        cmocka_unit_test(test_processes_without_a_ledger),
        cmocka_unit_test(test_parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
