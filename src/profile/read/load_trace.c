/*
 * See load_trace.h, load_state.h. Takes packets of traces, and reads those that need no other:
 * clocks, processes, symbols.
 */
#include "profile/read/load_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/frame_class.h"
#include "profile/read/load_foreign.h"
#include "profile/read/load_state.h"
#include "rt/text.h"
#include "symbol/symbol_table.h"
#include "trace/mapping_path.h"
#include "trace/trace_input.h"
#include "util/buf.h"

static struct hs_load_sequence *find_sequence(struct hs_load *load, uint32_t id)
{
    if (load->last_sequence < load->sequence_ids.ids.count &&
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
    }
    return sequence;
}

/*
 * Starts all ids anew. In a good file this happens never in the middle, only between two files that
 * were concatenated.
 */
static void clear_sequence(struct hs_load_sequence *sequence)
{
    hs_interned_deinit(&sequence->legacy);
    hs_load_pending_deinit(sequence);
    sequence->epoch++;
    sequence->has_packet_idx = false;
    sequence->is_ours = false;
}

/* --- packets that need no other --- */

/* Times of the profile are those of CLOCK_MONOTONIC. */
static void on_clocks(struct hs_load *load, const struct hs_clocks *clocks)
{
    uint64_t shift_ns;
    if (hs_clocks_last_shift(clocks, HS_CLOCK_BOOTTIME, &shift_ns)) {
        load->boot_minus_mono_ns = shift_ns;
    }
    if (hs_clocks_last_shift(clocks, HS_CLOCK_REALTIME, &shift_ns)) {
        hs_builder_set_realtime(load->builder, shift_ns);
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
                .has_uid = process->has_uid,
                .uid = (uint32_t)process->uid,
            };
        }
    }
}

const struct hs_load_pid *hs_load_pid(const struct hs_load *load, uint32_t pid)
{
    return hs_intern_elem(&load->pid_ids, load->pids, sizeof(struct hs_load_pid),
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
                .folded = line->heapscope_folded_names
                              ? hs_builder_string(load->builder, line->heapscope_folded_names)
                              : 0,
            };
        }
        hs_builder_symbol(load->builder, path, symbols->build_id.data, symbols->build_id.len,
                          address->address, lines, (uint32_t)address->n_lines);
        free(lines);
    }
}

static void on_cost(struct hs_load *load, const Hs__Pb__HsCost *cost)
{
    hs_builder_cost(load->builder, &(struct hs_profile_cost){
                                       .recording_cpu_ns = cost->recording_cpu_ns,
                                       .names_cpu_ns = cost->names_cpu_ns,
                                       .collector_cpu_ns = cost->collector_cpu_ns,
                                       .collector_rss_peak_bytes = cost->collector_rss_peak_bytes,
                                   });
}

static void on_names(struct hs_load *load, const Hs__Pb__HsNames *names)
{
    if (!names->path) {
        hs_builder_looked_up(load->builder, names->module_count);
    } else if (names->reason < HS_SYMBOL_REASON_N &&
               /* No stack shows a recorder's functions (profiler_frames.h). */
               !hs_frame_is_recorder("", hs_mapping_shown(names->path))) {
        const struct hs_profile_nameless nameless = {
            .path = hs_builder_string(load->builder, hs_mapping_shown(names->path)),
            .detail = hs_builder_string(load->builder, names->detail ? names->detail : ""),
            .nameless_count = names->nameless_count,
            .address_count = names->address_count,
            .reason = (uint8_t)names->reason,
        };
        hs_builder_nameless(load->builder, &nameless, names->build_id.data, names->build_id.len);
    }
}

static void on_packet(struct hs_load *load, const struct hs_trace_decoder *decoder,
                      const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    bool is_cleared = hs_trace_clears_state(packet);
    if (packet->clock_snapshot) {
        on_clocks(load, decoder->clocks);
    }
    hs_load_counters(load, packet);
    if (packet->process_tree) {
        on_process_tree(load, packet->process_tree);
    }
    if (packet->module_symbols) {
        on_symbols(load, packet->module_symbols);
    }
    if (packet->heapscope && packet->heapscope->cost) {
        on_cost(load, packet->heapscope->cost);
    }
    if (packet->heapscope && packet->heapscope->names) {
        on_names(load, packet->heapscope->names);
    }
    if (packet->deobfuscation_mapping || packet->packages_list) {
        hs_load_original_names(load, packet);
    }
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
    sequence->interned = &state->interned;
    if (packet->heapscope) {
        hs_load_ours(load, sequence, packet->heapscope);
    }
    if (packet->profile_packet) {
        hs_load_profile_packet(load, sequence, packet->profile_packet);
    }
}

/* --- the sink --- */

static int take(void *ctx, const struct hs_trace_decoder *decoder,
                const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    struct hs_load *load = ctx;
    on_packet(load, decoder, packet, state);
    load->err = load->err ? load->err : hs_builder_error(load->builder);
    return load->err;
}

struct hs_trace_sink hs_load_sink(struct hs_load *load)
{
    return (struct hs_trace_sink){ .ctx = load, .take = take };
}

int hs_load_new(struct hs_load **ret_load)
{
    struct hs_load *load = calloc(1, sizeof(*load));
    if (load) {
        load->builder = hs_builder_new();
    }
    if (!load || !load->builder) {
        free(load);
        return -ENOMEM;
    }
    *ret_load = load;
    return 0;
}

void hs_load_free(struct hs_load *load)
{
    if (!load) {
        return;
    }
    hs_load_ours_deinit(load);
    hs_load_samples_deinit(load);
    hs_load_counters_deinit(load);
    hs_load_original_names_deinit(load);
    for (uint32_t i = 0; i < load->sequence_ids.ids.count; i++) {
        hs_interned_deinit(&load->sequences[i].legacy);
        hs_load_pending_deinit(&load->sequences[i]);
    }
    hs_intern_deinit(&load->sequence_ids.ids);
    hs_intern_deinit(&load->pid_ids.ids);
    free(load->sequences);
    free(load->pids);
    hs_builder_free(load->builder);
    free(load);
}

int hs_load_finish(struct hs_load *load, const struct hs_trace_damage *damage,
                   struct hs_profile **ret_profile)
{
    load->report.damage = *damage;
    hs_load_samples_finish(load);
    hs_load_ours_finish(load);
    hs_load_counters_finish(load);
    hs_load_packages_finish(load);
    load->report.thinned_dump_count = load->thinned_count;
    hs_load_add_losses(load->builder, &load->report);
    struct hs_profile *profile = NULL;
    int err = load->err ? load->err : hs_builder_finish(load->builder, &profile);
    err = err ? err : hs_load_original_names_finish(load, profile);
    if (err != 0) {
        hs_profile_free(profile);
        return err;
    }
    *ret_profile = profile;
    return 0;
}

/* --- a pass of its own --- */

static int load_from(struct hs_trace_decoder *decoder, struct hs_load *load,
                     struct hs_profile **ret_profile)
{
    const struct hs_trace_sink sink = hs_load_sink(load);
    int err = hs_trace_decoder_run(decoder, &sink, NULL, NULL);
    if (err != 0) {
        return err;
    }
    load->report.damage = *hs_trace_reader_damage(decoder->reader);
    err = hs_trace_reader_verdict(decoder->reader);
    return err ? err : hs_load_finish(load, &load->report.damage, ret_profile);
}

int hs_load_trace(struct hs_trace_input *input, struct hs_profile **ret_profile,
                  struct hs_load_report *ret_report)
{
    struct hs_trace_reader *reader;
    struct hs_trace_decoder decoder;
    struct hs_load *load = NULL;
    int err = hs_trace_reader_take(input, &reader);
    err = err ? err : hs_trace_decoder_init(&decoder, reader);
    if (err < 0) {
        return err;
    }
    err = hs_load_new(&load);
    if (err == 0) {
        err = load_from(&decoder, load, ret_profile);
        *ret_report = load->report;
    }
    hs_load_free(load);
    hs_trace_decoder_deinit(&decoder);
    return err;
}
