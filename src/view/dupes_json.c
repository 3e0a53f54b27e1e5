/*
 * Blocks with equal contents, as JSON: see dupes_view.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "util/buf.h"
#include "util/json.h"
#include "view/dupes_view.h"

static void write_known(struct hs_json *json, const char *key, uint64_t value, bool is_known)
{
    hs_json_key(json, key);
    if (is_known) {
        hs_json_uint(json, value);
    } else {
        hs_json_null(json);
    }
}

static void write_sums(struct hs_json *json, const struct hs_dupe_sums *sums, bool is_known)
{
    hs_json_kv_double(json, "extra_bytes", sums->extra_bytes);
    hs_json_kv_uint(json, "copies", sums->copied_count);
    hs_json_kv_uint(json, "block_count", sums->block_count);
    hs_json_kv_uint(json, "block_bytes", sums->bytes);
    hs_json_kv_uint(json, "zero_filled_count", sums->zero_count);
    hs_json_kv_uint(json, "zero_filled_bytes", sums->zero_bytes);
    hs_json_kv_uint(json, "zero_page_bytes", sums->zero_page_bytes);
    hs_json_kv_uint(json, "zero_word_bytes", sums->zero_word_bytes);
    write_known(json, "never_written_count", sums->never_written_count, is_known);
    write_known(json, "never_written_bytes", sums->never_written_bytes, is_known);
    write_known(json, "zero_filled_never_written_bytes", sums->zero_never_written_bytes, is_known);
    hs_json_key(json, "extra_never_written_bytes");
    if (is_known) {
        hs_json_double(json, sums->extra_never_written_bytes);
    } else {
        hs_json_null(json);
    }
    hs_json_kv_uint(json, "sparse_bytes", sums->sparse_bytes);
}

static void write_source(struct hs_json *json, const struct hs_agg *agg, uint32_t node)
{
    const struct hs_profile *p = agg->profile;
    struct hs_buf name = HS_BUF_INIT;
    const struct hs_profile_line *line = NULL;
    if (node != HS_NODE_NONE) {
        hs_agg_write_function(agg, agg->nodes[node].function, &name);
        line = agg->nodes[node].line != UINT32_MAX ? &p->lines[agg->nodes[node].line] : NULL;
    }
    hs_json_key(json, "source");
    hs_json_open_inline(json, '{');
    hs_json_kv_string(json, "filename", line ? hs_profile_string(p, line->file) : "");
    hs_json_kv_uint(json, "line", line ? line->line : 0);
    hs_json_kv_string(json, "function", name.bytes ? hs_buf_text(&name) : "");
    hs_json_close(json, '}');
    hs_buf_deinit(&name);
}

struct kind {
    bool is_by_type, is_of_zeros;
};

static void write_rows(const struct hs_dupes_view *view, struct hs_json *json, const char *key,
                       const struct hs_dupe_row *rows, uint32_t count, struct kind kind)
{
    uint32_t shown = 0;
    hs_json_key(json, key);
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < count && shown < view->top_count; i++) {
        const struct hs_dupe_row *row = &rows[i];
        bool is_none =
            kind.is_of_zeros ? hs_dupe_zeros(&row->sums) == 0 : row->sums.copied_count == 0;
        double bytes = kind.is_of_zeros ? (double)hs_dupe_zeros(&row->sums) : row->sums.extra_bytes;
        if (is_none || bytes < view->least_bytes) {
            continue;
        }
        shown++;
        hs_json_open(json, '{');
        hs_json_kv_uint(json, "bytes",
                        kind.is_of_zeros ? hs_dupe_zeros(&row->sums) : row->sums.copied_bytes);
        if (!kind.is_by_type) {
            write_source(json, view->agg, row->node);
        } else if (row->type) {
            hs_json_kv_string(json, "type", hs_profile_string(view->selection->profile, row->type));
        } else {
            hs_json_key(json, "type");
            hs_json_null(json);
        }
        write_sums(json, &row->sums, view->is_never_written_known);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

static void write_groups(const struct hs_dupes_view *view, struct hs_json *json)
{
    const struct hs_dupes *d = view->dupes;
    char address[32];
    hs_json_key(json, "groups");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < d->group_count && i < view->top_count; i++) {
        const struct hs_dupe_group *group = &d->groups[i];
        uint64_t extra_bytes = (group->count - 1) * group->size_bytes;
        if ((double)extra_bytes < view->least_bytes) {
            break;
        }
        snprintf(address, sizeof(address), "0x%" PRIx64,
                 view->selection->profile->blocks[group->first].address);
        hs_json_open_inline(json, '{');
        hs_json_kv_uint(json, "extra_bytes", extra_bytes);
        hs_json_kv_uint(json, "copies", group->count);
        hs_json_kv_uint(json, "size_bytes", group->size_bytes);
        hs_json_kv_string(json, "address", address);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

/* Of places that are no frame of the program. */
static double unblamed_bytes(const struct hs_dupes *d)
{
    double bytes = 0;
    for (uint32_t i = 0; i < d->place_count; i++) {
        bytes += d->places[i].is_blamed ? 0 : d->places[i].sums.extra_bytes;
    }
    return bytes;
}

int hs_dupes_write_json(const struct hs_dupes_view *view, struct hs_buf *buf)
{
    const struct hs_dupes *d = view->dupes;
    const struct hs_profile *p = view->selection->profile;
    struct hs_json json;
    hs_json_init(&json, buf, 2);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "num_total", d->all.block_count);
    hs_json_kv_uint(&json, "num_uniques", d->unique_count);
    hs_json_kv_uint(&json, "num_dupes", d->all.block_count - d->unique_count);
    hs_json_kv_uint(&json, "unique_bytes", d->unique_bytes);
    hs_json_kv_uint(&json, "duped_bytes", d->all.bytes - d->unique_bytes);
    hs_json_kv_double(&json, "unblamed_duped_bytes", unblamed_bytes(d));
    hs_json_kv_uint(&json, "total_bytes", d->all.bytes);
    uint64_t real_ns = p->real_minus_mono_ns;
    uint64_t time_ns = real_ns ? p->dumps[view->selection->dumps[0]].time_ns + real_ns : 0;
    hs_json_kv_uint(&json, "timestamp", time_ns / 1000000000);
    hs_json_kv_uint(&json, "missing_count", view->missing_count);
    hs_json_kv_uint(&json, "foreign_file_count", view->foreign_count);
    hs_json_key(&json, "sums");
    hs_json_open(&json, '{');
    write_sums(&json, &d->all, view->is_never_written_known);
    hs_json_close(&json, '}');
    write_rows(view, &json, "dupe_locations", d->places, d->place_count, (struct kind){ 0 });
    write_rows(view, &json, "dupe_types", d->types, d->type_count,
               (struct kind){ .is_by_type = true });
    write_rows(view, &json, "zero_locations", d->zero_places, d->place_count,
               (struct kind){ .is_of_zeros = true });
    write_rows(view, &json, "zero_types", d->zero_types, d->type_count,
               (struct kind){ .is_by_type = true, .is_of_zeros = true });
    write_groups(view, &json);
    hs_json_close(&json, '}');
    hs_buf_char(buf, '\n');
    return buf->err;
}
