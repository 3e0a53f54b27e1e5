/*
 * DeobfuscationMapping: the names that classes and methods had before an obfuscator renamed them.
 *
 * A frame "class.method" is looked up in the mappings of its package. This is the package that the
 * path of the frame's file names; otherwise the packages that the user of its process can run;
 * otherwise "", the package of a mapping that names none. Code in a memfd can belong to any
 * package: the last mapping with that name is used. If the line number is known, the methods whose
 * lines contain it are one chain of inlined calls. Otherwise all possible names are listed.
 *
 * See       import_state.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/import/import_state.h"
#include "util/array.h"
#include "util/buf.h"

#define CANDIDATES_MAX    16U
#define CHAIN_MAX         64U
#define ANDROID_USER_UIDS 100000

/* Cells, as in sql_store.c. */
enum { MAPPING_NAME = 6, PROCESS_UID = 5, SITE_PARENT = 1, SITE_FRAME = 2 };

struct method {
    int64_t name; /* original "Class.method" */
    uint32_t line_first, line_last, source_first;
    bool has_lines, has_source;
    uint32_t next; /* the next method with the same obfuscated name; HS_IMPORT_NONE: none */
};

struct method_list {
    uint32_t first, last; /* 1 + index; 0: none */
};

struct package {
    int64_t name;
    uint64_t app_id;
};

struct hs_import_classes {
    struct method *methods;
    size_t method_count, method_capacity;
    struct hs_intern_array list_ids; /* keys: (package, obfuscated "class.method") */
    struct method_list *lists;
    struct hs_intern_array last_ids; /* keys: obfuscated "class.method" */
    int64_t *last_packages;          /* the package of the last mapping that has the method */
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
        hs_intern_deinit(&classes->list_ids.ids);
        hs_intern_deinit(&classes->last_ids.ids);
        free(classes->methods);
        free(classes->lists);
        free(classes->last_packages);
        free(classes->frame_upids);
        free(classes->packages);
        free(classes);
    }
}

/* --- collecting --- */

static int64_t joined(struct hs_import *import, const char *class_name, const char *method_name)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s.%s", class_name, method_name);
    int64_t id = hs_sql_store_put(import->store, hs_buf_text(&text), text.bytes);
    hs_buf_deinit(&text);
    return id;
}

static void add_method(struct hs_import *import, int64_t package,
                       const Hs__Pb__ObfuscatedClass *class, const Hs__Pb__ObfuscatedMember *member)
{
    struct hs_import_classes *classes = import->classes;
    if (!class->obfuscated_name || !class->deobfuscated_name || !member->obfuscated_name ||
        !member->deobfuscated_name) {
        return;
    }
    /* A name with a point is complete: the method came from another class. */
    int64_t name = strchr(member->deobfuscated_name, '.')
                       ? hs_sql_store_str(import->store, member->deobfuscated_name)
                       : joined(import, class->deobfuscated_name, member->deobfuscated_name);
    int64_t obfuscated = joined(import, class->obfuscated_name, member->obfuscated_name);
    bool is_new;
    struct method_list *list = hs_import_at(
        import, &classes->list_ids, &classes->lists, sizeof(*list),
        (struct hs_intern_key){ .hi = (uint64_t)package, .lo = (uint64_t)obfuscated }, &is_new);
    int64_t *last = hs_import_at(import, &classes->last_ids, &classes->last_packages, sizeof(*last),
                                 HS_IMPORT_KEY((uint64_t)obfuscated), &is_new);
    int err = list ? hs_array_reserve(&classes->methods, &classes->method_capacity,
                                      classes->method_count + 1, sizeof(classes->methods[0]))
                   : 0;
    if (!list || !last || err < 0 || classes->method_count >= UINT32_MAX - 1) {
        import->store->err = import->store->err ? import->store->err : err;
        return;
    }
    *last = package;
    uint32_t idx = (uint32_t)classes->method_count++;
    classes->methods[idx] = (struct method){
        .name = name,
        .line_first = member->obfuscated_line_start,
        .line_last = member->has_obfuscated_line_end ? member->obfuscated_line_end
                                                     : member->obfuscated_line_start,
        .source_first = member->source_line_start,
        .has_lines = member->has_obfuscated_line_start,
        .has_source = member->has_source_line_start,
        .next = HS_IMPORT_NONE,
    };
    if (list->last > 0) {
        classes->methods[list->last - 1].next = idx;
    } else {
        list->first = idx + 1;
    }
    list->last = idx + 1;
}

void hs_import_deobfuscation(struct hs_import *import, const Hs__Pb__DeobfuscationMapping *mapping)
{
    int64_t package =
        hs_sql_store_str(import->store, mapping->package_name ? mapping->package_name : "");
    for (size_t i = 0; i < mapping->n_obfuscated_classes; i++) {
        const Hs__Pb__ObfuscatedClass *class = mapping->obfuscated_classes[i];
        for (size_t k = 0; k < class->n_obfuscated_methods && import->store->err == 0; k++) {
            add_method(import, package, class, class->obfuscated_methods[k]);
        }
    }
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

/* --- which package a frame belongs to --- */

/* Applications of the system are in folders that are not named after their package. */
static bool package_of_system_app(struct hs_import *import, const char *path, int64_t *ret_package)
{
    static const char *const apps[][2] = {
        { "/DevicePersonalizationPrebuilt", "com.google.android.as" },
        { "/LatinIMEGooglePrebuilt/", "com.google.android.inputmethod.latin" },
        { "/Maps/", "com.google.android.apps.maps" },
        { "/MatchMaker", "com.google.android.as" },
        { "/NexusLauncherRelease/", "com.google.android.apps.nexuslauncher" },
        { "/Phonesky/", "com.android.vending" },
        { "/Photos/", "com.google.android.apps.photos" },
        { "/PrebuiltBugle/", "com.google.android.apps.messaging" },
        { "/PrebuiltGmail/", "com.google.android.gm" },
        { "/PrebuiltGmsCore/", "com.google.android.gms" },
        { "/SystemUI/", "com.android.systemui" },
        { "/SystemUIGoogle/", "com.android.systemui" },
        { "/Velvet/", "com.google.android.googlequicksearchbox" },
        { "/WellbeingPrebuilt/", "com.google.android.apps.wellbeing" },
    };
    static const char *const parents[] = { "/app", "/priv-app" };
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        const char *at = strstr(path, parents[i]);
        const char *folder = at ? at + strlen(parents[i]) : "";
        for (size_t k = 0; k < sizeof(apps) / sizeof(apps[0]); k++) {
            if (strncmp(folder, apps[k][0], strlen(apps[k][0])) == 0) {
                *ret_package = hs_sql_store_str(import->store, apps[k][1]);
                return true;
            }
        }
    }
    return false;
}

/* "/data/app/[~~RANDOM==/]PACKAGE-RANDOM/...": PACKAGE. The path may be in the middle of the name,
 * as in the name of code that was extracted from a file: "[anon:dalvik-classes.dex extracted in
 * memory from /data/app/...]". */
static bool package_of_path(struct hs_import *import, const char *path, int64_t *ret_package)
{
    static const char folder[] = "/data/app/";
    const char *at = strstr(path, folder);
    if (!at) {
        return package_of_system_app(import, path, ret_package);
    }
    at += sizeof(folder) - 1;
    if (at[0] == '~' && at[1] == '~') {
        const char *slash = strchr(at, '/');
        at = slash ? slash + 1 : "";
    }
    size_t bytes = strcspn(at, "-/");
    if (at[bytes] != '-' || bytes == 0) {
        hs_stat_count(import, HS_STAT_DEOBFUSCATE_LOCATION);
        return false;
    }
    *ret_package = hs_sql_store_put(import->store, at, bytes);
    return true;
}

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

/* The packages to search, most likely first. */
static uint32_t candidates_of(struct hs_import *import, uint32_t frame,
                              int64_t ret_packages[CANDIDATES_MAX])
{
    const struct hs_import_classes *classes = import->classes;
    struct hs_sql_store *store = import->store;
    const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], frame);
    const int64_t *mapping =
        hs_rows_at(&store->tables[HS_SQL_MAPPING], (uint32_t)cells[HS_SQL_FRAME_MAPPING]);
    size_t bytes;
    uint32_t count = 0, upid = classes->frame_upids[frame];
    const char *path = hs_sql_store_text(store, mapping[MAPPING_NAME], &bytes);
    if (package_of_path(import, path, &ret_packages[0])) {
        count = 1;
    } else if (strncmp(path, "/memfd:", strlen("/memfd:")) == 0) {
        const int64_t *last =
            hs_intern_elem(&classes->last_ids, classes->last_packages, sizeof(*last),
                           HS_IMPORT_KEY((uint64_t)cells[HS_SQL_FRAME_NAME]));
        ret_packages[count++] = last ? *last : import->empty;
    } else if (upid != HS_IMPORT_NONE) {
        uint64_t uid = (uint64_t)hs_rows_at(&store->tables[HS_SQL_PROCESS], upid)[PROCESS_UID];
        for (size_t i = 0; i < classes->package_count && count < CANDIDATES_MAX - 1; i++) {
            if (classes->packages[i].app_id == uid % ANDROID_USER_UIDS) {
                ret_packages[count++] = classes->packages[i].name;
            }
        }
    }
    ret_packages[count++] = import->empty;
    return count;
}

/* --- applying --- */

static bool apply_lines(struct hs_import *import, uint32_t frame, const struct method_list *list,
                        uint32_t line)
{
    struct hs_sql_store *store = import->store;
    const struct method *chain[CHAIN_MAX];
    uint32_t count = 0;
    for (uint32_t i = list->first - 1; i != HS_IMPORT_NONE && count < CHAIN_MAX;
         i = import->classes->methods[i].next) {
        const struct method *method = &import->classes->methods[i];
        if (method->has_lines && method->line_first <= line && line <= method->line_last) {
            chain[count++] = method;
        }
    }
    int64_t set = store->tables[HS_SQL_SYMBOL].count;
    for (uint32_t i = 0; i < count; i++) {
        int64_t source = chain[i]->has_source
                             ? (int64_t)chain[i]->source_first + (line - chain[i]->line_first)
                             : HS_ROWS_NULL;
        HS_SQL_ADD(store, HS_SQL_SYMBOL, set, chain[i]->name, HS_ROWS_NULL, source, i + 1 < count);
    }
    if (count > 0) {
        int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], frame);
        cells[HS_SQL_FRAME_SYMBOLS] = set;
        cells[HS_SQL_FRAME_DEOBFUSCATED] = chain[count - 1]->name;
    }
    return count > 0;
}

/* Joins all different names: "A | B". */
static void apply_names(struct hs_import *import, uint32_t frame, const struct method_list *list)
{
    struct hs_sql_store *store = import->store;
    int64_t seen[CHAIN_MAX];
    uint32_t count = 0;
    struct hs_buf text = HS_BUF_INIT;
    for (uint32_t i = list->first - 1; i != HS_IMPORT_NONE && count < CHAIN_MAX;
         i = import->classes->methods[i].next) {
        int64_t name = import->classes->methods[i].name;
        uint32_t k = 0;
        while (k < count && seen[k] != name) {
            k++;
        }
        if (k == count) {
            size_t bytes;
            const char *part = hs_sql_store_text(store, name, &bytes);
            hs_buf_str(&text, count > 0 ? " | " : "");
            hs_buf_add(&text, part, bytes);
            seen[count++] = name;
        }
    }
    hs_rows_at(&store->tables[HS_SQL_FRAME], frame)[HS_SQL_FRAME_DEOBFUSCATED] =
        hs_sql_store_put(store, hs_buf_text(&text), text.bytes);
    hs_buf_deinit(&text);
}

static void apply(struct hs_import *import, uint32_t frame)
{
    const struct hs_import_classes *classes = import->classes;
    struct hs_sql_store *store = import->store;
    const int64_t *cells = hs_rows_at(&store->tables[HS_SQL_FRAME], frame);
    int64_t packages[CANDIDATES_MAX];
    size_t bytes;
    int64_t name = cells[HS_SQL_FRAME_NAME];
    if (!strchr(hs_sql_store_text(store, name, &bytes), '.')) {
        return;
    }
    uint32_t count = candidates_of(import, frame, packages);
    for (uint32_t i = 0; i < count; i++) {
        const struct method_list *list = hs_intern_elem(
            &classes->list_ids, classes->lists, sizeof(*list),
            (struct hs_intern_key){ .hi = (uint64_t)packages[i], .lo = (uint64_t)name });
        if (list && list->first > 0) {
            const uint32_t *line = hs_intern_elem(&import->line_ids, import->lines, sizeof(*line),
                                                  HS_IMPORT_KEY(frame));
            if (!line || !apply_lines(import, frame, list, *line)) {
                apply_names(import, frame, list);
            }
            return;
        }
    }
}

void hs_import_deobfuscation_finish(struct hs_import *import)
{
    struct hs_sql_store *store = import->store;
    uint32_t count = store->tables[HS_SQL_FRAME].count;
    if (import->classes->method_count == 0 || store->err != 0) {
        return;
    }
    find_processes(import);
    for (uint32_t i = 0; i < count && store->err == 0; i++) {
        apply(import, i);
    }
}
