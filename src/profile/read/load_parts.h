/*
 * Reads HsParts: what threads hold through a callstack, by age (trace/heap_parts.h).
 *
 * Like rows, parts are written when they have changed, so those of a process are kept from dump to
 * dump. The last part of a callstack is what the others leave of its row.
 *
 * Trust     a file's columns may have any lengths, and its parts may add up to more than their row:
 *           then the last part is 0.
 * Threads   one.
 * See       docs/FORMAT.md, trace/writer_parts.c
 */
#pragma once

#include "profile/read/load_heaps.h"
#include "profile/read/load_state.h"

/* The parts of one process; NULL: it has none so far. */
struct hs_load_parts;

/* The rows of a process: (callstack iid, heap) -> row. */
struct hs_load_row_table {
    struct hs_intern_array *ids;
    const struct hs_load_row *rows;
};

/* The row of a callstack; NULL: it has none. *iid: of the callstack before, which `delta` counts
 * from; becomes that of this one. */
const struct hs_load_row *hs_load_row_at(const struct hs_load_row_table *table, int64_t *iid,
                                         int64_t delta, uint32_t heap);
/* Its index; SIZE_MAX: it has none. */
size_t hs_load_row_find(const struct hs_load_row_table *table, int64_t *iid, int64_t delta,
                        uint32_t heap);

/* Says what the thread with this id is called. */
void hs_load_parts_name(struct hs_load *load, struct hs_load_parts **parts, uint32_t id,
                        uint32_t tid, const char *name);
/* The same for the threads and types that a packet names: columns of any lengths. */
struct hs_load_part_names {
    const uint32_t *thread_id, *thread_tid, *type_id;
    char *const *thread_name, *const *type_name;
    size_t n_thread_id, n_thread_tid, n_thread_name, n_type_id, n_type_name;
};
#define HS_LOAD_PART_NAMES(packet)                                                                 \
    ((struct hs_load_part_names){                                                                  \
        (packet)->thread_id, (packet)->thread_tid, (packet)->type_id, (packet)->thread_name,       \
        (packet)->type_name, (packet)->n_thread_id, (packet)->n_thread_tid,                        \
        (packet)->n_thread_name, (packet)->n_type_id, (packet)->n_type_name })
void hs_load_parts_take_names(struct hs_load *load, struct hs_load_parts **parts,
                              const struct hs_load_part_names *names);
/* What a thread and a type are called, of these ids: fills in tid, thread_name and type. */
void hs_load_parts_find_names(const struct hs_load_parts *parts, uint32_t thread_id,
                              uint32_t type_id, struct hs_profile_block *block);
/* Takes what a packet says of the parts of callstacks that have rows: of what was allocated with
 * is_alloc. */
void hs_load_parts_set(struct hs_load *load, struct hs_load_parts **parts,
                       const struct hs_load_row_table *table, const Hs__Pb__HsParts *packet,
                       bool is_alloc);
/* Gives the parts, as they are now, to a dump. `heaps` and `narrowest_bytes` are those of the
 * process. */
void hs_load_parts_give(struct hs_load *load, const struct hs_load_parts *parts,
                        const struct hs_load_row_table *table,
                        const struct hs_load_heap_list *heaps, uint64_t narrowest_bytes,
                        uint32_t dump);
/* Frees the parts. NULL is allowed. */
void hs_load_parts_free(struct hs_load_parts *parts);
