/*
 * Makes rows of a profile: see top_rows.h.
 */
#include "cli/top/top_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/part_sums.h"
#include "rt/text.h"

/* Functions in the name of a stack. */
#define CALLERS_MAX 4

/* --- keys ------------------------------------------------------------------------------------- */

#define FNV_BEGIN UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
    }
    return (hash ^ 0xFF) * FNV_PRIME;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++, number >>= 8) {
        hash = (hash ^ (number & 0xFF)) * FNV_PRIME;
    }
    return hash;
}

static uint64_t function_key(const struct hs_agg *agg, uint32_t function)
{
    const struct hs_agg_function *f = &agg->functions[function];
    const struct hs_profile *p = agg->profile;
    uint64_t hash = hash_text(FNV_BEGIN, hs_profile_string(p, f->name));
    hash = hash_text(hash, hs_profile_string(p, f->file));
    if (f->module < p->module_count) {
        hash = hash_text(hash, hs_profile_string(p, p->modules[f->module].path));
    }
    return hash_number(hash, f->rel_pc);
}

/* A key for each node: of its function and of all those that called it. NULL: no memory. */
static uint64_t *make_node_keys(const struct hs_agg *agg)
{
    uint64_t *of_function = calloc((size_t)agg->function_count + 1, sizeof(*of_function));
    uint64_t *keys = calloc((size_t)agg->node_count + 1, sizeof(*keys));
    for (uint32_t i = 0; of_function && i < agg->function_count; i++) {
        of_function[i] = function_key(agg, i);
    }
    for (uint32_t i = 0; of_function && keys && i < agg->node_count; i++) {
        const struct hs_agg_node *node = &agg->nodes[i];
        uint64_t above = node->parent == HS_NODE_NONE ? FNV_BEGIN : keys[node->parent];
        keys[i] = hash_number(above, of_function[node->function]);
    }
    if (!of_function) {
        free(keys);
        keys = NULL;
    }
    free(of_function);
    return keys;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct hs_top_row *new_rows(struct hs_top_table *table, uint32_t count)
{
    table->rows = calloc((size_t)count + 1, sizeof(*table->rows));
    table->count = table->rows ? count : 0;
    return table->rows;
}

/* Ends a name that was written into rows->text from `off` on. */
static size_t end_name(struct hs_top_rows *rows, size_t off)
{
    hs_buf_char(&rows->text, '\0');
    return off;
}

/* Writes the name of a function. Python calls the code of every file "<module>": such a name is no
 * name without its file. */
static void write_function(const struct hs_agg *agg, uint32_t function, struct hs_buf *out)
{
    const struct hs_profile *p = agg->profile;
    const struct hs_agg_function *f = &agg->functions[function];
    hs_agg_write_function(agg, function, out);
    if (hs_profile_string(p, f->name)[0] == '<' && f->file != 0) {
        hs_buf_printf(out, " (%s)", hs_text_base_name(hs_profile_string(p, f->file)));
    }
}

/* The function that a stack is named after, and those that called it: "parse < load < main". A
 * function that called itself is written once. */
static void write_callers(const struct hs_agg *agg, uint32_t node, struct hs_buf *out)
{
    for (unsigned i = 0; i < CALLERS_MAX && node != HS_NODE_NONE; i++) {
        uint32_t function = agg->nodes[node].function;
        hs_buf_str(out, i > 0 ? " < " : "");
        write_function(agg, function, out);
        while (node != HS_NODE_NONE && agg->nodes[node].function == function) {
            node = agg->nodes[node].parent;
        }
    }
}

static int add_stacks(struct hs_top_rows *rows)
{
    const struct hs_agg *agg = &rows->agg;
    uint32_t *order = NULL, count = 0;
    uint64_t *keys = make_node_keys(agg);
    int r = keys ? hs_agg_sorted_stacks(agg, HS_VIEW_SPACE, &order, &count) : -ENOMEM;
    struct hs_top_row *row = r == 0 ? new_rows(&rows->tables[HS_TOP_STACKS], count) : NULL;
    for (uint32_t i = 0; row && i < count; i++, row++) {
        const struct hs_agg_self *self = &agg->selves[order[i]];
        row->key = keys[self->node];
        row->node = self->node;
        row->live_bytes = row->total_bytes = self->by[HS_QUANTITY_LIVE].bytes;
        row->live_count = self->by[HS_QUANTITY_LIVE].count;
        row->name_off = rows->text.bytes;
        write_callers(agg, hs_agg_headline(agg, self->node), &rows->text);
        end_name(rows, row->name_off);
    }
    free(keys);
    free(order);
    return r < 0 ? r : row ? 0 : -ENOMEM;
}

static int add_functions(struct hs_top_rows *rows)
{
    const struct hs_agg *agg = &rows->agg;
    struct hs_agg_row *found = NULL;
    uint32_t count = 0;
    int r = hs_agg_functions(agg, HS_QUANTITY_LIVE, &found, &count);
    if (r == 0) {
        hs_agg_sort_functions(found, count, HS_VIEW_SPACE, HS_AGG_BY_SELF);
    }
    struct hs_top_row *row = r == 0 ? new_rows(&rows->tables[HS_TOP_FUNCTIONS], count) : NULL;
    for (uint32_t i = 0; row && i < count; i++, row++) {
        row->key = function_key(agg, found[i].function);
        row->live_bytes = found[i].self.bytes;
        row->total_bytes = found[i].total.bytes;
        row->live_count = found[i].self.count;
        row->name_off = rows->text.bytes;
        write_function(agg, found[i].function, &rows->text);
        end_name(rows, row->name_off);
    }
    free(found);
    return r < 0 ? r : row ? 0 : -ENOMEM;
}

static int add_types(struct hs_top_rows *rows)
{
    const struct hs_select_spec select = { .snapshot = HS_SELECT_LAST };
    struct hs_part_groups groups = { .by = { HS_PART_BY_TYPE }, .by_count = 1 };
    int r = hs_part_groups_check(rows->profile, &select, HS_QUANTITY_LIVE, &groups);
    r = r == 0 ? hs_part_groups_build(&rows->selection, &rows->agg, HS_QUANTITY_LIVE, &groups) : r;
    if (r != 0) {
        return r == -ENOMEM ? r : 0; /* there are no types */
    }
    rows->has_types = true;
    struct hs_top_row *row = new_rows(&rows->tables[HS_TOP_TYPES], groups.count);
    for (uint32_t i = 0; row && i < groups.count; i++, row++) {
        row->live_bytes = row->total_bytes = groups.groups[i].amount.bytes;
        row->live_count = groups.groups[i].amount.count;
        row->name_off = rows->text.bytes;
        hs_part_group_write(rows->profile, HS_PART_BY_TYPE, &groups.groups[i], &rows->text);
        end_name(rows, row->name_off);
        row->key = hash_text(FNV_BEGIN, hs_buf_text(&rows->text) + row->name_off);
    }
    hs_part_groups_deinit(&groups);
    return row ? 0 : -ENOMEM;
}

int hs_top_rows_build(const struct hs_profile *profile, struct hs_top_rows *ret_rows)
{
    const struct hs_select_spec select = { .snapshot = HS_SELECT_LAST };
    struct hs_top_rows *rows = ret_rows;
    *rows = (struct hs_top_rows){ .profile = profile, .text = HS_BUF_INIT };
    int r = hs_select_dumps(profile, &select, &rows->selection);
    if (r != 0) {
        return r;
    }
    r = hs_agg_build(&rows->selection, false, &rows->agg);
    if (r != 0) {
        hs_selection_deinit(&rows->selection);
        return r;
    }
    r = add_stacks(rows);
    r = r == 0 ? add_functions(rows) : r;
    r = r == 0 ? add_types(rows) : r;
    r = r == 0 ? rows->text.err : r;
    if (r != 0) {
        hs_top_rows_deinit(rows);
    }
    return r;
}

void hs_top_rows_deinit(struct hs_top_rows *rows)
{
    if (rows->profile) {
        for (unsigned i = 0; i < HS_TOP_KIND_N; i++) {
            free(rows->tables[i].rows);
        }
        hs_buf_deinit(&rows->text);
        hs_agg_deinit(&rows->agg);
        hs_selection_deinit(&rows->selection);
    }
    *rows = (struct hs_top_rows){ .profile = NULL };
}

/* --- frames ----------------------------------------------------------------------------------- */

uint32_t hs_top_frame_count(const struct hs_top_rows *rows, const struct hs_top_row *row)
{
    return rows->agg.nodes[row->node].depth + 1;
}

/* The module of a function, or the file and line of a node, where they are known. */
static void write_place(const struct hs_agg *agg, const struct hs_agg_node *node,
                        struct hs_buf *out)
{
    const struct hs_profile *p = agg->profile;
    const struct hs_agg_function *function = &agg->functions[node->function];
    const struct hs_profile_line *line = node->line < p->line_count ? &p->lines[node->line] : NULL;
    if (line && line->file != 0) {
        hs_buf_printf(out, "  %s", hs_text_base_name(hs_profile_string(p, line->file)));
        if (line->line > 0) {
            hs_buf_printf(out, ":%u", line->line);
        }
    } else if (function->file != 0) {
        hs_buf_printf(out, "  %s", hs_text_base_name(hs_profile_string(p, function->file)));
    } else if (function->module < p->module_count && function->name != 0) {
        const char *path = hs_profile_string(p, p->modules[function->module].path);
        hs_buf_printf(out, "  [%s]", hs_text_base_name(path));
    }
}

void hs_top_write_frame(const struct hs_top_rows *rows, const struct hs_top_row *row, uint32_t i,
                        struct hs_buf *out)
{
    const struct hs_agg *agg = &rows->agg;
    uint32_t node = row->node;
    for (; i > 0 && agg->nodes[node].parent != HS_NODE_NONE; i--) {
        node = agg->nodes[node].parent;
    }
    hs_agg_write_function(agg, agg->nodes[node].function, out);
    write_place(agg, &agg->nodes[node], out);
}
