/*
 * Keeps the names of code made at run time: see jit_names.h.
 */
#include "session/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static void deinit_process(struct hs_jit_process *process)
{
    for (uint32_t i = 0; i < process->pcs.count && process->names; i++) {
        free(process->names[i].function);
        free(process->names[i].file);
    }
    free(process->names);
    hs_intern_deinit(&process->pcs);
}

void hs_jit_names_deinit(struct hs_jit_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        deinit_process(&names->processes[i]);
    }
    free(names->processes);
    *names = (struct hs_jit_names){ 0 };
}

static struct hs_jit_process *find_process(const struct hs_jit_names *names,
                                           const struct hs_snapshot *snap)
{
    for (size_t i = 0; i < names->count; i++) {
        struct hs_jit_process *process = &names->processes[i];
        if (process->pid == snap->pid && process->start_mono_ns == snap->start_mono_ns) {
            return process;
        }
    }
    return NULL;
}

static struct hs_intern_key pc_key(uint64_t pc)
{
    return (struct hs_intern_key){ .hi = pc, .lo = pc };
}

const struct hs_jit_name *hs_jit_names_find(const struct hs_jit_names *names,
                                            const struct hs_snapshot *snap, uint64_t pc)
{
    uint32_t id;
    const struct hs_jit_process *process = find_process(names, snap);
    return process && hs_intern_find(&process->pcs, pc_key(pc), &id) ? &process->names[id] : NULL;
}

/* The process image of a snapshot, a new one if there is none. NULL: out of memory. */
static struct hs_jit_process *take_process(struct hs_jit_names *names,
                                           const struct hs_snapshot *snap)
{
    struct hs_jit_process *process = find_process(names, snap);
    if (!process && hs_array_reserve(&names->processes, &names->capacity, names->count + 1,
                                     sizeof(names->processes[0])) == 0) {
        process = &names->processes[names->count++];
        *process =
            (struct hs_jit_process){ .pid = snap->pid, .start_mono_ns = snap->start_mono_ns };
    }
    return process;
}

int hs_jit_names_put(struct hs_jit_names *names, const struct hs_snapshot *snap, uint64_t pc,
                     const struct hs_trace_frame_name *name)
{
    struct hs_jit_process *process = take_process(names, snap);
    uint32_t id;
    bool is_new;
    if (!process) {
        return -ENOMEM;
    }
    struct hs_jit_name own = { .function = name->function ? strdup(name->function) : NULL,
                               .file = name->file ? strdup(name->file) : NULL,
                               .line = name->line };
    bool is_short = (name->function && !own.function) || (name->file && !own.file);
    /* The array is extended first, so that every id has its element. */
    int r = is_short ? -ENOMEM
                     : hs_array_reserve(&process->names, &process->name_capacity,
                                        (size_t)process->pcs.count + 1, sizeof(process->names[0]));
    r = r < 0 ? r : hs_intern_put(&process->pcs, pc_key(pc), &id, &is_new);
    if (r < 0 || !is_new) {
        free(own.function);
        free(own.file);
        return r;
    }
    process->names[id] = own;
    return 0;
}

void hs_jit_names_drop(struct hs_jit_names *names, const struct hs_snapshot *snap)
{
    struct hs_jit_process *process = find_process(names, snap);
    if (process) {
        deinit_process(process);
        *process = names->processes[--names->count];
    }
}
