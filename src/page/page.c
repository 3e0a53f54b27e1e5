/*
 * See page.h. This file builds the tables and lists the documents.
 */
#include "page/page.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "page/page_parts.h"
#include "profile/model/describe.h"
#include "profile/model/family.h"
#include "profile/model/loss.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/json.h"

/*
 * The most rows of all snapshots together, unless those that are shown first have more. A row takes
 * some 15 bytes in the file.
 */
#define ROWS_MAX 250000U

double hs_page_ms(const struct hs_page_source *source, uint64_t time_ns)
{
    if (time_ns == 0) {
        return NAN;
    }
    double ns = time_ns >= source->start_ns ? (double)(time_ns - source->start_ns)
                                            : -(double)(source->start_ns - time_ns);
    return round(ns / 1e3) / 1e3;
}

void hs_page_kv_known(struct hs_json *json, const char *key, double value)
{
    hs_json_key(json, key);
    if (isfinite(value) && value != 0) {
        hs_json_double(json, value);
    } else {
        hs_json_null(json);
    }
}

/* Finds the time 0 of a file, and the last time. */
static void find_times(struct hs_page_source *source)
{
    const struct hs_profile *p = source->profile;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint64_t start_ns = p->processes[i].start_ns;
        first = start_ns > 0 && start_ns < first ? start_ns : first;
        last = p->processes[i].end_ns > last ? p->processes[i].end_ns : last;
    }
    for (uint32_t i = 0; i < p->dump_count; i++) {
        uint64_t time_ns = p->dumps[i].time_ns;
        first = time_ns > 0 && time_ns < first ? time_ns : first;
        last = time_ns > last ? time_ns : last;
    }
    for (uint32_t i = 0; i < p->track_count; i++) {
        const struct hs_profile_track *track = &p->tracks[i];
        if (track->counters_n > 0) {
            uint64_t time_ns = p->counters[track->counter_first + track->counters_n - 1].time_ns;
            last = time_ns > last ? time_ns : last;
        }
    }
    source->start_ns = first == UINT64_MAX ? 0 : first;
    source->end_ns = last;
}

static int add_source(struct hs_page *page, const struct hs_page_file *file, uint64_t row_budget)
{
    struct hs_page_source *source = &page->sources[page->source_count];
    const struct hs_page_source *before = page->source_count > 0 ? source - 1 : NULL;
    const struct hs_profile *p = file->profile;
    *source = (struct hs_page_source){
        .profile = p,
        .options = file->options,
        .has_alloc = !hs_loss_is_of_file(p, HS_LOAD_LOSS_NO_ALLOC),
        .has_live = !hs_loss_is_of_file(p, HS_LOAD_LOSS_NO_LIVE),
    };
    if (before) {
        source->process_first = before->process_first + before->profile->process_count;
        source->snapshot_first = before->snapshot_first + before->profile->dump_count;
        source->scope_first = before->scope_first + before->profile->scope_count;
    }
    page->source_count++;
    find_times(source);
    int err = hs_select_dumps(p, &file->options->select, &source->selection);
    err = err ? err
              : hs_view_choose(&source->selection, file->options->view, &source->view,
                               &source->view_reason);
    err = err ? err : hs_family_find(p, HS_KINSHIP_SAMPLES, &source->families);
    err = err ? err : hs_family_find(p, HS_KINSHIP_DESCENT, &source->descents);
    err = err ? err : hs_page_choose(source, row_budget);
    err = err ? err
              : hs_page_tree_add(&page->tree, &source->selection, source->is_kept, &source->branch);
    return err ? err : hs_page_groups_add(page, source);
}

static int add_document(struct hs_page *page, struct hs_page_document document)
{
    int err = hs_array_reserve(&page->documents, &page->document_capacity,
                               (size_t)page->document_count + 1, sizeof(page->documents[0]));
    if (err == 0) {
        page->documents[page->document_count++] = document;
    }
    return err;
}

/* Lists the documents of a file. */
static int list_source(struct hs_page *page, uint32_t idx)
{
    const struct hs_page_source *source = &page->sources[idx];
    const struct hs_profile *p = source->profile;
    int err = add_document(page, (struct hs_page_document){ HS_PAGE_REPORT, idx, idx, 0 });
    for (uint32_t i = 0; i < p->dump_count && err == 0; i++) {
        uint32_t number = source->snapshot_first + i;
        if (source->is_kept[i]) {
            err = add_document(page, (struct hs_page_document){ HS_PAGE_ROWS, number, idx, i });
        }
        if (err == 0 && p->dumps[i].ledger != 0) {
            err = add_document(page, (struct hs_page_document){ HS_PAGE_LEDGER, number, idx, i });
        }
    }
    for (uint32_t i = 0; i < p->process_count && err == 0; i++) {
        if (hs_page_has_trend(source, i)) {
            err = add_document(page, (struct hs_page_document){
                                         HS_PAGE_TREND, source->process_first + i, idx, i });
        }
    }
    return err;
}

/* The name of the process that the report of the first file is named after. */
static uint32_t find_title(struct hs_page *page)
{
    const struct hs_page_source *source = &page->sources[0];
    const struct hs_profile *p = source->profile;
    uint32_t process = p->dumps[source->selection.dumps[0]].process;
    struct hs_buf name = HS_BUF_INIT;
    hs_buf_str(&name, hs_profile_string(p, p->processes[process].name));
    if (name.bytes == 0) {
        hs_describe_process(p, process, &name);
    }
    uint32_t title = hs_page_names_take(&page->names, &name);
    hs_buf_deinit(&name);
    return title;
}

int hs_page_new(const struct hs_page_file *files, uint32_t file_count, struct hs_page **ret_page)
{
    struct hs_page *page = calloc(1, sizeof(*page));
    if (!page) {
        return -ENOMEM;
    }
    hs_page_names_init(&page->names);
    page->tree.names = &page->names;
    page->sources = calloc(file_count + 1u, sizeof(page->sources[0]));
    int err = page->sources ? page->names.err : -ENOMEM;
    for (uint32_t i = 0; i < file_count && err == 0; i++) {
        err = add_source(page, &files[i], ROWS_MAX / file_count);
    }
    err = err ? err : add_document(page, (struct hs_page_document){ HS_PAGE_PROFILE, 0, 0, 0 });
    for (uint32_t i = 0; i < page->source_count && err == 0; i++) {
        err = list_source(page, i);
    }
    if (err == 0) {
        page->title = find_title(page);
        err = page->names.err;
    }
    if (err != 0) {
        hs_page_free(page);
        return err;
    }
    *ret_page = page;
    return 0;
}

struct hs_page *hs_page_free(struct hs_page *page)
{
    if (!page) {
        return NULL;
    }
    for (uint32_t i = 0; page->sources && i < page->source_count; i++) {
        struct hs_page_source *source = &page->sources[i];
        hs_selection_deinit(&source->selection);
        hs_page_branch_deinit(&source->branch);
        free(source->is_kept);
        free(source->heap_of);
        free(source->families);
        free(source->descents);
    }
    free(page->sources);
    hs_page_tree_deinit(&page->tree);
    hs_page_names_deinit(&page->names);
    hs_intern_deinit(&page->heap_ids);
    hs_intern_deinit(&page->thread_ids);
    hs_intern_deinit(&page->type_ids);
    free(page->heaps);
    free(page->threads);
    free(page->types);
    free(page->documents);
    free(page);
    return NULL;
}

uint32_t hs_page_document_count(const struct hs_page *page)
{
    return page->document_count;
}

char *hs_page_document_name(const struct hs_page *page, uint32_t document,
                            char name[HS_PAGE_DOCUMENT_BYTES])
{
    static const char *const kinds[] = {
        [HS_PAGE_PROFILE] = "profile", [HS_PAGE_REPORT] = "report", [HS_PAGE_ROWS] = "rows",
        [HS_PAGE_LEDGER] = "ledger",   [HS_PAGE_TREND] = "trend",
    };
    const struct hs_page_document *it = &page->documents[document];
    if (it->kind == HS_PAGE_PROFILE) {
        snprintf(name, HS_PAGE_DOCUMENT_BYTES, "%s", kinds[it->kind]);
    } else {
        snprintf(name, HS_PAGE_DOCUMENT_BYTES, "%s-%u", kinds[it->kind], it->number);
    }
    return name;
}

int hs_page_write_document(const struct hs_page *page, uint32_t document, struct hs_buf *buf)
{
    const struct hs_page_document *it = &page->documents[document];
    const struct hs_page_source *source = &page->sources[it->source];
    struct hs_json json;
    int err = 0;
    hs_json_init(&json, buf, 0);
    switch (it->kind) {
    case HS_PAGE_PROFILE:
        hs_page_profile_write(page, &json);
        break;
    case HS_PAGE_REPORT:
        err = hs_page_report_write(source, buf);
        break;
    case HS_PAGE_ROWS:
        err = hs_page_rows_write(page, source, it->idx, &json);
        break;
    case HS_PAGE_LEDGER:
        err = hs_page_ledger_write(source, it->idx, buf);
        break;
    case HS_PAGE_TREND:
        err = hs_page_trend_write(source, it->idx, buf);
        break;
    }
    return err ? err : buf->err;
}
