/*
 * See import.h. Takes packets from the decoder: finds their times, and defers what comes in the
 * order of time. The same pass may fill a profile.
 */
#include "sql/import/import.h"

#include <stdlib.h>

#include "config/textproto.h"
#include "profile/read/load_trace.h"
#include "sql/import/import_order.h"
#include "trace/trace_scan.h"

/* The number of frames that may be resolved: this many in any file, and this many for each of its
 * bytes. */
#define BUDGET_MIN  ((uint64_t)4 << 20)
#define BUDGET_RATE 16U

void *hs_import_at(struct hs_import *import, struct hs_intern_array *ids, void *array_address,
                   size_t elem_bytes, struct hs_intern_key key, bool *ret_is_new)
{
    void *elem = NULL;
    *ret_is_new = false;
    if (import->store->err == 0) {
        import->store->err = hs_intern_at(ids, array_address, elem_bytes, key, &elem, ret_is_new);
    }
    return import->store->err == 0 ? elem : NULL;
}

/* Returns false if the packet's time cannot be converted; the packet is then left out. */
static bool note_time(struct hs_import *import, const struct hs_trace_state *state,
                      const Hs__Pb__TracePacket *packet)
{
    import->now_ns = import->latest_ns;
    if (!packet->has_timestamp) {
        return true;
    }
    uint32_t id = packet->trusted_packet_sequence_id;
    uint32_t clock_id = hs_clocks_trace_clock(import->clocks);
    if (packet->timestamp_clock_id != 0) {
        clock_id = packet->timestamp_clock_id;
    } else if (state && state->clock_id != 0) {
        clock_id = state->clock_id;
    }
    uint64_t value = hs_clocks_step(import->clocks, id, clock_id, packet->timestamp);
    int64_t ns;
    if (!hs_clocks_convert(import->clocks, id, clock_id, value, &ns)) {
        hs_stat_count(import, HS_STAT_CLOCK_SYNC);
        hs_stat_count(import, HS_STAT_CLOCK_SYNC_NO_PATH);
        return false;
    }
    import->now_ns = ns;
    import->latest_ns = ns > import->latest_ns ? ns : import->latest_ns;
    return ns >= 0;
}

static bool has_part(const struct hs_trace_reader *reader, uint32_t field)
{
    uint32_t count;
    const struct hs_trace_part *parts = hs_trace_reader_parts(reader, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i].field == field) {
            return true;
        }
    }
    return false;
}

static void add_text_metadata(struct hs_sql_store *store, const char *name, const char *text)
{
    HS_SQL_ADD(store, HS_SQL_METADATA, hs_sql_store_str(store, name),
               hs_sql_store_str(store, "single"), HS_ROWS_NULL, hs_sql_store_str(store, text),
               HS_ROWS_NULL);
}

/* Keeps the trace's configuration as text. A name of metadata has one value, as in trace_processor:
 * for concatenated traces, that of the last one. */
static void take_config(struct hs_import *import, const Hs__Pb__TraceConfig *config)
{
    hs_buf_clear(&import->config_text);
    hs_textproto_write(&config->base, &import->config_text);
    if (config->unique_session_name) {
        hs_buf_clear(&import->session_name);
        hs_buf_str(&import->session_name, config->unique_session_name);
    }
    int err = import->config_text.err ? import->config_text.err : import->session_name.err;
    import->store->err = import->store->err ? import->store->err : err;
}

static void on_packet(struct hs_import *import, struct hs_trace_reader *reader,
                      const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    if (packet->clock_snapshot) {
        hs_import_clock_snapshot(import, packet->trusted_packet_sequence_id,
                                 packet->clock_snapshot);
    }
    bool has_samples = has_part(reader, HS_TRACE_FIELD_PROFILE_PACKET) ||
                       has_part(reader, HS_TRACE_FIELD_PERF_SAMPLE);
    struct hs_import_sequence *sequence = hs_import_sequence(import, packet, state, has_samples);
    if (sequence && hs_trace_needs_state(packet) && !state->is_valid) {
        hs_stat_count(import, HS_STAT_PACKET_SKIPPED);
        return;
    }
    if (!note_time(import, sequence ? state : NULL, packet)) {
        return;
    }
    hs_import_defer(import, sequence, reader);
    if (packet->module_symbols) {
        hs_import_symbols(import, packet->module_symbols);
    }
    if (packet->deobfuscation_mapping) {
        hs_import_deobfuscation(import, packet->deobfuscation_mapping);
    }
    if (packet->packages_list) {
        hs_import_packages(import, packet->packages_list);
    }
    if (packet->trace_config) {
        take_config(import, packet->trace_config);
    }
    if (packet->heapscope) {
        import->report.has_our_packets = true;
    }
}

static void add_metadata(struct hs_import *import, size_t bytes)
{
    struct hs_sql_store *store = import->store;
    HS_SQL_ADD(store, HS_SQL_METADATA, hs_sql_store_str(store, "trace_size_bytes"),
               hs_sql_store_str(store, "single"), (int64_t)bytes, HS_ROWS_NULL, HS_ROWS_NULL);
    add_text_metadata(store, "trace_type", "proto");
    if (import->config_text.bytes > 0) {
        add_text_metadata(store, "trace_config_pbtxt", hs_buf_text(&import->config_text));
    }
    if (import->session_name.bytes > 0) {
        add_text_metadata(store, "unique_session_name", hs_buf_text(&import->session_name));
    }
}

static int take(void *ctx, const struct hs_trace_decoder *decoder,
                const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    struct hs_import *import = ctx;
    on_packet(import, decoder->reader, packet, state);
    return import->store->err;
}

/* Makes the profile, unless it did not get all of the file. */
static int finish_profile(struct hs_load *load, bool has_all, const struct hs_trace_reader *reader,
                          struct hs_profile **ret_profile)
{
    return load && has_all && hs_trace_reader_verdict(reader) == 0
               ? hs_load_finish(load, hs_trace_reader_damage(reader), ret_profile)
               : 0;
}

/* Reads the file. The profile is finished before the rows are made, so that the tables of its
 * loader are freed. */
static int read_packets(struct hs_import *import, struct hs_trace_decoder *decoder,
                        struct hs_profile **ret_profile)
{
    const struct hs_trace_sink rows = { .ctx = import, .take = take };
    struct hs_trace_sink profile = { 0 };
    struct hs_load *load = NULL;
    bool has_all;
    int err = ret_profile ? hs_load_new(&load) : 0;
    if (err < 0) {
        return err;
    }
    if (load) {
        profile = hs_load_sink(load);
    }
    err = hs_trace_decoder_run(decoder, &rows, load ? &profile : NULL, &has_all);
    err = err ? err : finish_profile(load, has_all, decoder->reader, ret_profile);
    hs_load_free(load);
    if (err != 0) {
        return err;
    }
    hs_import_defer_finish(import, decoder->reader);
    import->report.damage = *hs_trace_reader_damage(decoder->reader);
    if (hs_trace_reader_is_blank(decoder->reader)) {
        return import->file_bytes > 0 ? HS_SQL_E_BLANK : 0;
    }
    return hs_trace_reader_verdict(decoder->reader);
}

static void finish(struct hs_import *import, size_t bytes)
{
    for (uint32_t i = 0; i < import->sequence_ids.ids.count; i++) {
        hs_import_dumps_finish(import, &import->sequences[i]);
    }
    hs_import_symbols_finish(import);
    hs_import_deobfuscation_finish(import);
    hs_import_counters_finish(import);
    import->stats.values[HS_STAT_CLOCK_SYNC] += (int64_t)hs_clocks_back_count(import->clocks);
    hs_import_stats_finish(import);
    add_metadata(import, bytes);
}

static void import_deinit(struct hs_import *import)
{
    hs_import_sequences_deinit(import);
    struct hs_intern_array *all[] = { &import->pid_ids, &import->tid_ids, &import->frame_ids,
                                      &import->line_ids, &import->track_ids };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        hs_intern_deinit(&all[i]->ids);
    }
    hs_intern_deinit(&import->content_ids);
    hs_intern_deinit(&import->site_ids);
    hs_intern_deinit(&import->dump_ids);
    hs_intern_deinit(&import->stack_task_ids);
    hs_intern_deinit(&import->stack_execution_ids);
    hs_intern_deinit(&import->perf_session_ids);
    free(import->waiting);
    free(import->content_rows);
    free(import->frame_rows);
    free(import->lines);
    free(import->tracks);
    hs_import_stats_deinit(&import->stats);
    hs_buf_deinit(&import->config_text);
    hs_buf_deinit(&import->session_name);
    hs_import_names_free(import->names);
    hs_import_classes_free(import->classes);
}

int hs_sql_import(struct hs_sql_store *store, const void *data, size_t bytes,
                  const struct hs_heap_patterns *heaps, struct hs_load_report *ret_report)
{
    return hs_sql_import_both(store, data, bytes, heaps, NULL, ret_report);
}

int hs_sql_import_both(struct hs_sql_store *store, const void *data, size_t bytes,
                       const struct hs_heap_patterns *heaps, struct hs_profile **ret_profile,
                       struct hs_load_report *ret_report)
{
    struct hs_import import = {
        .store = store,
        .heaps = heaps,
        .file_bytes = bytes,
        .budget = BUDGET_MIN + (uint64_t)bytes * BUDGET_RATE,
        .empty = hs_sql_store_put(store, "", 0),
    };
    struct hs_trace_reader *reader = NULL;
    struct hs_trace_decoder decoder = { 0 };
    int err = store->err;
    err = err ? err : hs_import_names_new(&import.names);
    err = err ? err : hs_import_classes_new(&import.classes);
    err = err ? err : hs_trace_reader_new(data, bytes, &reader);
    err = err ? err : hs_trace_decoder_init(&decoder, reader);
    if (err == 0) {
        hs_trace_reader_want_all(reader);
        hs_trace_reader_split(reader, ret_profile != NULL);
        import.clocks = decoder.clocks;
        hs_import_idle_process(&import);
        err = read_packets(&import, &decoder, ret_profile);
    }
    if (err == 0 || err == HS_SQL_E_BLANK) {
        finish(&import, bytes);
        err = store->err ? store->err : err;
    }
    if (err >= 0 && ret_report) {
        *ret_report = import.report;
    }
    import_deinit(&import);
    hs_trace_decoder_deinit(&decoder);
    return err;
}
