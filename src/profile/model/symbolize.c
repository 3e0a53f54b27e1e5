/*
 * Puts names into a profile. See symbolize.h.
 */
#include "profile/model/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/frame_pids.h"
#include "profile/model/profile_strings.h"
#include "profile/model/profiler_frames.h"
#include "util/array.h"

static bool has_file(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    for (uint32_t i = 0; i < frame->line_count; i++) {
        if (hs_profile_string(p, p->lines[frame->line_first + i].file)[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* True when a frame has an address to look up, and no names yet or, for code of a file, a name
 * without a place. A name of code made at run time is that of the time when it ran, and stays. */
static bool is_wanted(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    bool is_named_jit = frame->kind == HS_FRAME_KIND_JIT && frame->name != 0;
    bool is_complete =
        frame->line_count > 0 && (frame->kind == HS_FRAME_KIND_JIT || has_file(p, frame));
    return !is_complete && !is_named_jit && frame->module < p->module_count &&
           (frame->kind == HS_FRAME_KIND_NATIVE || frame->kind == HS_FRAME_KIND_JIT) &&
           hs_profile_string(p, p->modules[frame->module].path)[0] != '\0';
}

int hs_profile_wanted(const struct hs_profile *profile, struct hs_symbol_wanted *wanted)
{
    uint32_t *pids;
    int err = hs_profile_frame_pids(profile, &pids);
    if (err != 0) {
        return err;
    }
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        const struct hs_profile_frame *frame = &profile->frames[i];
        if (!is_wanted(profile, frame)) {
            continue;
        }
        const struct hs_profile_module *module = &profile->modules[frame->module];
        uint32_t number;
        err = hs_symbol_wanted_module(wanted, hs_profile_string(profile, module->path),
                                      module->build_id, module->build_id_bytes, pids[i], &number);
        if (err == 0) {
            err = hs_symbol_wanted_pc(wanted, number, frame->rel_pc);
        }
    }
    free(pids);
    return err;
}

/* State while symbols are put in. */
struct filling {
    struct hs_profile *p;
    struct hs_profile_strings strings;
    size_t line_capacity;
};

static int put_string(struct filling *filling, const char *text, uint32_t *ret_id)
{
    return hs_profile_strings_put(&filling->strings, text, ret_id);
}

static int put_span(struct filling *filling, const struct hs_symbol_table *table, uint32_t slot,
                    struct hs_profile_frame *frame)
{
    struct hs_profile *p = filling->p;
    const struct hs_symbol_span *span = &table->spans[slot];
    uint32_t first = p->line_count;
    bool has_new_file = false;
    for (uint32_t i = 0; i < span->line_count; i++) {
        has_new_file |= table->lines[span->line_first + i].file_off != 0;
    }
    if (frame->line_count > 0 && !has_new_file) {
        return 0; /* its name stays */
    }
    int err = hs_array_reserve(&p->lines, &filling->line_capacity, (size_t)first + span->line_count,
                               sizeof(*p->lines));
    for (uint32_t i = 0; i < span->line_count && err == 0; i++) {
        const struct hs_symbol_line *from = &table->lines[span->line_first + i];
        struct hs_profile_line line = { .line = from->line };
        err = put_string(filling, hs_symbol_string(table, from->function_off), &line.function);
        if (err == 0) {
            err = put_string(filling, hs_symbol_string(table, from->system_name_off),
                             &line.system_name);
        }
        if (err == 0) {
            err = put_string(filling, hs_symbol_string(table, from->file_off), &line.file);
        }
        if (err == 0 && from->folded_off != 0) {
            err = put_string(filling, hs_symbol_string(table, from->folded_off), &line.folded);
        }
        p->lines[first + i] = line;
    }
    if (err == 0 && span->line_count > 0) {
        p->line_count += span->line_count;
        frame->line_first = first;
        frame->line_count = span->line_count;
    }
    return err;
}

/* Puts names into the profile. `tables` are those of hs_symbolizer_run() for the requests of
 * `wanted`; `nameless` counts for each the frames without a name. 0 or -ENOMEM. */
static int take_symbols(struct hs_profile *profile, const struct hs_symbol_wanted *wanted,
                        const struct hs_symbol_table *tables, uint32_t *nameless)
{
    uint32_t *pids;
    int err = hs_profile_frame_pids(profile, &pids);
    if (err != 0) {
        return err;
    }
    struct filling filling = {
        .p = profile,
        .line_capacity = profile->line_count,
    };
    err = hs_profile_strings_init(&filling.strings, profile);
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        struct hs_profile_frame *frame = &profile->frames[i];
        if (!is_wanted(profile, frame)) {
            continue;
        }
        struct hs_profile_module *module = &profile->modules[frame->module];
        uint32_t number, slot;
        if (hs_symbol_wanted_find(wanted, hs_profile_string(profile, module->path),
                                  module->build_id, module->build_id_bytes, pids[i], frame->rel_pc,
                                  &number, &slot)) {
            module->is_symbolized = true;
            err = put_span(&filling, &tables[number], slot, frame);
            nameless[number] += frame->line_count == 0;
        }
    }
    hs_profile_strings_deinit(&filling.strings);
    free(pids);
    return err != 0 ? err : hs_profile_leave_out_profiler(profile);
}

void hs_symbolized_deinit(struct hs_symbolized *symbolized)
{
    for (size_t i = 0; i < symbolized->count; i++) {
        free(symbolized->modules[i].path);
        free(symbolized->modules[i].detail);
        free(symbolized->modules[i].build_id);
    }
    free(symbolized->modules);
    *symbolized = (struct hs_symbolized){ 0 };
}

static uint8_t *copy_id(const struct hs_symbol_request *request)
{
    uint8_t *copy = malloc(request->build_id_bytes + 1);
    if (copy && request->build_id_bytes > 0) {
        memcpy(copy, request->build_id, request->build_id_bytes);
    }
    return copy;
}

static int describe(const struct hs_symbol_request *requests, const struct hs_symbol_table *tables,
                    const uint32_t *nameless, size_t count, struct hs_symbolized *ret_symbolized)
{
    struct hs_symbolized all = { .modules = calloc(count + 1, sizeof(*all.modules)) };
    bool is_whole = all.modules;
    for (size_t i = 0; i < count && is_whole; i++) {
        struct hs_symbolized_module *module = &all.modules[all.count++];
        *module = (struct hs_symbolized_module){
            .path = strdup(requests[i].path),
            .detail = strdup(hs_symbol_string(&tables[i], tables[i].detail_off)),
            .build_id = copy_id(&requests[i]),
            .build_id_bytes = requests[i].build_id_bytes,
            .nameless_count = nameless[i],
            .reason = tables[i].reason,
            .source = tables[i].source,
            .pc_count = tables[i].span_count,
            .named_count = tables[i].named_count,
            .lined_count = tables[i].lined_count,
        };
        is_whole = module->path && module->detail && module->build_id;
    }
    if (!is_whole) {
        hs_symbolized_deinit(&all);
        return -ENOMEM;
    }
    *ret_symbolized = all;
    return 0;
}

int hs_profile_symbolize(struct hs_profile *profile, const struct hs_symbol_options *options,
                         struct hs_symbolized *ret_symbolized)
{
    struct hs_symbol_wanted wanted = { 0 };
    const struct hs_symbol_request *requests = NULL;
    struct hs_symbol_table *tables = NULL;
    uint32_t *nameless = NULL;
    size_t count = 0;
    int err = hs_profile_wanted(profile, &wanted);
    if (err == 0) {
        err = hs_symbol_wanted_requests(&wanted, &requests, &count);
    }
    if (err == 0) {
        nameless = calloc(count + 1, sizeof(*nameless));
        err = nameless ? 0 : -ENOMEM;
    }
    if (err == 0) {
        err = hs_symbolizer_run(options, requests, count, &tables);
    }
    if (err == 0) {
        err = take_symbols(profile, &wanted, tables, nameless);
    }
    if (err == 0 && ret_symbolized) {
        err = describe(requests, tables, nameless, count, ret_symbolized);
    }
    free(nameless);
    hs_symbol_tables_free(tables, count);
    hs_symbol_wanted_deinit(&wanted);
    return err;
}
