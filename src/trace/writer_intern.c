/*
 * Maps a snapshot's ids to the iids of the file.
 *
 * A mapping is described as other heap profilers do it: the first executable segment, from page
 * boundary to page boundary. Its addresses in the file are those of the process that had it first.
 * HsModules has the addresses of each process.
 *
 * Callstacks are outermost first, with up to three kinds of frames that are not code. A frame in
 * front names the heap (unless it is libc.malloc), because Perfetto keeps totals per callstack and
 * not per heap. Markers of the client show where a stack was cut short. A function that an
 * interpreter runs has its name, file and line with it, and a mapping named after its language.
 *
 * See       writer_batch.h, docs/FORMAT.md
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "trace/mapping_path.h"
#include "trace/writer_batch.h"
#include "trace/writer_state.h"
#include "util/array.h"

/* Mappings start at page boundaries; segments need not. */
#define PAGE_BYTES 4096U
/* The frames of the longest stack that a snapshot can hold, and the frame that names the heap. */
#define STACK_FRAMES (UINT16_MAX + 2U)

static int intern_module(struct hs_trace_writer *writer, const struct hs_snap_module *module,
                         uint32_t *ret_iid)
{
    struct hs_batch_mapping mapping = {
        .path = module->path ? module->path : "",
        .build_id = module->build_id,
        .build_id_bytes = module->build_id_bytes <= HS_BUILD_ID_BYTES ? module->build_id_bytes : 0,
    };
    if (module->kind == HS_MODULE_ELF || module->kind == HS_MODULE_VDSO) {
        uint64_t slack_bytes = module->exec_off % PAGE_BYTES;
        mapping.exact_off = module->exec_off - slack_bytes;
        mapping.load_bias = module->exec_sva - module->exec_off;
        mapping.start_va = module->bias_va + module->exec_sva - slack_bytes;
        mapping.end_va =
            hs_align_up(module->bias_va + module->exec_sva + module->exec_bytes, PAGE_BYTES);
    }
    return hs_batch_mapping(writer, &mapping, ret_iid);
}

static const char *marker_name(uint64_t pc)
{
    static const char *const ends[HS_STACK_END_N] = {
        [HS_STACK_END] = "[end]",
        [HS_STACK_END_NO_INFO] = "ERROR NO_INFO",
        [HS_STACK_END_BAD_INFO] = "ERROR BAD_INFO",
        [HS_STACK_END_UNREADABLE] = "ERROR UNREADABLE",
        [HS_STACK_END_NO_ADVANCE] = "ERROR NO_ADVANCE",
        [HS_STACK_END_NO_MODULE] = "ERROR NO_MODULE",
        [HS_STACK_END_TOO_DEEP] = "ERROR TOO_DEEP",
    };
    if (pc == HS_FRAME_PC_CUT) {
        return "[stack cut]";
    }
    if (pc >= HS_FRAME_PC_END && pc - HS_FRAME_PC_END < HS_STACK_END_N) {
        return ends[pc - HS_FRAME_PC_END];
    }
    return "ERROR UNKNOWN";
}

/* Returns the frame's module if the frame is code that is new to the file and that a symbol table
 * may name; otherwise NULL. */
static bool wants_name(const struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                       const struct hs_snap_frame *frame)
{
    if ((frame->flags & (HS_FRAME_MARKER | HS_FRAME_NAMED)) != 0 ||
        frame->module_id >= dump->snap->module_count) {
        return false;
    }
    const struct hs_snap_module *module = &dump->snap->modules[frame->module_id];
    bool has_table = module->kind == HS_MODULE_ELF || module->kind == HS_MODULE_VDSO;
    if (module->kind == HS_MODULE_ANON && module->path && module->path[0] != '\0') {
        return true; /* its name is a part of what the frame is */
    }
    return has_table && module->path && module->path[0] != '\0' &&
           !hs_is_skipped_file(&writer->config.skipped, module->path) &&
           !hs_batch_has_frame(writer, dump->mapping_iids[frame->module_id], frame->rel_pc);
}

/* Sets *ret_names to the names of frames by frame id, empty for frames without a name. *ret_names
 * itself is NULL if the writer has no source of names. */
static int find_names(struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                      struct hs_trace_frame_name **ret_names)
{
    const struct hs_snapshot *snap = dump->snap;
    size_t count = 0;
    *ret_names = NULL;
    if (!writer->config.name_frames || snap->frame_count == 0) {
        return 0;
    }
    uint32_t *ids = malloc(snap->frame_count * sizeof(ids[0]));
    struct hs_trace_frame_name *found = calloc(snap->frame_count, sizeof(found[0]));
    struct hs_trace_frame_name *names = calloc(snap->frame_count, sizeof(names[0]));
    if (ids && found && names) {
        for (uint32_t i = 0; i < snap->frame_count; i++) {
            if (wants_name(writer, dump, &snap->frames[i])) {
                ids[count++] = i;
            }
        }
        if (count > 0) {
            writer->config.name_frames(writer->config.name_frames_ctx, snap, ids, count, found);
        }
        for (size_t i = 0; i < count; i++) {
            names[ids[i]] = found[i];
        }
        *ret_names = names;
    } else {
        free(names);
    }
    free(ids);
    free(found);
    return *ret_names ? 0 : -ENOMEM;
}

/* A frame with a name of its own. */
static int intern_named(struct hs_trace_writer *writer, const struct hs_snapshot *snap,
                        const struct hs_snap_frame *frame, uint32_t *ret_iid)
{
    if (frame->pc >= snap->code_name_count) {
        return 0;
    }
    const struct hs_snap_code_name *name = &snap->code_names[frame->pc];
    const char *function = name->function[0] != '\0' ? name->function : "[unknown]";
    return hs_batch_script_frame(writer, hs_snap_language_module(name->language), function,
                                 name->file, name->line, ret_iid);
}

static int intern_frame(struct hs_trace_writer *writer, struct hs_writer_dump *dump, uint32_t id,
                        const struct hs_trace_frame_name *name)
{
    static const struct hs_trace_frame_name skipped = { .function = HS_SKIPPED_NAME };
    const struct hs_snap_frame *frame = &dump->snap->frames[id];
    if (frame->flags & HS_FRAME_MARKER) {
        return hs_batch_note(writer, HS_MAPPING_ERROR, marker_name(frame->pc),
                             &dump->frame_iids[id]);
    }
    if (frame->flags & HS_FRAME_NAMED) {
        return intern_named(writer, dump->snap, frame, &dump->frame_iids[id]);
    }
    if (frame->module_id >= dump->snap->module_count) {
        return 0;
    }
    const struct hs_snap_module *module = &dump->snap->modules[frame->module_id];
    bool is_skipped = hs_is_skipped_file(&writer->config.skipped, module->path);
    return hs_batch_frame(writer, dump->mapping_iids[frame->module_id], frame->rel_pc,
                          module->kind == HS_MODULE_ANON, is_skipped ? &skipped : name,
                          &dump->frame_iids[id]);
}

static int intern_frames(struct hs_trace_writer *writer, struct hs_writer_dump *dump)
{
    static const struct hs_trace_frame_name none;
    struct hs_trace_frame_name *names;
    int err = find_names(writer, dump, &names);
    for (uint32_t i = 0; err == 0 && i < dump->snap->frame_count; i++) {
        err = intern_frame(writer, dump, i, names ? &names[i] : &none);
    }
    free(names);
    return err;
}

/* Lists the iids of the stack's frames, outermost first. */
static int list_frames(struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                       const struct hs_snap_stack *stack, uint32_t *iids, size_t *ret_count)
{
    const char *heap = writer->heap_names[dump->heaps[stack->heap_id]];
    size_t count = 0;
    int err = 0;
    if (strcmp(heap, HS_HEAP_MALLOC) != 0) {
        char name[80];
        snprintf(name, sizeof(name), "[heap %s]", heap);
        err = hs_batch_note(writer, HS_MAPPING_HEAP, name, &iids[count++]);
    }
    size_t bare_count = count;
    for (size_t i = stack->frame_count; i-- > 0;) {
        uint32_t id = stack->frame_ids[i];
        if (id < dump->snap->frame_count && dump->frame_iids[id] != 0) {
            iids[count++] = dump->frame_iids[id];
        }
    }
    if (err == 0 && count == bare_count) {
        /* Readers drop samples whose callstack has no frames. */
        err = hs_batch_note(writer, HS_MAPPING_ERROR, "ERROR NO_STACK", &iids[count++]);
    }
    *ret_count = count;
    return err;
}

/* Finds the index of a process's callstack in `written`. */
static int find_written(struct hs_written_process *process, uint32_t callstack_iid, uint32_t heap,
                        uint32_t *ret_idx)
{
    bool is_new;
    /* The room is reserved first, so that every id has its element. */
    int err = hs_array_reserve(&process->written, &process->written_capacity,
                               (size_t)process->stacks.count + 1, sizeof(process->written[0]));
    if (err == 0) {
        err = hs_intern_put(&process->stacks, (struct hs_intern_key){ .lo = callstack_iid },
                            ret_idx, &is_new);
    }
    if (err == 0 && is_new) {
        process->written[*ret_idx] = (struct hs_written_stack){ .heap = heap };
    }
    return err;
}

static int intern_stacks(struct hs_trace_writer *writer, struct hs_writer_dump *dump,
                         uint32_t *iids)
{
    const struct hs_snapshot *snap = dump->snap;
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        uint32_t iid;
        size_t count;
        dump->stack_idx[i] = UINT32_MAX;
        if (stack->heap_id >= snap->heap_count || dump->heaps[stack->heap_id] == UINT32_MAX) {
            continue;
        }
        err = list_frames(writer, dump, stack, iids, &count);
        if (err == 0) {
            err = hs_batch_callstack(writer, iids, count, dump->process->image, &iid);
        }
        if (err == 0) {
            err =
                find_written(dump->process, iid, dump->heaps[stack->heap_id], &dump->stack_idx[i]);
        }
        if (err < 0) {
            return err;
        }
    }
    return 0;
}

int hs_writer_intern_dump(struct hs_trace_writer *writer, struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    uint32_t *iids = malloc(STACK_FRAMES * sizeof(*iids));
    int err = iids ? 0 : -ENOMEM;
    hs_batch_begin(writer, dump->time_ns);
    for (uint32_t i = 0; err == 0 && i < snap->module_count; i++) {
        if (snap->modules[i].kind != HS_MODULE_MARKER) {
            err = intern_module(writer, &snap->modules[i], &dump->mapping_iids[i]);
        }
    }
    if (err == 0) {
        err = intern_frames(writer, dump);
    }
    if (err == 0) {
        err = intern_stacks(writer, dump, iids);
    }
    /* Also after a failure, because the texts belong to the caller, which will free them. */
    hs_batch_flush(writer);
    free(iids);
    return err < 0 ? err : writer->err;
}

int hs_writer_order(const struct hs_writer_dump *dump, const uint32_t *stack_ids, size_t elem_bytes,
                    size_t count, struct hs_pair *order, size_t *ret_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t stack_id;
        memcpy(&stack_id, (const char *)stack_ids + i * elem_bytes, sizeof(stack_id));
        uint32_t idx = dump->stack_idx[stack_id];
        if (idx != UINT32_MAX) {
            order[kept++] = (struct hs_pair){ idx, i };
        }
    }
    *ret_count = kept;
    return hs_sort_pairs(order, kept);
}
