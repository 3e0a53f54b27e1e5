/* The loop over packets: times, sequences and their state. See import.h. */
#include "sql/import/import.h"

#include <stdlib.h>

#include "sql/import/import_order.h"
#include "config/textproto.h"
#include "trace/trace_scan.h"

#define FLAG_STATE_CLEARED 1U
#define FLAG_NEEDS_STATE   2U
/* The number of frames that may be resolved: this many in any file, and this many for each of its
 * bytes. */
#define BUDGET_MIN  ((uint64_t)4 << 20)
#define BUDGET_RATE 16U

static struct hs_intern_key sequence_key(uint32_t id, uint32_t epoch)
{
    return (struct hs_intern_key){ .hi = epoch, .lo = id };
}

/* NULL if nothing of the sequence was kept. */
static struct hs_import_sequence *find_sequence(const struct hs_import *import, uint32_t id)
{
    const uint32_t *epoch =
        hs_import_find(&import->epoch_ids, import->epochs, sizeof(*epoch), HS_IMPORT_KEY(id));
    return epoch ? hs_import_find(&import->sequence_ids, import->sequences,
                                  sizeof(struct hs_import_sequence), sequence_key(id, *epoch))
                 : NULL;
}

static struct hs_import_sequence *sequence_of(struct hs_import *import, uint32_t id)
{
    bool is_new;
    const uint32_t *epoch = hs_import_at(import, &import->epoch_ids, &import->epochs,
                                         sizeof(*epoch), HS_IMPORT_KEY(id), &is_new);
    struct hs_import_sequence *sequence =
        epoch ? hs_import_at(import, &import->sequence_ids, &import->sequences, sizeof(*sequence),
                             sequence_key(id, *epoch), &is_new)
              : NULL;
    if (sequence) {
        sequence->id = id;
    }
    return sequence;
}

/* Starts a sequence with empty state. Deferred parts keep the state under which they were read. */
static struct hs_import_sequence *start_sequence(struct hs_import *import, uint32_t id)
{
    struct hs_import_sequence *sequence = sequence_of(import, id);
    if (sequence && sequence->waiting_count > 0) {
        uint32_t *epoch =
            hs_import_find(&import->epoch_ids, import->epochs, sizeof(*epoch), HS_IMPORT_KEY(id));
        sequence->is_over = true;
        ++*epoch;
        sequence = sequence_of(import, id);
    } else if (sequence) {
        hs_import_sequence_clear(import, sequence);
    }
    if (sequence) {
        sequence->is_valid = true;
    }
    return sequence;
}

void hs_import_sequence_clear(struct hs_import *import, struct hs_import_sequence *sequence)
{
    if (sequence->complete_count > 0) {
        hs_import_dumps_finish(import, sequence);
    }
    hs_import_tables_deinit(&sequence->tables);
    hs_import_legacy_deinit(&sequence->legacy);
    hs_import_stack_deinit(sequence);
    hs_import_dumps_clear(sequence);
    sequence->clock_id = 0;
}

/* Returns false if the packet's time cannot be converted; the packet is then left out. */
static bool note_time(struct hs_import *import, const struct hs_import_sequence *sequence,
                      const Hs__Pb__TracePacket *packet)
{
    import->now_ns = import->latest_ns;
    if (!packet->has_timestamp) {
        return true;
    }
    uint32_t id = packet->trusted_packet_sequence_id;
    uint32_t clock_id = hs_import_trace_clock(import);
    if (packet->timestamp_clock_id != 0) {
        clock_id = packet->timestamp_clock_id;
    } else if (sequence && sequence->clock_id != 0) {
        clock_id = sequence->clock_id;
    }
    uint64_t value = hs_import_clock_step(import, id, clock_id, packet->timestamp);
    int64_t ns;
    if (!hs_import_time(import, id, clock_id, value, &ns)) {
        hs_stat_count(import, HS_STAT_CLOCK_SYNC);
        hs_stat_count(import, HS_STAT_CLOCK_SYNC_NO_PATH);
        return false;
    }
    import->now_ns = ns;
    import->latest_ns = ns > import->latest_ns ? ns : import->latest_ns;
    return ns >= 0;
}

/* Updates the state of the packet's sequence: cleared, lost, or extended. Returns NULL if the
 * packet belongs to no sequence with state. */
static struct hs_import_sequence *note_sequence(struct hs_import *import,
                                                const Hs__Pb__TracePacket *packet, bool has_samples)
{
    bool is_cleared =
        (packet->sequence_flags & FLAG_STATE_CLEARED) != 0 || packet->incremental_state_cleared;
    if (!is_cleared && !packet->interned_data && !has_samples && !packet->trace_packet_defaults &&
        packet->previous_packet_dropped == 0 && (packet->sequence_flags & FLAG_NEEDS_STATE) == 0) {
        return find_sequence(import, packet->trusted_packet_sequence_id);
    }
    bool has_id = packet->trusted_packet_sequence_id != 0;
    if (!has_id && !has_samples) {
        if (packet->interned_data) {
            hs_stat_count(import, HS_STAT_INTERNED_TOKENIZER);
        }
        return NULL;
    }
    uint32_t id = packet->trusted_packet_sequence_id;
    struct hs_import_sequence *sequence =
        is_cleared && has_id ? start_sequence(import, id) : sequence_of(import, id);
    if (!sequence) {
        return NULL;
    }
    if (!(is_cleared && has_id) && packet->previous_packet_dropped != 0) {
        sequence->is_valid = false;
    }
    if (packet->trace_packet_defaults) {
        sequence->clock_id = packet->trace_packet_defaults->timestamp_clock_id;
        hs_import_stack_defaults(import, sequence, packet->trace_packet_defaults);
    }
    if (packet->interned_data && !has_id) {
        hs_stat_count(import, HS_STAT_INTERNED_TOKENIZER);
    } else if (packet->interned_data && sequence->is_valid) {
        hs_import_tables_add(import, &sequence->tables, packet->interned_data);
        hs_import_stack_interned(import, sequence, packet->interned_data);
    } else if (packet->interned_data) {
        hs_stat_count(import, HS_STAT_INTERNED_SKIPPED);
    }
    return sequence;
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
                      const Hs__Pb__TracePacket *packet)
{
    if (packet->clock_snapshot) {
        hs_import_clock_snapshot(import, packet->trusted_packet_sequence_id,
                                 packet->clock_snapshot);
    }
    struct hs_import_sequence *sequence =
        note_sequence(import, packet,
                      has_part(reader, HS_TRACE_FIELD_PROFILE_PACKET) ||
                          has_part(reader, HS_TRACE_FIELD_PERF_SAMPLE));
    if ((packet->sequence_flags & FLAG_NEEDS_STATE) != 0 && sequence && !sequence->is_valid) {
        hs_stat_count(import, HS_STAT_PACKET_SKIPPED);
        return;
    }
    if (!note_time(import, sequence, packet)) {
        return;
    }
    hs_import_put_off(import, sequence, reader);
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

static int read_packets(struct hs_import *import, struct hs_trace_reader *reader)
{
    const Hs__Pb__TracePacket *packet;
    int found;
    while ((found = hs_trace_reader_next(reader, &packet)) > 0) {
        on_packet(import, reader, packet);
        if (import->store->err != 0) {
            return import->store->err;
        }
    }
    hs_import_put_off_finish(import, reader);
    import->report.damage = *hs_trace_reader_damage(reader);
    if (found == 0 && hs_trace_reader_is_blank(reader)) {
        return import->file_bytes > 0 ? HS_SQL_E_BLANK : 0;
    }
    return found < 0 ? found : hs_trace_reader_verdict(reader);
}

static void finish(struct hs_import *import, size_t bytes)
{
    uint32_t count = hs_import_count(&import->sequence_ids);
    for (uint32_t i = 0; i < count; i++) {
        hs_import_dumps_finish(import, &import->sequences[i]);
    }
    hs_import_symbols_finish(import);
    hs_import_deobfuscation_finish(import);
    hs_import_counters_finish(import);
    hs_import_stats_finish(import);
    add_metadata(import, bytes);
}

static void import_deinit(struct hs_import *import)
{
    uint32_t count = hs_import_count(&import->sequence_ids);
    for (uint32_t i = 0; i < count; i++) {
        hs_import_tables_deinit(&import->sequences[i].tables);
        hs_import_legacy_deinit(&import->sequences[i].legacy);
        hs_import_stack_deinit(&import->sequences[i]);
        hs_import_dumps_clear(&import->sequences[i]);
    }
    struct hs_import_ids *all[] = { &import->epoch_ids, &import->sequence_ids, &import->pid_ids,
                                    &import->tid_ids,   &import->frame_ids,    &import->line_ids,
                                    &import->track_ids };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        hs_intern_deinit(&all[i]->ids);
    }
    hs_intern_deinit(&import->content_ids);
    hs_intern_deinit(&import->site_ids);
    hs_intern_deinit(&import->dump_ids);
    hs_intern_deinit(&import->stack_task_ids);
    hs_intern_deinit(&import->stack_execution_ids);
    hs_intern_deinit(&import->perf_session_ids);
    free(import->epochs);
    free(import->sequences);
    free(import->waiting);
    free(import->content_rows);
    free(import->frame_rows);
    free(import->lines);
    free(import->tracks);
    hs_import_stats_deinit(&import->stats);
    hs_buf_deinit(&import->config_text);
    hs_buf_deinit(&import->session_name);
    hs_import_clocks_free(import->clocks);
    hs_import_names_free(import->names);
    hs_import_classes_free(import->classes);
}

int hs_sql_import(struct hs_sql_store *store, const void *data, size_t bytes,
                  struct hs_load_report *ret_report)
{
    struct hs_import import = {
        .store = store,
        .file_bytes = bytes,
        .budget = BUDGET_MIN + (uint64_t)bytes * BUDGET_RATE,
        .empty = hs_sql_store_put(store, "", 0),
    };
    struct hs_trace_reader *reader = NULL;
    int err = store->err;
    err = err ? err : hs_import_clocks_new(&import.clocks);
    err = err ? err : hs_import_names_new(&import.names);
    err = err ? err : hs_import_classes_new(&import.classes);
    err = err ? err : hs_trace_reader_new(data, bytes, &reader);
    if (err == 0) {
        hs_trace_reader_want_all(reader);
        hs_trace_reader_split(reader, false);
        hs_import_idle_process(&import);
        err = read_packets(&import, reader);
    }
    if (err == 0 || err == HS_SQL_E_BLANK) {
        finish(&import, bytes);
        err = store->err ? store->err : err;
    }
    if (err >= 0 && ret_report) {
        *ret_report = import.report;
    }
    hs_trace_reader_free(reader);
    import_deinit(&import);
    return err;
}
