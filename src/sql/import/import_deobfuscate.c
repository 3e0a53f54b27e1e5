/*
 * DeobfuscationMapping: the names that classes and methods had before an obfuscator renamed them.
 *
 * The table of methods, and the rules by which a frame is found in it, are in
 * deobfuscate/java_names.h. Here is found which packages the user of a frame's process can run.
 *
 * See       import_state.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deobfuscate/mapping_packet.h"
#include "sql/import/import_state.h"
#include "util/array.h"

#define PACKAGES_MAX      16U
#define ANDROID_USER_UIDS 100000

/* Cells, as in sql_store.c. */
enum { MAPPING_NAME = 6, PROCESS_UID = 5, SITE_PARENT = 1, SITE_FRAME = 2 };

struct package {
    int64_t name;
    uint64_t app_id;
};

struct hs_import_classes {
    struct hs_java_names names;
    struct package *packages;
    size_t package_count, package_capacity;
    /* by frame, filled at the end: a process of a known package; HS_IMPORT_NONE: none */
    uint32_t *frame_upids;
};

int hs_import_classes_new(struct hs_import_classes **ret_classes)
{
    struct hs_import_classes *classes = calloc(1, sizeof(*classes));
    if (!classes) {
        return -ENOMEM;
    }
    *ret_classes = classes;
    return 0;
}

void hs_import_classes_free(struct hs_import_classes *classes)
{
    if (classes) {
        hs_java_names_deinit(&classes->names);
        free(classes->frame_upids);
        free(classes->packages);
        free(classes);
    }
}

/* --- collecting --- */

void hs_import_deobfuscation(struct hs_import *import, const Hs__Pb__DeobfuscationMapping *mapping)
{
    int err = hs_mapping_packet_read(mapping, &import->classes->names);
    import->store->err = import->store->err ? import->store->err : err;
}

void hs_import_packages(struct hs_import *import, const Hs__Pb__PackagesList *list)
{
    struct hs_import_classes *classes = import->classes;
    for (size_t i = 0; i < list->n_packages && import->store->err == 0; i++) {
        const Hs__Pb__PackagesList__PackageInfo *from = list->packages[i];
        int err = hs_array_reserve(&classes->packages, &classes->package_capacity,
                                   classes->package_count + 1, sizeof(classes->packages[0]));
        if (err < 0) {
            import->store->err = err;
            return;
        }
        classes->packages[classes->package_count++] = (struct package){
            .name = hs_sql_store_str(import->store, from->name ? from->name : ""),
            .app_id = from->uid % ANDROID_USER_UIDS,
        };
    }
}

/* --- which process a frame belongs to --- */

/* Does the user of this process identify a package? */
static bool has_package(const struct hs_import *import, uint32_t upid)
{
    const struct hs_import_classes *classes = import->classes;
    int64_t uid = hs_rows_at(&import->store->tables[HS_SQL_PROCESS], upid)[PROCESS_UID];
    for (size_t i = 0; uid >= 0 && i < classes->package_count; i++) {
        if (classes->packages[i].app_id == (uint64_t)uid % ANDROID_USER_UIDS) {
            return true;
        }
    }
    return false;
}

/* Assigns the frames of a stack to this process, except those that an earlier process already
 * has. */
static void note_stack(struct hs_import *import, bool *is_seen, int64_t site, uint32_t upid)
{
    const struct hs_rows *sites = &import->store->tables[HS_SQL_CALLSITE];
    while (site != HS_ROWS_NULL && !is_seen[site]) {
        const int64_t *cells = hs_rows_at(sites, (uint32_t)site);
        uint32_t *owner = &import->classes->frame_upids[cells[SITE_FRAME]];
        *owner = *owner == HS_IMPORT_NONE ? upid : *owner;
        is_seen[site] = true;
        site = cells[SITE_PARENT];
    }
}

/* Notes all stacks of a table's rows. */
static void note_stacks(struct hs_import *import, bool *is_seen, enum hs_sql_table table,
                        int upid_cell, int site_cell)
{
    const struct hs_rows *rows = &import->store->tables[table];
    uint32_t known_upid = HS_IMPORT_NONE;
    for (uint32_t i = 0; i < rows->count; i++) {
        const int64_t *cells = hs_rows_at(rows, i);
        if (cells[upid_cell] != HS_ROWS_NULL && cells[site_cell] != HS_ROWS_NULL) {
            uint32_t upid = (uint32_t)cells[upid_cell];
            if (upid == known_upid || has_package(import, upid)) {
                known_upid = upid;
                note_stack(import, is_seen, cells[site_cell], upid);
            }
        }
    }
}

/* Notes the stacks of samples, whose processes are those of their tasks. */
static void note_samples(struct hs_import *import, bool *is_seen)
{
    enum { SAMPLE_TASK = 2, SAMPLE_SITE = 4, TASK_UPID = 0 };
    const struct hs_rows *rows = &import->store->tables[HS_SQL_STACK_SAMPLE];
    const struct hs_rows *tasks = &import->store->tables[HS_SQL_STACK_TASK];
    for (uint32_t i = 0; i < rows->count; i++) {
        const int64_t *cells = hs_rows_at(rows, i);
        if (cells[SAMPLE_TASK] != HS_ROWS_NULL && cells[SAMPLE_SITE] != HS_ROWS_NULL) {
            int64_t upid = hs_rows_at(tasks, (uint32_t)cells[SAMPLE_TASK])[TASK_UPID];
            if (upid != HS_ROWS_NULL && has_package(import, (uint32_t)upid)) {
                note_stack(import, is_seen, cells[SAMPLE_SITE], (uint32_t)upid);
            }
        }
    }
}

static void find_processes(struct hs_import *import)
{
    enum { ALLOCATION_UPID = 1, ALLOCATION_SITE = 3 };
    struct hs_sql_store *store = import->store;
    size_t frame_count = store->tables[HS_SQL_FRAME].count;
    bool *is_seen = calloc((size_t)store->tables[HS_SQL_CALLSITE].count + 1, sizeof(*is_seen));
    uint32_t *upids = malloc((frame_count + 1) * sizeof(*upids));
    import->classes->frame_upids = upids;
    if (is_seen && upids) {
        memset(upids, 0xff, (frame_count + 1) * sizeof(*upids));
        note_stacks(import, is_seen, HS_SQL_ALLOCATION, ALLOCATION_UPID, ALLOCATION_SITE);
        note_samples(import, is_seen);
    } else {
        store->err = -ENOMEM;
    }
    free(is_seen);
}

/* The packages that the user of the frame's process can run. */
static uint32_t packages_of(struct hs_import *import, uint32_t frame,
                            const char *ret_packages[PACKAGES_MAX])
{
    const struct hs_import_classes *classes = import->classes;
    struct hs_sql_store *store = import->store;
    uint32_t count = 0, upid = classes->frame_upids[frame];
    size_t bytes;
    if (upid == HS_IMPORT_NONE) {
        return 0;
    }
    uint64_t uid = (uint64_t)hs_rows_at(&store->tables[HS_SQL_PROCESS], upid)[PROCESS_UID];
    for (size_t i = 0; i < classes->package_count && count < PACKAGES_MAX; i++) {
        if (classes->packages[i].app_id == uid % ANDROID_USER_UIDS) {
            ret_packages[count++] = hs_sql_store_text(store, classes->packages[i].name, &bytes);
        }
    }
    return count;
}

/* --- applying --- */

/* Enters the answer. A frame that has symbols, as code of a JIT has by a perf map, gets other ones:
 * views prefer them to the frame's own name. */
static void apply_answer(struct hs_import *import, uint32_t frame,
                         const struct hs_java_answer *answer)
{
    struct hs_sql_store *store = import->store;
    int64_t set = store->tables[HS_SQL_SYMBOL].count, name = HS_ROWS_NULL;
    bool has_symbols = answer->is_chain || hs_rows_at(&store->tables[HS_SQL_FRAME],
                                                      frame)[HS_SQL_FRAME_SYMBOLS] != HS_ROWS_NULL;
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct hs_java_line *line = &answer->lines[i];
        name = hs_sql_store_str(store, line->name);
        if (has_symbols) {
            HS_SQL_ADD(store, HS_SQL_SYMBOL, set, name, HS_ROWS_NULL,
                       line->has_line ? (int64_t)line->line : HS_ROWS_NULL, i + 1 < answer->count);
        }
    }
    int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], frame);
    if (answer->count > 0) {
        cells[HS_SQL_FRAME_SYMBOLS] = has_symbols ? set : cells[HS_SQL_FRAME_SYMBOLS];
        cells[HS_SQL_FRAME_DEOBFUSCATED] = name;
    }
}

static void apply(struct hs_import *import, uint32_t row)
{
    struct hs_import_classes *classes = import->classes;
    struct hs_sql_store *store = import->store;
    const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], row);
    const int64_t *mapping =
        hs_rows_at(&store->tables[HS_SQL_MAPPING], (uint32_t)cells[HS_SQL_FRAME_MAPPING]);
    const char *packages[PACKAGES_MAX];
    const uint32_t *line =
        hs_intern_elem(&import->line_ids, import->lines, sizeof(*line), HS_IMPORT_KEY(row));
    size_t bytes;
    const struct hs_java_frame frame = {
        .name = hs_sql_store_text(store, cells[HS_SQL_FRAME_NAME], &bytes),
        .path = hs_sql_store_text(store, mapping[MAPPING_NAME], &bytes),
        .has_line = line != NULL,
        .line = line ? *line : 0,
        .packages = packages,
        .package_count = packages_of(import, row, packages),
        .has_perfetto_lines = true,
    };
    struct hs_java_answer answer;
    int err = hs_java_names_find(&classes->names, &frame, &answer);
    store->err = store->err ? store->err : err;
    if (answer.is_path_bad) {
        hs_stat_count(import, HS_STAT_DEOBFUSCATE_LOCATION);
    }
    if (err == 0) {
        apply_answer(import, row, &answer);
    }
    hs_java_answer_deinit(&answer);
}

void hs_import_deobfuscation_finish(struct hs_import *import)
{
    struct hs_sql_store *store = import->store;
    uint32_t count = store->tables[HS_SQL_FRAME].count;
    if (import->classes->names.method_count == 0 || store->err != 0) {
        return;
    }
    find_processes(import);
    for (uint32_t i = 0; i < count && store->err == 0; i++) {
        apply(import, i);
    }
}
