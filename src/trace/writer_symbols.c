/*
 * ModuleSymbols packets: names for the code addresses of one module.
 *
 * These packets stand alone, so they can be written at any time and appended to any trace. A module
 * with many addresses is split over several packets, which readers combine.
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
