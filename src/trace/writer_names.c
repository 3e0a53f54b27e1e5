/*
 * Names of threads and types: see writer_names.h.
 */
#include "trace/writer_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

bool hs_writer_names_init(struct hs_writer_names *names, const struct hs_snapshot *snap)
{
    size_t threads_max = snap->thread_count, types_max = snap->type_count;
    names->thread_id = calloc(threads_max + 1, sizeof(uint32_t));
    names->thread_tid = calloc(threads_max + 1, sizeof(uint32_t));
    names->thread_name = calloc(threads_max + 1, sizeof(char *));
    names->type_id = calloc(types_max + 1, sizeof(uint32_t));
    names->type_name = calloc(types_max + 1, sizeof(char *));
    return names->thread_id && names->thread_tid && names->thread_name && names->type_id &&
           names->type_name;
}

void hs_writer_names_deinit(struct hs_writer_names *names)
{
    free(names->thread_id);
    free(names->thread_tid);
    free(names->thread_name);
    free(names->type_id);
    free(names->type_name);
}

static const struct hs_snap_thread *find_thread(const struct hs_snapshot *snap, uint32_t id)
{
    size_t low = 0, high = snap->thread_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (snap->threads[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < snap->thread_count && snap->threads[low].id == id ? &snap->threads[low] : NULL;
}

static const struct hs_snap_type *find_type(const struct hs_snapshot *snap, uint16_t id)
{
    uint32_t low = 0, high = snap->type_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (snap->types[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < snap->type_count && snap->types[low].id == id ? &snap->types[low] : NULL;
}

int hs_writer_name_thread(const struct hs_writer_dump *dump, struct hs_writer_names *names,
                          uint32_t id)
{
    struct hs_written_process *process = dump->process;
    const struct hs_snap_thread *thread = find_thread(dump->snap, id);
    if (!thread || id == 0 || thread->live.count > 0) {
        return 0;
    }
    size_t had = process->thread_capacity;
    int r = hs_array_reserve(&process->thread_hashes, &process->thread_capacity, (size_t)id + 1,
                             sizeof(process->thread_hashes[0]));
    if (r < 0) {
        return r;
    }
    memset(process->thread_hashes + had, 0,
           (process->thread_capacity - had) * sizeof(process->thread_hashes[0]));
    struct hs_intern_key key = hs_intern_hash(thread->name, strlen(thread->name));
    key = hs_intern_mix(key, (uint64_t)thread->tid + 1);
    if (process->thread_hashes[id] != key.lo) {
        process->thread_hashes[id] = key.lo;
        names->thread_id[names->thread_count] = id;
        names->thread_tid[names->thread_count] = thread->tid;
        names->thread_name[names->thread_count++] = (char *)(uintptr_t)thread->name;
    }
    return 0;
}

int hs_writer_name_type(const struct hs_writer_dump *dump, struct hs_writer_names *names,
                        uint16_t id)
{
    struct hs_written_process *process = dump->process;
    const struct hs_snap_type *type = find_type(dump->snap, id);
    if (!type) {
        return 0;
    }
    if (!process->is_type_named) {
        process->is_type_named = calloc(HS_PART_OTHERS, sizeof(process->is_type_named[0]));
    }
    if (!process->is_type_named) {
        return -ENOMEM;
    }
    if (!process->is_type_named[id]) {
        process->is_type_named[id] = true;
        names->type_id[names->type_count] = id;
        names->type_name[names->type_count++] = type->name;
    }
    return 0;
}
