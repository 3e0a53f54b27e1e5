/*
 * The resident memory in the report's JSON. See report_parts.h.
 */
#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/ledger_sums.h"
#include "profile/analyse/rss_advice.h"
#include "rt/base.h"
#include "util/json.h"
#include "view/ledger_words.h"
#include "view/report_parts.h"

static void write_bytes(struct hs_json *json, const struct hs_ledger_sum *sum)
{
    hs_json_kv_uint(json, "rss_bytes", sum->rss_bytes);
    hs_json_kv_uint(json, "pss_bytes", sum->pss_bytes);
    hs_json_kv_uint(json, "swap_bytes", sum->swap_bytes);
}

static void write_blocks(struct hs_json *json, const struct hs_ledger_sum *line)
{
    struct hs_ledger_ends ends = hs_ledger_blocks_ends(&line->blocks, line->rss_bytes);
    hs_json_kv_double(json, "blocks_bytes",
                      hs_ledger_blocks_figure(&line->blocks, line->rss_bytes).value);
    hs_json_kv_double(json, "blocks_low_bytes", ends.low_bytes);
    hs_json_kv_double(json, "blocks_high_bytes", ends.high_bytes);
}

static void write_lines(const struct hs_profile *p, struct hs_json *json,
                        const struct hs_ledger_sums *sums)
{
    hs_json_key(json, "lines");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < sums->line_count; i++) {
        const struct hs_ledger_sum *line = &sums->lines[i];
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "kind", hs_ledger_kind_key(line->kind));
        if (line->name != 0) {
            hs_json_kv_string(json, "name", hs_profile_string(p, line->name));
        }
        hs_json_kv_string(json, "words", hs_ledger_words_of(line->kind));
        hs_json_kv_string(json, "part", hs_ledger_part_words(hs_ledger_part_of(line->kind)));
        hs_json_kv_bool(json, "is_explained", hs_ledger_is_explained(line->kind, line->name != 0));
        write_bytes(json, line);
        if (line->rss_margin_bytes > 0) {
            hs_json_kv_uint(json, "rss_margin_bytes", (uint64_t)line->rss_margin_bytes);
        }
        hs_json_kv_uint(json, "size_bytes", line->size_bytes);
        hs_json_kv_uint(json, "count", line->count);
        if (line->blocks.bytes > 0 || line->blocks.weight_bytes > 0) {
            write_blocks(json, line);
        }
        if (line->blocks.used_bytes > 0) {
            hs_json_kv_uint(json, "used_bytes", line->blocks.used_bytes);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static void write_advice(const struct hs_report *report, struct hs_json *json,
                         const struct hs_ledger_sums *sums)
{
    struct hs_rss_advice advice[HS_RSS_ADVICE_MAX];
    uint32_t count = hs_rss_advice_of(&report->selection, sums, advice);
    hs_json_key(json, "remedies");
    hs_json_open_inline(json, '[');
    for (uint32_t i = 0; i < count; i++) {
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "remedy", hs_rss_remedy_key(advice[i].remedy));
        hs_json_kv_uint(json, "bytes", advice[i].bytes);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static void write_sums(const struct hs_report *report, struct hs_json *json, const char *key,
                       const struct hs_ledger_sums *sums)
{
    uint64_t start_ns = report->selection.start_ns;
    if (key) {
        hs_json_key(json, key);
    }
    hs_json_open(json, '{');
    write_bytes(json, &sums->all);
    hs_json_kv_uint(json, "unexplained_bytes", sums->unexplained.rss_bytes);
    hs_json_kv_uint(json, "unexplained_pss_bytes", sums->unexplained.pss_bytes);
    hs_json_kv_uint(json, "changed_bytes", sums->changed_bytes);
    hs_json_kv_double(json, "read_from_seconds",
                      (double)hs_report_after_ns(sums->time_first_ns, start_ns) / 1e9);
    hs_json_kv_double(json, "read_to_seconds",
                      (double)hs_report_after_ns(sums->time_last_ns, start_ns) / 1e9);
    hs_json_kv_uint(json, "page_table_bytes", sums->page_table_bytes);
    hs_json_kv_uint(json, "hugetlb_bytes", sums->hugetlb_bytes);
    hs_json_kv_uint(json, "process_count", sums->process_count);
    hs_json_kv_uint(json, "missing_process_count", sums->missing_count);
    hs_json_kv_uint(json, "malloc_arena_count", sums->arena_count);
    hs_json_kv_uint(json, "malloc_trim_bytes", sums->trim_bytes);
    if (sums->malloc_part_share > 1) {
        hs_json_kv_uint(json, "malloc_trim_margin_bytes", (uint64_t)sums->trim_margin_bytes);
        hs_json_kv_uint(json, "malloc_part_share", sums->malloc_part_share);
    }
    write_advice(report, json, sums);
    hs_json_kv_bool(json, "is_malloc_read", sums->malloc_result <= HS_LEDGER_MALLOC_NONE);
    hs_json_kv_bool(json, "is_free_exact", !sums->is_free_cut && sums->malloc_part_share <= 1);
    write_lines(report->profile, json, sums);
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
            write_sums(report, json, keys[i], &sums);
        }
        hs_ledger_sums_deinit(&sums);
    }
    return 0;
}

int hs_report_write_ledger_json(const struct hs_profile *profile, uint32_t dump_idx,
                                struct hs_buf *buf)
{
    const struct hs_profile_dump *dump = &profile->dumps[dump_idx];
    struct hs_report report = { .profile = profile, .buf = buf };
    struct hs_ledger_sums sums = { 0 };
    struct hs_json json;
    hs_json_init(&json, buf, 0);
    int err = hs_select_dump(profile, dump_idx, &report.selection);
    if (err == 0 && dump->ledger > 0 && dump->ledger <= profile->ledger_count) {
        err = hs_ledger_sums_of_one(profile, dump->ledger - 1, &sums);
    }
    if (err == 0) {
        report.selection.start_ns = profile->processes[dump->process].start_ns;
        write_sums(&report, &json, NULL, &sums);
    }
    hs_ledger_sums_deinit(&sums);
    hs_selection_deinit(&report.selection);
    return err ? err : buf->err;
}

int hs_report_json_process_ledger(const struct hs_report *report, struct hs_json *json,
                                  const struct hs_profile_dump *dump)
{
    const struct hs_profile *p = report->profile;
    struct hs_ledger_sums sums;
    if (dump->ledger == 0 || dump->ledger > p->ledger_count) {
        return 0;
    }
    int err = hs_ledger_sums_of_one(p, dump->ledger - 1, &sums);
    if (err == 0) {
        uint64_t start_ns = p->processes[dump->process].start_ns;
        hs_json_key(json, "ledger_sums");
        hs_json_open_inline(json, '{');
        write_bytes(json, &sums.all);
        hs_json_kv_uint(json, "unexplained_bytes", sums.unexplained.rss_bytes);
        hs_json_kv_double(json, "read_at_seconds",
                          (double)hs_report_after_ns(sums.time_first_ns, start_ns) / 1e9);
        hs_json_close(json, '}');
        hs_ledger_sums_deinit(&sums);
    }
    return err;
}
