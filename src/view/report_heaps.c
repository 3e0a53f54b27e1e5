/*
 * The heaps of the report: which ones its figures contain, and what each has. See report_parts.h.
 *
 *     2 heaps are added up: libc.malloc (10.0 MiB allocated), gpu (4.00 MiB); pool (2.00 MiB) lies
 *     inside and is not added
 *
 *     Heaps   share: of what is live, or of the heap that it lies in
 *         live  allocated      peak   share  objects  interval  heap
 *     8.00 MiB   10.0 MiB  9.00 MiB  66.7 %    8,192     exact  libc.malloc
 *     4.00 MiB   4.00 MiB  4.00 MiB  33.3 %       64  64.0 KiB  gpu
 *     1.00 MiB   2.00 MiB  1.50 MiB  12.5 %       16     exact  pool, in libc.malloc
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "rt/base.h"
#include "util/json.h"
#include "util/utf8.h"
#include "view/report_parts.h"

/* Of more heaps, the table has this many, the largest; --top all shows all. */
#define HEAPS_LISTED 20U

static void append_name(const struct hs_report *report, const struct hs_heap_sum *sum,
                        struct hs_buf *text)
{
    const char *name = hs_profile_string(report->profile, sum->name);
    hs_buf_str(text, hs_buf_text(text)[0] ? ", " : "");
    hs_utf8_write(text, name, strlen(name));
}

/* Is this the heap that has an interval of its own without being asked for? */
static bool is_own(const struct hs_report *report, const struct hs_heap_sum *sum)
{
    return strcmp(hs_profile_string(report->profile, sum->name), HS_PROFILE_HEAP_PYTHON) == 0 &&
           sum->interval_min_bytes == sum->interval_max_bytes;
}

struct hs_report_intervals hs_report_intervals_of(const struct hs_report *report,
                                                  struct hs_buf *others)
{
    const struct hs_selection *s = &report->selection;
    struct hs_report_intervals all = { 0, 0 };
    const struct hs_heap_sum *own = NULL;
    struct hs_buf exact = HS_BUF_INIT;
    struct hs_heap_sum *sums;
    uint32_t count;
    char size[HS_HUMAN_BYTES];
    if (hs_heap_sums_of(s, &sums, &count) < 0) {
        count = 0;
        sums = NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_heap_sum *sum = &sums[i];
        if (sum->is_counted && sum->interval_max_bytes == 1) {
            append_name(report, sum, &exact);
        } else if (sum->is_counted && is_own(report, sum)) {
            own = sum;
        } else if (sum->is_counted) {
            uint64_t least = sum->interval_min_bytes, most = sum->interval_max_bytes;
            all.least_bytes =
                all.least_bytes == 0 || least < all.least_bytes ? least : all.least_bytes;
            all.most_bytes = most > all.most_bytes ? most : all.most_bytes;
        }
    }
    if (own && all.least_bytes == 0) {
        all = (struct hs_report_intervals){ own->interval_min_bytes, own->interval_min_bytes };
    } else if (own && own->interval_min_bytes != all.least_bytes) {
        append_name(report, own, others);
        hs_buf_printf(others, ": %s", hs_human_bytes(size, (double)own->interval_min_bytes));
    }
    if (hs_buf_text(&exact)[0]) {
        hs_buf_printf(others, "%s%s: exact", hs_buf_text(others)[0] ? "; " : "",
                      hs_buf_text(&exact));
    }
    hs_buf_deinit(&exact);
    free(sums);
    return all.least_bytes > 0
               ? all
               : (struct hs_report_intervals){ s->interval_min_bytes, s->interval_max_bytes };
}

/* Can a heap that is added up lie in another one that is? Of those that heapscope records by itself
 * none has memory of another. */
static bool may_overlap(const struct hs_report *report)
{
    struct hs_heap_sum *sums;
    uint32_t count, counted = 0, registered = 0;
    if (hs_heap_sums_of(&report->selection, &sums, &count) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *name = hs_profile_string(report->profile, sums[i].name);
        counted += sums[i].is_counted;
        registered += sums[i].is_counted && strcmp(name, HS_PROFILE_HEAP_MALLOC) != 0 &&
                      strcmp(name, HS_PROFILE_HEAP_MMAP) != 0 &&
                      strcmp(name, HS_PROFILE_HEAP_PYTHON) != 0;
    }
    free(sums);
    return counted > 1 && registered > 0;
}

void hs_report_write_heap_words(struct hs_report *report)
{
    struct hs_buf text = HS_BUF_INIT;
    if (hs_heap_sums_describe(&report->selection, &text) > 1) {
        /* Only of registered heaps it is known where their memory comes from. */
        hs_buf_str(&text, may_overlap(report)
                              ? "; memory that one added heap takes from another is counted in both"
                              : "");
        hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    }
    report->buf->err = report->buf->err ? report->buf->err : text.err;
    hs_buf_deinit(&text);
}

static const struct hs_amount *amount_of(const struct hs_report *report,
                                         const struct hs_heap_sum *sum)
{
    enum hs_quantity quantity = hs_views[report->view].quantity;
    return quantity == HS_QUANTITY_LIVE    ? &sum->live
           : quantity == HS_QUANTITY_ALLOC ? &sum->alloc
                                           : &sum->peak;
}

/*
 * Does a carved heap have more than the heap in which it lies, by more than the errors of sampling?
 * That heap's blocks are then from before the recording, or the program has named the wrong heap.
 */
static bool is_beyond(const struct hs_report *report, const struct hs_heap_sum *sum,
                      const struct hs_heap_sum *whole)
{
    const struct hs_amount *part = amount_of(report, sum), *all = amount_of(report, whole);
    double error = 3 * sqrt(part->bytes_var + all->bytes_var);
    return part->bytes - error > all->bytes;
}

/* Writes the heap's name, where it lies, and what is special about its figures. */
static void write_name(const struct hs_report *report, const struct hs_heap_sum *sum,
                       const struct hs_heap_sum *whole, struct hs_buf *name)
{
    const char *own = hs_profile_string(report->profile, sum->name);
    hs_buf_str(name, own[0] ? own : "unknown");
    if (sum->is_carved && whole->name != 0) {
        hs_buf_printf(name, ", in %s%s", hs_profile_string(report->profile, whole->name),
                      is_beyond(report, sum, whole) ? ", of which less is recorded" : "");
    } else if (sum->is_carved && sum->parent != HS_PROFILE_NO_HEAP) {
        const struct hs_profile *p = report->profile; /* which has nothing of that heap */
        hs_buf_printf(name, ", in %s", hs_profile_string(p, p->heaps[sum->parent]));
    } else if (sum->is_carved) {
        hs_buf_str(name, ", in an unknown heap");
    } else if (!sum->is_counted) {
        hs_buf_str(name, ", left out");
    }
    if (sum->has_own_samples) {
        hs_buf_str(name, "; counts are numbers of samples");
    }
}

static void add_row(const struct hs_report *report, struct hs_table *table,
                    const struct hs_heap_sum *sums, uint32_t count, const struct hs_heap_sum *sum)
{
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_buf name = HS_BUF_INIT;
    struct hs_heap_sum whole;
    bool is_part = hs_heap_sums_whole(sums, count, sum, &whole);
    double of = is_part           ? hs_report_value(report, amount_of(report, &whole))
                : sum->is_counted ? hs_report_value(report, &report->total)
                                  : 0;
    of = is_part && is_beyond(report, sum, &whole) ? 0 : of;
    hs_table_cell(table, "%s", hs_format_value(text, false, sum->live.bytes));
    hs_table_cell(table, "%s", hs_format_value(text, false, sum->alloc.bytes));
    hs_format_value(text, false, sum->peak.bytes);
    hs_table_cell(table, "%s", report->selection.has_peak ? text : "");
    hs_human_share(text, hs_report_value(report, amount_of(report, sum)), of);
    hs_table_cell(table, "%s", of > 0 ? text : "");
    hs_table_cell(table, "%s", hs_format_value(text, true, sum->live.count));
    hs_human_bytes(text, (double)sum->interval_max_bytes);
    hs_table_cell(table, "%s",
                  sum->interval_max_bytes == 0   ? "unknown"
                  : sum->interval_max_bytes == 1 ? "exact"
                                                 : text);
    write_name(report, sum, &whole, &name);
    hs_table_cell(table, "%s", hs_buf_text(&name));
    hs_buf_deinit(&name);
}

/* Heaps that the figures contain come first; then the largest, where not all are listed. */
static int compare_sums(const void *a, const void *b, void *ctx)
{
    const struct hs_report *report = ctx;
    const struct hs_heap_sum *x = a, *y = b;
    double of_x = hs_report_value(report, amount_of(report, x));
    double of_y = hs_report_value(report, amount_of(report, y));
    if (x->is_counted != y->is_counted) {
        return x->is_counted ? -1 : 1;
    }
    return of_x > of_y ? -1 : of_x < of_y ? 1 : (x->heap > y->heap) - (x->heap < y->heap);
}

static void write_table(struct hs_report *report, struct hs_heap_sum *sums, uint32_t count)
{
    static const struct hs_table_column columns[] = {
        { "live", HS_TABLE_RIGHT },    { "allocated", HS_TABLE_RIGHT },
        { "peak", HS_TABLE_RIGHT },    { "share", HS_TABLE_RIGHT },
        { "objects", HS_TABLE_RIGHT }, { "interval", HS_TABLE_RIGHT },
        { "heap", HS_TABLE_TEXT },
    };
    enum hs_quantity quantity = hs_views[report->view].quantity;
    struct hs_table table;
    struct hs_buf remark = HS_BUF_INIT;
    uint32_t listed = count;
    hs_buf_printf(&remark, "share: of %s, or of the heap that it lies in",
                  quantity == HS_QUANTITY_LIVE    ? "what is live"
                  : quantity == HS_QUANTITY_ALLOC ? "what was allocated"
                                                  : "the peak");
    if (count > HEAPS_LISTED && report->options->top_count != HS_REPORT_ALL) {
        qsort_r(sums, count, sizeof(*sums), compare_sums, report);
        listed = HEAPS_LISTED;
        hs_buf_printf(&remark, "; the largest %u of %u", listed, count);
    }
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < listed; i++) {
        add_row(report, &table, sums, count, &sums[i]);
    }
    hs_report_heading(report, "Heaps", hs_buf_text(&remark));
    hs_report_write_table(report, &table, "5 4 2 1");
    hs_buf_deinit(&remark);
}

void hs_report_write_heaps(struct hs_report *report)
{
    struct hs_heap_sum *sums;
    uint32_t count;
    int err = hs_heap_sums_of(&report->selection, &sums, &count);
    if (err < 0) {
        report->buf->err = report->buf->err ? report->buf->err : err;
        return;
    }
    if (count > 1) {
        write_table(report, sums, count);
    }
    free(sums);
}

/* --- JSON --- */

static void write_json(const struct hs_selection *selection, struct hs_json *json,
                       const struct hs_heap_sum *sums, uint32_t count,
                       const struct hs_heap_sum *sum)
{
    const struct hs_profile *p = selection->profile;
    struct hs_heap_sum whole;
    hs_json_open(json, '{');
    hs_json_kv_string(json, "name", hs_profile_string(p, sum->name));
    hs_json_kv_bool(json, "is_counted", sum->is_counted);
    hs_json_kv_bool(json, "is_carved", sum->is_carved);
    if (sum->is_carved && sum->parent != HS_PROFILE_NO_HEAP) {
        hs_json_kv_string(json, "parent", hs_profile_string(p, p->heaps[sum->parent]));
    }
    if (sum->has_own_samples) {
        hs_json_kv_bool(json, "has_own_samples", true);
    }
    if (sum->interval_max_bytes > 0) {
        hs_json_kv_uint(json, "interval_bytes", sum->interval_max_bytes);
    }
    if (hs_heap_sums_whole(sums, count, sum, &whole) && whole.live.bytes > 0) {
        hs_json_kv_double(json, "share_of_parent", sum->live.bytes / whole.live.bytes);
    }
    hs_report_json_amount(json, "live", &sum->live);
    hs_report_json_amount(json, "alloc", &sum->alloc);
    if (selection->has_peak) {
        hs_report_json_amount(json, "peak", &sum->peak);
    }
    hs_json_close(json, '}');
}

int hs_report_json_heaps(const struct hs_selection *selection, struct hs_json *json)
{
    struct hs_heap_sum *sums;
    uint32_t count;
    int err = hs_heap_sums_of(selection, &sums, &count);
    if (err < 0) {
        return err;
    }
    hs_json_key(json, "heaps");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        write_json(selection, json, sums, count, &sums[i]);
    }
    hs_json_close(json, ']');
    free(sums);
    return hs_report_json_left_out(selection, json);
}
