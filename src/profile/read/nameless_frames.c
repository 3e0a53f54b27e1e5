/*
 * A sink of the trace decoder that only looks at frames: see nameless_frames.h.
 *
 * A frame may come before the mapping that it refers to. So the frames of a sequence are looked at
 * when its state ends (it is cleared, or the file is over): until then the sink holds the state.
 */
#include "profile/read/nameless_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/mapping_path.h"
#include "trace/trace_decoder.h"
#include "trace/trace_input.h"
#include "util/array.h"
#include "util/buf.h"

#define MODULE_SKIPPED UINT32_MAX
#define BUILD_ID_MAX   64U

/* What is known of an address. */
enum {
    IS_FRAME = 1,  /* a frame has it */
    HAS_NAME = 2,  /* the trace has its name */
    HAS_LINES = 4, /* and its file */
};

/* A sequence whose frames were not looked at yet. */
struct open_sequence {
    struct hs_trace_state *state; /* held; NULL: none */
    struct hs_interned legacy;    /* tables in the packets of the current dump */
};

struct reading {
    struct hs_nameless_frames *frames;
    struct hs_symbol_wanted all; /* every address, also those with names */
    uint8_t *flags;              /* by address of `all` */
    size_t flag_capacity;
    struct hs_intern_array sequence_ids;
    struct open_sequence *sequences;
    struct hs_intern run_time; /* names and addresses of other code */
    struct hs_buf path;
};

/* --- addresses --- */

/* Finds or adds an address, and sets flags. */
static int note_pc(struct reading *r, uint32_t module, uint64_t rel_pc, uint8_t flags)
{
    uint32_t before = r->all.pc_ids.count, id;
    int err = hs_array_reserve(&r->flags, &r->flag_capacity, (size_t)before + 1, sizeof(*r->flags));
    err = err ? err : hs_symbol_wanted_pc_id(&r->all, module, rel_pc, &id);
    if (err != 0) {
        return err;
    }
    r->flags[id] = id >= before ? flags : (uint8_t)(r->flags[id] | flags);
    return 0;
}

static int note_symbols(struct reading *r, const Hs__Pb__ModuleSymbols *symbols)
{
    uint32_t module;
    if (symbols->build_id.len > BUILD_ID_MAX) {
        return 0;
    }
    int err = hs_symbol_wanted_module(&r->all, hs_mapping_shown(symbols->path ? symbols->path : ""),
                                      symbols->build_id.data, symbols->build_id.len, 0, &module);
    for (size_t i = 0; i < symbols->n_address_symbols && err == 0; i++) {
        const Hs__Pb__AddressSymbols *address = symbols->address_symbols[i];
        uint8_t flags = 0;
        for (size_t k = 0; k < address->n_lines; k++) {
            const Hs__Pb__Line *line = address->lines[k];
            flags |= line->function_name && line->function_name[0] ? HAS_NAME : 0;
            flags |= line->source_file_name && line->source_file_name[0] ? HAS_LINES : 0;
        }
        err = note_pc(r, module, address->address, flags);
    }
    return err;
}

/* --- frames --- */

/* Code of a file; the vDSO is a file of the kernel's. */
static bool is_file(const char *path)
{
    return (path[0] == '/' && strcmp(path, HS_MAPPING_ERROR) != 0) ||
           strcmp(path, HS_SYMBOL_PATH_VDSO) == 0;
}

/* The module of a mapping, which is looked up once; MODULE_SKIPPED: it is no file's. */
static int module_of(struct reading *r, const struct hs_interned *tables, uint64_t iid,
                     uint32_t *ret_module)
{
    struct hs_interned_mapping *mapping =
        hs_interned_find_mapping(tables, HS_INTERNED_LENIENT, iid);
    *ret_module = mapping ? mapping->made : MODULE_SKIPPED;
    if (!mapping || mapping->made != HS_INTERNED_NONE) {
        return 0;
    }
    hs_interned_path(tables, HS_INTERNED_LENIENT, mapping, &r->path);
    const char *path = hs_mapping_shown(hs_buf_text(&r->path));
    const struct hs_interned_text *id = hs_interned_find_text(
        tables, HS_INTERNED_LENIENT, HS_INTERNED_BUILD_ID, mapping->build_id_iid);
    if (r->path.err != 0 || !is_file(path) || (id && id->bytes > BUILD_ID_MAX)) {
        return r->path.err;
    }
    int err = hs_symbol_wanted_module(&r->all, path, id ? (const uint8_t *)id->text : NULL,
                                      id ? id->bytes : 0, 0, ret_module);
    mapping->made = err ? mapping->made : *ret_module;
    return err;
}

static bool is_text(const struct hs_interned *tables, enum hs_interned_kind kind, uint64_t iid)
{
    const struct hs_interned_text *text =
        hs_interned_find_text(tables, HS_INTERNED_LENIENT, kind, iid);
    return text && text->bytes > 0;
}

static int take_frame(struct reading *r, const struct hs_interned *tables,
                      const struct hs_interned_frame *frame)
{
    uint32_t module = MODULE_SKIPPED, id;
    bool is_named = is_text(tables, HS_INTERNED_FUNCTION, frame->function_iid);
    bool is_new, is_native = frame->kind == HS__PB__FRAME__KIND__KIND_UNKNOWN ||
                             frame->kind == HS__PB__FRAME__KIND__KIND_NATIVE;
    int err = is_native ? module_of(r, tables, frame->mapping_iid, &module) : 0;
    if (err != 0 || module == MODULE_SKIPPED) {
        struct hs_intern_key key = { .hi = frame->mapping_iid, .lo = frame->rel_pc };
        return err        ? err
               : is_named ? 0
                          : hs_intern_put(&r->run_time, hs_intern_mix(key, 0), &id, &is_new);
    }
    uint8_t flags = IS_FRAME | (is_named ? HAS_NAME : 0);
    flags |= is_text(tables, HS_INTERNED_SOURCE, frame->source_iid) ? HAS_LINES : 0;
    return note_pc(r, module, frame->rel_pc, flags);
}

static int take_frames(struct reading *r, const struct hs_interned *tables)
{
    int err = 0;
    for (uint32_t i = 0; i < hs_interned_count(tables, HS_INTERNED_FRAME) && err == 0; i++) {
        err = take_frame(r, tables, &tables->frames[i]);
    }
    return err;
}

/* --- packets --- */

/* The oldest recorders write frames into the packets of a dump itself. */
static int take_legacy(struct reading *r, struct open_sequence *sequence,
                       const Hs__Pb__ProfilePacket *packet)
{
    int err = 0;
    if (packet->n_frames > 0 || packet->n_mappings > 0 || packet->n_strings > 0) {
        err = hs_interned_add_legacy(&sequence->legacy, packet);
    }
    if (err == 0 && !packet->continued &&
        hs_interned_count(&sequence->legacy, HS_INTERNED_FRAME) > 0) {
        sequence->legacy.behind = &sequence->state->interned;
        err = take_frames(r, &sequence->legacy);
        hs_interned_deinit(&sequence->legacy);
    }
    return err;
}

static int take(void *ctx, const struct hs_trace_decoder *decoder,
                const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    (void)decoder;
    struct reading *r = ctx;
    struct open_sequence *sequence;
    void *elem = NULL;
    bool is_new;
    int err = packet->module_symbols ? note_symbols(r, packet->module_symbols) : 0;
    if (err != 0 || (!packet->interned_data && !packet->profile_packet)) {
        return err;
    }
    err = hs_intern_at(&r->sequence_ids, &r->sequences, sizeof(*sequence),
                       (struct hs_intern_key){ .lo = state->sequence_id }, &elem, &is_new);
    if (err != 0) {
        return err;
    }
    sequence = elem;
    if (sequence->state != state) {
        err = sequence->state ? take_frames(r, &sequence->state->interned) : 0;
        hs_trace_state_release(sequence->state);
        hs_trace_state_hold(state);
        sequence->state = state;
        hs_interned_deinit(&sequence->legacy);
    }
    return err || !packet->profile_packet ? err : take_legacy(r, sequence, packet->profile_packet);
}

static int take_all(struct reading *r, struct hs_trace_decoder *decoder)
{
    const struct hs_trace_sink sink = { .ctx = r, .take = take };
    int err = hs_trace_decoder_run(decoder, &sink, NULL, NULL);
    for (uint32_t i = 0; i < r->sequence_ids.ids.count && err == 0; i++) {
        err = r->sequences[i].state ? take_frames(r, &r->sequences[i].state->interned) : 0;
    }
    for (uint32_t i = 0; i < r->sequence_ids.ids.count; i++) {
        hs_trace_state_release(r->sequences[i].state);
        hs_interned_deinit(&r->sequences[i].legacy);
    }
    r->frames->damage = *hs_trace_reader_damage(decoder->reader);
    err = err ? err : hs_trace_reader_verdict(decoder->reader);
    bool is_blank = err != 0 && hs_trace_reader_is_blank(decoder->reader);
    return is_blank ? 0 : err;
}

/* --- requests --- */

/* The number of a module of `all` among the wanted ones; it is added when it is first asked for. */
static int number_of(struct reading *r, uint32_t *numbers, uint32_t idx)
{
    const struct hs_symbol_wanted_module *module = &r->all.modules[idx];
    return numbers[idx] != MODULE_SKIPPED
               ? 0
               : hs_symbol_wanted_module(&r->frames->wanted, module->path, module->build_id,
                                         module->build_id_bytes, 0, &numbers[idx]);
}

static int want_pcs(struct reading *r, uint32_t *numbers)
{
    struct hs_nameless_frames *frames = r->frames;
    int err = 0;
    for (uint32_t i = 0; i < r->all.pc_ids.count && err == 0; i++) {
        const struct hs_symbol_wanted_pc *pc = &r->all.pcs[i];
        frames->frame_count += (r->flags[i] & IS_FRAME) != 0;
        frames->named_count += (r->flags[i] & (IS_FRAME | HAS_NAME)) == (IS_FRAME | HAS_NAME);
        if ((r->flags[i] & (IS_FRAME | HAS_LINES)) == IS_FRAME) {
            err = number_of(r, numbers, pc->module);
            err = err ? err : hs_symbol_wanted_pc(&frames->wanted, numbers[pc->module], pc->rel_pc);
        }
    }
    return err;
}

static int want(struct reading *r)
{
    size_t count = r->all.module_ids.count;
    uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
    if (!numbers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = MODULE_SKIPPED;
    }
    int err = want_pcs(r, numbers);
    free(numbers);
    return err ? err
               : hs_symbol_wanted_requests(&r->frames->wanted, &r->frames->requests,
                                           &r->frames->request_count);
}

/* Remembers which of the requested addresses have a name. */
static int note_names(struct reading *r)
{
    struct hs_nameless_frames *frames = r->frames;
    frames->has_name = calloc(frames->request_count + 1, sizeof(*frames->has_name));
    int err = frames->has_name ? 0 : -ENOMEM;
    for (size_t i = 0; i < frames->request_count && err == 0; i++) {
        frames->has_name[i] = calloc(frames->requests[i].rel_pc_count + 1, 1);
        err = frames->has_name[i] ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < r->all.pc_ids.count && err == 0; i++) {
        const struct hs_symbol_wanted_pc *pc = &r->all.pcs[i];
        const struct hs_symbol_wanted_module *module = &r->all.modules[pc->module];
        uint32_t number, slot;
        if ((r->flags[i] & HAS_NAME) != 0 &&
            hs_symbol_wanted_find(&frames->wanted, module->path, module->build_id,
                                  module->build_id_bytes, 0, pc->rel_pc, &number, &slot)) {
            frames->has_name[number][slot] = 1;
        }
    }
    return err;
}

int hs_nameless_frames_read(struct hs_nameless_frames *frames, struct hs_trace_input *input)
{
    struct reading r = { .frames = frames, .path = HS_BUF_INIT };
    struct hs_trace_reader *reader;
    struct hs_trace_decoder decoder;
    *frames = (struct hs_nameless_frames){ 0 };
    int err = hs_trace_reader_take(input, &reader);
    err = err ? err : hs_trace_decoder_init(&decoder, reader);
    if (err != 0) {
        return err;
    }
    err = take_all(&r, &decoder);
    hs_trace_decoder_deinit(&decoder);
    err = err ? err : want(&r);
    err = err ? err : note_names(&r);
    frames->run_time_count = r.run_time.count;
    hs_symbol_wanted_deinit(&r.all);
    hs_intern_deinit(&r.sequence_ids.ids);
    hs_intern_deinit(&r.run_time);
    hs_buf_deinit(&r.path);
    free(r.flags);
    free(r.sequences);
    if (err != 0) {
        hs_nameless_frames_deinit(frames);
    }
    return err;
}

void hs_nameless_frames_deinit(struct hs_nameless_frames *frames)
{
    for (size_t i = 0; frames->has_name && i < frames->request_count; i++) {
        free(frames->has_name[i]);
    }
    free(frames->has_name);
    hs_symbol_wanted_deinit(&frames->wanted);
    *frames = (struct hs_nameless_frames){ 0 };
}

/* --- what was found --- */

static bool has_file(const struct hs_symbol_table *table, const struct hs_symbol_span *span)
{
    for (uint32_t i = 0; i < span->line_count; i++) {
        if (hs_symbol_string(table, table->lines[span->line_first + i].file_off)[0] != '\0') {
            return true;
        }
    }
    return false;
}

uint64_t hs_nameless_frames_keep_new(const struct hs_nameless_frames *frames,
                                     struct hs_symbol_table *tables)
{
    uint64_t new_count = 0;
    for (size_t i = 0; i < frames->request_count; i++) {
        for (uint32_t slot = 0; slot < tables[i].span_count; slot++) {
            struct hs_symbol_span *span = &tables[i].spans[slot];
            if (!frames->has_name[i][slot]) {
                new_count += span->line_count > 0;
            } else if (!has_file(&tables[i], span)) {
                span->line_count = 0;
            }
        }
    }
    return new_count;
}

size_t hs_nameless_frames_count(const struct hs_nameless_frames *frames, size_t request)
{
    size_t count = 0;
    for (size_t slot = 0; slot < frames->requests[request].rel_pc_count; slot++) {
        count += !frames->has_name[request][slot];
    }
    return count;
}
