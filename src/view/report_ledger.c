/*
 * The ledger of the report: what the resident memory consisted of. See report_parts.h.
 *
 *     Where the resident memory is   in redis-server (pid 4711), 12.3 s after its start
 *           RSS   share        PSS
 *       68.2 MiB  52.4 %  68.2 MiB  malloc: blocks that the program holds (52,311)
 *       12.1 MiB   9.3 %  12.1 MiB  malloc: free blocks in the lists of 4 arenas (1,201)
 *       ...
 *      130.2 MiB   100 % 121.0 MiB  in all
 */
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/ledger_sums.h"
#include "profile/model/describe.h"
#include "rt/base.h"
#include "util/json.h"
#include "view/report_parts.h"

struct kind_words {
    const char *text; /* in the table */
    const char *unit; /* what `count` counts; NULL: it is not shown */
    bool has_names;   /* its lines have names, which are listed */
};

static const struct kind_words kind_words[HS_LEDGER_KIND_N] = {
    [HS_LEDGER_UNKNOWN] = { "of a kind that this version does not know", NULL, true },
    [HS_LEDGER_MALLOC_USED] = { "malloc: blocks that the program holds", "blocks", false },
    [HS_LEDGER_MALLOC_LARGE] = { "malloc: blocks that the program holds, in mappings of their own",
                                 "blocks", false },
    [HS_LEDGER_MALLOC_BINNED] = { "malloc: free, in the lists of arenas", "blocks", false },
    [HS_LEDGER_MALLOC_FAST] = { "malloc: free, not yet merged with neighbours", "blocks", false },
    [HS_LEDGER_MALLOC_CACHED] = { "malloc: free, in the lists of threads", "blocks", false },
    [HS_LEDGER_MALLOC_TOP] = { "malloc: free, at the ends of arenas", NULL, false },
    [HS_LEDGER_MALLOC_INTERNAL] = { "malloc: its own tables", NULL, false },
    [HS_LEDGER_MALLOC_UNREAD] = { "malloc: could not be read", NULL, false },
    [HS_LEDGER_BRK] = { "memory from brk that is not malloc's", NULL, false },
    [HS_LEDGER_ANONYMOUS] = { "anonymous mappings", "mappings", true },
    [HS_LEDGER_SHARED] = { "shared memory", "mappings", true },
    [HS_LEDGER_STACK] = { "stacks of threads", "threads", true },
    [HS_LEDGER_CODE] = { "code and constants of modules", NULL, true },
    [HS_LEDGER_DATA] = { "data of modules", NULL, true },
    [HS_LEDGER_FILE] = { "mapped files", "mappings", true },
    [HS_LEDGER_KERNEL] = { "pages of the kernel's", NULL, true },
    [HS_LEDGER_RECORDER] = { "heapscope itself", NULL, false },
};

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

/* Of the lines of a kind, the table lists those with at least this share of the whole. */
#define LISTED_SHARE 0.005

static void add_row(struct hs_table *table, const struct hs_ledger_sums *sums,
                    const struct hs_ledger_sum *sum, const char *text)
{
    char size[HS_HUMAN_BYTES];
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)sum->rss_bytes));
    hs_table_cell(table, "%s",
                  hs_human_share(size, (double)sum->rss_bytes, (double)sums->all.rss_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)sum->pss_bytes));
    hs_table_cell(table, "%s",
                  sums->all.swap_bytes ? hs_human_bytes(size, (double)sum->swap_bytes) : "");
    hs_table_cell(table, "%s", text);
}

static void add_names(const struct hs_report *report, struct hs_table *table,
                      const struct hs_ledger_sums *sums, uint32_t kind)
{
    uint32_t listed = 0, top = report->options->top_count;
    double least = LISTED_SHARE * (double)sums->all.rss_bytes;
    for (uint32_t i = 0; i < sums->line_count && listed < top; i++) {
        const struct hs_ledger_sum *line = &sums->lines[i];
        const char *name = hs_profile_string(report->profile, line->name);
        struct hs_buf text = HS_BUF_INIT;
        if (line->kind != kind || line->name == 0 ||
            ((double)line->rss_bytes < least && top != HS_REPORT_ALL)) {
            continue;
        }
        hs_buf_str(&text, "    ");
        hs_report_write_on_line(&text, name, strlen(name));
        add_row(table, sums, line, hs_buf_text(&text));
        hs_buf_deinit(&text);
        listed++;
    }
}

static void add_kind(const struct hs_report *report, struct hs_table *table,
                     const struct hs_ledger_sums *sums, uint32_t kind)
{
    const struct kind_words *words = &kind_words[kind];
    const struct hs_ledger_sum *sum = &sums->kinds[kind];
    struct hs_buf text = HS_BUF_INIT;
    char count[HS_HUMAN_BYTES];
    if (sum->rss_bytes == 0 && sum->swap_bytes == 0) {
        return;
    }
    hs_buf_str(&text, words->text);
    if (words->unit) {
        hs_buf_printf(&text, " (%s %s)", hs_human_count(count, (double)sum->count), words->unit);
    }
    add_row(table, sums, sum, hs_buf_text(&text));
    hs_buf_deinit(&text);
    if (words->has_names) {
        add_names(report, table, sums, kind);
    }
}

static void write_table(struct hs_report *report, const struct hs_ledger_sums *sums)
{
    static const struct hs_table_column columns[] = {
        { "RSS", HS_TABLE_RIGHT },  { "share", HS_TABLE_RIGHT }, { "PSS", HS_TABLE_RIGHT },
        { "swap", HS_TABLE_RIGHT }, { "", HS_TABLE_TEXT },
    };
    struct hs_table table;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t kind = 1; kind < HS_LEDGER_KIND_N; kind++) {
        add_kind(report, &table, sums, kind);
    }
    add_kind(report, &table, sums, HS_LEDGER_UNKNOWN);
    add_row(&table, sums, &sums->all, "in all");
    hs_table_write(&table, report->buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .columns = report->options->columns,
                                             .has_colour = report->options->has_colour,
                                             .has_titles = true,
                                             .give_way = "3 2" });
    hs_table_deinit(&table);
}

/* What the numbers of the table mean for malloc. */
static void write_malloc(struct hs_report *report, const struct hs_ledger_sums *sums)
{
    const struct hs_ledger_sum *used = &sums->kinds[HS_LEDGER_MALLOC_USED];
    const struct hs_ledger_sum *large = &sums->kinds[HS_LEDGER_MALLOC_LARGE];
    char size[HS_HUMAN_BYTES], value[HS_HUMAN_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    double held_bytes = (double)(used->size_bytes + large->size_bytes);
    if (held_bytes > 0) {
        hs_buf_printf(&text,
                      "malloc's blocks take %s with what malloc adds to each; this profile's "
                      "snapshot has %s of live blocks.",
                      hs_human_bytes(size, held_bytes), hs_human_bytes(value, sums->live.bytes));
        hs_buf_printf(&text, " malloc_trim(0) would give back %s.",
                      hs_human_bytes(size, (double)sums->trim_bytes));
    }
    if (sums->is_free_cut) {
        hs_buf_str(&text, " Some lists of free blocks were too long to follow, or changed "
                          "meanwhile: their blocks are among those that the program holds.");
    }
    if (hs_buf_text(&text)[0]) {
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
    if (sums->malloc_result < HS_COUNT_OF(malloc_words) && malloc_words[sums->malloc_result]) {
        hs_report_warn(report, malloc_words[sums->malloc_result], 0);
    }
}

static void write_heading(struct hs_report *report, const struct hs_ledger_sums *sums)
{
    const struct hs_selection *s = &report->selection;
    struct hs_buf remark = HS_BUF_INIT;
    char age[HS_HUMAN_BYTES];
    if (sums->process_count == 1 && sums->missing_count == 0) {
        uint64_t start_ns = s->profile->processes[s->profile->dumps[s->dumps[0]].process].start_ns;
        uint64_t age_ns = sums->time_first_ns > start_ns ? sums->time_first_ns - start_ns : 0;
        hs_buf_printf(&remark, "%s after the start of the recording",
                      hs_human_duration(age, age_ns));
    } else {
        hs_buf_printf(&remark, "sums of %u processes; PSS counts what they share once",
                      sums->process_count);
    }
    hs_report_heading(report, "Where is the resident memory (RSS)?", hs_buf_text(&remark));
    hs_buf_deinit(&remark);
}

int hs_report_write_ledger(struct hs_report *report)
{
    struct hs_ledger_sums sums;
    int err = hs_ledger_sums_of(&report->selection, false, &sums);
    if (err < 0) {
        return err;
    }
    write_heading(report, &sums);
    if (sums.process_count == 0) {
        hs_report_write_wrapped(report, "  ",
                                "This file does not say: the memory was not read while the process "
                                "ran.");
    } else {
        write_table(report, &sums);
        write_malloc(report, &sums);
    }
    hs_ledger_sums_deinit(&sums);
    return 0;
}

/* --- in one sentence -------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b)
{
    const struct hs_ledger_part *x = a, *y = b;
    return x->rss_bytes > y->rss_bytes ? -1 : x->rss_bytes < y->rss_bytes;
}

/* Parts smaller than this share of the whole are named together. */
#define PART_SHARE_MIN 0.02

static void add_parts(const struct hs_ledger_sums *sums, struct hs_buf *text)
{
    struct hs_ledger_part parts[HS_LEDGER_PARTS];
    char size[HS_HUMAN_BYTES];
    uint64_t rest_bytes = sums->all.rss_bytes;
    hs_ledger_parts_of(sums, parts);
    qsort(parts, HS_LEDGER_PARTS, sizeof(parts[0]), compare_parts);
    for (size_t i = 0; i < HS_LEDGER_PARTS; i++) {
        double least = PART_SHARE_MIN * (double)sums->all.rss_bytes;
        if (parts[i].rss_bytes == 0 || (double)parts[i].rss_bytes < least) {
            break;
        }
        rest_bytes -= parts[i].rss_bytes < rest_bytes ? parts[i].rss_bytes : rest_bytes;
        hs_buf_printf(text, "%s %s %s", i > 0 ? "," : "",
                      hs_human_bytes(size, (double)parts[i].rss_bytes), parts[i].words);
    }
    if (rest_bytes > 0) {
        hs_buf_printf(text, ", %s of other kinds", hs_human_bytes(size, (double)rest_bytes));
    }
}

/* The reading with the most resident memory can be of long before the process had the most. */
static void add_most(const struct hs_selection *s, const struct hs_ledger_sums *sums,
                     struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES];
    uint64_t most_bytes = 0;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        most_bytes += s->profile->dumps[s->dumps[i]].rss_peak_bytes;
    }
    if ((double)most_bytes > 1.25 * (double)sums->all.rss_bytes) {
        hs_buf_printf(text, " (at another moment, up to %s)",
                      hs_human_bytes(size, (double)most_bytes));
    }
}

static void add_words(const struct hs_selection *s, const struct hs_ledger_sums *sums,
                      struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES];
    uint64_t age_ns = sums->time_first_ns > s->start_ns ? sums->time_first_ns - s->start_ns : 0;
    hs_buf_printf(text, "%s were resident", hs_human_bytes(size, (double)sums->all.rss_bytes));
    if (sums->process_count == 1) {
        hs_buf_printf(text, " %s after the start", hs_human_duration(age, age_ns));
        add_most(s, sums, text);
        hs_buf_char(text, ':');
    } else {
        hs_buf_printf(text, " in %u processes:", sums->process_count);
    }
    add_parts(sums, text);
    hs_buf_str(text, ". report --rss has the details.");
}

bool hs_report_has_ledger(const struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        if (s->profile->dumps[s->dumps[i]].ledger != 0) {
            return true;
        }
    }
    return false;
}

void hs_report_write_ledger_words(struct hs_report *report)
{
    struct hs_ledger_sums sums;
    struct hs_buf text = HS_BUF_INIT;
    int err = hs_ledger_sums_of(&report->selection, true, &sums);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
        return;
    }
    if (sums.process_count > 0) {
        add_words(&report->selection, &sums, &text);
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
    hs_ledger_sums_deinit(&sums);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_json_sum(struct hs_json *json, const struct hs_ledger_sum *sum)
{
    hs_json_kv_uint(json, "rss_bytes", sum->rss_bytes);
    hs_json_kv_uint(json, "pss_bytes", sum->pss_bytes);
    hs_json_kv_uint(json, "swap_bytes", sum->swap_bytes);
}

static void write_json(const struct hs_report *report, struct hs_json *json, const char *key,
                       const struct hs_ledger_sums *sums)
{
    hs_json_key(json, key);
    hs_json_open(json, '{');
    write_json_sum(json, &sums->all);
    hs_json_kv_uint(json, "page_table_bytes", sums->page_table_bytes);
    hs_json_kv_uint(json, "process_count", sums->process_count);
    hs_json_kv_uint(json, "missing_process_count", sums->missing_count);
    hs_json_kv_uint(json, "malloc_arena_count", sums->arena_count);
    hs_json_kv_uint(json, "malloc_trim_bytes", sums->trim_bytes);
    hs_json_kv_bool(json, "is_malloc_read", sums->malloc_result <= HS_LEDGER_MALLOC_NONE);
    hs_json_kv_bool(json, "is_free_exact", !sums->is_free_cut);
    hs_json_key(json, "lines");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < sums->line_count; i++) {
        const struct hs_ledger_sum *line = &sums->lines[i];
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "kind", hs_ledger_kind_key(line->kind));
        if (line->name != 0) {
            hs_json_kv_string(json, "name", hs_profile_string(report->profile, line->name));
        }
        write_json_sum(json, line);
        hs_json_kv_uint(json, "size_bytes", line->size_bytes);
        hs_json_kv_uint(json, "count", line->count);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

int hs_report_json_ledger(const struct hs_report *report, struct hs_json *json)
{
    static const char *const keys[] = { "ledger", "rss_peak_ledger" };
    for (unsigned i = 0; i < HS_COUNT_OF(keys); i++) {
        struct hs_ledger_sums sums;
        int err = hs_ledger_sums_of(&report->selection, i == 1, &sums);
        if (err < 0) {
            return err;
        }
        if (sums.process_count > 0) {
            write_json(report, json, keys[i], &sums);
        }
        hs_ledger_sums_deinit(&sums);
    }
    return 0;
}
