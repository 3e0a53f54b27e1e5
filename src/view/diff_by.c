/*
 * Writes what changed in the parts of two profiles, by type, thread and so on, as text and as JSON.
 * See diff_view.h.
 *
 *     By type, then by scope
 *           change   before     after             verdict   objects
 *         +512 KiB    0 B    512 KiB              new          +512   Node
 *         +512 KiB    0 B    512 KiB              new          +512     RunScript
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/base.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"
#include "view/diff_view.h"
#include "view/format_interval.h"

#define INDENT 2U

/* --- text ------------------------------------------------------------------------------------- */

struct listing {
    const struct hs_diff *diff;
    const struct hs_part_diff *parts;
    uint32_t top_count; /* of each group, so many are shown */
    struct hs_table table;
    /* by depth: what was shown below the group that is open, and what was not */
    uint32_t shown[HS_PART_BY_N], hidden[HS_PART_BY_N];
    struct hs_diff_amounts hidden_amounts[HS_PART_BY_N];
};

static void add_row(struct listing *listing, const struct hs_diff_amounts *amounts, uint32_t depth,
                    const char *name)
{
    bool is_count = hs_views[listing->diff->view].is_count;
    struct hs_diff_change change = hs_diff_change_of(listing->diff, amounts);
    double objects = amounts->by[HS_DIFF_AFTER].count - amounts->by[HS_DIFF_BEFORE].count;
    char cell[HS_DIFF_CELL_BYTES], figure[HS_FORMAT_INTERVAL_BYTES];
    hs_table_cell(&listing->table, "%s", hs_diff_signed(cell, is_count, change.delta));
    hs_table_cell(&listing->table, "%s", hs_diff_interval(cell, is_count, &change));
    hs_table_cell(&listing->table, "%s", hs_format_value(figure, is_count, change.before));
    hs_table_cell(&listing->table, "%s", hs_format_value(figure, is_count, change.after));
    hs_table_cell(&listing->table, "%s", hs_diff_percent(cell, &change));
    hs_table_cell(&listing->table, "%s", hs_diff_verdict_names[change.verdict]);
    hs_table_cell(&listing->table, "%s", is_count ? "" : hs_diff_signed(cell, true, objects));
    hs_table_cell(&listing->table, "%*s%s", (int)(depth * INDENT), "", name);
}

/* Ends the groups that are deeper than `depth`: each level says what it has not shown. */
static void end_levels(struct listing *listing, uint32_t depth)
{
    for (uint32_t d = listing->parts->by_count; d-- > depth;) {
        if (listing->hidden[d] > 0) {
            char text[64];
            snprintf(text, sizeof(text), "… %u more", listing->hidden[d]);
            add_row(listing, &listing->hidden_amounts[d], d, text);
        }
        listing->shown[d] = listing->hidden[d] = 0;
        listing->hidden_amounts[d] = (struct hs_diff_amounts){ 0 };
    }
}

static void list_groups(struct listing *listing)
{
    uint32_t hidden_depth = UINT32_MAX; /* what is below a group that is not shown is not either */
    for (uint32_t i = 0; i < listing->parts->count; i++) {
        const struct hs_part_diff_group *group = &listing->parts->groups[i];
        uint32_t d = group->depth;
        if (d > hidden_depth) {
            continue;
        }
        hidden_depth = UINT32_MAX;
        end_levels(listing, d + 1);
        if (listing->shown[d] < listing->top_count) {
            listing->shown[d]++;
            add_row(listing, &group->amounts, d,
                    hs_part_diff_text(listing->parts, group->name_off));
            continue;
        }
        hidden_depth = d;
        listing->hidden[d]++;
        for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
            hs_amount_add(&listing->hidden_amounts[d].by[side], &group->amounts.by[side]);
        }
    }
    end_levels(listing, 0);
}

int hs_diff_write_by(const struct hs_diff *diff, const struct hs_part_diff *parts,
                     const struct hs_diff_options *options, struct hs_buf *buf)
{
    static const struct hs_table_column columns[] = {
        { "change", HS_TABLE_RIGHT },  { "95 %", HS_TABLE_RIGHT }, { "before", HS_TABLE_RIGHT },
        { "after", HS_TABLE_RIGHT },   { "", HS_TABLE_RIGHT },     { "verdict", HS_TABLE_LEFT },
        { "objects", HS_TABLE_RIGHT }, { "", HS_TABLE_TEXT },
    };
    struct listing listing = { .diff = diff, .parts = parts, .top_count = options->top_count };
    hs_diff_write_head(diff, options, buf);
    for (uint32_t i = 0; i < parts->by_count; i++) {
        hs_buf_printf(buf, "%s%s", i > 0 ? ", then by " : "\nBy ", hs_part_by_names[parts->by[i]]);
    }
    hs_buf_char(buf, '\n');
    hs_table_init(&listing.table, columns, HS_COUNT_OF(columns));
    list_groups(&listing);
    hs_diff_write_table(&listing.table, options->columns, options->has_colour, "4 1", buf);
    hs_table_deinit(&listing.table);
    return buf->err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_frames(struct hs_json *json, const char *frames)
{
    hs_json_key(json, "frames");
    hs_json_open_inline(json, '[');
    for (const char *end; (end = strchr(frames, '\n')) != NULL; frames = end + 1) {
        struct hs_buf name = HS_BUF_INIT;
        hs_buf_add(&name, frames, (size_t)(end - frames));
        hs_json_string(json, hs_buf_text(&name));
        hs_buf_deinit(&name);
    }
    hs_json_close(json, ']');
}

void hs_diff_json_by(const struct hs_diff *diff, const struct hs_part_diff *parts,
                     struct hs_json *json)
{
    uint32_t open = 0; /* so many objects are open, each with its list of parts around it */
    hs_json_key(json, "parts");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < parts->count; i++) {
        const struct hs_part_diff_group *group = &parts->groups[i];
        enum hs_part_by by = parts->by[group->depth];
        for (; open > group->depth; open--) {
            hs_json_close(json, ']');
            hs_json_close(json, '}');
        }
        hs_json_open(json, '{');
        if (by == HS_PART_BY_STACK) {
            write_frames(json, hs_part_diff_text(parts, group->frames_off));
        } else {
            hs_json_kv_string(json, hs_part_by_names[by],
                              hs_part_diff_text(parts, group->name_off));
        }
        hs_diff_json_change(diff, json, &group->amounts);
        hs_json_kv_double(json, "objects_before", group->amounts.by[HS_DIFF_BEFORE].count);
        hs_json_kv_double(json, "objects_after", group->amounts.by[HS_DIFF_AFTER].count);
        if (group->depth + 1 < parts->by_count) {
            hs_json_key(json, "parts");
            hs_json_open(json, '[');
            open++;
        } else {
            hs_json_close(json, '}');
        }
    }
    for (; open > 0; open--) {
        hs_json_close(json, ']');
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}
