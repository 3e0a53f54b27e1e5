/*
 * ModuleSymbols packets: names for the code addresses of one module.
 *
 * These packets stand alone, so they can be written at any time and appended to any trace. A module
 * with many addresses is split over several packets, which readers combine. HsNames packets say at
 * the end of a recording which modules lack names.
 *
 * See       trace_writer.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/mapping_path.h"
#include "trace/writer_state.h"

#define ADDRESSES_PER_PACKET 2000U
#define LINES_PER_PACKET     6000U

struct symbols_packet {
    Hs__Pb__ModuleSymbols module;
    Hs__Pb__AddressSymbols addresses[ADDRESSES_PER_PACKET];
    Hs__Pb__AddressSymbols *address_pointers[ADDRESSES_PER_PACKET];
    Hs__Pb__Line lines[LINES_PER_PACKET];
    Hs__Pb__Line *line_pointers[LINES_PER_PACKET];
    size_t line_count;
    size_t text_bytes;
};

static void flush(struct hs_trace_writer *writer, struct symbols_packet *symbols)
{
    if (symbols->module.n_address_symbols > 0) {
        Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT;
        packet.module_symbols = &symbols->module;
        hs_writer_packet(writer, &packet);
    }
    symbols->module.n_address_symbols = 0;
    symbols->line_count = symbols->text_bytes = 0;
}

static void add_line(struct symbols_packet *symbols, const struct hs_trace_line *line)
{
    Hs__Pb__Line *out = &symbols->lines[symbols->line_count];
    symbols->line_pointers[symbols->line_count++] = out;
    hs__pb__line__init(out);
    const char *function = line->function ? line->function : "";
    out->function_name = (char *)(uintptr_t)function;
    symbols->text_bytes += strlen(function);
    if (line->file && line->file[0] != '\0') {
        out->source_file_name = (char *)(uintptr_t)line->file;
        out->has_line_number = line->line != 0;
        out->line_number = line->line;
        symbols->text_bytes += strlen(line->file);
    }
    if (line->system_name && strcmp(line->system_name, function) != 0) {
        out->heapscope_system_name = (char *)(uintptr_t)line->system_name;
        symbols->text_bytes += strlen(line->system_name);
    }
    if (line->folded && line->folded[0] != '\0') {
        out->heapscope_folded_names = (char *)(uintptr_t)line->folded;
        symbols->text_bytes += strlen(line->folded);
    }
}

static void add_address(struct hs_trace_writer *writer, struct symbols_packet *symbols,
                        const struct hs_trace_address *address)
{
    uint32_t line_count =
        address->line_count < LINES_PER_PACKET ? address->line_count : LINES_PER_PACKET;
    if (symbols->module.n_address_symbols == ADDRESSES_PER_PACKET ||
        symbols->line_count + line_count > LINES_PER_PACKET ||
        symbols->text_bytes > HS_PACKET_BYTES / 2) {
        flush(writer, symbols);
    }
    size_t idx = symbols->module.n_address_symbols++;
    Hs__Pb__AddressSymbols *out = symbols->address_pointers[idx] = &symbols->addresses[idx];
    hs__pb__address_symbols__init(out);
    out->has_address = true;
    out->address = address->rel_pc;
    out->n_lines = line_count;
    out->lines = &symbols->line_pointers[symbols->line_count];
    for (uint32_t i = 0; i < line_count; i++) {
        add_line(symbols, &address->lines[i]);
    }
}

int hs_trace_writer_module_symbols(struct hs_trace_writer *writer,
                                   const struct hs_trace_module_symbols *symbols)
{
    if (writer->err != 0) {
        return writer->err;
    }
    struct symbols_packet *packet = malloc(sizeof(*packet));
    char *name = hs_mapping_name(symbols->path);
    if (!packet || !name) {
        hs_writer_fail(writer, -ENOMEM);
        goto out;
    }
    packet->line_count = packet->text_bytes = 0;
    hs__pb__module_symbols__init(&packet->module);
    packet->module.path = name;
    packet->module.has_build_id = true;
    packet->module.build_id.data = (uint8_t *)(uintptr_t)symbols->build_id;
    packet->module.build_id.len = symbols->build_id ? symbols->build_id_bytes : 0;
    packet->module.address_symbols = packet->address_pointers;
    for (uint32_t i = 0; i < symbols->address_count; i++) {
        add_address(writer, packet, &symbols->addresses[i]);
    }
    flush(writer, packet);
out:
    free(name);
    free(packet);
    return writer->err;
}

static void write_names(struct hs_trace_writer *writer, Hs__Pb__HsNames *names)
{
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT;
    heapscope.names = names;
    packet.heapscope = &heapscope;
    packet.has_trusted_packet_sequence_id = true;
    packet.trusted_packet_sequence_id = writer->sequence_id;
    hs_writer_packet(writer, &packet);
}

int hs_trace_writer_names_end(struct hs_trace_writer *writer, uint32_t module_count)
{
    Hs__Pb__HsNames names = HS__PB__HS_NAMES__INIT;
    names.has_module_count = true;
    names.module_count = module_count;
    if (writer->err == 0) {
        write_names(writer, &names);
    }
    return writer->err;
}

int hs_trace_writer_nameless(struct hs_trace_writer *writer, const struct hs_trace_nameless *module)
{
    if (writer->err != 0) {
        return writer->err;
    }
    Hs__Pb__HsNames names = HS__PB__HS_NAMES__INIT;
    names.path = hs_mapping_name(module->path);
    if (!names.path) {
        hs_writer_fail(writer, -ENOMEM);
        return writer->err;
    }
    names.has_build_id = module->build_id && module->build_id_bytes > 0;
    names.build_id.data = (uint8_t *)(uintptr_t)module->build_id;
    names.build_id.len = names.has_build_id ? module->build_id_bytes : 0;
    names.has_reason = names.has_address_count = names.has_nameless_count = true;
    names.reason = module->reason;
    names.address_count = module->address_count;
    names.nameless_count = module->nameless_count;
    names.detail = module->detail[0] != '\0' ? (char *)(uintptr_t)module->detail : NULL;
    write_names(writer, &names);
    free(names.path);
    return writer->err;
}
