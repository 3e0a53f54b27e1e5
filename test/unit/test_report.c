/*
 * report.h: whole reports of small profiles, character by character, and unusual profiles without a
 * crash.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/model/loss.h"
#include "trace/snapshot.h"
#include "util/buf.h"
#include "util/utf8.h"
#include "view/report.h"

#define KIB 1024.0
#define MIB (1024.0 * KIB)

/* main -> load -> parse -> operator new, and main -> init; most of it is freed before the end. */
static struct fixture sample_profile(void)
{
    struct fixture fx = fixture_new();
    uint32_t start = fixture_call(&fx, HS_NODE_NONE, "_start");
    fx.line = 44;
    uint32_t main_ = fixture_call(&fx, start, "main");
    fx.line = 20;
    uint32_t load = fixture_call(&fx, main_, "load(char const*)");
    fx.line = 88;
    uint32_t parse = fixture_call(&fx, load, "Table::parse(char const*, unsigned long)");
    fx.line = 0;
    fixture_module(&fx, "/usr/lib/libstdc++.so.6", 0x7f0000000000);
    uint32_t new_ = fixture_call(&fx, parse, "operator new(unsigned long)");
    fx.module = 0;
    fx.line = 45;
    uint32_t init = fixture_call(&fx, main_, "init()");
    fixture_process(&fx, 42, "prog");
    fx.p.processes[0].exe = fx.p.modules[0].path;
    fx.p.processes[0].cmdline = fixture_string(&fx, "prog --fast");
    fx.p.processes[0].exit_kind = 1; /* a status */
    fixture_dump(&fx, 8);
    fixture_sample(&fx, new_, fixture_exact(0, 0), fixture_sampled(8 * MIB, 80, 1e10, 4),
                   fixture_sampled(6 * MIB, 60, 1e10, 4));
    fixture_sample(&fx, init, fixture_exact(10 * KIB, 10), fixture_exact(2 * MIB, 20),
                   fixture_exact(2 * MIB, 20));
    struct hs_profile_dump *dump = &fx.p.dumps[0];
    dump->is_final = true;
    dump->peak_time_ns = dump->start_ns + 3500000000;
    dump->rss_peak_bytes = 12 * 1024 * 1024;
    dump->free_count = 1;
    dump->walk_count = 2;
    fixture_loss(&fx, "lost_no_memory", "allocations not recorded for want of memory", 3);
    fixture_loss(&fx, "stack_cut_deep", "stacks with more than 256 frames", 0);
    fx.p.losses[1].is_serious = false;
    return fx;
}

static const struct hs_report_options plain = {
    .view = HS_VIEW_AUTO,
    .top_count = 10,
    .stack_count = 10,
    .frame_count = 12,
    .columns = 110,
    .select = { .snapshot = HS_SELECT_LAST },
};

static void check(struct fixture *fx, const struct hs_report_options *options, const char *want)
{
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_report_write(&fx->p, options, &buf), 0);
    assert_string_equal(hs_buf_text(&buf), want);
    hs_buf_deinit(&buf);
}

#define HEAD                                                                                       \
    "prog (pid 42) exited with status 0 after 8.00 s\n"                                            \
    "  prog --fast\n"                                                                              \
    "\n"                                                                                           \
    "  peak          8.00 MiB   at least    80   objects   3.50 s after the start\n"               \
    "  live at end   10.0 KiB   at least    10   objects\n"                                        \
    "  allocated     10.0 MiB   at least   100   objects\n"                                        \
    "  peak RSS      12.0 MiB                              whole process\n"                        \
    "  from 2 samples at a mean interval of 4.00 KiB; data is missing, so the figures are too "    \
    "low: see\n"                                                                                   \
    "  the lines below that begin with \"!\"\n"
#define LOSS "  ! allocations not recorded for want of memory: 3\n"
#define ANSWER                                                                                     \
    "\n"                                                                                           \
    "Where did the memory go?   (view: peak, because less than a fifth of it is live)\n"           \
    "  At least 8.00 MiB were live at the peak. 75.0 % of it was allocated by Table::parse and "   \
    "25.0 % by\n"                                                                                  \
    "  init.\n"

static void add_change(struct fixture *fx, double after_s, struct hs_profile_change change)
{
    struct hs_profile *p = &fx->p;
    p->changes = fixture_grow(p->changes, p->change_count, sizeof(*p->changes));
    change.time_ns = p->processes[0].start_ns + (uint64_t)(after_s * 1e9);
    p->changes[p->change_count++] = change;
}

/*
 * Budgets: each reason has its own text; of many changes, the first ones and the last are shown,
 * and none after the snapshot.
 */
static void changes_of_the_interval(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_report_options health = plain;
    health.form = HS_REPORT_HEALTH;
    struct hs_buf buf = HS_BUF_INIT;
    add_change(
        &fx, 1,
        (struct hs_profile_change){ 0, 0, 4096, 16384, UINT64_C(64) << 20, 1, HS_CHANGE_MEMORY });
    add_change(&fx, 2,
               (struct hs_profile_change){ 0, 0, 16384, 32768, 5000, 1, HS_CHANGE_OVERHEAD });
    add_change(&fx, 3, (struct hs_profile_change){ 0, 0, 32768, 16384, 5000, 1, HS_CHANGE_EASED });
    add_change(
        &fx, 4,
        (struct hs_profile_change){ 0, 0, 16384, 32768, 2000000000, 4, HS_CHANGE_COLLECTOR_CPU });
    add_change(&fx, 9, (struct hs_profile_change){ 0, 0, 1, 2, 0, 1, HS_CHANGE_MEMORY });
    assert_int_equal(hs_report_write(&fx.p, &health, &buf), 0);
    const char *text = strstr(hs_buf_text(&buf), "  sampling interval raised");
    assert_non_null(text);
    static const char want[] =
        "  sampling interval raised from 4.00 KiB to 16.0 KiB after 1.00 s, to stay within the "
        "memory budget\n  of 64.0 MiB\n"
        "  sampling interval raised from 16.0 KiB to 32.0 KiB after 2.00 s, to stay within the "
        "overhead\n  budget of 0.5 %\n"
        "  sampling interval lowered from 32.0 KiB to 16.0 KiB after 3.00 s, because recording "
        "cost far less\n  than the overhead budget of 0.5 %\n"
        "  sampling interval raised from 16.0 KiB to 32.0 KiB, scheduled snapshots 4 times less "
        "often than\n  requested after 4.00 s, to stay within the CPU budget of heapscope itself, "
        "2.00 s\n";
    assert_memory_equal(text, want, sizeof(want) - 1);
    assert_null(strstr(text, "from 1 B to 2 B"));
    fx.p.changes[4].time_ns = fx.p.changes[3].time_ns;
    fx.p.changes[4].reason = HS_CHANGE_COLLECTOR_CPU;
    fx.p.changes[4].rarity = 0;
    fx.p.changes[4].to_bytes = 1;
    hs_buf_clear(&buf);
    assert_int_equal(hs_report_write(&fx.p, &health, &buf), 0);
    assert_non_null(strstr(hs_buf_text(&buf), "  (1 more in between; --json lists all)\n"
                                              "  no more scheduled snapshots after 4.00 s"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void whole_report(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    check(&fx, &plain,
          HEAD LOSS ANSWER
          "\n"
          "Functions by their own allocations   those of an allocation wrapper count for its "
          "caller\n"
          "      self               total            function\n"
          "  6.00 MiB   75.0 %   6.00 MiB   75.0 %   Table::parse(char const*, unsigned "
          "long)\n"
          "  2.00 MiB   25.0 %   2.00 MiB   25.0 %   init()\n"
          "\n"
          "Functions by allocations of their own and their callees   without standard "
          "libraries and wrappers\n"
          "      self               total             function\n"
          "                      8.00 MiB   100.0 %   main\n"
          "                      6.00 MiB    75.0 %   load(char const*)\n"
          "  6.00 MiB   75.0 %   6.00 MiB    75.0 %   Table::parse(char const*, unsigned "
          "long)\n"
          "  2.00 MiB   25.0 %   2.00 MiB    25.0 %   init()\n"
          "\n"
          "Stacks\n"
          "    1   6.00 MiB   75.0 %   ≈ 60 objects of 102 KiB\n"
          "         operator new(unsigned long)  [libstdc++.so.6]\n"
          "       > Table::parse(char const*, unsigned long)  prog.c:88\n"
          "         load(char const*)  prog.c:20\n"
          "         main  prog.c:44\n"
          "\n"
          "    2   2.00 MiB   25.0 %   ≈ 20 objects of 102 KiB\n"
          "       > init()  prog.c:45\n"
          "         main  prog.c:44\n"
          "\n"
          "  \">\" marks the innermost function that is neither an allocation wrapper nor of a "
          "standard library,\n  if the stack has one.\n");
    fixture_deinit(&fx);
}

static void tree(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_report_options options = plain;
    options.form = HS_REPORT_TREE;
    check(
        &fx, &options,
        HEAD LOSS ANSWER
        "\n"
        "Call tree   functions below 1 % are added up as \"others\"; --top all shows each\n"
        "   8.00 MiB  100.0 %   _start\n"
        "                       main\n"
        "   6.00 MiB   75.0 %   ├ load(char const*)\n"
        "                       │ Table::parse(char const*, unsigned long)\n"
        "                       │ operator new(unsigned long)  [libstdc++.so.6]\n"
        "   2.00 MiB   25.0 %   └ init()\n"
        "\n"
        "  A function without figures has at least 99.5 % of the figure of its caller, on the line "
        "above.\n");
    fixture_deinit(&fx);
}

static bool has_text(struct fixture *fx, const struct hs_report_options *options, const char *text)
{
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_report_write(&fx->p, options, &buf), 0);
    bool is_there = strstr(hs_buf_text(&buf), text) != NULL;
    if (!is_there) {
        print_message("%s", hs_buf_text(&buf));
    }
    hs_buf_deinit(&buf);
    return is_there;
}

/*
 * "exact: all" is written only for a run that was recorded from its start and of which nothing is
 * missing.
 */
static void exact_only_if_nothing_is_missing(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_report_options options = plain;
    options.columns = 0;
    fx.p.dumps[0].interval_bytes = fx.p.dumps[0].orig_interval_bytes = 1;
    assert_true(has_text(&fx, &options, "from 2 samples at a mean interval of 1 B;"));
    for (uint64_t i = 0; i < fx.p.sample_count; i++) {
        struct hs_profile_sample *sample = &fx.p.samples[i];
        struct hs_amount *amounts[] = { &sample->live, &sample->alloc, &sample->peak };
        for (unsigned k = 0; k < 3; k++) {
            amounts[k]->bytes_var = amounts[k]->count_var = 0;
            amounts[k]->sampled_bytes = amounts[k]->sampled_count = 0;
        }
    }
    struct hs_profile_dump *dump = &fx.p.dumps[0];
    dump->live.bytes_var = dump->alloc.bytes_var = dump->peak.bytes_var = 0;
    dump->live.count_var = dump->alloc.count_var = dump->peak.count_var = 0;
    dump->live.sampled_bytes = dump->alloc.sampled_bytes = dump->peak.sampled_bytes = 0;
    dump->live.sampled_count = dump->alloc.sampled_count = dump->peak.sampled_count = 0;
    assert_true(has_text(&fx, &options,
                         "  2 allocations were recorded with the exact size; others are missing; "
                         "the lines below that begin\n  with \"!\" say which\n" LOSS));
    fx.p.losses[0].count = 0;
    assert_true(
        has_text(&fx, &options, "  exact: all 2 allocations of this process were recorded\n"));
    fx.p.processes[0].has_own_malloc = true;
    assert_true(has_text(&fx, &options, "others are missing"));
    fx.p.processes[0].has_own_malloc = false;
    fx.p.processes[0].is_from_startup = false;
    assert_true(
        has_text(&fx, &options,
                 "  2 allocations were recorded with the exact size; calls through pointers to "
                 "malloc that the program\n  had stored before the recording began are missing\n"));
    fixture_deinit(&fx);
}

static void health(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    struct hs_report_options options = plain;
    options.form = HS_REPORT_HEALTH;
    options.columns = 160;
    /* Counters with a value come first, then all that are zero. */
    assert_true(
        has_text(&fx, &options,
                 "Health   what is missing, by reason; \"!\" marks what makes figures too low\n"
                 "  count   counter "));
    assert_true(has_text(&fx, &options, "      3   lost_no_memory "));
    assert_true(has_text(&fx, &options,
                         "   !   allocations not recorded for want of memory: 3\n"
                         "      0   reentrant "));
    assert_true(has_text(&fx, &options, "      0   table_full "));
    assert_true(has_text(&fx, &options,
                         "\n"
                         "What the recording did\n"
                         "    2   allocations recorded\n"
                         "    1   of these freed later\n"
                         "    2   stacks walked frame by frame\n"
                         "    0   stacks recognized without a walk\n"
                         "  0 B   of shared memory with heapscope's tables in the process\n"));
    fixture_deinit(&fx);
}

/* Allocations that were not recorded are missing from the figures; other losses are not. */
static void losses_of_data_and_of_frames(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= HS_LOSS_N; i++) {
        struct hs_loss_text text = hs_loss_of_client(i);
        assert_true(text.is_serious == (i != HS_LOSS_STACK_EMPTY && i != HS_LOSS_DUPLICATE));
        bool says_missing = strstr(text.text, " not recorded ") || strstr(text.text, " missing ");
        assert_true(text.is_serious == (i == HS_LOSS_STACK_EMPTY ? false : says_missing));
    }
    for (uint32_t i = HS_STACK_END_NO_INFO; i <= HS_STACK_END_N; i++) {
        assert_false(hs_loss_of_stack_end(i).is_serious);
    }
    struct fixture fx = sample_profile();
    struct hs_loss_text empty = hs_loss_of_client(HS_LOSS_STACK_EMPTY);
    fixture_loss(&fx, empty.name, empty.text, 7);
    fx.p.losses[fx.p.loss_count - 1].is_serious = empty.is_serious;
    assert_true(has_text(&fx, &plain,
                         "  stacks without any frame (the allocations are recorded, but not where "
                         "they were made): 7\n"));
    /* A flag says all in its text; "1" would read as a number of something. */
    fixture_loss(&fx, "file_truncated", "the file is truncated", 1);
    fx.p.losses[fx.p.loss_count - 1].unit = HS_LOSS_UNIT_FLAG;
    assert_true(has_text(&fx, &plain, "  ! the file is truncated\n"));
    fixture_deinit(&fx);
}

static void loss_times_are_told(struct fixture *fx, const char *words)
{
    char line[200];
    snprintf(line, sizeof(line), "  ! not recorded: 9%s\n", words);
    struct hs_report_options wide = plain;
    wide.columns = 200;
    assert_true(has_text(fx, &wide, line));
}

static void when_something_was_lost(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    fixture_loss(&fx, "lost", "not recorded", 9);
    loss_times_are_told(&fx, "");
    fixture_loss_time(&fx, 1150, 1450, 4);
    loss_times_are_told(&fx, ", part of it counted between 1.15 s and 1.45 s after the start");
    fixture_loss_time(&fx, 6100, 6350, 5);
    loss_times_are_told(&fx, ", counted between 1.15 s and 1.45 s and between 6.10 s and 6.35 s "
                             "after the start");
    fx.p.loss_times[0].loss.count = 3;
    fixture_loss_time(&fx, 7000, 7200, 1);
    loss_times_are_told(&fx, ", counted in 3 spans between 1.15 s and 7.20 s after the start");
    fixture_loss(&fx, "other", "also not recorded", 1);
    fixture_loss_time(&fx, 0, 100, 1);
    loss_times_are_told(&fx, ", counted in 3 spans between 1.15 s and 7.20 s after the start");
    fx.p.loss_time_count = 1;
    fx.p.loss_times[0].from_ns = fx.p.processes[0].start_ns + 125100000000;
    fx.p.loss_times[0].to_ns = fx.p.loss_times[0].from_ns + 250000000;
    fx.p.loss_times[0].loss.count = 9;
    loss_times_are_told(&fx, ", counted at about 2 min 05 s after the start");
    /* A loss of frames does not make figures wrong. */
    fx.p.losses[1].count = 0;
    fx.p.losses[2].is_serious = fx.p.losses[3].is_serious = false;
    assert_true(has_text(&fx, &plain, "  not recorded: 9; --health"));
    fixture_deinit(&fx);
}

/* Spans of several processes that overlap become one. */
static void when_several_processes_lost_something(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    fixture_loss(&fx, "lost", "not recorded", 4);
    struct hs_profile_loss *first = &fx.p.losses[fx.p.loss_count - 1];
    uint32_t name = first->name, text = first->text;
    fixture_loss_time(&fx, 3000, 3250, 4);
    fixture_process(&fx, 43, "prog");
    fixture_dump(&fx, 8);
    fixture_loss(&fx, "lost", "not recorded", 5);
    fx.p.losses[fx.p.loss_count - 1].name = name;
    fx.p.losses[fx.p.loss_count - 1].text = text;
    fixture_loss_time(&fx, 2900, 3100, 5);
    loss_times_are_told(&fx, ", counted between 2.90 s and 3.25 s after the first start");
    fx.p.loss_times[1].to_ns -= 150000000;
    loss_times_are_told(&fx, ", counted between 2.90 s and 2.95 s and between 3.00 s and 3.25 s "
                             "after the first\n  start");
    fixture_deinit(&fx);
}

static size_t longest_line(const struct hs_buf *buf)
{
    size_t longest = 0;
    for (size_t at = 0; at < buf->bytes;) {
        const char *end = memchr(buf->data + at, '\n', buf->bytes - at);
        size_t bytes = end ? (size_t)(end - buf->data) - at : buf->bytes - at;
        size_t columns = hs_utf8_columns(buf->data + at, bytes);
        longest = columns > longest ? columns : longest;
        at += bytes + 1;
    }
    return longest;
}

/* Every line of every form, with long names and margins of two sides. */
static void lines_fit_down_to_40_columns(void **state)
{
    (void)state;
    struct fixture fx = sample_profile();
    fx.line = 123456;
    uint32_t node = HS_NODE_NONE;
    for (int i = 0; i < 30; i++) {
        node = fixture_call(&fx, node,
                            i % 2 ? "a_name_without_any_place_to_break_it_in_sixty_columns_or_less"
                                  : "space::Class<int, char>::method(std::string const&, long)");
        fixture_sample(&fx, node, fixture_sampled(2 * MIB, 1e6, 1e12, 1e12),
                       fixture_sampled(3 * MIB, 2e6, 1e12, 1e12),
                       fixture_sampled(2 * MIB, 1e6, 1e12, 1e12));
    }
    fixture_process(&fx, 4194304, "another-program-with-a-long-name");
    fixture_dump(&fx, 100)->has_peak = true;
    fixture_sample(&fx, node, fixture_sampled(9e9, 1e6, 1e18, 1e10), fixture_exact(9e9, 1e6),
                   fixture_exact(9e9, 1e6));
    for (unsigned columns = 40; columns < 200; columns++) {
        for (int form = HS_REPORT_TEXT; form <= HS_REPORT_HEALTH; form++) {
            for (int view = HS_VIEW_SPACE; view < HS_VIEW_N && form != HS_REPORT_JSON; view++) {
                struct hs_report_options options = plain;
                struct hs_buf buf = HS_BUF_INIT;
                options.columns = columns;
                options.form = (enum hs_report_form)form;
                options.view = (enum hs_view)view;
                assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
                assert_true(buf.bytes > 200);
                if (longest_line(&buf) > columns) {
                    fail_msg("form %d, %u columns: %s", form, columns, hs_buf_text(&buf));
                }
                hs_buf_deinit(&buf);
            }
        }
    }
    fixture_deinit(&fx);
}

static void names_cannot_reach_the_terminal(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fixture_process(&fx, 1, "e\x1b]0;vil\x07");
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "f\x1b[2J\nfake line\xff");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, node, fixture_exact(5, 1), fixture_exact(5, 1), fixture_exact(5, 1));
    fixture_part(&fx, HS_PARTS_LIVE, node, "t\x1b[2J\nfake\xff", 7, fixture_exact(5, 1));
    fx.p.dumps[0].birth_window_ms = 32;
    fx.p.dumps[0].birth_span_ms = 1000;
    for (uint32_t window = 0; window < 31; window++) {
        fixture_birth(&fx, node, window, fixture_exact(500, 10));
    }
    fx.p.dumps[0].has_lifetimes = true;
    fixture_lifetime(&fx, node, 0, 10, 2);
    fixture_loss(&fx, "l\x1b", "text\x1b", 1);
    for (enum hs_report_form form = HS_REPORT_TEXT; form <= HS_REPORT_JSON_TREE; form++) {
        struct hs_report_options options = plain;
        options.form = form;
        options.by = (struct hs_part_groups){
            .by = { HS_PART_BY_THREAD, HS_PART_BY_STACK, HS_PART_BY_PROCESS }, .by_count = 3
        };
        struct hs_buf buf = HS_BUF_INIT;
        assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
        assert_null(strchr(hs_buf_text(&buf), '\x1b'));
        assert_null(strchr(hs_buf_text(&buf), '\xff'));
        assert_null(strstr(hs_buf_text(&buf), "\nfake"));
        hs_buf_deinit(&buf);
    }
    fixture_deinit(&fx);
}

/* Rows are in the order of what was freed; what is not known is not shown as a figure. */
static void lifetimes(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_report_options options = plain;
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t few = fixture_call(&fx, main_, "few"), many = fixture_call(&fx, main_, "many");
    fixture_process(&fx, 1, "x");
    fixture_dump(&fx, 5)->interval_bytes = 1;
    fixture_sample(&fx, few, fixture_exact(0, 0), fixture_exact(300, 3), fixture_exact(0, 0));
    fixture_lifetime(&fx, few, HS_LIFETIME_SUM_UNKNOWN, 300, 3);
    fixture_sample(&fx, many, fixture_exact(0, 0), fixture_exact(800, 8), fixture_exact(0, 0));
    fixture_lifetime(&fx, many, 0, 600, 6);
    fixture_lifetime(&fx, many, 4, 200, 2);
    fixture_lifetime(&fx, many, HS_LIFETIME_SUM_TEMPORARY, 300, 3);
    fixture_lifetime(&fx, many, HS_LIFETIME_SUM_TEMPORARY + 1, 200, 2);
    fixture_lifetime(&fx, many, HS_LIFETIME_SUM_TIMES, 4e6, 40000);
    options.form = HS_REPORT_LIFETIMES;
    options.columns = 0;
    assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
    const char *text = hs_buf_text(&buf);
    assert_non_null(strstr(text, "5.00 s           3   37.5 %      25.0 %     0 %   0 %   many"));
    assert_non_null(strstr(text, "unknown"));
    assert_non_null(strstr(text, "The lifetimes of 3 freed blocks are unknown"));
    assert_true(strstr(text, "many") < strstr(text, "few"));
    hs_buf_deinit(&buf);
    buf = (struct hs_buf)HS_BUF_INIT;
    options.between_count = 1;
    assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
    assert_non_null(strstr(hs_buf_text(&buf), "5.00 s           5   62.5 %"));
    assert_non_null(strstr(hs_buf_text(&buf), "at most 1 other allocation from malloc"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

/* Each level lists the largest groups, and says how many more there are. */
static void parts(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_report_options options = plain;
    struct hs_buf buf = HS_BUF_INIT;
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t load = fixture_call(&fx, main_, "load");
    uint32_t parse = fixture_call(&fx, main_, "parse");
    fixture_process(&fx, 1, "prog");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, load, fixture_exact(7 * KIB, 7), fixture_exact(7 * KIB, 7),
                   fixture_exact(7 * KIB, 7));
    fixture_sample(&fx, parse, fixture_exact(3 * KIB, 3), fixture_exact(3 * KIB, 3),
                   fixture_exact(3 * KIB, 3));
    fixture_part(&fx, HS_PARTS_LIVE, load, "b", 12, fixture_exact(2 * KIB, 2));
    fixture_part(&fx, HS_PARTS_LIVE, load, "a", 11, fixture_exact(4 * KIB, 4));
    fixture_part(&fx, HS_PARTS_LIVE, load, "c", 13, fixture_exact(KIB, 1));
    fixture_part(&fx, HS_PARTS_LIVE, parse, "a", 11, fixture_exact(KIB, 1));
    fixture_part(&fx, HS_PARTS_LIVE, parse, "b", 12, fixture_exact(2 * KIB, 2));
    options.form = HS_REPORT_BY;
    options.top_count = 2;
    options.by =
        (struct hs_part_groups){ .by = { HS_PART_BY_THREAD, HS_PART_BY_STACK }, .by_count = 2 };
    assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
    const char *want = "Live memory by thread, then by stack\n"
                       "                      objects   \n"
                       "  5.00 KiB   50.0 %         5   a (tid 11)\n"
                       "  4.00 KiB   40.0 %         4     load < main\n"
                       "  1.00 KiB   10.0 %         1     parse < main\n"
                       "  4.00 KiB   40.0 %         4   b (tid 12)\n"
                       "  2.00 KiB   20.0 %         2     load < main\n"
                       "  2.00 KiB   20.0 %         2     parse < main\n"
                       "  1.00 KiB   10.0 %         1   … 1 more\n";
    const char *got = strstr(hs_buf_text(&buf), "Live memory by");
    assert_non_null(got);
    assert_string_equal(got, want);
    hs_buf_deinit(&buf);
    /* A file of another format. */
    fx.p.dumps[0].has_parts = false;
    assert_int_equal(hs_report_write(&fx.p, &options, &buf), -ENODATA);
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static size_t count_of(const struct hs_buf *buf, const char *text)
{
    size_t count = 0;
    for (const char *at = buf->data; (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    return count;
}

/* A file may hold any depth; levels that JSON readers cannot parse are summed up. */
static void deep_tree_in_json(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = HS_NODE_NONE;
    fixture_process(&fx, 1, "prog");
    for (int i = 0; i < 3000; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        node = fixture_call(&fx, node, name);
    }
    fixture_dump(&fx, 1);
    fixture_sample(&fx, node, fixture_exact(5, 1), fixture_exact(5, 1), fixture_exact(5, 1));
    struct hs_report_options options = plain;
    options.form = HS_REPORT_JSON_TREE;
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_report_write(&fx.p, &options, &buf), 0);
    hs_buf_text(&buf);
    assert_int_equal(count_of(&buf, "\"function\": "), 400);
    assert_int_equal(count_of(&buf, "\"others\": {\"functions\": 1, \"total\": {\"bytes\": 5"), 1);
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

static void empty_and_several(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_report_write(&fx.p, &plain, &buf), HS_SELECT_E_EMPTY);
    assert_string_equal(hs_buf_text(&buf), "");
    fixture_process(&fx, 7, "idle");
    fixture_dump(&fx, 1);
    assert_true(
        has_text(&fx, &plain,
                 "No sample was taken for this view: with 95 % confidence, the true value is at "
                 "most 15.4 KiB."));
    fx.p.dumps[0].interval_bytes = 1;
    assert_true(has_text(&fx, &plain, "This profile has no live memory."));
    fx.p.dumps[0].interval_bytes = 4096;
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "main");
    fixture_process(&fx, 8, "busy");
    fx.p.processes[0].exit_kind = HS_EXIT_CODE;
    fx.p.dumps[0].is_final = true;
    fx.p.processes[1].exit_kind = HS_EXIT_SIGNAL;
    fx.p.processes[1].exit_value = 9;
    fixture_dump(&fx, 2);
    fx.p.dumps[1].is_final = true;
    fixture_sample(&fx, node, fixture_exact(5000, 1), fixture_exact(6000, 2),
                   fixture_exact(5000, 1));
    assert_true(has_text(&fx, &plain, "idle (pid 7) and 1 more process in 2.00 s\n"));
    assert_true(has_text(&fx, &plain,
                         "Processes   largest first; --pid PID shows one of them\n"
                         "  pid       peak   live at end   allocated   process\n"
                         "    8   4.88 KiB      4.88 KiB    5.86 KiB   busy  killed by signal 9 "
                         "(SIGKILL)\n"
                         "    7        0 B           0 B         0 B   idle\n"));
    struct hs_report_options one = plain;
    one.select.pid = 8;
    /* Losses of another process are not reported for this one; those of the file are. */
    fixture_loss(&fx, "file", "the file is cut", 1);
    fx.p.losses[0].process = HS_PROFILE_NO_PROCESS;
    fixture_loss(&fx, "idle's", "not here", 1);
    fx.p.losses[1].process = 0;
    struct hs_buf text = HS_BUF_INIT;
    assert_int_equal(hs_report_write(&fx.p, &one, &text), 0);
    assert_non_null(strstr(hs_buf_text(&text), "! the file is cut: 1\n"));
    assert_null(strstr(hs_buf_text(&text), "not here"));
    hs_buf_deinit(&text);
    assert_true(
        has_text(&fx, &one, "busy (pid 8) was killed by signal 9 (SIGKILL) after 2.00 s\n"));
    hs_buf_deinit(&buf);
    fixture_deinit(&fx);
}

/*
 * As in a build: one program many times. The program that started it comes first, although it is
 * last in the file.
 */
static void processes_of_one_program_are_summed_up(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "main");
    for (uint32_t pid = 100; pid < 120; pid++) {
        fixture_process(&fx, pid, pid == 119 ? "make" : "cc");
        fx.p.processes[pid - 100].start_ns = pid == 119 ? 1 : pid;
        fx.p.processes[pid - 100].exit_kind = HS_EXIT_CODE;
        fixture_dump(&fx, 1);
        fx.p.dumps[pid - 100].is_final = true;
        fixture_sample(&fx, node, fixture_exact(1024, 1), fixture_exact(4096, 2),
                       fixture_exact(1024 * (pid - 90), 1));
    }
    assert_true(has_text(&fx, &plain, "make (pid 119) and 19 more processes in 1.00 s\n"));
    assert_true(has_text(&fx, &plain,
                         "Programs   the processes of each program, added up\n"
                         "  runs   largest peak   live at end               allocated   program\n"
                         "    19       28.0 KiB      19.0 KiB   +15.4 KiB    76.0 KiB   cc\n"
                         "     1       29.0 KiB      1.00 KiB   +15.4 KiB    4.00 KiB   make\n"));
    assert_true(has_text(&fx, &plain, "  and 10 smaller ones; --top N lists more\n"));
    /* The end of a recording is not the end of a process that still runs. */
    fx.p.processes[5].exit_kind = HS_EXIT_RUNNING;
    assert_false(has_text(&fx, &plain, "live at end"));
    assert_true(has_text(&fx, &plain, "  runs   largest peak       live               allocated"));
    fixture_deinit(&fx);
}

static void long_stacks_are_cut_in_the_middle(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = HS_NODE_NONE;
    char name[32];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        node = fixture_call(&fx, node, name);
    }
    fixture_process(&fx, 1, "p");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, node, fixture_exact(5, 1), fixture_exact(5, 1), fixture_exact(5, 1));
    struct hs_report_options options = plain;
    options.frame_count = 5;
    assert_true(has_text(&fx, &options,
                         "       > f29  prog.c:1\n         f28  prog.c:1\n         f27  prog.c:1\n"
                         "         … 26 more\n         f0  prog.c:1\n"));
    options.frame_count = HS_REPORT_ALL;
    assert_true(has_text(&fx, &options, "         f15  prog.c:1\n         f14  prog.c:1\n"));
    fixture_deinit(&fx);
}

/* The marked frame is always shown, so a stack may have two gaps, each with its own number of
 * frames. */
static void the_marked_frame_is_between_two_gaps(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    uint32_t node = HS_NODE_NONE;
    char name[32];
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        node = fixture_call(&fx, node, name);
    }
    for (int i = 0; i < 8; i++) {
        node = fixture_call(&fx, node, "operator new(unsigned long)");
    }
    fixture_process(&fx, 1, "p");
    fixture_dump(&fx, 1);
    fixture_sample(&fx, node, fixture_exact(5, 1), fixture_exact(5, 1), fixture_exact(5, 1));
    struct hs_report_options options = plain;
    options.frame_count = 5;
    assert_true(has_text(&fx, &options,
                         "         … 5 more\n       > f9  prog.c:1\n         … 8 more\n"
                         "         f0  prog.c:1\n"));
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_marked_frame_is_between_two_gaps),
        cmocka_unit_test(changes_of_the_interval),
        cmocka_unit_test(whole_report),
        cmocka_unit_test(tree),
        cmocka_unit_test(exact_only_if_nothing_is_missing),
        cmocka_unit_test(health),
        cmocka_unit_test(losses_of_data_and_of_frames),
        cmocka_unit_test(when_something_was_lost),
        cmocka_unit_test(when_several_processes_lost_something),
        cmocka_unit_test(lines_fit_down_to_40_columns),
        cmocka_unit_test(names_cannot_reach_the_terminal),
        cmocka_unit_test(lifetimes),
        cmocka_unit_test(parts),
        cmocka_unit_test(deep_tree_in_json),
        cmocka_unit_test(empty_and_several),
        cmocka_unit_test(processes_of_one_program_are_summed_up),
        cmocka_unit_test(long_stacks_are_cut_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
