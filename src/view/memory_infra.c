/*
 * See memory_infra.h. An event is written when all of its rows are known, because the tables that
 * they refer to stand in front of them.
 */
#include "view/memory_infra.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/loss.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/gzip.h"
#include "view/infra_maps.h"
#include "view/infra_names.h"
#include "view/infra_rows.h"

#define CATEGORY        "disabled-by-default-memory-infra"
#define SAME_DUMP_NS    UINT64_C(1000000000)
#define PROTECTION_CODE 5 /* read 4, execute 1 */
#define HEX_BYTES       17

struct writer {
    const struct hs_profile *profile;
    const struct hs_selection *selection;
    const struct hs_memory_infra_options *options;
    enum hs_view view;
    struct hs_json json;
    struct hs_infra_maps maps;
    struct hs_infra_names names;
    struct hs_infra_rows rows; /* of the current dump */
    /* the current group of dumps, which have one id */
    uint64_t group_ns, group_id;
    double group_us;
    uint32_t group;        /* its number, from 1 on */
    uint32_t *last_groups; /* by process: the group of its last dump */
};

/* --- events --- */

static void put_hex(struct writer *w, const char *key, uint64_t value)
{
    char text[HEX_BYTES];
    snprintf(text, sizeof(text), "%" PRIx64, value);
    hs_json_kv_string(&w->json, key, text);
}

static uint64_t whole(double value)
{
    return value > 0 && value < 0x1p63 ? (uint64_t)(value + 0.5) : 0;
}

static void put_scalar(struct writer *w, const char *name, const char *units, double value)
{
    hs_json_key(&w->json, name);
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "type", "scalar");
    hs_json_kv_string(&w->json, "units", units);
    put_hex(w, "value", whole(value));
    hs_json_close(&w->json, '}');
}

static void open_allocator(struct writer *w, const char *name, const char *part)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s%s", name, part);
    w->maps.err = w->maps.err ? w->maps.err : text.err;
    const char *full_name = hs_buf_text(&text);
    /* Unique in the file: an edge or another dump may refer to it. */
    struct hs_intern_key guid = hs_intern_hash(full_name, strlen(full_name));
    guid = hs_intern_mix(hs_intern_mix(guid, w->maps.process), w->group_id);
    hs_json_key(&w->json, full_name);
    hs_json_open(&w->json, '{');
    put_hex(w, "guid", guid.lo);
    hs_json_key(&w->json, "attrs");
    hs_json_open(&w->json, '{');
    hs_buf_deinit(&text);
}

static void close_allocator(struct writer *w)
{
    hs_json_close(&w->json, '}');
    hs_json_close(&w->json, '}');
}

static void put_allocators(struct writer *w)
{
    size_t at = 0;
    hs_json_key(&w->json, "allocators");
    hs_json_open(&w->json, '{');
    for (uint32_t heap = 0; heap < w->profile->heap_count; heap++) {
        double bytes = 0, count = 0;
        for (; at < w->rows.count && w->rows.rows[at].heap == heap; at++) {
            bytes += w->rows.rows[at].bytes;
            count += w->rows.rows[at].count;
        }
        if (w->rows.has_heap[heap]) {
            const char *name = hs_infra_heap_name(&w->names, heap);
            open_allocator(w, name, "");
            put_scalar(w, "size", "bytes", bytes);
            put_scalar(w, "virtual_size", "bytes", bytes);
            close_allocator(w);
            open_allocator(w, name, "/allocated_objects");
            put_scalar(w, "shim_allocated_objects_count", "objects", count);
            put_scalar(w, "shim_allocated_objects_size", "bytes", bytes);
            close_allocator(w);
        }
    }
    hs_json_close(&w->json, '}');
}

enum column {
    COLUMN_COUNTS,
    COLUMN_SIZES,
    COLUMN_TYPES,
    COLUMN_NODES,
    COLUMN_N,
};

static void put_columns(struct writer *w, size_t from, size_t to)
{
    static const char *const names[COLUMN_N] = { "counts", "sizes", "types", "nodes" };
    hs_json_open(&w->json, '{');
    for (enum column column = 0; column < COLUMN_N; column++) {
        hs_json_key(&w->json, names[column]);
        hs_json_open(&w->json, '[');
        for (size_t i = from; i < to; i++) {
            const struct hs_infra_row *row = &w->rows.rows[i];
            if (column == COLUMN_COUNTS || column == COLUMN_SIZES) {
                hs_json_double(&w->json, column == COLUMN_COUNTS ? row->count : row->bytes);
            } else {
                hs_json_uint(&w->json, column == COLUMN_TYPES ? row->type : row->node);
            }
        }
        hs_json_close(&w->json, ']');
    }
    hs_json_close(&w->json, '}');
}

static void put_heap_rows(struct writer *w)
{
    size_t at = 0;
    hs_json_key(&w->json, "allocators");
    hs_json_open(&w->json, '{');
    for (uint32_t heap = 0; heap < w->profile->heap_count; heap++) {
        size_t from = at;
        while (at < w->rows.count && w->rows.rows[at].heap == heap) {
            at++;
        }
        if (w->rows.has_heap[heap]) {
            hs_json_key(&w->json, hs_infra_heap_name(&w->names, heap));
            put_columns(w, from, at);
        }
    }
    hs_json_close(&w->json, '}');
}

static void put_nodes(struct writer *w)
{
    hs_json_key(&w->json, "nodes");
    hs_json_open(&w->json, '[');
    for (size_t i = 0; i < w->maps.new_node_count; i++) {
        const struct hs_infra_node *node = &w->maps.new_nodes[i];
        hs_json_open(&w->json, '{');
        hs_json_kv_uint(&w->json, "id", node->id);
        hs_json_kv_uint(&w->json, "name_sid", node->name_sid);
        if (node->parent != 0) {
            hs_json_kv_uint(&w->json, "parent", node->parent);
        }
        hs_json_close(&w->json, '}');
    }
    hs_json_close(&w->json, ']');
}

static void put_types(struct writer *w)
{
    hs_json_key(&w->json, "types");
    hs_json_open(&w->json, '[');
    for (size_t i = 0; i < w->maps.new_type_count; i++) {
        hs_json_open(&w->json, '{');
        hs_json_kv_uint(&w->json, "id", w->maps.new_types[i].id);
        hs_json_kv_uint(&w->json, "name_sid", w->maps.new_types[i].name_sid);
        hs_json_close(&w->json, '}');
    }
    hs_json_close(&w->json, ']');
}

/* Writes the tables: what is new in them since the last dump of the process. */
static void put_maps(struct writer *w)
{
    hs_json_key(&w->json, "maps");
    hs_json_open(&w->json, '{');
    hs_json_key(&w->json, "strings");
    hs_json_open(&w->json, '[');
    for (size_t i = 0; i < w->maps.new_string_count; i++) {
        const struct hs_infra_string *string = &w->maps.new_strings[i];
        hs_json_open(&w->json, '{');
        hs_json_kv_uint(&w->json, "id", string->id);
        hs_json_kv_string(&w->json, "string", hs_buf_text(&w->maps.new_texts) + string->text_off);
        hs_json_close(&w->json, '}');
    }
    hs_json_close(&w->json, ']');
    put_nodes(w);
    put_types(w);
    hs_json_close(&w->json, '}');
    hs_infra_maps_clear_new(&w->maps);
}

static void put_totals(struct writer *w, const struct hs_profile_dump *dump)
{
    if (dump->rss_bytes == 0 && dump->rss_peak_bytes == 0) {
        return; /* not known */
    }
    hs_json_key(&w->json, "process_totals");
    hs_json_open(&w->json, '{');
    if (dump->rss_bytes != 0) {
        put_hex(w, "resident_set_bytes", dump->rss_bytes);
    }
    if (dump->rss_peak_bytes != 0) {
        put_hex(w, "peak_resident_set_bytes", dump->rss_peak_bytes);
        hs_json_kv_bool(&w->json, "is_peak_rss_resetable", false);
    }
    hs_json_close(&w->json, '}');
}

/* The code of each module. How much of it is resident is not known, so "bs" has nothing in it. */
static void put_mmaps(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    const struct hs_infra_process *process = &w->maps.processes[w->maps.process];
    if (process->region_count == 0) {
        return;
    }
    hs_json_key(&w->json, "process_mmaps");
    hs_json_open(&w->json, '{');
    hs_json_key(&w->json, "vm_regions");
    hs_json_open(&w->json, '[');
    for (size_t i = 0; i < process->region_count; i++) {
        const struct hs_infra_region *region = &process->regions[i];
        hs_json_open(&w->json, '{');
        put_hex(w, "sa", region->start_va);
        put_hex(w, "sz", region->end_va - region->start_va);
        hs_json_kv_uint(&w->json, "pf", PROTECTION_CODE);
        hs_json_kv_string(&w->json, "mf", hs_profile_string(p, p->modules[region->module].path));
        /*
         * Readers compute pc - sa + fo and look that up in the file's symbols, so that it must be
         * the link-time address.
         */
        put_hex(w, "fo", region->start_va - region->bias_va);
        if (p->modules[region->module].build_id_bytes > 0) {
            hs_json_kv_string(&w->json, "build_id",
                              hs_profile_string(p, p->modules[region->module].build_id_hex));
        }
        hs_json_key(&w->json, "bs");
        hs_json_open(&w->json, '{');
        hs_json_close(&w->json, '}');
        hs_json_close(&w->json, '}');
    }
    hs_json_close(&w->json, ']');
    hs_json_close(&w->json, '}');
}

/*
 * Finds the id of a dump. Dumps are joined within a second, but only one of each process. The time
 * of a group is later than that of the one before it: readers process them in this order.
 */
static double join(struct writer *w, const struct hs_profile_dump *dump)
{
    double us = (double)dump->time_ns / 1000.0;
    if (w->group == 0 || dump->time_ns - w->group_ns > SAME_DUMP_NS ||
        w->last_groups[dump->process] == w->group) {
        us = w->group > 0 && us <= w->group_us ? w->group_us + 1 : us;
        w->group++;
        w->group_ns = dump->time_ns;
        w->group_us = us;
        struct hs_intern_key key = hs_intern_hash(&dump->time_ns, sizeof(dump->time_ns));
        w->group_id = hs_intern_mix(key, w->profile->processes[dump->process].pid).lo + w->group;
    }
    w->last_groups[dump->process] = w->group;
    return us > w->group_us ? us : w->group_us;
}

static void write_dump(struct writer *w, uint32_t dump_idx)
{
    const struct hs_profile_dump *dump = &w->profile->dumps[dump_idx];
    char id[HEX_BYTES + 2];
    double us = join(w, dump);
    hs_infra_maps_begin(&w->maps, dump->process);
    hs_infra_rows_collect(&w->rows, &w->maps, dump, w->view);
    if (w->maps.err != 0) {
        return;
    }
    snprintf(id, sizeof(id), "0x%" PRIx64, w->group_id);
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "ph", "v");
    hs_json_kv_uint(&w->json, "pid", hs_infra_pid(&w->names, dump->process));
    hs_json_kv_uint(&w->json, "tid", hs_infra_pid(&w->names, dump->process));
    hs_json_kv_double(&w->json, "ts", us);
    hs_json_kv_string(&w->json, "cat", CATEGORY);
    hs_json_kv_string(&w->json, "name", "periodic_interval");
    hs_json_kv_string(&w->json, "id", id);
    hs_json_key(&w->json, "args");
    hs_json_open(&w->json, '{');
    hs_json_key(&w->json, "dumps");
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "level_of_detail", "detailed");
    put_totals(w, dump);
    put_mmaps(w);
    put_allocators(w);
    hs_json_key(&w->json, "heaps_v2");
    hs_json_open(&w->json, '{');
    hs_json_kv_uint(&w->json, "version", 1);
    put_maps(w);
    put_heap_rows(w);
    hs_json_close(&w->json, '}');
    hs_json_close(&w->json, '}');
    hs_json_close(&w->json, '}');
    hs_json_close(&w->json, '}');
}

/* --- the file --- */

static int compare_times(const void *a, const void *b, void *ctx)
{
    const struct hs_profile *p = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (p->dumps[x].time_ns != p->dumps[y].time_ns) {
        return p->dumps[x].time_ns < p->dumps[y].time_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool is_wanted(const struct writer *w, uint32_t dump_idx)
{
    const struct hs_profile_dump *dump = &w->profile->dumps[dump_idx];
    bool has_view = hs_views[w->view].quantity != HS_QUANTITY_PEAK || dump->has_peak;
    if (w->options->is_all_dumps) {
        return has_view && dump->has_samples && w->selection->has_process[dump->process];
    }
    for (uint32_t i = 0; i < w->selection->dump_count; i++) {
        if (w->selection->dumps[i] == dump_idx) {
            return true;
        }
    }
    return false;
}

static int write_dumps(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    uint32_t *order = calloc(p->dump_count + 1u, sizeof(*order));
    uint32_t count = 0;
    for (uint32_t i = 0; order && i < p->dump_count; i++) {
        if (is_wanted(w, i)) {
            order[count++] = i;
        }
    }
    if (!order) {
        return -ENOMEM;
    }
    qsort_r(order, count, sizeof(*order), compare_times, (void *)(uintptr_t)p);
    for (uint32_t i = 0; i < count && w->maps.err == 0 && w->json.buf->err == 0; i++) {
        write_dump(w, order[i]);
    }
    free(order);
    return w->maps.err;
}

static void write_losses(struct writer *w)
{
    const struct hs_profile *p = w->profile;
    hs_json_key(&w->json, "losses");
    hs_json_open(&w->json, '[');
    for (uint32_t i = 0; i < p->loss_count; i++) {
        if (p->losses[i].count > 0 && hs_selection_has_loss(w->selection, &p->losses[i])) {
            struct hs_buf text = HS_BUF_INIT;
            hs_loss_describe(p, &p->losses[i], &w->selection->alloc, &text);
            hs_json_string(&w->json, hs_buf_text(&text));
            hs_buf_deinit(&text);
        }
    }
    hs_json_close(&w->json, ']');
}

/* Chrome's symbolizer needs the first four. */
static void write_metadata(struct writer *w)
{
    hs_json_key(&w->json, "metadata");
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "product-version", "heapscope/" HS_VERSION);
    hs_json_kv_string(&w->json, "os-name", "Linux");
    hs_json_kv_string(&w->json, "os-arch", "x86_64");
    hs_json_kv_string(&w->json, "user-agent", "heapscope/" HS_VERSION);
    hs_json_key(&w->json, "heapscope");
    hs_json_open(&w->json, '{');
    hs_json_kv_string(&w->json, "view", hs_views[w->view].name);
    hs_json_kv_bool(&w->json, "is_sampled", w->selection->is_sampled);
    hs_json_kv_uint(&w->json, "interval_bytes", w->selection->interval_max_bytes);
    if (w->options->other_below_bytes > 0) {
        hs_json_kv_uint(&w->json, "other_below_bytes", w->options->other_below_bytes);
        hs_json_kv_uint(&w->json, "other_below_count", w->options->other_below_count);
    }
    write_losses(w);
    hs_json_close(&w->json, '}');
    hs_json_close(&w->json, '}');
}

static int write_file(struct writer *w)
{
    hs_json_open(&w->json, '{');
    hs_json_key(&w->json, "traceEvents");
    hs_json_open(&w->json, '[');
    for (uint32_t i = 0; i < w->profile->process_count; i++) {
        if (w->selection->has_process[i]) {
            hs_infra_write_process(&w->names, i, &w->json);
        }
    }
    int err = write_dumps(w);
    hs_json_close(&w->json, ']');
    write_metadata(w);
    hs_json_close(&w->json, '}');
    return err;
}

static int write_selection(const struct hs_selection *selection, enum hs_view view,
                           const struct hs_memory_infra_options *options, struct hs_buf *buf)
{
    const struct hs_profile *p = selection->profile;
    struct writer w = {
        .profile = p,
        .selection = selection,
        .options = options,
        .view = view,
        .rows.has_heap = calloc(p->heap_count + 1u, sizeof(bool)),
        .last_groups = calloc(p->process_count + 1u, sizeof(uint32_t)),
    };
    int err = hs_infra_names_init(&w.names, p);
    hs_infra_maps_init(&w.maps, p);
    hs_json_init(&w.json, buf, 0);
    err = err ? err : w.rows.has_heap && w.last_groups ? write_file(&w) : -ENOMEM;
    hs_infra_maps_deinit(&w.maps);
    hs_infra_names_deinit(&w.names);
    free(w.last_groups);
    free(w.rows.rows);
    free(w.rows.has_heap);
    return err ? err : buf->err;
}

static int write_compressed(const struct hs_selection *selection, enum hs_view view,
                            const struct hs_memory_infra_options *options, struct hs_buf *buf)
{
    struct hs_gzip *gzip = hs_gzip_new(buf);
    if (!gzip) {
        return -ENOMEM;
    }
    struct hs_buf plain;
    hs_buf_init(&plain, hs_gzip_sink, gzip);
    int err = write_selection(selection, view, options, &plain);
    int late_err = hs_buf_finish(&plain);
    err = err ? err : late_err;
    hs_buf_deinit(&plain);
    late_err = hs_gzip_finish(gzip);
    err = err ? err : late_err;
    hs_gzip_free(gzip);
    return err;
}

int hs_memory_infra_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                          const struct hs_memory_infra_options *options, struct hs_buf *buf)
{
    struct hs_selection selection;
    enum hs_view view;
    const char *reason;
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    err = hs_view_choose(&selection, options->view, &view, &reason);
    if (err == 0) {
        err = options->is_compressed ? write_compressed(&selection, view, options, buf)
                                     : write_selection(&selection, view, options, buf);
    }
    hs_selection_deinit(&selection);
    return err;
}
