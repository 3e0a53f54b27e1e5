/*
 * Blocks with equal contents, as text: see dupes_view.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/table.h"
#include "view/dupes_view.h"
#include "view/wrapped.h"

/* A size, or a count, in an argument list. */
#define BYTES(n) hs_human_bytes((char[HS_HUMAN_BYTES]){ 0 }, (double)(n))
#define COUNT(n) hs_human_exact((char[HS_HUMAN_BYTES]){ 0 }, (n))

static const struct hs_table_column columns[] = {
    { "extra", HS_TABLE_RIGHT },     { "", HS_TABLE_RIGHT },     { "copies", HS_TABLE_RIGHT },
    { "of blocks", HS_TABLE_RIGHT }, { "zero", HS_TABLE_RIGHT }, { "", HS_TABLE_NAME },
    { "", HS_TABLE_NOTE },
};

static void paragraph(const struct hs_dupes_view *view, struct hs_buf *text, struct hs_buf *buf)
{
    hs_wrapped_write(buf, "  ", view->columns, hs_buf_text(text));
    text->bytes = 0;
}

/* Writes how many bytes are zero, of each kind. */
static void write_zeros(const struct hs_dupes_view *view, struct hs_buf *text, struct hs_buf *buf)
{
    const struct hs_dupe_sums *all = &view->dupes->all;
    char share[HS_HUMAN_BYTES];
    if (view->is_never_written_known) {
        hs_buf_printf(text, "never written: %s in %s blocks (%s)", BYTES(all->never_written_bytes),
                      COUNT(all->never_written_count),
                      hs_human_share(share, (double)all->never_written_bytes, (double)all->bytes));
    } else {
        hs_buf_str(text, "never written: not known, because the folder has no never-written.txt");
    }
    paragraph(view, text, buf);
    hs_buf_printf(text, "zero-filled: %s in %s blocks that are all zero", BYTES(all->zero_bytes),
                  COUNT(all->zero_count));
    if (all->zero_never_written_bytes > 0) {
        hs_buf_printf(text, "; %s of them were never written",
                      BYTES(all->zero_never_written_bytes));
    }
    paragraph(view, text, buf);
    hs_buf_printf(text, "sparse: %s in words of 8 zero bytes%s, in other blocks (%s)",
                  BYTES(all->sparse_bytes),
                  view->is_never_written_known ? " of pages that have memory" : "",
                  hs_human_share(share, (double)all->sparse_bytes, (double)all->bytes));
    paragraph(view, text, buf);
}

static void write_head(const struct hs_dupes_view *view, struct hs_buf *buf)
{
    const struct hs_dupes *d = view->dupes;
    struct hs_buf text = HS_BUF_INIT;
    char share[HS_HUMAN_BYTES];
    hs_buf_printf(&text, "%s blocks (%s) were compared", COUNT(d->all.block_count),
                  BYTES(d->all.bytes));
    if (view->missing_count > 0) {
        hs_buf_printf(&text, "; %s have no file", COUNT(view->missing_count));
    }
    if (view->foreign_count > 0) {
        hs_buf_printf(&text, "; %s entries of the folder are not of these blocks",
                      COUNT(view->foreign_count));
    }
    hs_wrapped_write(buf, "", view->columns, hs_buf_text(&text));
    text.bytes = 0;
    hs_buf_char(buf, '\n');
    hs_buf_printf(&text, "duplicates: %s in %s copies beyond the first of each (%s of the bytes)",
                  BYTES(d->all.extra_bytes), COUNT(d->all.block_count - d->unique_count),
                  hs_human_share(share, d->all.extra_bytes, (double)d->all.bytes));
    if (d->all.extra_never_written_bytes > 0) {
        hs_buf_printf(&text, "; %s of them were never written, and take no memory",
                      BYTES(d->all.extra_never_written_bytes));
    }
    paragraph(view, &text, buf);
    write_zeros(view, &text, buf);
    hs_buf_deinit(&text);
}

struct kind {
    const char *title;
    const struct hs_table_column *columns;
    size_t column_count;
    const char *give_way;
    bool is_by_type, is_of_zeros;
};

static const struct hs_table_column zero_columns[] = {
    { "zero", HS_TABLE_RIGHT },
    { "never written", HS_TABLE_RIGHT },
    { "zero-filled", HS_TABLE_RIGHT },
    { "sparse", HS_TABLE_RIGHT },
    { "of", HS_TABLE_RIGHT },
    { "", HS_TABLE_NAME },
    { "", HS_TABLE_NOTE },
};

static void size_cell(struct hs_table *table, uint64_t bytes)
{
    hs_table_cell(table, "%s", bytes > 0 ? BYTES(bytes) : "");
}

static void add_zero_row(struct hs_table *table, const struct hs_dupe_sums *sums, const char *name,
                         const char *note)
{
    size_cell(table, hs_dupe_zeros(sums));
    size_cell(table, sums->never_written_bytes);
    size_cell(table, sums->zero_bytes - sums->zero_never_written_bytes);
    size_cell(table, sums->sparse_bytes);
    size_cell(table, sums->bytes);
    hs_table_cell(table, "%s", name);
    hs_table_cell(table, "%s", note);
}

static void add_row(const struct hs_dupes_view *view, struct hs_table *table,
                    const struct hs_dupe_sums *sums, const char *name, const char *note)
{
    char share[HS_HUMAN_BYTES];
    hs_table_cell(table, "%s", BYTES(sums->extra_bytes));
    hs_table_cell(table, "%s",
                  hs_human_share(share, sums->extra_bytes, view->dupes->all.extra_bytes));
    hs_table_cell(table, "%s", COUNT(sums->copied_count));
    hs_table_cell(table, "%s", COUNT(sums->block_count));
    hs_table_cell(table, "%s", sums->zero_bytes ? BYTES(sums->zero_bytes) : "");
    hs_table_cell(table, "%s", name);
    hs_table_cell(table, "%s", note);
}

/* Writes where the node is: "parse.c:12", or the module. */
static void write_place(const struct hs_agg *agg, uint32_t node, struct hs_buf *buf)
{
    const struct hs_profile *p = agg->profile;
    const struct hs_agg_node *n = &agg->nodes[node];
    if (n->line != UINT32_MAX && p->lines[n->line].file != 0) {
        hs_buf_printf(buf, "%s:%u", hs_text_base_name(hs_profile_string(p, p->lines[n->line].file)),
                      p->lines[n->line].line);
    } else {
        const char *module = hs_describe_module(p, agg->functions[n->function].module);
        hs_buf_printf(buf, module[0] && module[0] != '[' ? "[%s]" : "%s", module);
    }
}

static void write_rows(const struct hs_dupes_view *view, const struct kind *kind,
                       const struct hs_dupe_row *rows, uint32_t count, struct hs_buf *buf)
{
    struct hs_table table;
    struct hs_buf name = HS_BUF_INIT, note = HS_BUF_INIT;
    uint32_t shown = 0;
    hs_table_init(&table, kind->columns, kind->column_count);
    for (uint32_t i = 0; i < count; i++) {
        double bytes =
            kind->is_of_zeros ? (double)hs_dupe_zeros(&rows[i].sums) : rows[i].sums.extra_bytes;
        bool is_shown = bytes > 0 && shown < view->top_count && bytes >= view->least_bytes;
        if (!is_shown) {
            continue;
        }
        shown++;
        name.bytes = note.bytes = 0;
        if (kind->is_by_type) {
            hs_buf_str(&name, rows[i].type
                                  ? hs_profile_string(view->selection->profile, rows[i].type)
                                  : "(unknown)");
        } else if (rows[i].node == HS_NODE_NONE) {
            hs_buf_str(&name, "(unknown)");
        } else {
            hs_agg_write_function(view->agg, view->agg->nodes[rows[i].node].function, &name);
            write_place(view->agg, rows[i].node, &note);
        }
        if (kind->is_of_zeros) {
            add_zero_row(&table, &rows[i].sums, hs_buf_text(&name), hs_buf_text(&note));
        } else {
            add_row(view, &table, &rows[i].sums, hs_buf_text(&name), hs_buf_text(&note));
        }
    }
    if (shown > 0) {
        hs_buf_printf(buf, "\n%s\n", kind->title);
        hs_table_write(&table, buf,
                       &(struct hs_table_style){ .indent = 2,
                                                 .columns = view->columns,
                                                 .has_colour = view->has_colour,
                                                 .has_titles = true,
                                                 .give_way = kind->give_way });
    }
    hs_table_deinit(&table);
    hs_buf_deinit(&name);
    hs_buf_deinit(&note);
}

static void write_groups(const struct hs_dupes_view *view, struct hs_buf *buf)
{
    static const struct hs_table_column group_columns[] = {
        { "extra", HS_TABLE_RIGHT },
        { "copies", HS_TABLE_RIGHT },
        { "of size", HS_TABLE_RIGHT },
        { "one of them", HS_TABLE_LEFT },
    };
    const struct hs_dupes *d = view->dupes;
    struct hs_table table;
    uint32_t shown = 0;
    hs_table_init(&table, group_columns, HS_COUNT_OF(group_columns));
    for (uint32_t i = 0; i < d->group_count && shown < view->top_count; i++) {
        const struct hs_dupe_group *group = &d->groups[i];
        uint64_t extra_bytes = (group->count - 1) * group->size_bytes;
        if ((double)extra_bytes < view->least_bytes) {
            break;
        }
        shown++;
        hs_table_cell(&table, "%s", BYTES(extra_bytes));
        hs_table_cell(&table, "%s", COUNT(group->count));
        hs_table_cell(&table, "%s", BYTES(group->size_bytes));
        hs_table_cell(&table, "0x%" PRIx64, view->selection->profile->blocks[group->first].address);
    }
    if (shown > 0) {
        hs_buf_str(buf, "\nEqual blocks\n");
        hs_table_write(&table, buf,
                       &(struct hs_table_style){ .indent = 2,
                                                 .columns = view->columns,
                                                 .has_colour = view->has_colour,
                                                 .has_titles = true });
    }
    hs_table_deinit(&table);
}

int hs_dupes_write_text(const struct hs_dupes_view *view, struct hs_buf *buf)
{
    const struct hs_dupes *d = view->dupes;
    write_head(view, buf);
    const struct kind kinds[] = {
        { "Duplicates by place", columns, HS_COUNT_OF(columns), "4 6", false, false },
        { "Duplicates by type", columns, HS_COUNT_OF(columns), "4 6", true, false },
        { "Zero bytes by place", zero_columns, HS_COUNT_OF(zero_columns), "4 6", false, true },
        { "Zero bytes by type", zero_columns, HS_COUNT_OF(zero_columns), "4 6", true, true },
    };
    bool has_types = d->type_count > 1 || (d->type_count == 1 && d->types[0].type != 0);
    write_rows(view, &kinds[0], d->places, d->place_count, buf);
    write_rows(view, &kinds[1], d->types, has_types ? d->type_count : 0, buf);
    write_rows(view, &kinds[2], d->zero_places, d->place_count, buf);
    write_rows(view, &kinds[3], d->zero_types, has_types ? d->type_count : 0, buf);
    write_groups(view, buf);
    return buf->err;
}
