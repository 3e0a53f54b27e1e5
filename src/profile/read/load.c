/*
 * See load_foreign.h, load_state.h. Reads traces: the loop over packets, and packets that need no
 * other: clocks, processes, symbols.
 */
#include "profile/read/load_foreign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/load_state.h"
#include "rt/text.h"
#include "trace/mapping_path.h"
#include "trace/trace_input.h"
#include "util/buf.h"

#define FLAG_STATE_CLEARED 1U

static struct hs_load_sequence *find_sequence(struct hs_load *load, uint32_t id)
{
    if (load->last_sequence < load->sequence_count &&
        load->sequences[load->last_sequence].id == id) {
        return &load->sequences[load->last_sequence];
    }
    bool is_new;
    struct hs_load_sequence *sequence =
        hs_load_at(load, &load->sequence_ids, &load->sequences, sizeof(*sequence),
                   (struct hs_intern_key){ .lo = id }, &is_new);
    if (sequence) {
        sequence->id = id;
        load->last_sequence = (uint32_t)(sequence - load->sequences);
        load->sequence_count = hs_load_count(&load->sequence_ids);
    }
    return sequence;
}

/*
 * Starts all ids anew. In a good file this happens never in the middle, only between two files that
 * were concatenated.
 */
static void clear_sequence(struct hs_load_sequence *sequence)
{
    hs_load_tables_deinit(&sequence->tables);
    hs_load_tables_deinit(&sequence->legacy);
    hs_load_pending_deinit(sequence);
    sequence->epoch++;
    sequence->has_packet_idx = false;
    sequence->is_ours = false;
}

/* --- packets that need no other --- */

static void on_clocks(struct hs_load *load, const Hs__Pb__ClockSnapshot *clocks)
{
    uint64_t real_ns = 0, mono_ns = 0, boot_ns = 0;
    for (size_t i = 0; i < clocks->n_clocks; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = clocks->clocks[i];
        if (clock->clock_id == HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_REALTIME) {
            real_ns = clock->timestamp;
        } else if (clock->clock_id == HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_BOOTTIME) {
            boot_ns = clock->timestamp;
        } else if (clock->clock_id == HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_MONOTONIC ||
                   (clock->clock_id == HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_MONOTONIC_COARSE &&
                    mono_ns == 0)) {
            mono_ns = clock->timestamp;
        }
    }
    if (boot_ns != 0 && mono_ns != 0) {
        load->boot_minus_mono_ns = boot_ns - mono_ns;
    }
    if (real_ns > mono_ns && mono_ns != 0) {
        hs_builder_set_realtime(load->builder, real_ns - mono_ns);
    }
}

static uint32_t join_cmdline(struct hs_load *load, const Hs__Pb__ProcessTree__Process *process)
{
    struct hs_buf text = HS_BUF_INIT;
    for (size_t i = 0; i < process->n_cmdline; i++) {
        hs_buf_str(&text, i > 0 ? " " : "");
        hs_buf_str(&text, process->cmdline[i]);
    }
    /*
     * A program that wrote a title over its arguments leaves blanks behind it, or empty arguments.
     */
    size_t bytes = text.bytes;
    while (bytes > 0 && hs_buf_text(&text)[bytes - 1] == ' ') {
        bytes--;
    }
    uint32_t cmdline = hs_builder_string_n(load->builder, hs_buf_text(&text), bytes);
    load->err = load->err ? load->err : text.err;
    hs_buf_deinit(&text);
    return cmdline;
}

static void on_process_tree(struct hs_load *load, const Hs__Pb__ProcessTree *tree)
{
    for (size_t i = 0; i < tree->n_processes && load->err == 0; i++) {
        const Hs__Pb__ProcessTree__Process *process = tree->processes[i];
        bool is_new;
        struct hs_load_pid *pid =
            hs_load_at(load, &load->pid_ids, &load->pids, sizeof(*pid),
                       (struct hs_intern_key){ .lo = (uint32_t)process->pid }, &is_new);
        if (pid) {
            *pid = (struct hs_load_pid){
                .ppid = (uint32_t)process->ppid,
                .cmdline = join_cmdline(load, process),
                .argv0 = process->n_cmdline > 0
                             ? hs_builder_string(load->builder, process->cmdline[0])
                             : 0,
                .is_comm = process->cmdline_is_comm,
            };
        }
    }
}

const struct hs_load_pid *hs_load_pid(const struct hs_load *load, uint32_t pid)
{
    return hs_load_find(&load->pid_ids, load->pids, sizeof(struct hs_load_pid),
                        (struct hs_intern_key){ .lo = pid });
}

uint32_t hs_load_basename(struct hs_load *load, uint32_t path)
{
    const char *text = hs_builder_text(load->builder, path);
    const char *name = hs_text_base_name(text);
    return name == text ? path : hs_builder_string(load->builder, name);
}

static void on_symbols(struct hs_load *load, const Hs__Pb__ModuleSymbols *symbols)
{
    uint32_t path =
        hs_builder_string(load->builder, hs_mapping_shown(symbols->path ? symbols->path : ""));
    for (size_t i = 0; i < symbols->n_address_symbols && load->err == 0; i++) {
        const Hs__Pb__AddressSymbols *address = symbols->address_symbols[i];
        struct hs_profile_line *lines = calloc(address->n_lines + 1, sizeof(*lines));
        if (!lines) {
            load->err = -ENOMEM;
            return;
        }
        for (size_t k = 0; k < address->n_lines; k++) {
            const Hs__Pb__Line *line = address->lines[k];
            const char *function = line->function_name ? line->function_name : "";
            const char *system_name =
                line->heapscope_system_name ? line->heapscope_system_name : function;
            const char *file = line->source_file_name ? line->source_file_name : "";
            lines[k] = (struct hs_profile_line){
                .function = hs_builder_string(load->builder, function),
                .system_name = hs_builder_string(load->builder, system_name),
                .file = hs_builder_string(load->builder, file),
                .line = line->line_number,
            };
        }
        hs_builder_symbol(load->builder, path, symbols->build_id.data, symbols->build_id.len,
                          address->address, lines, (uint32_t)address->n_lines);
        free(lines);
    }
}

static void on_packet(struct hs_load *load, const Hs__Pb__TracePacket *packet)
{
    if (packet->clock_snapshot) {
        on_clocks(load, packet->clock_snapshot);
    }
    hs_load_counters(load, packet);
    if (packet->process_tree) {
        on_process_tree(load, packet->process_tree);
    }
    if (packet->module_symbols) {
        on_symbols(load, packet->module_symbols);
    }
    bool is_cleared =
        (packet->sequence_flags & FLAG_STATE_CLEARED) != 0 || packet->incremental_state_cleared;
    if (!packet->interned_data && !packet->profile_packet && !packet->heapscope && !is_cleared) {
        return;
    }
    struct hs_load_sequence *sequence = find_sequence(load, packet->trusted_packet_sequence_id);
    if (!sequence) {
        return;
    }
    if (is_cleared) {
        clear_sequence(sequence);
    }
    if (packet->interned_data) {
        hs_load_tables_add(load, &sequence->tables, packet->interned_data);
    }
    if (packet->heapscope) {
        hs_load_ours(load, sequence, packet->heapscope);
    }
    if (packet->profile_packet) {
        hs_load_profile_packet(load, sequence, packet->profile_packet);
    }
}

/* --- the whole file --- */

static int read_packets(struct hs_load *load, struct hs_trace_reader *reader)
{
    const Hs__Pb__TracePacket *packet;
    int found;
    while ((found = hs_trace_reader_next(reader, &packet)) > 0) {
        on_packet(load, packet);
        if (load->err == 0) {
            load->err = hs_builder_error(load->builder);
        }
        if (load->err != 0) {
            return load->err;
        }
    }
    load->report.damage = *hs_trace_reader_damage(reader);
    return found < 0 ? found : hs_trace_reader_verdict(reader);
}

static void load_deinit(struct hs_load *load)
{
    hs_load_ours_deinit(load);
    hs_load_samples_deinit(load);
    hs_load_counters_deinit(load);
    for (uint32_t i = 0; i < load->sequence_count; i++) {
        hs_load_tables_deinit(&load->sequences[i].tables);
        hs_load_tables_deinit(&load->sequences[i].legacy);
        hs_load_pending_deinit(&load->sequences[i]);
    }
    hs_load_ids_deinit(&load->sequence_ids);
    hs_load_ids_deinit(&load->pid_ids);
    free(load->sequences);
    free(load->pids);
    hs_builder_free(load->builder);
}

static int load_from(struct hs_trace_reader *reader, struct hs_profile **ret_profile,
                     struct hs_load_report *ret_report)
{
    struct hs_load load = { .builder = hs_builder_new() };
    int err = load.builder ? read_packets(&load, reader) : -ENOMEM;
    if (err == 0) {
        hs_load_samples_finish(&load);
        hs_load_ours_finish(&load);
        hs_load_counters_finish(&load);
        load.report.thinned_dump_count = load.thinned_count;
        hs_load_add_losses(load.builder, &load.report);
        err = load.err ? load.err : hs_builder_finish(load.builder, ret_profile);
    }
    if (ret_report) {
        *ret_report = load.report;
    }
    load_deinit(&load);
    hs_trace_reader_free(reader);
    return err;
}

int hs_load_trace(struct hs_trace_input *input, struct hs_profile **ret_profile,
                  struct hs_load_report *ret_report)
{
    struct hs_trace_reader *reader;
    int err = hs_trace_reader_take(input, &reader);
    return err < 0 ? err : load_from(reader, ret_profile, ret_report);
}
