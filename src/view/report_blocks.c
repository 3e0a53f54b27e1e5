/*
 * How many live blocks the snapshots of a report list one by one. See report_parts.h.
 */
#include "util/human.h"
#include "util/json.h"
#include "view/report_parts.h"

void hs_report_write_block_words(struct hs_report *report)
{
    const struct hs_selection *s = &report->selection;
    struct hs_buf text = HS_BUF_INIT;
    char count[HS_HUMAN_BYTES], left_out[HS_HUMAN_BYTES];
    uint64_t block_count = 0, left_out_count = 0;
    bool has_blocks = false;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        const struct hs_profile_dump *dump = &report->profile->dumps[s->dumps[i]];
        has_blocks |= dump->has_blocks;
        block_count += dump->has_blocks ? dump->blocks_n : 0;
        left_out_count += dump->has_blocks ? dump->block_left_out_count : 0;
    }
    if (!has_blocks) {
        return;
    }
    hs_buf_printf(&text, "%s recorded live blocks are listed one by one",
                  hs_human_exact(count, block_count));
    if (left_out_count > 0) {
        hs_buf_printf(&text, ", and %s are not, because there are too many",
                      hs_human_exact(left_out, left_out_count));
    }
    hs_buf_str(&text, " (heapscope query, table heapscope_blocks)");
    hs_report_write_wrapped(report, "  ", hs_buf_text(&text));
    hs_buf_deinit(&text);
}

void hs_report_json_blocks(const struct hs_profile_dump *dump, struct hs_json *json)
{
    if (dump->has_blocks) {
        hs_json_kv_uint(json, "block_count", dump->blocks_n);
    }
    if (dump->has_blocks && dump->block_left_out_count > 0) {
        hs_json_kv_uint(json, "block_left_out_count", dump->block_left_out_count);
    }
}
