/*
 * Our own packets of the parts of a dump: by thread and age, of what lives and of the peak; and of
 * what was allocated, by scope.
 *
 * Several stacks of a snapshot may be one callstack of the file, so parts are first put in the
 * order of the callstacks. Of each callstack the largest part comes last, and its figures are left
 * out: a reader takes what the other parts leave of the row. So a callstack with one part takes
 * four bytes, and is not written again when only its figures change.
 *
 * At the peak itself, the parts of the peak are those of what lives: then only the callstack is
 * named.
 *
 * Bytes and counts are rounded so that their sums are those of the row: a part is the difference of
 * two rounded sums.
 *
 * See       writer_state.h, heap_parts.h, proto/heapscope.proto
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer_names.h"
#include "trace/writer_state.h"
#include "util/array.h"

#define PARTS_PER_PACKET 6000U
/* In place of the hash of parts of the peak that are those of what lives. Hashes are odd. */
#define HASH_SAME UINT64_C(2)

struct columns {
    /* one element for each callstack */
    int64_t *iid_delta;
    uint32_t *heap, *part_count;
    size_t stack_count;
    uint32_t last_iid;
    /* one for each callstack whose parts are those of what lives */
    int64_t *same_iid_delta;
    uint32_t *same_heap;
    size_t same_count;
    uint32_t last_same_iid;
    /* one for each part */
    int32_t *thread_delta;
    uint32_t *type, *scope, *age_class, *bytes_var, *count_var;
    uint64_t *bytes, *count_fx;
    size_t count;
    /* one for each scope */
    uint32_t *scope_id, *scope_parent;
    char **scope_name;
    size_t scope_count;
    struct hs_writer_names names;
};

struct writing {
    struct hs_trace_writer *writer;
    const struct hs_writer_dump *dump;
    enum hs_part_view view;
    const struct hs_snap_part *from; /* in the order of the snapshot */
    size_t from_count;
    struct hs_pair *order;      /* index in process->written, and index in `from` */
    struct hs_snap_part *parts; /* of one callstack */
    size_t part_capacity;
    struct columns columns;
};

static void columns_deinit(struct columns *columns)
{
    free(columns->iid_delta);
    free(columns->heap);
    free(columns->part_count);
    free(columns->same_iid_delta);
    free(columns->same_heap);
    free(columns->thread_delta);
    free(columns->type);
    free(columns->scope);
    free(columns->age_class);
    free(columns->bytes_var);
    free(columns->count_var);
    free(columns->bytes);
    free(columns->count_fx);
    hs_writer_names_deinit(&columns->names);
    free(columns->scope_id);
    free(columns->scope_parent);
    free(columns->scope_name);
}

static bool columns_init(struct columns *columns, size_t stacks_max, size_t parts_max,
                         const struct hs_snapshot *snap)
{
    size_t scopes_max = snap->scope_count;
    columns->iid_delta = calloc(stacks_max + 1, sizeof(int64_t));
    columns->heap = calloc(stacks_max + 1, sizeof(uint32_t));
    columns->part_count = calloc(stacks_max + 1, sizeof(uint32_t));
    columns->same_iid_delta = calloc(stacks_max + 1, sizeof(int64_t));
    columns->same_heap = calloc(stacks_max + 1, sizeof(uint32_t));
    columns->thread_delta = calloc(parts_max + 1, sizeof(int32_t));
    columns->type = calloc(parts_max + 1, sizeof(uint32_t));
    columns->scope = calloc(parts_max + 1, sizeof(uint32_t));
    columns->age_class = calloc(parts_max + 1, sizeof(uint32_t));
    columns->bytes_var = calloc(parts_max + 1, sizeof(uint32_t));
    columns->count_var = calloc(parts_max + 1, sizeof(uint32_t));
    columns->bytes = calloc(parts_max + 1, sizeof(uint64_t));
    columns->count_fx = calloc(parts_max + 1, sizeof(uint64_t));
    columns->scope_id = calloc(scopes_max + 1, sizeof(uint32_t));
    columns->scope_parent = calloc(scopes_max + 1, sizeof(uint32_t));
    columns->scope_name = calloc(scopes_max + 1, sizeof(char *));
    return columns->iid_delta && columns->heap && columns->part_count && columns->same_iid_delta &&
           columns->same_heap && columns->thread_delta && columns->type && columns->scope &&
           columns->scope_id && columns->scope_parent && columns->scope_name &&
           columns->age_class && columns->bytes_var && columns->count_var && columns->bytes &&
           columns->count_fx && hs_writer_names_init(&columns->names, snap);
}

static void flush(struct writing *writing)
{
    struct columns *columns = &writing->columns;
    if (columns->stack_count + columns->same_count + columns->scope_count == 0) {
        return;
    }
    Hs__Pb__HsParts parts = HS__PB__HS_PARTS__INIT;
    HS_SET_FIELD(&parts, process_idx, writing->dump->process->process_idx);
    parts.has_is_peak = parts.is_peak = writing->view == HS_PARTS_PEAK;
    parts.n_callstack_iid_delta = columns->stack_count;
    parts.callstack_iid_delta = columns->iid_delta;
    parts.n_part_count = columns->stack_count;
    parts.part_count = columns->part_count;
    HS_WRITER_COLUMN(&parts, heap, columns->heap, columns->stack_count);
    parts.n_same_iid_delta = columns->same_count;
    parts.same_iid_delta = columns->same_iid_delta;
    HS_WRITER_COLUMN(&parts, same_heap, columns->same_heap, columns->same_count);
    HS_WRITER_COLUMN(&parts, thread_delta, columns->thread_delta, columns->count);
    HS_WRITER_COLUMN(&parts, type, columns->type, columns->count);
    HS_WRITER_COLUMN(&parts, scope, columns->scope, columns->count);
    HS_WRITER_COLUMN(&parts, age_class, columns->age_class, columns->count);
    HS_WRITER_COLUMN(&parts, bytes, columns->bytes, columns->count);
    HS_WRITER_COLUMN(&parts, count_fx, columns->count_fx, columns->count);
    HS_WRITER_COLUMN(&parts, bytes_var, columns->bytes_var, columns->count);
    HS_WRITER_COLUMN(&parts, count_var, columns->count_var, columns->count);
    HS_WRITER_NAMES_MOVE(&columns->names, &parts);
    parts.n_scope_id = parts.n_scope_parent = parts.n_scope_name = columns->scope_count;
    parts.scope_id = columns->scope_id;
    parts.scope_parent = columns->scope_parent;
    parts.scope_name = columns->scope_name;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    if (writing->view == HS_PARTS_ALLOC) {
        heapscope.alloc_parts = &parts;
    } else {
        heapscope.parts = &parts;
    }
    hs_writer_ours(writing->writer, writing->dump->time_ns, &heapscope);
    columns->stack_count = columns->same_count = columns->count = columns->scope_count = 0;
    columns->last_iid = columns->last_same_iid = 0;
}

/* --- scopes --- */

/* Writes the scopes that are new, whether parts have them or not: ids are given in their order. */
static void name_scopes(struct writing *writing)
{
    struct hs_written_process *process = writing->dump->process;
    const struct hs_snapshot *snap = writing->dump->snap;
    struct columns *columns = &writing->columns;
    uint32_t id = process->scope_count > 0 ? process->scope_count : 1;
    for (; id < snap->scope_count; id++) {
        columns->scope_id[columns->scope_count] = id;
        columns->scope_parent[columns->scope_count] = snap->scopes[id].parent;
        columns->scope_name[columns->scope_count++] = snap->scopes[id].name;
    }
    process->scope_count = id;
}

/* --- the parts of a callstack --- */

static int compare_parts(const void *a, const void *b)
{
    const struct hs_part_key *left = &((const struct hs_snap_part *)a)->key;
    const struct hs_part_key *right = &((const struct hs_snap_part *)b)->key;
    uint64_t left_order = hs_part_order(left), right_order = hs_part_order(right);
    return left_order != right_order          ? (left_order < right_order ? -1 : 1)
           : left->scope_id < right->scope_id ? -1
                                              : left->scope_id > right->scope_id;
}

/* The largest part takes the last place. */
static void put_largest_last(struct hs_snap_part *parts, size_t count)
{
    size_t largest = 0;
    for (size_t i = 1; i < count; i++) {
        largest = parts[i].amount.bytes > parts[largest].amount.bytes ? i : largest;
    }
    if (count > 0) {
        struct hs_snap_part last = parts[largest];
        memmove(&parts[largest], &parts[largest + 1], (count - 1 - largest) * sizeof(parts[0]));
        parts[count - 1] = last;
    }
}

/* Adds a callstack's parts to the columns. Returns the hash of what was added. */
static uint64_t put_parts(struct columns *columns, const struct hs_snap_part *parts, size_t count)
{
    const double count_scale = 1U << HS_COUNT_SHIFT;
    double bytes = 0, objects = 0;
    uint64_t written_bytes = 0, written_fx = 0;
    struct hs_intern_key key = { .lo = count };
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_part *part = &parts[i];
        size_t at = columns->count++;
        bool is_rest = i + 1 == count;
        bytes += part->amount.bytes;
        objects += part->amount.count;
        uint64_t all_bytes = hs_writer_round(bytes),
                 all_fx = hs_writer_round(objects * count_scale);
        columns->thread_delta[at] =
            (int32_t)part->key.thread_id - (i > 0 ? (int32_t)parts[i - 1].key.thread_id : 0);
        columns->type[at] = part->key.type_id;
        columns->scope[at] = part->key.scope_id;
        columns->age_class[at] = part->key.age_class;
        columns->bytes[at] = is_rest ? 0 : all_bytes - written_bytes;
        columns->count_fx[at] = is_rest ? 0 : all_fx - written_fx;
        columns->bytes_var[at] = is_rest ? 0 : hs_writer_pack_var(part->amount.bytes_var);
        columns->count_var[at] = is_rest ? 0 : hs_writer_pack_var(part->amount.count_var);
        written_bytes = all_bytes;
        written_fx = all_fx;
        key = hs_intern_mix(hs_intern_mix(key, hs_part_order(&part->key)), part->key.scope_id);
        key = hs_intern_mix(hs_intern_mix(key, columns->bytes[at]), columns->count_fx[at]);
    }
    return count > 0 ? key.lo | 1U : 0;
}

static void put_same(struct columns *columns, uint32_t iid, uint32_t heap)
{
    columns->same_iid_delta[columns->same_count] = (int64_t)iid - columns->last_same_iid;
    columns->same_heap[columns->same_count++] = heap;
    columns->last_same_iid = iid;
}

/* Writes the parts of the callstack `idx`, if they have changed. */
static int put_stack(struct writing *writing, uint32_t idx, size_t count)
{
    struct hs_written_process *process = writing->dump->process;
    struct hs_written_stack *written = &process->written[idx];
    struct columns *columns = &writing->columns;
    size_t first = columns->count;
    int r = 0;
    count = hs_array_merge(writing->parts, count, sizeof(writing->parts[0]), compare_parts,
                           hs_snap_part_add);
    put_largest_last(writing->parts, count);
    uint64_t hash = put_parts(columns, writing->parts, count);
    bool is_same =
        writing->view == HS_PARTS_PEAK && hash != 0 && hash == written->parts_hash[HS_PARTS_LIVE];
    hash = is_same ? HASH_SAME : hash;
    if (is_same || hash == written->parts_hash[writing->view]) {
        columns->count = first;
    }
    if (hash == written->parts_hash[writing->view]) {
        return 0;
    }
    written->parts_hash[writing->view] = hash;
    if (is_same) {
        put_same(columns, (uint32_t)process->stacks.keys[idx].lo, written->heap);
        return 0;
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        const struct hs_part_key *key = &writing->parts[i].key;
        r = hs_writer_name_thread(writing->dump, &columns->names, key->thread_id);
        r = r == 0 ? hs_writer_name_type(writing->dump, &columns->names, key->type_id) : r;
    }
    uint32_t iid = (uint32_t)process->stacks.keys[idx].lo;
    columns->iid_delta[columns->stack_count] = (int64_t)iid - columns->last_iid;
    columns->heap[columns->stack_count] = written->heap;
    columns->part_count[columns->stack_count++] = (uint32_t)count;
    columns->last_iid = iid;
    if (columns->count >= PARTS_PER_PACKET) {
        flush(writing);
    }
    return r;
}

/* --- all callstacks --- */

static int put_all(struct writing *writing, size_t count)
{
    size_t at = 0;
    int r = 0;
    name_scopes(writing);
    for (uint32_t idx = 0; idx < writing->dump->process->stacks.count && r == 0; idx++) {
        size_t n = 0;
        for (; at + n < count && writing->order[at + n].key == idx; n++) {
        }
        r = hs_array_reserve(&writing->parts, &writing->part_capacity, n + 1,
                             sizeof(writing->parts[0]));
        for (size_t i = 0; i < n && r == 0; i++) {
            writing->parts[i] = writing->from[writing->order[at + i].value];
            writing->parts[i].key.scope_id =
                writing->dump->snap->stacks[writing->parts[i].key.stack_id].scope_id;
        }
        at += n;
        r = r == 0 ? put_stack(writing, idx, n) : r;
    }
    if (r == 0) {
        flush(writing);
    }
    return r;
}

static int write_view(struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                      enum hs_part_view view, const struct hs_snap_part *parts, size_t part_count)
{
    struct writing writing = {
        .writer = writer, .dump = dump, .view = view, .from = parts, .from_count = part_count
    };
    size_t count = 0;
    writing.order = malloc((part_count + 1) * sizeof(writing.order[0]));
    int r = writing.order && columns_init(&writing.columns, dump->process->stacks.count, part_count,
                                          dump->snap)
                ? hs_writer_order(dump, &parts[0].key.stack_id, sizeof(parts[0]), part_count,
                                  writing.order, &count)
                : -ENOMEM;
    r = r == 0 ? put_all(&writing, count) : r;
    columns_deinit(&writing.columns);
    free(writing.order);
    free(writing.parts);
    return r;
}

int hs_writer_parts(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    const struct hs_snapshot *snap = dump->snap;
    int r = 0;
    for (unsigned view = 0; view < HS_PART_VIEWS && r == 0; view++) {
        if (snap->parts[view]) {
            r = write_view(writer, dump, view, snap->parts[view], snap->part_count[view]);
        }
    }
    if (r == 0 && snap->parts[HS_PARTS_LIVE] && snap->scope_count > 1) {
        struct hs_snap_part *parts;
        size_t count;
        r = hs_writer_alloc_parts(dump, &parts, &count);
        r = r == 0 ? write_view(writer, dump, HS_PARTS_ALLOC, parts, count) : r;
        free(parts);
    }
    return r;
}
