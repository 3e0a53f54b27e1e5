/*
 * Turns snapshots into requests, and symbol tables into packets. See symbol_packets.h.
 */
#include "profile/model/symbol_packets.h"

#include <errno.h>
#include <stdlib.h>

#define MODULE_UNKNOWN UINT32_MAX

int hs_symbol_packets_add_snapshot(struct hs_symbol_wanted *wanted, const struct hs_snapshot *snap,
                                   const struct hs_skipped_files *skipped,
                                   const struct hs_symbol_named *named)
{
    uint32_t *numbers = malloc(((size_t)snap->module_count + 1) * sizeof(*numbers));
    if (!numbers) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < snap->module_count; i++) {
        numbers[i] = MODULE_UNKNOWN;
    }
    int err = 0;
    for (uint32_t i = 0; i < snap->frame_count && err == 0; i++) {
        const struct hs_snap_frame *frame = &snap->frames[i];
        if ((frame->flags & HS_FRAME_MARKER) != 0 || frame->module_id >= snap->module_count) {
            continue;
        }
        const struct hs_snap_module *module = &snap->modules[frame->module_id];
        if (module->kind == HS_MODULE_MARKER || !module->path || !module->path[0] ||
            hs_is_skipped_file(skipped, module->path) ||
            (named && named->has(named->ctx, snap, i))) {
            continue;
        }
        /* Only modules that occur in a stack are worth opening. */
        if (numbers[frame->module_id] == MODULE_UNKNOWN) {
            err = hs_symbol_wanted_module(wanted, module->path, module->build_id,
                                          module->build_id_bytes, snap->pid,
                                          &numbers[frame->module_id]);
        }
        if (err == 0) {
            err = hs_symbol_wanted_pc(wanted, numbers[frame->module_id], frame->rel_pc);
        }
    }
    free(numbers);
    return err;
}

/* Writes the named addresses of one module, in the form that the writer expects. */
static int write_module(struct hs_trace_writer *writer, const struct hs_symbol_request *request,
                        const struct hs_symbol_table *table)
{
    struct hs_trace_address *addresses = malloc((table->span_count + 1U) * sizeof(*addresses));
    struct hs_trace_line *lines = malloc((table->line_count + 1U) * sizeof(*lines));
    int err = addresses && lines ? 0 : -ENOMEM;
    uint32_t address_count = 0;
    for (uint32_t i = 0; err == 0 && i < table->line_count; i++) {
        const struct hs_symbol_line *line = &table->lines[i];
        lines[i] = (struct hs_trace_line){
            .function = hs_symbol_string(table, line->function_off),
            .system_name = line->system_name_off == line->function_off
                               ? NULL
                               : hs_symbol_string(table, line->system_name_off),
            .file = hs_symbol_string(table, line->file_off),
            .line = line->line,
            .folded = hs_symbol_string(table, line->folded_off),
        };
    }
    for (uint32_t i = 0; err == 0 && i < table->span_count; i++) {
        const struct hs_symbol_span *span = &table->spans[i];
        if (span->line_count > 0) {
            addresses[address_count++] = (struct hs_trace_address){
                .rel_pc = request->rel_pcs[i],
                .lines = lines + span->line_first,
                .line_count = span->line_count,
            };
        }
    }
    if (err == 0 && address_count > 0) {
        const struct hs_trace_module_symbols symbols = {
            .path = request->path,
            .build_id = request->build_id,
            .build_id_bytes = (uint8_t)request->build_id_bytes,
            .addresses = addresses,
            .address_count = address_count,
        };
        err = hs_trace_writer_module_symbols(writer, &symbols);
    }
    free(addresses);
    free(lines);
    return err;
}

int hs_symbol_packets_write(struct hs_trace_writer *writer,
                            const struct hs_symbol_request *requests,
                            const struct hs_symbol_table *tables, size_t count)
{
    int err = 0;
    for (size_t i = 0; i < count && err == 0; i++) {
        err = write_module(writer, &requests[i], &tables[i]);
    }
    return err;
}

int hs_symbol_packets_write_nameless(struct hs_trace_writer *writer,
                                     const struct hs_symbol_request *requests,
                                     const struct hs_symbol_table *tables, size_t count)
{
    int err = hs_trace_writer_names_end(writer, (uint32_t)count);
    for (size_t i = 0; i < count && err == 0; i++) {
        const struct hs_symbol_table *table = &tables[i];
        if (table->named_count >= table->span_count && table->reason == HS_SYMBOL_REASON_NONE) {
            continue;
        }
        const struct hs_trace_nameless nameless = {
            .path = requests[i].path,
            .build_id = requests[i].build_id,
            .build_id_bytes = (uint8_t)requests[i].build_id_bytes,
            /* Names were found, but not for all addresses. */
            .reason = table->reason == HS_SYMBOL_REASON_NONE ? HS_SYMBOL_REASON_NO_SYMBOLS
                                                             : table->reason,
            .detail = hs_symbol_string(table, table->detail_off),
            .address_count = table->span_count,
            .nameless_count = table->span_count - table->named_count,
        };
        err = hs_trace_writer_nameless(writer, &nameless);
    }
    return err;
}
