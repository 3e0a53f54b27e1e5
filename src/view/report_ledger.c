/*
 * The ledger of the report: what the resident memory consisted of. See report_parts.h.
 *
 *     Where is the resident memory (RSS)?   read 12.3 s after the start
 *           RSS    share       PSS  RSS peak  consists of
 *      68.2 MiB   52.4 %  68.2 MiB  68.2 MiB  malloc: blocks that the program holds (52,311 blocks)
 *      12.1 MiB    9.3 %  12.1 MiB   101 MiB  malloc: free, in the lists of arenas (1,201 blocks)
 *      ...
 *       130 MiB  100.0 %   121 MiB   220 MiB  in all
 *      1.20 MiB    0.9 %  1.20 MiB  1.10 MiB  not explained, of all of these
 *
 * Of several processes the proportional bytes (PSS) come first and make the shares: the resident
 * bytes of several processes count shared memory more than once.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/ledger_sums.h"
#include "profile/analyse/rss_advice.h"
#include "rt/base.h"
#include "view/ledger_words.h"
#include "view/report_parts.h"

static const char *const malloc_words[] = {
    [HS_LEDGER_MALLOC_READ] = NULL,
    [HS_LEDGER_MALLOC_NONE] = NULL,
    [HS_LEDGER_MALLOC_OTHER_RELEASE] =
        "heapscope does not know how this release of the C library lays out its heap, so malloc's "
        "memory is among the anonymous mappings",
    [HS_LEDGER_MALLOC_BROKEN] =
        "the heap of the C library makes no sense (the program may have overwritten parts of it), "
        "so malloc's memory is among the anonymous mappings",
    [HS_LEDGER_MALLOC_FORBIDDEN] =
        "heapscope may not read the memory of the process, so malloc's memory and the stacks of "
        "threads are among the anonymous mappings",
};

/* The table lists kinds and names with at least this share of the whole. */
#define LISTED_SHARE 0.005
/* A peak of RSS that is higher than the newest reading by this share has a column. */
#define PEAK_SHARE 0.01

struct ledger {
    struct hs_report *report;
    struct hs_ledger_sums now;
    struct hs_ledger_sums peak; /* of the readings with the largest resident set */
    bool has_peak;              /* it is shown */
    struct hs_table table;
};

static bool is_listed(const struct ledger *ledger, const struct hs_ledger_sum *sum)
{
    const struct hs_ledger_sums *now = &ledger->now;
    double least = LISTED_SHARE * (double)hs_ledger_sums_measure(now, &now->all);
    return ledger->report->options->top_count == HS_REPORT_ALL ||
           (double)hs_ledger_sums_measure(now, sum) >= least;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_row(struct ledger *ledger, const struct hs_ledger_sum *sum,
                    const struct hs_ledger_sum *peak, const char *text)
{
    const struct hs_ledger_sums *now = &ledger->now;
    struct hs_table *table = &ledger->table;
    bool is_several = now->process_count > 1;
    bool has_pss = now->all.pss_bytes != now->all.rss_bytes;
    char size[HS_HUMAN_BYTES];
    uint64_t second_bytes = is_several ? sum->rss_bytes : sum->pss_bytes;
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)hs_ledger_sums_measure(now, sum)));
    hs_table_cell(table, "%s",
                  hs_human_share(size, (double)hs_ledger_sums_measure(now, sum),
                                 (double)hs_ledger_sums_measure(now, &now->all)));
    hs_table_cell(table, "%s", has_pss ? hs_human_bytes(size, (double)second_bytes) : "");
    hs_table_cell(table, "%s",
                  now->all.swap_bytes ? hs_human_bytes(size, (double)sum->swap_bytes) : "");
    hs_table_cell(table, "%s",
                  ledger->has_peak ? hs_human_bytes(size, peak ? (double)peak->rss_bytes : 0.0)
                                   : "");
    hs_table_cell(table, "%s", text);
}

/* Writes " (1.30 MiB in use, 1.20 MiB ±70 KiB in recorded live blocks)" of an allocator. */
static void write_blocks(const struct ledger *ledger, const struct hs_ledger_sum *line,
                         struct hs_buf *text)
{
    const struct hs_ledger_blocks *blocks = &line->blocks;
    struct hs_figure figure = hs_ledger_blocks_figure(blocks, line->rss_bytes);
    char size[HS_HUMAN_BYTES], margin[HS_FORMAT_INTERVAL_BYTES];
    const char *before = " (";
    if (blocks->used_bytes > 0) {
        hs_buf_printf(text, "%s%s in use", before,
                      hs_human_bytes(size, (double)blocks->used_bytes));
        before = ", ";
    }
    if (blocks->bytes > 0) {
        hs_report_margin(ledger->report, margin, false, &figure);
        hs_buf_printf(text, "%s%s%s%s in recorded live blocks", before,
                      hs_human_bytes(size, figure.value), margin[0] ? " " : "", margin);
    }
    hs_buf_str(text, blocks->used_bytes > 0 || blocks->bytes > 0 ? ")" : "");
}

static void add_names(struct ledger *ledger, uint32_t kind)
{
    const struct hs_ledger_sums *now = &ledger->now;
    uint32_t listed = 0;
    for (uint32_t i = 0; i < now->line_count && listed < ledger->report->options->top_count; i++) {
        const struct hs_ledger_sum *line = &now->lines[i];
        const char *name = hs_profile_string(ledger->report->profile, line->name);
        struct hs_buf text = HS_BUF_INIT;
        if (line->kind != kind || line->name == 0 || !is_listed(ledger, line)) {
            continue;
        }
        hs_buf_str(&text, "    ");
        hs_report_write_on_line(&text, name, strlen(name));
        write_blocks(ledger, line, &text);
        add_row(ledger, line, hs_ledger_sums_find(&ledger->peak, kind, line->name),
                hs_buf_text(&text));
        hs_buf_deinit(&text);
        listed++;
    }
}

static void add_kind(struct ledger *ledger, uint32_t kind)
{
    struct hs_ledger_sum sum = ledger->now.kinds[kind];
    struct hs_buf text = HS_BUF_INIT;
    sum.kind = kind;
    hs_ledger_words_write(&sum, &text);
    if (sum.rss_margin_bytes > 0) {
        char margin[HS_HUMAN_BYTES];
        hs_buf_printf(&text, ", ± %s", hs_human_bytes(margin, sum.rss_margin_bytes));
    }
    add_row(ledger, &sum, &ledger->peak.kinds[kind], hs_buf_text(&text));
    hs_buf_deinit(&text);
    if (hs_ledger_words_have_names(kind)) {
        add_names(ledger, kind);
    }
}

static void add_to(struct hs_ledger_sum *sum, const struct hs_ledger_sum *other)
{
    sum->rss_bytes += other->rss_bytes;
    sum->pss_bytes += other->pss_bytes;
    sum->swap_bytes += other->swap_bytes;
}

/* Adds a row for each kind with a share worth a row, and one row for all others. */
static void add_kinds(struct ledger *ledger)
{
    const struct hs_ledger_sums *now = &ledger->now;
    struct hs_ledger_sum rest = { 0 }, rest_peak = { 0 };
    uint32_t rest_count = 0, last = 0;
    for (uint32_t i = 1; i <= HS_LEDGER_KIND_N; i++) {
        uint32_t kind = i < HS_LEDGER_KIND_N ? i : HS_LEDGER_UNKNOWN;
        const struct hs_ledger_sum *sum = &now->kinds[kind], *peak = &ledger->peak.kinds[kind];
        bool is_large_at_peak = ledger->has_peak && is_listed(ledger, peak);
        if (is_listed(ledger, sum) && sum->rss_bytes + sum->swap_bytes > 0) {
            add_kind(ledger, kind);
        } else if (is_large_at_peak && peak->rss_bytes > 0) {
            add_row(ledger, sum, peak, hs_ledger_words_of(kind));
        } else if (sum->rss_bytes + sum->swap_bytes + peak->rss_bytes > 0) {
            add_to(&rest, sum);
            add_to(&rest_peak, peak);
            last = kind;
            rest_count++;
        }
    }
    if (rest_count == 1) {
        add_kind(ledger, last);
    } else if (rest_count > 1) {
        struct hs_buf text = HS_BUF_INIT;
        hs_buf_printf(&text, "%u smaller kinds; --top all lists them", rest_count);
        add_row(ledger, &rest, &rest_peak, hs_buf_text(&text));
        hs_buf_deinit(&text);
    }
}

static void write_table(struct ledger *ledger)
{
    bool is_several = ledger->now.process_count > 1;
    const struct hs_table_column columns[] = {
        { is_several ? "PSS" : "RSS", HS_TABLE_RIGHT },
        { "share", HS_TABLE_RIGHT },
        { is_several ? "RSS" : "PSS", HS_TABLE_RIGHT },
        { "swap", HS_TABLE_RIGHT },
        { "RSS peak", HS_TABLE_RIGHT },
        { "consists of", HS_TABLE_TEXT },
    };
    hs_table_init(&ledger->table, columns, HS_COUNT_OF(columns));
    add_kinds(ledger);
    add_row(ledger, &ledger->now.all, &ledger->peak.all, "in all");
    add_row(ledger, &ledger->now.unexplained, &ledger->peak.unexplained,
            "not explained, of all of these");
    hs_report_write_table(ledger->report, &ledger->table, "3 2 4");
}

/* --- what the table does not say -------------------------------------------------------------- */

/* What malloc_trim(0) would give back is said always. */
static void add_advice(const struct ledger *ledger, struct hs_buf *text)
{
    static const char *const words[HS_RSS_REMEDY_N] = {
        [HS_RSS_MANY] = ", and a thread uses only the free memory of its own arena: with "
                        "MALLOC_ARENA_MAX=2 in the environment, threads share two.",
        [HS_RSS_ENDS] = " are free at the ends of arenas: with MALLOC_TRIM_THRESHOLD_=131072 in "
                        "the environment, free() gives back the end of an arena that is longer "
                        "than 128 KiB.",
        [HS_RSS_PIECES] = " are free in pieces of more than 128 KiB on average: with "
                          "MALLOC_MMAP_THRESHOLD_=131072 in the environment, each block of that "
                          "size has a mapping of its own, which free() gives back.",
        [HS_RSS_DECAY] = " of jemalloc's memory are in no live block: with "
                         "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 in the environment, "
                         "jemalloc gives back pages as soon as all of their blocks are free.",
    };
    struct hs_rss_advice advice[HS_RSS_ADVICE_MAX];
    uint32_t count = hs_rss_advice_of(&ledger->report->selection, &ledger->now, advice);
    char size[HS_HUMAN_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        if (!words[advice[i].remedy]) {
            continue;
        }
        hs_buf_printf(text, " %s", hs_human_bytes(size, (double)advice[i].bytes));
        if (advice[i].remedy == HS_RSS_MANY) {
            hs_buf_printf(text, " are free in %llu arenas",
                          (unsigned long long)advice[i].arena_count);
        }
        hs_buf_str(text, words[advice[i].remedy]);
    }
}

/* Writes what the row "not explained" consists of. */
static void add_unexplained(const struct hs_ledger_sums *now, struct hs_buf *text)
{
    const struct {
        uint64_t bytes;
        const char *words;
    } causes[] = {
        { 0, "in anonymous mappings that the program or its runtime made, without a name" },
        { hs_ledger_sums_measure(now, &now->kinds[HS_LEDGER_BRK]), "from brk" },
        { hs_ledger_sums_measure(now, &now->kinds[HS_LEDGER_MALLOC_UNREAD]),
          "of malloc's, which could not be read" },
        { hs_ledger_sums_measure(now, &now->kinds[HS_LEDGER_UNKNOWN]),
          "of kinds that this version does not know" },
        { now->changed_bytes, "that changed while they were read" },
    };
    char size[HS_HUMAN_BYTES];
    uint64_t all_bytes = hs_ledger_sums_measure(now, &now->unexplained);
    uint64_t rest_bytes = all_bytes;
    const char *before = " Not explained are ";
    for (unsigned i = 1; i < HS_COUNT_OF(causes); i++) {
        rest_bytes -= causes[i].bytes < rest_bytes ? causes[i].bytes : rest_bytes;
    }
    for (unsigned i = 0; i < HS_COUNT_OF(causes); i++) {
        uint64_t bytes = i == 0 ? rest_bytes : causes[i].bytes;
        if (bytes > 0) {
            hs_buf_printf(text, "%s%s %s", before, hs_human_bytes(size, (double)bytes),
                          causes[i].words);
            before = ", ";
        }
    }
    hs_buf_str(text, all_bytes > 0 ? "." : "");
}

static void write_remarks(struct ledger *ledger)
{
    const struct hs_ledger_sums *now = &ledger->now;
    char size[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    if (now->malloc_result == HS_LEDGER_MALLOC_READ && now->arena_count > 0) {
        hs_buf_printf(&text, "malloc has %llu arena%s; malloc_trim(0) would give back %s",
                      (unsigned long long)now->arena_count, now->arena_count == 1 ? "" : "s",
                      hs_human_bytes(size, (double)now->trim_bytes));
        if (now->trim_margin_bytes > 0) {
            hs_buf_printf(&text, " ± %s", hs_human_bytes(size, now->trim_margin_bytes));
        }
        hs_buf_char(&text, '.');
    }
    if (now->malloc_part_share > 1) {
        hs_buf_printf(
            &text,
            " Figures with ± are estimates, and hold in 95 of 100 cases: of a large heap, "
            "one part in %u of malloc's chunks was read. Free blocks in the lists of "
            "threads whose lists lie in the other parts are among those that the program "
            "holds.",
            now->malloc_part_share);
    }
    add_advice(ledger, &text);
    if (now->is_free_cut) {
        hs_buf_str(&text, " Some lists of free blocks were too long to follow, or changed "
                          "meanwhile: their blocks are among those that the program holds.");
    }
    add_unexplained(now, &text);
    if (now->hugetlb_bytes > 0) {
        hs_buf_printf(&text,
                      " %s more are in huge pages of the system's pool (MAP_HUGETLB), which the "
                      "kernel does not count as resident.",
                      hs_human_bytes(size, (double)now->hugetlb_bytes));
    }
    if (hs_buf_text(&text)[0]) {
        hs_report_write_wrapped(ledger->report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
    if (now->malloc_result < HS_COUNT_OF(malloc_words) && malloc_words[now->malloc_result]) {
        hs_report_warn(ledger->report, malloc_words[now->malloc_result], 0);
    }
}

static void write_heading(struct ledger *ledger)
{
    const struct hs_ledger_sums *now = &ledger->now;
    uint64_t start_ns = ledger->report->selection.start_ns;
    struct hs_buf remark = HS_BUF_INIT;
    char first[HS_HUMAN_BYTES], last[HS_HUMAN_BYTES];
    hs_human_duration(first, hs_report_after_ns(now->time_first_ns, start_ns));
    hs_human_duration(last, hs_report_after_ns(now->time_last_ns, start_ns));
    if (now->process_count > 1) {
        hs_buf_printf(&remark, "%u processes, read %s to %s after the start", now->process_count,
                      first, last);
    } else if (now->process_count == 1) {
        hs_buf_printf(&remark, "read %s after the start", first);
    }
    if (now->process_count > 0 && now->missing_count > 0) {
        hs_buf_printf(&remark, "; %u more %s not read", now->missing_count,
                      now->missing_count == 1 ? "was" : "were");
    }
    hs_report_heading(ledger->report,
                      now->process_count > 1 ? "Where is the resident memory (PSS, RSS)?"
                                             : "Where is the resident memory (RSS)?",
                      hs_buf_text(&remark));
    hs_buf_deinit(&remark);
}

static void write_all(struct ledger *ledger)
{
    ledger->has_peak =
        (double)ledger->peak.all.rss_bytes > (1 + PEAK_SHARE) * (double)ledger->now.all.rss_bytes;
    write_heading(ledger);
    if (ledger->now.process_count == 0) {
        hs_report_write_wrapped(ledger->report, "  ",
                                "This file does not say: the memory was not read while the process "
                                "ran.");
        return;
    }
    write_table(ledger);
    hs_report_write_rss_moments(ledger->report, &ledger->now, &ledger->peak);
    write_remarks(ledger);
}

int hs_report_write_ledger(struct hs_report *report)
{
    struct ledger ledger = { .report = report };
    int err = hs_ledger_sums_of(&report->selection, false, &ledger.now);
    err = err ? err : hs_ledger_sums_of(&report->selection, true, &ledger.peak);
    if (err == 0) {
        write_all(&ledger);
        err = ledger.now.process_count > 0 ? hs_report_write_holders(report, &ledger.now) : 0;
    }
    if (err == 0 && ledger.now.process_count > 1) {
        err = hs_report_write_ledger_processes(report);
    }
    hs_ledger_sums_deinit(&ledger.now);
    hs_ledger_sums_deinit(&ledger.peak);
    return err;
}
