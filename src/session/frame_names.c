/*
 * Looks up names for frames: see frame_names.h.
 */
#include "session/frame_names.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/clock.h"
#include "session/code_times.h"
#include "symbol/symbolizer.h"
#include "util/proc.h"

/* Frees what the last call found. */
static void clear(struct hs_frame_names *names)
{
    hs_symbol_tables_free(names->tables, names->table_count);
    hs_symbol_wanted_deinit(&names->wanted);
    *names = (struct hs_frame_names){
        .files = names->files, .jit = names->jit, .cpu_ns = names->cpu_ns, .next_ns = names->next_ns
    };
}

void hs_frame_names_deinit(struct hs_frame_names *names)
{
    hs_jit_names_deinit(&names->jit);
    clear(names);
}

static bool is_jit(const struct hs_snapshot *snap, const struct hs_snap_frame *frame)
{
    return snap->modules[frame->module_id].kind == HS_MODULE_ANON;
}

/* Code made at run time that an earlier call has been asked for is not looked up again. */
static bool is_known(const struct hs_frame_names *names, const struct hs_snapshot *snap,
                     const struct hs_snap_frame *frame)
{
    return is_jit(snap, frame) && hs_jit_names_find(&names->jit, snap, frame->rel_pc);
}

/* Notes which addresses are wanted. */
static int collect(struct hs_frame_names *names, const struct hs_snapshot *snap,
                   const uint32_t *frame_ids, size_t count)
{
    int err = 0;
    for (size_t i = 0; i < count && err == 0; i++) {
        const struct hs_snap_frame *frame = &snap->frames[frame_ids[i]];
        const struct hs_snap_module *module = &snap->modules[frame->module_id];
        uint32_t number;
        if (is_known(names, snap, frame)) {
            continue;
        }
        err = hs_symbol_wanted_module(&names->wanted, module->path, module->build_id,
                                      module->build_id_bytes, snap->pid, &number);
        if (err == 0) {
            err = hs_symbol_wanted_pc(&names->wanted, number, frame->rel_pc);
        }
    }
    return err;
}

static int look_up(struct hs_frame_names *names, const struct hs_snapshot *snap,
                   const uint32_t *frame_ids, size_t count)
{
    struct hs_symbol_options options = { .is_tables_only = true,
                                         .target_files = names->files,
                                         .jit_times.time_max_ns = snap->time_mono_ns,
                                         .module_timeout_ms = HS_FRAME_NAMES_MAX_MS,
                                         .total_timeout_ms = HS_FRAME_NAMES_MAX_MS };
    struct hs_symbol_pc_time *times = NULL;
    const struct hs_symbol_request *requests;
    int err = collect(names, snap, frame_ids, count);
    if (err == 0) {
        err = hs_code_times_find(snap, frame_ids, count, &times, &options.jit_times.of_pc_count);
        options.jit_times.of_pcs = times;
    }
    if (err == 0) {
        err = hs_symbol_wanted_requests(&names->wanted, &requests, &names->table_count);
    }
    if (err == 0) {
        err = hs_symbolizer_run(&options, requests, names->table_count, &names->tables);
    }
    free(times);
    return err;
}

/* The name of a frame as in the symbol table; of code made at run time also file and line. Empty if
 * it has no name. */
static struct hs_trace_frame_name name_of(const struct hs_frame_names *names,
                                          const struct hs_snapshot *snap,
                                          const struct hs_snap_frame *frame)
{
    const struct hs_snap_module *module = &snap->modules[frame->module_id];
    struct hs_trace_frame_name name = { .function = NULL };
    uint32_t number, slot;
    if (!hs_symbol_wanted_find(&names->wanted, module->path, module->build_id,
                               module->build_id_bytes, snap->pid, frame->rel_pc, &number, &slot)) {
        return name;
    }
    const struct hs_symbol_table *table = &names->tables[number];
    const struct hs_symbol_span *span = &table->spans[slot];
    if (span->line_count == 0) {
        return name;
    }
    const struct hs_symbol_line *line = &table->lines[span->line_first + span->line_count - 1];
    const char *function = hs_symbol_string(table, line->function_off);
    const char *system_name = hs_symbol_string(table, line->system_name_off);
    const char *file = hs_symbol_string(table, line->file_off);
    /* A mangled name stays as it is; a plain name loses its version and the compiler's suffixes. */
    bool is_plain = function[0] != '\0' && strncmp(system_name, function, strlen(function)) == 0;
    name.function = is_plain ? function : system_name;
    if (is_jit(snap, frame) && file[0] != '\0') {
        name.file = file;
        name.line = line->line;
    }
    return name;
}

/* The name that code made at run time had when it was first seen: `name`, if that is now. */
static struct hs_trace_frame_name first_name(struct hs_frame_names *names,
                                             const struct hs_snapshot *snap,
                                             const struct hs_snap_frame *frame,
                                             struct hs_trace_frame_name name)
{
    const struct hs_jit_name *known = hs_jit_names_find(&names->jit, snap, frame->rel_pc);
    if (known) {
        return (struct hs_trace_frame_name){ known->function, known->file, known->line };
    }
    hs_jit_names_put(&names->jit, snap, frame->rel_pc, &name);
    return name;
}

bool hs_frame_names_has_jit(void *ctx, const struct hs_snapshot *snap, uint32_t frame_id)
{
    const struct hs_frame_names *names = ctx;
    const struct hs_snap_frame *frame = &snap->frames[frame_id];
    const struct hs_jit_name *name =
        is_jit(snap, frame) ? hs_jit_names_find(&names->jit, snap, frame->rel_pc) : NULL;
    return name && name->function;
}

void hs_frame_names_find(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                         size_t count, struct hs_trace_frame_name *ret_names)
{
    struct hs_frame_names *names = ctx;
    clear(names);
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC), before_ns = hs_proc_children_cpu_ns();
    bool is_found = begin_ns >= names->next_ns && look_up(names, snap, frame_ids, count) == 0;
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_frame *frame = &snap->frames[frame_ids[i]];
        struct hs_trace_frame_name name = { .function = NULL };
        if (is_found) {
            name = name_of(names, snap, frame);
        }
        ret_names[i] = is_jit(snap, frame) ? first_name(names, snap, frame, name) : name;
    }
    if (begin_ns < names->next_ns) {
        return;
    }
    names->cpu_ns += hs_proc_children_cpu_ns() - before_ns;
    uint64_t took_ns = hs_clock_ns(CLOCK_MONOTONIC) - begin_ns;
    if (took_ns > HS_FRAME_NAMES_FREE_NS) {
        names->next_ns = begin_ns + HS_FRAME_NAMES_SHARE * took_ns;
    }
}
