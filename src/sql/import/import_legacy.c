/*
 * The interned tables that very old recorders put into the ProfilePacket itself.
 *
 * They are resolved at once, in the order strings, mappings, frames, callstacks, and freed when the
 * dump is complete. Mappings are identified by their content. The row of an element is kept with
 * it: HS_IMPORT_NONE if it cannot be resolved.
 *
 * See       import_state.h
 */
#include "sql/import/import_state.h"

static uint32_t mapping_row(struct hs_import *import, const struct hs_interned *legacy,
                            const struct hs_interned_mapping *mapping)
{
    int64_t name, build_id;
    return hs_import_mapping_texts(import, legacy, mapping, &name, &build_id)
               ? hs_import_content_mapping(import, mapping, name, build_id)
               : HS_IMPORT_NONE;
}

static uint32_t frame_row(struct hs_import *import, const struct hs_interned *legacy,
                          const struct hs_interned_frame *frame)
{
    static const struct hs_interned_mapping nowhere;
    int64_t name;
    const struct hs_interned_mapping *mapping =
        hs_interned_find_mapping(legacy, HS_INTERNED_STRICT, frame->mapping_iid);
    uint32_t row = mapping ? mapping->made : HS_IMPORT_NONE;
    if (!mapping && frame->mapping_iid == 0) {
        row = hs_import_content_mapping(import, &nowhere, import->empty, import->empty);
    }
    if (row == HS_IMPORT_NONE) {
        hs_stat_count(import, HS_STAT_INVALID_MAPPING);
        return HS_IMPORT_NONE;
    }
    return hs_import_text(import, legacy, HS_INTERNED_FUNCTION, frame->function_iid, &name)
               ? hs_import_frame_row(import, row, name, frame->rel_pc)
               : HS_IMPORT_NONE;
}

static uint32_t site_row(struct hs_import *import, const struct hs_interned *legacy,
                         const struct hs_interned_callstack *callstack)
{
    uint32_t site = HS_IMPORT_NONE;
    for (uint32_t i = 0; i < callstack->frames.count; i++) {
        const struct hs_interned_frame *frame = hs_interned_find_frame(
            legacy, HS_INTERNED_STRICT, hs_interned_iid(&callstack->frames, i));
        if (!frame || frame->made == HS_IMPORT_NONE) {
            hs_stat_count(import, HS_STAT_INVALID_FRAME);
            return HS_IMPORT_NONE;
        }
        site = hs_import_site_row(import, site, frame->made);
        if (site == HS_IMPORT_NONE) {
            hs_stat_count(import, HS_STAT_STACK_PARSER);
            return HS_IMPORT_NONE;
        }
    }
    if (callstack->frames.count == 0) {
        hs_stat_count(import, HS_STAT_EMPTY_CALLSTACK);
    }
    return site;
}

void hs_import_legacy_add(struct hs_import *import, struct hs_interned *legacy,
                          const Hs__Pb__ProfilePacket *packet)
{
    uint32_t mapping = hs_interned_count(legacy, HS_INTERNED_MAPPING);
    uint32_t frame = hs_interned_count(legacy, HS_INTERNED_FRAME);
    uint32_t callstack = hs_interned_count(legacy, HS_INTERNED_CALLSTACK);
    int err = hs_interned_add_legacy(legacy, packet);
    if (err < 0) {
        import->store->err = import->store->err ? import->store->err : err;
        return;
    }
    for (; mapping < hs_interned_count(legacy, HS_INTERNED_MAPPING); mapping++) {
        legacy->mappings[mapping].made = mapping_row(import, legacy, &legacy->mappings[mapping]);
    }
    for (; frame < hs_interned_count(legacy, HS_INTERNED_FRAME); frame++) {
        legacy->frames[frame].made = frame_row(import, legacy, &legacy->frames[frame]);
    }
    for (; callstack < hs_interned_count(legacy, HS_INTERNED_CALLSTACK); callstack++) {
        legacy->callstacks[callstack].made =
            site_row(import, legacy, &legacy->callstacks[callstack]);
    }
}
