/*
 * Writes the document "profile": everything but the rows. See page_parts.h.
 */
#include <math.h>
#include <stdio.h>

#include "page/page_parts.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/filter_words.h"

#define FORMAT 1

static void kv_string_or_null(struct hs_json *json, const char *key, const char *text)
{
    hs_json_key(json, key);
    if (text) {
        hs_json_string(json, text);
    } else {
        hs_json_null(json);
    }
}

static void write_file(const struct hs_page_source *source, uint32_t idx, struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    const struct hs_selection *s = &source->selection;
    char report[HS_PAGE_DOCUMENT_BYTES];
    snprintf(report, sizeof(report), "report-%u", idx);
    hs_json_open(json, '{');
    hs_json_kv_string(json, "name", source->options->file ? source->options->file : "");
    kv_string_or_null(json, "origin", p->origin);
    hs_json_kv_string(json, "report", report);
    hs_json_kv_string(json, "view", hs_views[source->view].name);
    kv_string_or_null(json, "view_reason", source->view_reason);
    hs_json_key(json, "selected");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < s->dump_count; i++) {
        hs_json_uint(json, source->snapshot_first + s->dumps[i]);
    }
    hs_json_close(json, ']');
    hs_page_kv_known(json, "start_unix_ms",
                     p->real_minus_mono_ns == 0
                         ? 0
                         : round((double)(p->real_minus_mono_ns + source->start_ns) / 1e6));
    hs_json_kv_double(json, "end_ms", hs_page_ms(source, source->end_ns));
    hs_json_kv_bool(json, "is_sampled", s->is_sampled);
    hs_json_kv_bool(json, "is_lossy", s->is_lossy);
    hs_json_kv_bool(json, "has_filters", hs_filter_words_is_any(&source->options->filters));
    hs_json_close(json, '}');
}

static void write_left_out(const struct hs_page *page, struct hs_json *json)
{
    uint32_t left_out = 0, all = 0;
    char text[160];
    for (uint32_t i = 0; i < page->source_count; i++) {
        left_out += page->sources[i].left_out_count;
        all += page->sources[i].profile->dump_count;
    }
    hs_json_key(json, "left_out");
    if (left_out == 0) {
        hs_json_null(json);
        return;
    }
    snprintf(text, sizeof(text),
             "Of %u of the %u snapshots, this page has the totals and not the stacks, so that it "
             "stays small enough.",
             left_out, all);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "snapshots", left_out);
    hs_json_kv_string(json, "text", text);
    hs_json_close(json, '}');
}

void hs_page_profile_write(const struct hs_page *page, struct hs_json *json)
{
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "format", FORMAT);
    hs_json_kv_string(json, "generator", "heapscope " HS_VERSION);
    hs_json_kv_string(json, "title", hs_page_names_get(&page->names, page->title));
    hs_json_key(json, "files");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < page->source_count; i++) {
        write_file(&page->sources[i], i, json);
    }
    hs_json_close(json, ']');
    hs_page_processes_write(page, json);
    hs_page_snapshots_write(page, json);
    hs_page_tracks_write(page, json);
    write_left_out(page, json);
    hs_page_groups_write(page, json);
    hs_page_tree_write(&page->tree, json);
    hs_json_key(json, "strings");
    hs_page_names_write(&page->names, json);
    hs_json_close(json, '}');
}
