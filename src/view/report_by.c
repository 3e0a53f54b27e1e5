/*
 * The parts of the memory, grouped by process, heap, thread, age and stack: report --by.
 *
 *     30.1 MiB ± 411 KiB   66.7 %   7,702 objects   worker (tid 4711)
 *     25.0 MiB ± 380 KiB   55.4 %   6,400 objects     parse < load < main
 *     5.10 MiB ± 160 KiB   11.3 %   1,302 objects     read_file < load < main
 *     15.0 MiB ± 290 KiB   33.3 %   3,840 objects   main (tid 4700)
 */
#include <errno.h>
#include <stdio.h>

#include "profile/model/frame_class.h"
#include "rt/base.h"
#include "util/cxx_name.h"
#include "util/human.h"
#include "util/json.h"
#include "view/report_parts.h"

#define INDENT             2U
#define STACK_NAME_COLUMNS 48U
/* Without --by, the largest threads. */
#define THREADS_LISTED 5U

struct listing {
    struct hs_report *report;
    struct hs_part_groups groups;
    struct hs_table table;
    uint32_t top_count; /* of each group, so many are shown */
    double total;
    /* by depth: what was shown below the group that is open, and what was not */
    uint32_t shown[HS_PART_BY_N], hidden[HS_PART_BY_N];
    struct hs_amount hidden_amount[HS_PART_BY_N];
};

void hs_report_write_stack_line(const struct hs_report *report, uint32_t leaf, struct hs_buf *buf)
{
    const struct hs_agg *agg = &report->agg;
    uint32_t left = report->options->frame_count;
    for (uint32_t n = hs_agg_headline(agg, leaf); n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        const struct hs_agg_function *function = &agg->functions[agg->nodes[n].function];
        struct hs_buf name = HS_BUF_INIT;
        if (function->class_ == HS_FRAME_CLASS_START && buf->bytes > 0) {
            break;
        }
        hs_buf_str(buf, buf->bytes > 0 ? " < " : "");
        if (left-- == 0) {
            hs_buf_str(buf, "…");
            break;
        }
        hs_agg_write_function(agg, agg->nodes[n].function, &name);
        hs_cxx_write_fit(buf, hs_buf_text(&name), STACK_NAME_COLUMNS);
        hs_buf_deinit(&name);
    }
}

static void write_name(const struct hs_report *report, enum hs_part_by by,
                       const struct hs_part_group *group, struct hs_buf *buf)
{
    if (by == HS_PART_BY_STACK) {
        hs_report_write_stack_line(report, hs_part_group_node(group), buf);
    } else {
        hs_part_group_write(report->profile, by, group, buf);
    }
}

static void add_row(struct listing *listing, const struct hs_amount *amount, uint32_t depth,
                    const char *name)
{
    struct hs_report *report = listing->report;
    const struct hs_view_info *view = &hs_views[report->view];
    char text[HS_FORMAT_INTERVAL_BYTES];
    struct hs_figure figure = hs_view_figure(report->view, amount);
    double value = hs_report_value(report, amount);
    hs_table_cell(&listing->table, "%s", hs_format_value(text, view->is_count, value));
    hs_report_margin(report, text, view->is_count, &figure);
    hs_table_cell(&listing->table, "%s", text);
    hs_table_cell(&listing->table, "%s", hs_human_share(text, value, listing->total));
    hs_table_cell(&listing->table, "%s", view->is_count ? "" : hs_human_count(text, amount->count));
    hs_table_cell(&listing->table, "%*s%s", (int)(depth * INDENT), "", name);
}

/* Ends the groups that are deeper than `depth`: each level says what it has not shown. */
static void end_levels(struct listing *listing, uint32_t depth)
{
    for (uint32_t d = listing->groups.by_count; d-- > depth;) {
        if (listing->hidden[d] > 0) {
            char text[64];
            snprintf(text, sizeof(text), "… %u more", listing->hidden[d]);
            add_row(listing, &listing->hidden_amount[d], d, text);
        }
        listing->shown[d] = listing->hidden[d] = 0;
        listing->hidden_amount[d] = (struct hs_amount){ 0 };
    }
}

static void list_groups(struct listing *listing)
{
    uint32_t hidden_depth = UINT32_MAX; /* what is below a group that is not shown is not either */
    for (uint32_t i = 0; i < listing->groups.count; i++) {
        const struct hs_part_group *group = &listing->groups.groups[i];
        uint32_t d = group->depth;
        struct hs_buf name = HS_BUF_INIT;
        if (d > hidden_depth) {
            continue;
        }
        hidden_depth = UINT32_MAX;
        end_levels(listing, d + 1);
        if (listing->shown[d] >= listing->top_count) {
            hidden_depth = d;
            listing->hidden[d]++;
            hs_amount_add(&listing->hidden_amount[d], &group->amount);
            continue;
        }
        listing->shown[d]++;
        write_name(listing->report, listing->groups.by[d], group, &name);
        add_row(listing, &group->amount, d, hs_buf_text(&name));
        hs_buf_deinit(&name);
    }
    end_levels(listing, 0);
}

/* If types are older than this, the report says so. */
#define TYPES_OLD_NS UINT64_C(50000000)

/* Says when the memory of blocks was read for types, if that was a while before the snapshot. */
static void write_age_of_types(const struct hs_report *report, struct hs_buf *buf)
{
    uint64_t oldest_ns = 0;
    char text[HS_HUMAN_BYTES];
    for (uint32_t d = 0; d < report->selection.dump_count; d++) {
        const struct hs_profile_dump *dump = &report->profile->dumps[report->selection.dumps[d]];
        bool is_known = dump->types_time_ns > 0 && dump->types_time_ns < dump->time_ns;
        uint64_t age_ns = is_known ? dump->time_ns - dump->types_time_ns : 0;
        oldest_ns = age_ns > oldest_ns ? age_ns : oldest_ns;
    }
    if (oldest_ns >= TYPES_OLD_NS) {
        hs_buf_printf(buf, "; types are those of %s%s before%s",
                      report->selection.dump_count > 1 ? "up to " : "",
                      hs_human_duration(text, oldest_ns),
                      hs_selection_is_at_end(&report->selection) ? " the end" : "");
    }
}

/* Says how much has no type, whether the rows that say it are among those that are shown or not. */
static void write_unknown(const struct hs_report *report, const struct hs_part_groups *groups,
                          struct hs_buf *buf)
{
    double unknown = 0, unread = 0, total = hs_report_value(report, &report->total);
    bool has_types = false;
    char text[2][HS_HUMAN_BYTES];
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct hs_part_group *group = &groups->groups[i];
        if (groups->by[group->depth] == HS_PART_BY_TYPE) {
            double value = hs_report_value(report, &group->amount);
            has_types = true;
            unknown += hs_part_group_is_unknown(group) ? value : 0;
            unread += hs_part_group_is_unread(report->profile, group) ? value : 0;
        }
    }
    if (has_types) {
        hs_buf_printf(buf, "unknown: %s; not read: %s", hs_human_share(text[0], unknown, total),
                      hs_human_share(text[1], unread, total));
        write_age_of_types(report, buf);
    }
}

static void write_heading(struct hs_report *report, const struct hs_part_groups *groups)
{
    struct hs_buf title = HS_BUF_INIT, share = HS_BUF_INIT;
    hs_buf_printf(&title, "%s by ",
                  report->view == HS_VIEW_PEAK            ? "Memory at the peak"
                  : report->view == HS_VIEW_OBJECTS       ? "Live objects"
                  : report->view == HS_VIEW_ALLOC_SPACE   ? "Allocated memory"
                  : report->view == HS_VIEW_ALLOC_OBJECTS ? "Allocations"
                                                          : "Live memory");
    for (uint32_t i = 0; i < groups->by_count; i++) {
        hs_buf_printf(&title, "%s%s", i > 0 ? ", then by " : "", hs_part_by_names[groups->by[i]]);
    }
    write_unknown(report, groups, &share);
    hs_report_heading(report, hs_buf_text(&title), hs_buf_text(&share));
    hs_buf_deinit(&title);
    hs_buf_deinit(&share);
}

static void write_listing(struct hs_report *report, const struct hs_part_groups *groups,
                          uint32_t top_count)
{
    static const struct hs_table_column columns[] = {
        { "", HS_TABLE_RIGHT },        { "", HS_TABLE_LEFT }, { "", HS_TABLE_RIGHT },
        { "objects", HS_TABLE_RIGHT }, { "", HS_TABLE_TEXT },
    };
    struct listing listing = { .report = report,
                               .groups = *groups,
                               .top_count = top_count,
                               .total = hs_report_value(report, &report->total) };
    hs_table_init(&listing.table, columns, HS_COUNT_OF(columns));
    list_groups(&listing);
    hs_report_write_table(report, &listing.table, "1 3 2");
}

static int build(const struct hs_report *report, struct hs_part_groups *groups)
{
    return hs_part_groups_build(&report->selection, &report->agg, hs_views[report->view].quantity,
                                groups);
}

int hs_report_write_by(struct hs_report *report)
{
    struct hs_part_groups groups = report->options->by;
    int r = build(report, &groups);
    if (r == 0) {
        write_heading(report, &groups);
        write_listing(report, &groups, report->options->top_count);
        hs_part_groups_deinit(&groups);
    }
    return r;
}

int hs_report_write_threads(struct hs_report *report)
{
    struct hs_part_groups groups = { .by = { HS_PART_BY_THREAD }, .by_count = 1 };
    uint32_t top_count = report->options->top_count;
    int r = build(report, &groups);
    if (r == 0 && groups.count > 1) {
        hs_report_heading(report, "Threads",
                          "by what each allocated of it; --by thread,stack shows their stacks");
        write_listing(report, &groups, top_count < THREADS_LISTED ? top_count : THREADS_LISTED);
    }
    hs_part_groups_deinit(&groups);
    return r == -ENODATA ? 0 : r; /* of a file of another format, threads are not known */
}

/* --- JSON ------------------------------------------------------------------------------------- */

void hs_report_json_group(const struct hs_report *report, struct hs_json *json, enum hs_part_by by,
                          const struct hs_part_group *group)
{
    if (by == HS_PART_BY_STACK) {
        hs_report_json_frames(report, json, hs_part_group_node(group));
    } else {
        struct hs_buf name = HS_BUF_INIT;
        hs_part_group_write(report->profile, by, group, &name);
        hs_json_kv_string(json, hs_part_by_names[by], hs_buf_text(&name));
        hs_buf_deinit(&name);
    }
    hs_report_json_amount(json, "amount", &group->amount);
}

/* Writes the groups at this depth that follow, with what is below them. Returns where they end. */
static uint32_t write_groups(const struct hs_report *report, struct hs_json *json,
                             const struct hs_part_groups *groups, uint32_t first, uint32_t depth)
{
    enum hs_part_by by = groups->by[depth];
    uint32_t i = first;
    hs_json_key(json, "parts");
    hs_json_open(json, '[');
    while (i < groups->count && groups->groups[i].depth == depth) {
        const struct hs_part_group *group = &groups->groups[i++];
        hs_json_open(json, '{');
        hs_report_json_group(report, json, by, group);
        if (i < groups->count && groups->groups[i].depth > depth) {
            i = write_groups(report, json, groups, i, depth + 1);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    return i;
}

int hs_report_json_by(const struct hs_report *report, struct hs_json *json)
{
    struct hs_part_groups groups = report->options->by;
    if (groups.by_count == 0) {
        return 0;
    }
    int r = hs_part_groups_build(&report->selection, &report->agg, hs_views[report->view].quantity,
                                 &groups);
    if (r == 0) {
        write_groups(report, json, &groups, 0, 0);
        hs_part_groups_deinit(&groups);
    }
    return r;
}
