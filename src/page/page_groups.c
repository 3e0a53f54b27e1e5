/*
 * The names by which rows are grouped: heaps, threads, types, scopes and ages. See page_parts.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_column.h"
#include "page/page_parts.h"
#include "trace/heap_parts.h"
#include "util/array.h"
#include "util/json.h"

static struct hs_intern_key thread_key(const struct hs_page_source *source, uint32_t process,
                                       const struct hs_profile_part *part)
{
    const char *name = hs_profile_string(source->profile, part->thread_name);
    return hs_intern_mix(hs_intern_hash(name, strlen(name)),
                         (uint64_t)(source->process_first + process) << 32 | part->tid);
}

static struct hs_intern_key type_key(const char *name, bool is_given)
{
    return hs_intern_mix(hs_intern_hash(name, strlen(name)), is_given);
}

static int put_thread(struct hs_page *page, const struct hs_page_source *source, uint32_t process,
                      const struct hs_profile_part *part)
{
    uint32_t idx;
    bool is_new = false;
    int err = hs_array_reserve(&page->threads, &page->thread_capacity,
                               (size_t)page->thread_ids.count + 1, sizeof(page->threads[0]));
    err = err ? err
              : hs_intern_put(&page->thread_ids, thread_key(source, process, part), &idx, &is_new);
    if (err == 0 && is_new) {
        page->threads[idx] = (struct hs_page_thread){
            .process = source->process_first + process,
            .tid = part->tid,
            .name = hs_page_names_put(&page->names,
                                      hs_profile_string(source->profile, part->thread_name)),
        };
    }
    return err;
}

static int put_type(struct hs_page *page, const char *name, bool is_given)
{
    uint32_t idx;
    bool is_new = false;
    int err = hs_array_reserve(&page->types, &page->type_capacity, (size_t)page->type_ids.count + 1,
                               sizeof(page->types[0]));
    err = err ? err : hs_intern_put(&page->type_ids, type_key(name, is_given), &idx, &is_new);
    if (err == 0 && is_new) {
        page->types[idx] = (struct hs_page_type){ hs_page_names_put(&page->names, name), is_given };
    }
    return err;
}

static int put_heaps(struct hs_page *page, struct hs_page_source *source)
{
    const struct hs_profile *p = source->profile;
    source->heap_of = calloc(p->heap_count + 1u, sizeof(*source->heap_of));
    int err = source->heap_of ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < p->heap_count && err == 0; i++) {
        const char *name = hs_profile_string(p, p->heaps[i]);
        bool is_new = false;
        err = hs_array_reserve(&page->heaps, &page->heap_capacity, (size_t)page->heap_ids.count + 1,
                               sizeof(page->heaps[0]));
        err = err ? err
                  : hs_intern_put(&page->heap_ids, hs_intern_hash(name, strlen(name)),
                                  &source->heap_of[i], &is_new);
        if (err == 0 && is_new) {
            page->heaps[source->heap_of[i]] = hs_page_names_put(&page->names, name);
        }
    }
    return err;
}

static int put_parts(struct hs_page *page, const struct hs_page_source *source, uint32_t dump_idx)
{
    const struct hs_profile *p = source->profile;
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    int err = 0;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (uint32_t i = 0; i < dump->parts_n[view] && err == 0; i++) {
            const struct hs_profile_part *part = &p->parts[dump->part_first[view] + i];
            if (!part->is_others) {
                err = put_thread(page, source, dump->process, part);
                err = err ? err
                          : put_type(page, hs_profile_string(p, part->type), part->is_type_given);
            }
        }
    }
    return err;
}

int hs_page_groups_add(struct hs_page *page, struct hs_page_source *source)
{
    const struct hs_profile *p = source->profile;
    int err = put_heaps(page, source);
    err = err ? err : put_type(page, "", false);
    for (uint32_t i = 0; i < p->dump_count && err == 0; i++) {
        err = source->is_kept[i] ? put_parts(page, source, i) : 0;
    }
    for (uint32_t i = 0; i < p->scope_count; i++) {
        hs_page_names_put(&page->names, hs_profile_string(p, p->scopes[i].name));
    }
    return err ? err : page->names.err;
}

double hs_page_thread_of(const struct hs_page *page, const struct hs_page_source *source,
                         uint32_t process, const struct hs_profile_part *part)
{
    uint32_t idx;
    return !part->is_others &&
                   hs_intern_find(&page->thread_ids, thread_key(source, process, part), &idx)
               ? idx
               : HS_PAGE_OTHERS;
}

double hs_page_type_of(const struct hs_page *page, const struct hs_page_source *source,
                       const struct hs_profile_part *part)
{
    uint32_t idx;
    const char *name = hs_profile_string(source->profile, part->type);
    return !part->is_others &&
                   hs_intern_find(&page->type_ids, type_key(name, part->is_type_given), &idx)
               ? idx
               : HS_PAGE_OTHERS;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static double thread_process(const void *ctx, uint32_t row)
{
    return ((const struct hs_page *)ctx)->threads[row].process;
}

static double thread_tid(const void *ctx, uint32_t row)
{
    return ((const struct hs_page *)ctx)->threads[row].tid;
}

static double thread_name(const void *ctx, uint32_t row)
{
    return ((const struct hs_page *)ctx)->threads[row].name;
}

static double type_name(const void *ctx, uint32_t row)
{
    return ((const struct hs_page *)ctx)->types[row].name;
}

static double type_is_given(const void *ctx, uint32_t row)
{
    return ((const struct hs_page *)ctx)->types[row].is_given;
}

/* The file that a scope of the page is in. */
static const struct hs_page_source *scope_source(const struct hs_page *page, uint32_t scope)
{
    const struct hs_page_source *source = page->sources;
    while (scope >= source->scope_first + source->profile->scope_count) {
        source++;
    }
    return source;
}

static double scope_name(const void *ctx, uint32_t row)
{
    const struct hs_page *page = ctx;
    const struct hs_page_source *source = scope_source(page, row);
    const struct hs_profile *p = source->profile;
    const char *name = hs_profile_string(p, p->scopes[row - source->scope_first].name);
    uint32_t idx = 0;
    return hs_intern_find(&page->names.ids, hs_intern_hash(name, strlen(name)), &idx) ? idx : 0;
}

static double scope_parent(const void *ctx, uint32_t row)
{
    const struct hs_page_source *source = scope_source(ctx, row);
    uint32_t parent = source->profile->scopes[row - source->scope_first].parent;
    return parent == 0 ? HS_PAGE_SCOPE_NONE : source->scope_first + (double)parent - 1;
}

static void write_scopes(const struct hs_page *page, struct hs_json *json)
{
    const struct hs_page_source *last = &page->sources[page->source_count - 1];
    uint32_t count = last->scope_first + last->profile->scope_count;
    hs_json_key(json, "scopes");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "count", count);
    hs_page_column(json, "name", count, scope_name, page);
    hs_page_column(json, "parent", count, scope_parent, page);
    hs_json_close(json, '}');
}

void hs_page_groups_write(const struct hs_page *page, struct hs_json *json)
{
    hs_json_key(json, "heaps");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < page->heap_ids.count; i++) {
        hs_json_open(json, '{');
        hs_json_kv_string(json, "name", hs_page_names_get(&page->names, page->heaps[i]));
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    hs_json_key(json, "threads");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "count", page->thread_ids.count);
    hs_page_column(json, "process", page->thread_ids.count, thread_process, page);
    hs_page_column(json, "tid", page->thread_ids.count, thread_tid, page);
    hs_page_column(json, "name", page->thread_ids.count, thread_name, page);
    hs_json_close(json, '}');
    hs_json_key(json, "types");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "count", page->type_ids.count);
    hs_page_column(json, "name", page->type_ids.count, type_name, page);
    hs_page_column(json, "is_given", page->type_ids.count, type_is_given, page);
    hs_json_close(json, '}');
    write_scopes(page, json);
    hs_json_key(json, "ages");
    hs_json_open(json, '[');
    for (size_t i = 0; i < HS_AGE_CLASSES; i++) {
        hs_json_uint(json, hs_age_from_ms[i]);
    }
    hs_json_close(json, ']');
}
