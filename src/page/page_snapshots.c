/*
 * Writes the processes and snapshots of the page. See page_parts.h.
 */
#include <math.h>
#include <stdio.h>

#include "page/page_parts.h"
#include "profile/model/describe.h"
#include "profile/model/loss.h"
#include "trace/heap_parts.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/report_amount.h"

static void kv_null(struct hs_json *json, const char *key)
{
    hs_json_key(json, key);
    hs_json_null(json);
}

/* A string that is null if it is "". */
static void kv_text(struct hs_json *json, const char *key, const char *text)
{
    if (text[0] != '\0') {
        hs_json_kv_string(json, key, text);
    } else {
        kv_null(json, key);
    }
}

/* A time, which may be 0. */
static void kv_ms(const struct hs_page_source *source, struct hs_json *json, const char *key,
                  uint64_t time_ns)
{
    hs_json_kv_double(json, key, hs_page_ms(source, time_ns)); /* NaN is written as null */
}

/* The name of a document, or null. */
static void kv_document(struct hs_json *json, const char *key, bool is_there, const char *kind,
                        uint32_t number)
{
    char name[HS_PAGE_DOCUMENT_BYTES];
    snprintf(name, sizeof(name), "%s-%u", kind, number);
    kv_text(json, key, is_there ? name : "");
}

/* --- processes -------------------------------------------------------------------------------- */

static void write_process(const struct hs_page_source *source, uint32_t file, uint32_t idx,
                          struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    const struct hs_profile_process *process = &p->processes[idx];
    struct hs_buf text = HS_BUF_INIT;
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "file", file);
    hs_json_kv_uint(json, "pid", process->pid);
    hs_json_kv_uint(json, "ppid", process->ppid);
    hs_page_kv_known(json, "forked_from_pid", process->forked_from_pid);
    hs_json_kv_string(json, "name", hs_profile_string(p, process->name));
    hs_json_kv_string(json, "exe", hs_profile_string(p, process->exe));
    hs_json_kv_string(json, "cmdline", hs_profile_string(p, process->cmdline));
    kv_ms(source, json, "start_ms", process->start_ns);
    kv_ms(source, json, "end_ms", process->end_ns);
    hs_describe_end(p, idx, &text);
    hs_json_kv_string(json, "end", hs_buf_text(&text));
    if (process->refusal != 0) {
        const char *reason = hs_profile_string(p, process->refusal_text);
        hs_json_kv_string(json, "refusal",
                          reason[0] ? reason : hs_loss_refusal_reason(process->refusal));
        kv_text(json, "remedy", hs_profile_string(p, process->refusal_remedy));
    } else {
        kv_null(json, "refusal");
        kv_null(json, "remedy");
    }
    hs_json_kv_uint(json, "sample_family", source->process_first + source->families[idx]);
    hs_json_kv_uint(json, "descent_family", source->process_first + source->descents[idx]);
    kv_document(json, "trend", hs_page_has_trend(source, idx), "trend",
                source->process_first + idx);
    hs_json_close(json, '}');
    hs_buf_deinit(&text);
}

void hs_page_processes_write(const struct hs_page *page, struct hs_json *json)
{
    hs_json_key(json, "processes");
    hs_json_open(json, '[');
    for (uint32_t file = 0; file < page->source_count; file++) {
        const struct hs_page_source *source = &page->sources[file];
        for (uint32_t i = 0; i < source->profile->process_count; i++) {
            write_process(source, file, i, json);
        }
    }
    hs_json_close(json, ']');
}

/* --- snapshots -------------------------------------------------------------------------------- */

/* A share of the sampled bytes. */
static double share(float part, const struct hs_amount *amount)
{
    return amount->sampled_bytes > 0 ? (double)part / amount->sampled_bytes : 0;
}

static void write_peak(struct hs_json *json, bool is_known, const struct hs_amount *peak)
{
    if (is_known) {
        hs_report_json_amount(json, "peak", peak);
    } else {
        kv_null(json, "peak");
    }
}

static void write_heap(const struct hs_page_source *source, const struct hs_profile_dump *dump,
                       const struct hs_profile_dump_heap *heap, struct hs_json *json)
{
    bool has_parent = heap->parent < source->profile->heap_count;
    double widest =
        (double)(heap->interval_widest_bytes > heap->interval_bytes ? heap->interval_widest_bytes
                                                                    : heap->interval_bytes);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "heap", source->heap_of[heap->heap]);
    hs_json_kv_bool(json, "is_counted", heap->is_counted);
    hs_json_kv_bool(json, "is_carved", heap->is_carved);
    hs_json_kv_double(json, "parent", has_parent ? source->heap_of[heap->parent] : -1.0);
    hs_json_kv_bool(json, "is_left_out", heap->is_left_out);
    hs_page_kv_known(json, "interval_bytes", (double)heap->interval_bytes);
    hs_page_kv_known(json, "weight_bytes", widest);
    hs_json_kv_bool(json, "has_sample_counts", heap->has_own_samples || !dump->has_scaled_counts);
    hs_report_json_amount(json, "live", &heap->live);
    hs_report_json_amount(json, "alloc", &heap->alloc);
    write_peak(json, heap->has_peak, &heap->peak);
    kv_ms(source, json, "peak_time_ms", heap->peak_time_ns);
    hs_json_kv_double(json, "peak_excess", share(heap->peak.peak_excess_bytes, &heap->peak));
    hs_json_kv_double(json, "peak_lean", share(heap->peak.peak_lean_bytes, &heap->peak));
    hs_json_kv_double(json, "peak_common", share(heap->peak.peak_common_bytes, &heap->peak));
    hs_json_close(json, '}');
}

/* What is known of the memory of the process and of the recorder. */
static void write_memory(const struct hs_profile_dump *dump, struct hs_json *json)
{
    hs_page_kv_known(json, "sample_count", (double)dump->sample_count);
    hs_page_kv_known(json, "recorder_bytes", (double)dump->region_bytes);
    hs_page_kv_known(json, "recorder_cpu_ms", (double)dump->client_cpu_ns / 1e6);
    hs_page_kv_known(json, "rss_bytes", (double)dump->rss_bytes);
    hs_page_kv_known(json, "rss_peak_bytes", (double)dump->rss_peak_bytes);
}

/* What the parts of the rows tell. */
static void write_known_parts(const struct hs_page_source *source,
                              const struct hs_profile_dump *dump, struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    bool has_live = dump->parts_n[HS_PARTS_LIVE] > 0;
    bool has_types = has_live && dump->has_types;
    bool has_scopes = false;
    for (uint32_t i = 0; i < dump->parts_n[HS_PARTS_LIVE]; i++) {
        const struct hs_profile_part *part = &p->parts[dump->part_first[HS_PARTS_LIVE] + i];
        has_types |= part->type != 0;
        has_scopes |= part->scope != 0;
    }
    for (uint32_t i = 0; i < dump->parts_n[HS_PARTS_ALLOC] && dump->has_alloc_scopes; i++) {
        has_scopes |= p->parts[dump->part_first[HS_PARTS_ALLOC] + i].scope != 0;
    }
    hs_json_kv_bool(json, "has_threads", has_live && !dump->has_only_types);
    hs_json_kv_bool(json, "has_types", has_types);
    hs_json_kv_bool(json, "has_scopes", has_scopes);
    kv_ms(source, json, "types_time_ms", dump->types_time_ns);
}

static void write_snapshot(const struct hs_page_source *source, uint32_t idx, struct hs_json *json)
{
    const struct hs_profile *p = source->profile;
    const struct hs_profile_dump *dump = &p->dumps[idx];
    uint64_t widest = hs_dump_widest_bytes(dump);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "process", source->process_first + dump->process);
    hs_json_kv_uint(json, "number", dump->index);
    kv_text(json, "name", hs_profile_string(p, dump->name));
    hs_json_kv_bool(json, "is_final", dump->is_final);
    hs_json_kv_bool(json, "is_at_max", dump->is_at_max);
    kv_ms(source, json, "time_ms", dump->time_ns);
    kv_ms(source, json, "peak_time_ms", dump->peak_time_ns);
    hs_page_kv_known(json, "interval_bytes", (double)dump->interval_bytes);
    hs_page_kv_known(json, "asked_interval_bytes", (double)dump->orig_interval_bytes);
    hs_page_kv_known(json, "weight_bytes", (double)widest);
    hs_json_kv_bool(json, "has_peak", dump->has_peak);
    hs_json_kv_bool(json, "is_peak_of_all_heaps", dump->is_peak_of_all);
    hs_json_kv_bool(json, "is_exact",
                    widest <= 1 && !(dump->live.bytes_var > 0) && !(dump->alloc.bytes_var > 0));
    write_memory(dump, json);
    hs_report_json_amount(json, "live", &dump->live);
    hs_report_json_amount(json, "alloc", &dump->alloc);
    write_peak(json, dump->has_peak, &dump->peak);
    hs_json_kv_double(json, "peak_short_bytes", (double)dump->peak.peak_short_bytes);
    hs_json_key(json, "heaps");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < dump->heaps_n; i++) {
        write_heap(source, dump, &p->dump_heaps[dump->heap_first + i], json);
    }
    hs_json_close(json, ']');
    kv_document(json, "rows", source->is_kept[idx], "rows", source->snapshot_first + idx);
    hs_json_kv_uint(json, "row_count", (uint64_t)dump->samples_n + dump->aside_n);
    kv_document(json, "ledger", dump->ledger != 0, "ledger", source->snapshot_first + idx);
    write_known_parts(source, dump, json);
    hs_json_close(json, '}');
}

void hs_page_snapshots_write(const struct hs_page *page, struct hs_json *json)
{
    hs_json_key(json, "snapshots");
    hs_json_open(json, '[');
    for (uint32_t file = 0; file < page->source_count; file++) {
        const struct hs_page_source *source = &page->sources[file];
        for (uint32_t i = 0; i < source->profile->dump_count; i++) {
            write_snapshot(source, i, json);
        }
    }
    hs_json_close(json, ']');
}
