/*
 * dump_name.h, select.h, report.h: snapshots to which a program gave a name, from the writer
 * through a file to the profile, the selection by name, and the report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dump_name.h"
#include "profile/analyse/select.h"
#include "profile/read/load.h"
#include "trace_bytes.h"
#include "util/utf8.h"
#include "view/report.h"

/* A name of 63 bytes that is no UTF-8, with a line feed in it. */
#define ODD_NAME                                                                                   \
    "odd\n\xff"                                                                                    \
    "4567890123456789012345678901234567890123456789012345678901"

static void add_dump(struct hs_trace_writer *writer, uint32_t pid, uint64_t time_ns,
                     const char *name, double bytes)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, 2000000, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t frame = fixture_frame(snap, exe, 0x2100, 0);
    struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ frame }, 1);
    stack->alloc = stack->live = stack->peak = (struct hs_estimate){ bytes, 1, 0, 0 };
    strcpy(snap->name, name);
    fixture_totals(snap);
    dump_and_free(writer, snap);
}

/* Process 42: 0 "start", 1 without a name, 2 "start" again, 3 ODD_NAME, 4 without a name.
 * Process 43: 0 "other". */
static struct hs_profile *make(void)
{
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_profile *profile = NULL;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    add_dump(writer, 42, 5000000, "start", 100);
    add_dump(writer, 42, 6000000, "", 200);
    add_dump(writer, 42, 7000000, "start", 300);
    add_dump(writer, 43, 7000000, "other", 50);
    add_dump(writer, 42, 8000000, ODD_NAME, 400);
    add_dump(writer, 42, 9000000, "", 500);
    finish_writer(writer);
    assert_int_equal(hs_profile_load_memory(buf.data, buf.bytes, &profile, NULL), 0);
    hs_buf_deinit(&buf);
    return profile;
}

static void test_names_arrive(void **state)
{
    (void)state;
    static const char odd[] = ODD_NAME;
    const char *const names[] = { "start", "", "start", "other", odd, "" };
    struct hs_profile *p = make();
    assert_int_equal(p->dump_count, 6);
    assert_int_equal(strlen(ODD_NAME), HS_SNAP_NAME_MAX);
    for (uint32_t i = 0; i < p->dump_count; i++) {
        assert_string_equal(hs_profile_string(p, p->dumps[i].name), names[i]);
        assert_true((p->dumps[i].name == 0) == (names[i][0] == '\0'));
    }
    hs_profile_free(p);
}

static void test_selected_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t pid;
        int result;
        double live_bytes;
    } cases[] = {
        { "start", 0, 0, 300 },                       /* the last one of that name */
        { "other", 0, 0, 50 },                        /* only one process has it */
        { ODD_NAME, 42, 0, 400 },                     /* any bytes */
        { "1", 42, 0, 200 },                          /* a number is a place */
        { "other", 42, HS_SELECT_E_NO_NAMED, 0 },     /* not in this process */
        { "Start", 0, HS_SELECT_E_NO_NAMED, 0 },      /* exactly */
        { "start", 44, HS_SELECT_E_NO_PID, 0 },       /* no such process */
        { "4294967295", 0, HS_SELECT_E_NO_NAMED, 0 }, /* larger than any place: a name */
        { "7", 42, HS_SELECT_E_NO_SNAPSHOT, 0 },      /* a place that is not there */
    };
    struct hs_profile *p = make();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_select_spec spec = { .pid = cases[i].pid, .snapshot = HS_SELECT_LAST };
        struct hs_selection selection;
        hs_dump_name_choose(cases[i].text, &spec);
        int r = hs_select_dumps(p, &spec, &selection);
        assert_int_equal(r, cases[i].result);
        if (r == 0) {
            assert_true(selection.live.bytes == cases[i].live_bytes);
            hs_selection_deinit(&selection);
        }
    }
    hs_profile_free(p);
}

/* FILE@N and FILE@NAME; what is before the @ of a name must be a file. */
static void test_split(void **state)
{
    (void)state;
    char folder[] = "/tmp/hs-named-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_true(creat("x", 0600) >= 0 && creat("a@b", 0600) >= 0 && creat("x@whole", 0600) >= 0);
    static const struct {
        const char *operand, *path, *name;
        uint32_t snapshot;
        bool has_snapshot;
    } cases[] = {
        { "x", "x", NULL, HS_SELECT_LAST, false },
        { "x@2", "x", NULL, 2, true },
        { "x@last", "x", NULL, HS_SELECT_LAST, true },
        { "x@-2", "x", NULL, HS_SELECT_LAST - 1, true },
        { "y@2", "y", NULL, 2, true },
        { "x@after load", "x", "after load", HS_SELECT_LAST, true },
        { "x@me@home", "x", "me@home", HS_SELECT_LAST, true },
        { "a@b@me", "a@b", "me", HS_SELECT_LAST, true },
        { "a@b", "a@b", NULL, HS_SELECT_LAST, false },         /* a file */
        { "x@whole", "x@whole", NULL, HS_SELECT_LAST, false }, /* also a file */
        { "y@me", "y@me", NULL, HS_SELECT_LAST, false },       /* neither is one */
        { "x@", "x@", NULL, HS_SELECT_LAST, false },
        { "@me", "@me", NULL, HS_SELECT_LAST, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_select_spec select = { .snapshot = 77 };
        char *path;
        bool has_snapshot;
        assert_int_equal(hs_dump_name_split(cases[i].operand, &path, &select, &has_snapshot), 0);
        assert_string_equal(path, cases[i].path);
        assert_int_equal(select.snapshot, cases[i].snapshot);
        assert_int_equal(has_snapshot, cases[i].has_snapshot);
        assert_true(!select.snapshot_name == !cases[i].name);
        if (cases[i].name) {
            assert_string_equal(select.snapshot_name, cases[i].name);
        }
        free(path);
    }
    assert_true(unlink("x") == 0 && unlink("a@b") == 0 && unlink("x@whole") == 0);
    assert_int_equal(rmdir(folder), 0);
}

static char *report(const struct hs_profile *p, enum hs_report_form form, uint32_t pid,
                    const char *name)
{
    struct hs_buf buf = HS_BUF_INIT;
    const struct hs_report_options options = {
        .form = form,
        .view = HS_VIEW_SPACE,
        .file = "x.pftrace",
        .select = { .pid = pid, .snapshot = HS_SELECT_LAST, .snapshot_name = name },
    };
    assert_int_equal(hs_report_write(p, &options, &buf), 0);
    char *text = strdup(hs_buf_text(&buf));
    hs_buf_deinit(&buf);
    return text;
}

/* The same text with single blanks: the report wraps its lines. */
static void join_lines(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        char c = *from == '\n' ? ' ' : *from;
        if (c != ' ' || to == text || to[-1] != ' ') {
            *to++ = c;
        }
    }
    *to = '\0';
}

static void test_report_lists_them(void **state)
{
    (void)state;
    struct hs_profile *p = make();
    char *text = report(p, HS_REPORT_TEXT, 42, "start");
    join_lines(text);
    assert_non_null(strstr(text, "at snapshot 2, "));
    assert_non_null(
        strstr(text, "The program took these snapshots: 0 'start', 2 'start', 3 'odd "));
    assert_null(strchr(text, '\xff')); /* nothing that a terminal cannot show */
    assert_null(strstr(text, "other"));
    free(text);
    text = report(p, HS_REPORT_TEXT, 0, NULL);
    join_lines(text);
    assert_non_null(strstr(text, "0 'other' (pid 43)"));
    free(text);
    text = report(p, HS_REPORT_JSON, 42, "start");
    assert_non_null(strstr(text, "\"snapshot_name\": \"start\""));
    assert_non_null(strstr(text, "{\"snapshot\": 0, \"name\": \"start\", \"seconds\": 0.003}"));
    free(text);
    text = report(p, HS_REPORT_JSON, 42, NULL);
    assert_null(strstr(text, "snapshot_name"));
    assert_non_null(strstr(text, "named_snapshots"));
    free(text);
    hs_profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_arrive),
        cmocka_unit_test(test_selected_by_name),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_report_lists_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
