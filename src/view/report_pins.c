/*
 * The part of the report that says which stacks keep nearly empty pages. See report_parts.h.
 *
 *     Which stacks keep nearly empty pages?   freeing their blocks would give the pages back
 *       live blocks  on pages of   freed alone   with those above
 *          40.2 KiB      31.0 MiB      31.0 MiB         31.0 MiB  parse_header  [libhttp.so]
 *          ...
 */
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/pin_sums.h"
#include "rt/base.h"
#include "util/json.h"
#include "view/report_parts.h"

/* A stack is shown when its nearly empty pages are this share of malloc's resident pages. */
#define SHOWN_SHARE 0.01
#define PAGE_BYTES  4096U
#define HUGE_BYTES  (2U << 20)

static uint64_t page_sum(const struct hs_pin_sums *sums)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HS_PIN_LEVELS; i++) {
        count += sums->page_count[i];
    }
    return count;
}

/* The node of a stack in the tree of the report; HS_NODE_NONE: it is not there. */
static uint32_t node_of(const struct hs_report *report, const struct hs_profile_pin *stack)
{
    return stack->node < report->profile->node_count ? report->agg.malloc_nodes[stack->node]
                                                     : HS_NODE_NONE;
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_estimate(struct hs_table *table, const struct hs_pin_estimate *estimate)
{
    char low[HS_HUMAN_BYTES], high[HS_HUMAN_BYTES];
    if (!hs_pin_is_told(estimate)) {
        hs_table_cell(table, "?");
    } else if (estimate->low_bytes == estimate->high_bytes) {
        hs_table_cell(table, "%s", hs_human_bytes(low, (double)estimate->bytes));
    } else {
        hs_table_cell(table, "%s to %s", hs_human_bytes(low, (double)estimate->low_bytes),
                      hs_human_bytes(high, (double)estimate->high_bytes));
    }
}

static void add_row(const struct hs_report *report, struct hs_table *table,
                    const struct hs_pin_sums *sums, const struct hs_profile_pin *stack)
{
    char size[HS_HUMAN_BYTES];
    struct hs_buf name = HS_BUF_INIT, place = HS_BUF_INIT;
    uint32_t leaf = node_of(report, stack);
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->block_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(size, (double)stack->sparse_page_bytes));
    add_estimate(table, &stack->gain);
    if (sums->has_sets) {
        add_estimate(table, &stack->set_gain);
    } else {
        hs_table_cell(table, "%s", "");
    }
    if (leaf == HS_NODE_NONE) {
        hs_table_cell(table, "%s", "a stack of another heap");
        hs_table_cell(table, "%s", "");
    } else {
        uint32_t node = hs_agg_headline(&report->agg, leaf);
        hs_agg_write_function(&report->agg, report->agg.nodes[node].function, &name);
        hs_report_write_place(report, node, &place);
        hs_table_cell(table, "%s", hs_buf_text(&name));
        hs_table_cell(table, "%s", hs_buf_text(&place));
    }
    hs_buf_deinit(&name);
    hs_buf_deinit(&place);
}

/* Does a stack keep enough to be shown? */
static bool is_shown(const struct hs_pin_sums *sums, const struct hs_profile_pin *stack)
{
    return (double)stack->sparse_page_bytes >
           SHOWN_SHARE * (double)page_sum(sums) * (double)PAGE_BYTES;
}

static uint32_t count_shown(const struct hs_report *report, const struct hs_pin_sums *sums)
{
    uint32_t count = 0;
    while (count < sums->stack_count && count < report->options->top_count &&
           (report->options->top_count == HS_REPORT_ALL || is_shown(sums, &sums->stacks[count]))) {
        count++;
    }
    return count;
}

static void write_table(struct hs_report *report, const struct hs_pin_sums *sums, uint32_t count)
{
    static const struct hs_table_column columns[] = {
        { "live blocks", HS_TABLE_RIGHT }, { "on pages of", HS_TABLE_RIGHT },
        { "freed alone", HS_TABLE_RIGHT }, { "with those above", HS_TABLE_RIGHT },
        { "stack", HS_TABLE_NAME },        { "", HS_TABLE_NOTE },
    };
    struct hs_table table;
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    for (uint32_t i = 0; i < count; i++) {
        add_row(report, &table, sums, &sums->stacks[i]);
    }
    hs_report_write_table(report, &table, "3 1");
}

/* The share of malloc's pages that is nearly empty, and the huge pages. */
static void add_fullness(const struct hs_pin_sums *sums, struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES], all[HS_HUMAN_BYTES];
    uint64_t sparse = 0, huge = 0, sparse_huge = 0;
    for (size_t i = 0; i < HS_PIN_LEVELS; i++) {
        bool is_sparse = i > 0 && i <= HS_PIN_SPARSE_LEVEL;
        sparse += is_sparse ? sums->page_count[i] : 0;
        huge += sums->huge_count[i];
        sparse_huge += i <= HS_PIN_SPARSE_LEVEL ? sums->huge_count[i] : 0;
    }
    hs_buf_printf(text,
                  "Of %s in malloc's resident pages, %s are in pages that are nearly empty: "
                  "live blocks take at most a quarter of each.",
                  hs_human_bytes(all, (double)page_sum(sums) * PAGE_BYTES),
                  hs_human_bytes(size, (double)sparse * PAGE_BYTES));
    if (huge > 0) {
        hs_buf_printf(text, " Of %s%llu huge pages of 2 MiB, %llu are at most a quarter in use.",
                      sums->is_huge_estimated ? "about " : "", (unsigned long long)huge,
                      (unsigned long long)sparse_huge);
    }
}

/* What blocks take beyond what the program asked for. */
static void add_rounding(const struct hs_pin_sums *sums, struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES], words[HS_HUMAN_BYTES];
    if (sums->rounding_bytes > 0) {
        hs_buf_printf(text,
                      " The recorded live blocks take %s%s more than the program asked for: %s for "
                      "malloc's own words, and the rest because malloc rounds sizes up.",
                      sums->is_exact ? "" : "about ",
                      hs_human_bytes(size, (double)sums->rounding_bytes),
                      hs_human_bytes(words, (double)sums->head_bytes));
    }
}

/* What limits the figures. */
static void add_limits(const struct hs_pin_sums *sums, struct hs_buf *text)
{
    char size[HS_HUMAN_BYTES];
    uint64_t all_bytes = page_sum(sums) * PAGE_BYTES;
    if ((double)sums->unknown_page_bytes > SHOWN_SHARE * (double)all_bytes) {
        hs_buf_printf(text,
                      " Blocks that this recording does not know, such as those from before "
                      "it began, keep %s of nearly empty pages.",
                      hs_human_bytes(size, (double)sums->unknown_page_bytes));
    }
    if ((double)sums->cached_page_bytes > SHOWN_SHARE * (double)all_bytes) {
        hs_buf_printf(text, " Only free blocks in the lists of threads keep %s.",
                      hs_human_bytes(size, (double)sums->cached_page_bytes));
    }
    if (sums->is_sampled) {
        hs_buf_str(text, " The heap is large: the figures are estimates from a part of its pages.");
    }
}

static void write_stacks(struct hs_report *report, const struct hs_pin_sums *sums)
{
    struct hs_buf text = HS_BUF_INIT;
    uint32_t count = count_shown(report, sums);
    add_fullness(sums, &text);
    add_rounding(sums, &text);
    add_limits(sums, &text);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
    if (count == 0) {
        return;
    }
    write_table(report, sums, count);
    hs_report_write_wrapped(
        report, "  ",
        sums->is_exact
            ? "When the program frees all blocks of a stack and calls malloc_trim(0), it gives "
              "back so much more than malloc_trim(0) would now."
            : "When the program frees all blocks of a stack and calls malloc_trim(0), it gives "
              "back so much more than malloc_trim(0) would now. These are estimates from samples; "
              "\"?\": the samples do not tell. An interval of 1 byte (-i 1) makes them exact.");
}

int hs_report_write_pins(struct hs_report *report)
{
    struct hs_pin_sums sums;
    int err = hs_pin_sums_of(&report->selection, &sums);
    if (err < 0) {
        return err;
    }
    if (sums.process_count > 0 && page_sum(&sums) > 0) {
        hs_report_heading(report, "Which stacks keep nearly empty pages?", "");
        write_stacks(report, &sums);
    }
    hs_pin_sums_deinit(&sums);
    return 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_json_estimate(struct hs_json *json, const char *key,
                                const struct hs_pin_estimate *estimate)
{
    hs_json_key(json, key);
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "bytes", estimate->bytes);
    hs_json_kv_uint(json, "bytes_low", estimate->low_bytes);
    hs_json_kv_uint(json, "bytes_high", estimate->high_bytes);
    hs_json_close(json, '}');
}

static void write_json_counts(struct hs_json *json, const char *key,
                              const uint64_t counts[HS_PIN_LEVELS])
{
    hs_json_key(json, key);
    hs_json_open_inline(json, '[');
    for (size_t i = 0; i < HS_PIN_LEVELS; i++) {
        hs_json_uint(json, counts[i]);
    }
    hs_json_close(json, ']');
}

static void write_json_stack(const struct hs_report *report, struct hs_json *json,
                             const struct hs_pin_sums *sums, const struct hs_profile_pin *stack)
{
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "block_count", stack->block_count);
    hs_json_kv_uint(json, "block_bytes", stack->block_bytes);
    hs_json_kv_uint(json, "rounding_bytes", stack->rounding_bytes);
    hs_json_kv_uint(json, "sparse_page_bytes", stack->sparse_page_bytes);
    hs_json_kv_uint(json, "sparse_block_bytes", stack->sparse_block_bytes);
    write_json_estimate(json, "gain", &stack->gain);
    if (sums->has_sets) {
        write_json_estimate(json, "set_gain", &stack->set_gain);
    }
    hs_report_json_frames(report, json, node_of(report, stack));
    hs_json_close(json, '}');
}

int hs_report_json_pins(const struct hs_report *report, struct hs_json *json)
{
    struct hs_pin_sums sums;
    int err = hs_pin_sums_of(&report->selection, &sums);
    if (err < 0) {
        return err;
    }
    if (sums.process_count > 0) {
        hs_json_key(json, "pinned_pages");
        hs_json_open(json, '{');
        hs_json_kv_bool(json, "is_exact", sums.is_exact);
        hs_json_kv_uint(json, "process_count", sums.process_count);
        hs_json_kv_uint(json, "rounding_bytes", sums.rounding_bytes);
        hs_json_kv_uint(json, "malloc_word_bytes", sums.head_bytes);
        hs_json_kv_uint(json, "unknown_page_bytes", sums.unknown_page_bytes);
        hs_json_kv_uint(json, "thread_list_page_bytes", sums.cached_page_bytes);
        write_json_counts(json, "page_counts", sums.page_count);
        write_json_counts(json, "huge_page_counts", sums.huge_count);
        hs_json_kv_bool(json, "is_huge_estimated", sums.is_huge_estimated);
        hs_json_key(json, "stacks");
        hs_json_open(json, '[');
        for (uint32_t i = 0; i < sums.stack_count; i++) {
            write_json_stack(report, json, &sums, &sums.stacks[i]);
        }
        hs_json_close(json, ']');
        hs_json_close(json, '}');
    }
    hs_pin_sums_deinit(&sums);
    return 0;
}
