/*
 * See module_tables.h.
 */
#include "collect/unwind_tables/module_tables.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/region/region_tables.h"
#include "collect/unwind_tables/module_file.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/array.h"
#include "util/proc.h"
#include "util/proc_maps.h"

/* Further modules get no tables. */
#define MODULES_MAX 4096U
#define PAGE_MASK   UINT64_C(4095)
/* A worker mostly needs some milliseconds. */
#define DESCRIBE_WAIT_NS UINT64_C(100000000)

static void forget_worker(struct hs_module_tables *tables)
{
    hs_table_worker_stop(&tables->worker);
    free(tables->requests);
    free(tables->request_modules);
    tables->requests = NULL;
    tables->request_modules = NULL;
}

void hs_module_tables_deinit(struct hs_module_tables *tables)
{
    forget_worker(tables);
    for (size_t i = 0; i < tables->count; i++) {
        free(tables->modules[i].path);
    }
    free(tables->modules);
    *tables = (struct hs_module_tables){ .count = 0 };
}

/* --- which modules need a table --------------------------------------------------------------- */

static bool was_looked_at(const struct hs_module_tables *tables, const struct hs_proc_map *map)
{
    for (size_t i = tables->count; i > 0; i--) {
        const struct hs_looked_module *module = &tables->modules[i - 1];
        if (module->start_va == map->start_va && module->inode == map->inode) {
            return true;
        }
    }
    return false;
}

static void take_file(const struct hs_module_file *file, const struct hs_proc_map *map,
                      const char *path, struct hs_looked_module *module)
{
    if (file->code_count == 0 || (file->exec_off & ~PAGE_MASK) != map->file_off) {
        return; /* a part of a module, not its beginning */
    }
    module->bias_va = map->start_va - (file->exec_sva & ~PAGE_MASK);
    module->exec_sva = file->exec_sva;
    module->exec_bytes = file->exec_bytes;
    module->build_id_bytes = file->build_id_bytes;
    memcpy(module->build_id, file->build_id, sizeof(module->build_id));
    if (hs_module_file_has_gaps(file)) {
        module->path = strdup(path);
        module->needs_table = module->path != NULL;
    }
}

static void look_at(struct hs_module_tables *tables, pid_t pid, const struct hs_proc_map *map)
{
    char path[PATH_MAX], own_path[PATH_MAX];
    struct hs_module_file file;
    if (tables->count >= MODULES_MAX || !hs_proc_map_path(map, path, sizeof(path)) ||
        hs_array_reserve(&tables->modules, &tables->capacity, tables->count + 1,
                         sizeof(*tables->modules)) < 0) {
        return;
    }
    struct hs_looked_module *module = &tables->modules[tables->count++];
    *module = (struct hs_looked_module){ .start_va = map->start_va, .inode = map->inode };
    int fd = hs_module_file_open(pid, path, map->inode, own_path, sizeof(own_path));
    if (fd < 0) {
        module->reason = HS_UNWIND_REASON_UNREADABLE;
        return;
    }
    if (hs_module_file_read(fd, &file) == 0) {
        take_file(&file, map, path, module);
        hs_module_file_deinit(&file);
    }
    close(fd);
}

void hs_module_tables_scan(struct hs_module_tables *tables, pid_t pid)
{
    char folder[32];
    struct hs_buf text = HS_BUF_INIT;
    struct hs_proc_map map;
    snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    if (hs_proc_read_whole(folder, "maps", &text) == 0) {
        const char *at = text.data;
        while (hs_proc_maps_next(&at, text.data + text.bytes, &map)) {
            if (map.is_executable && map.inode != 0 && map.path_bytes > 0 && map.path[0] == '/' &&
                !was_looked_at(tables, &map)) {
                look_at(tables, pid, &map);
            }
        }
    }
    hs_buf_deinit(&text);
}

bool hs_module_tables_has_needs(const struct hs_module_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (tables->modules[i].needs_table) {
            return true;
        }
    }
    return false;
}

/* --- tables that are there -------------------------------------------------------------------- */

static void note_table(struct hs_module_tables *tables, const struct hs_looked_module *like,
                       uint8_t source)
{
    for (size_t i = 0; i < tables->count; i++) {
        struct hs_looked_module *module = &tables->modules[i];
        if (module->needs_table && module->bias_va == like->bias_va &&
            module->exec_sva == like->exec_sva && module->exec_bytes == like->exec_bytes &&
            module->build_id_bytes == like->build_id_bytes &&
            memcmp(module->build_id, like->build_id, like->build_id_bytes) == 0) {
            module->needs_table = false;
            module->source = source < HS_UNWIND_TABLE_SOURCE_N ? source : HS_UNWIND_TABLE_NONE;
        }
    }
}

/* In the region, from an earlier collector or from attaching. */
static void skip_written(struct hs_module_tables *tables, const struct hs_region *region)
{
    struct hs_unwind_table_v2 head;
    uint64_t off = 0;
    while (hs_region_tables_next(region, &off, &head) == 0) {
        struct hs_looked_module like = { .bias_va = head.bias_va,
                                         .exec_sva = head.exec_sva,
                                         .exec_bytes = head.exec_bytes,
                                         .build_id_bytes = head.build_id_bytes };
        memcpy(like.build_id, head.build_id, sizeof(like.build_id));
        note_table(tables, &like, head.source);
    }
}

/* In use, as the client says. */
static void skip_used(struct hs_module_tables *tables, const struct hs_region *region)
{
    uint64_t count = hs_region_count(region, HS_SECTION_MODULES);
    for (uint64_t i = 0; i < count && i < MODULES_MAX; i++) {
        struct hs_module_v1 from;
        if (hs_region_read(region, HS_SECTION_MODULES, i, 1, &from) == 0 &&
            from.table_source != 0 && from.build_id_bytes <= sizeof(from.build_id)) {
            struct hs_looked_module like = { .bias_va = from.bias_va,
                                             .exec_sva = from.exec_sva,
                                             .exec_bytes = from.exec_bytes,
                                             .build_id_bytes = from.build_id_bytes };
            memcpy(like.build_id, from.build_id, sizeof(like.build_id));
            note_table(tables, &like, (uint8_t)from.table_source);
        }
    }
}

/* --- making tables ---------------------------------------------------------------------------- */

static void give_up(struct hs_module_tables *tables, enum hs_unwind_reason reason)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (tables->modules[i].needs_table) {
            tables->modules[i].needs_table = false;
            tables->modules[i].reason = (uint8_t)reason;
        }
    }
}

void hs_module_tables_start(struct hs_module_tables *tables, const struct hs_region *region,
                            pid_t pid)
{
    uint32_t count = 0;
    skip_written(tables, region);
    skip_used(tables, region);
    if (tables->requests || !hs_module_tables_has_needs(tables)) {
        return;
    }
    if (hs_region_tables_size(region) == 0) {
        give_up(tables, HS_UNWIND_REASON_TOO_LARGE);
        return;
    }
    tables->requests = calloc(tables->count, sizeof(*tables->requests));
    tables->request_modules = calloc(tables->count, sizeof(*tables->request_modules));
    for (size_t i = 0; tables->requests && tables->request_modules && i < tables->count; i++) {
        const struct hs_looked_module *module = &tables->modules[i];
        if (module->needs_table) {
            tables->requests[count] = (struct hs_table_request){
                .pid = pid, .path = module->path, .inode = module->inode, .bias_va = module->bias_va
            };
            tables->request_modules[count++] = (uint32_t)i;
        }
    }
    if (count == 0 || hs_table_worker_start(&tables->worker, region, tables->requests, count) < 0) {
        forget_worker(tables);
        give_up(tables, HS_UNWIND_REASON_SLOW);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct hs_looked_module *module = &tables->modules[tables->request_modules[i]];
        module->needs_table = false;
        module->reason = HS_UNWIND_REASON_SLOW; /* until there is a result */
    }
}

bool hs_module_tables_poll(struct hs_module_tables *tables, struct hs_region *region)
{
    struct hs_table_result result;
    uint64_t end_off = 0;
    int r = -1;
    while (tables->requests && (r = hs_table_worker_next(&tables->worker, &result)) > 0) {
        struct hs_looked_module *module = &tables->modules[tables->request_modules[result.idx]];
        module->reason = (uint8_t)result.reason;
        module->source = (uint8_t)result.source;
        end_off = result.end_off > end_off ? result.end_off : end_off;
    }
    if (end_off > 0) {
        hs_region_tables_publish(region, end_off);
    }
    if (tables->requests && r < 0) {
        forget_worker(tables);
    }
    return tables->requests != NULL;
}

void hs_module_tables_wait(struct hs_module_tables *tables, struct hs_region *region,
                           uint64_t max_ns)
{
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC) + max_ns, now_ns;
    while (hs_module_tables_poll(tables, region) &&
           (now_ns = hs_clock_ns(CLOCK_MONOTONIC)) < end_ns) {
        struct pollfd wait = { .fd = tables->worker.fd, .events = POLLIN };
        poll(&wait, 1, (int)((end_ns - now_ns) / 1000000) + 1);
    }
}

bool hs_module_tables_look(struct hs_module_tables *tables, struct hs_region *region, pid_t pid)
{
    if (hs_module_tables_poll(tables, region)) {
        return true;
    }
    if (pid <= 0 || hs_region_refresh(region) < 0) {
        return false;
    }
    uint64_t seen_count = hs_region_count(region, HS_SECTION_MODULES);
    if (!tables->has_scanned || seen_count != tables->seen_count) {
        tables->has_scanned = true;
        tables->seen_count = seen_count;
        hs_module_tables_scan(tables, pid);
        hs_module_tables_start(tables, region, pid);
    }
    return tables->requests != NULL;
}

/* --- what to say ------------------------------------------------------------------------------ */

/* What is known of a module; NULL: nothing, it was not looked at. */
static const struct hs_looked_module *find(const struct hs_module_tables *tables,
                                           const struct hs_snap_module *like)
{
    for (size_t i = tables->count; i > 0; i--) {
        const struct hs_looked_module *module = &tables->modules[i - 1];
        bool is_it = module->exec_bytes != 0
                         ? module->bias_va == like->bias_va && module->exec_sva == like->exec_sva
                         : module->start_va >= like->start_va && module->start_va < like->end_va;
        if (is_it) {
            return module;
        }
    }
    return NULL;
}

void hs_module_tables_describe(struct hs_module_tables *tables, struct hs_region *region,
                               struct hs_snapshot *snap)
{
    hs_module_tables_wait(tables, region, DESCRIBE_WAIT_NS);
    for (uint32_t i = 0; i < snap->module_count; i++) {
        struct hs_snap_module *module = &snap->modules[i];
        const struct hs_looked_module *looked =
            module->kind == HS_MODULE_ELF ? find(tables, module) : NULL;
        enum hs_unwind_reason reason = looked ? looked->reason : HS_UNWIND_REASON_NONE;
        if (module->kind == HS_MODULE_ANON) {
            reason = HS_UNWIND_REASON_JIT;
        } else if (module->has_unwind_table || (looked && looked->source != 0)) {
            reason = HS_UNWIND_REASON_LATE;
        } else if (module->kind == HS_MODULE_ELF && (!looked || looked->needs_table)) {
            reason = HS_UNWIND_REASON_SLOW; /* the process ended before that */
        }
        module->unwind_reason = (uint8_t)reason;
    }
}
