/*
 * See infra_pcs.h. While the text is read, `module` of an address is the number of its process; it
 * is resolved at the end, when the last map of each process is known.
 */
#include "profile/read/infra_pcs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/infra_tables.h"
#include "util/array.h"
#include "util/json_read.h"

#define PC "pc:"
/* So many regions in front may belong to the same file. */
#define REGIONS_BACK 64

struct region {
    uint64_t start_va, end_va, link_va;
    bool has_link_va;
    uint32_t module;
};

struct hs_infra_map {
    double us; /* time of the dump that it is of */
    struct region *regions;
    size_t count, capacity;
};

struct event {
    bool is_dump, is_frames;
    uint64_t pid;
    double us;
    const char *args; /* place of the value; NULL: none */
};

void hs_infra_pcs_deinit(struct hs_infra_pcs *pcs)
{
    for (uint32_t i = 0; i < pcs->module_ids.count; i++) {
        free(pcs->modules[i].path);
    }
    for (uint32_t i = 0; i < pcs->pids.count; i++) {
        free(pcs->maps[i].regions);
    }
    hs_intern_deinit(&pcs->module_ids);
    hs_intern_deinit(&pcs->pids);
    free(pcs->pcs);
    free(pcs->modules);
    free(pcs->maps);
    *pcs = (struct hs_infra_pcs){ 0 };
}

/* --- maps --- */

static uint32_t process_of(struct hs_infra_pcs *pcs, uint64_t pid)
{
    uint32_t idx = 0;
    bool is_new = false;
    pcs->err = pcs->err ? pcs->err
                        : hs_array_reserve(&pcs->maps, &pcs->map_capacity,
                                           (size_t)pcs->pids.count + 1, sizeof(pcs->maps[0]));
    if (pcs->err == 0) {
        pcs->err = hs_intern_put(&pcs->pids, (struct hs_intern_key){ .lo = pid }, &idx, &is_new);
    }
    if (is_new) {
        pcs->maps[idx] = (struct hs_infra_map){ .us = -1 };
    }
    return idx;
}

static uint32_t module_of(struct hs_infra_pcs *pcs, const char *path,
                          const struct hs_infra_module *module)
{
    uint32_t idx = HS_INFRA_NOWHERE;
    bool is_new = false;
    struct hs_intern_key id = hs_intern_hash(module->build_id, module->build_id_bytes);
    struct hs_intern_key key = hs_intern_mix(hs_intern_hash(path, strlen(path)), id.lo);
    pcs->err = pcs->err
                   ? pcs->err
                   : hs_array_reserve(&pcs->modules, &pcs->module_capacity,
                                      (size_t)pcs->module_ids.count + 1, sizeof(pcs->modules[0]));
    char *copy = pcs->err == 0 ? strdup(path) : NULL;
    pcs->err = pcs->err ? pcs->err
               : copy   ? hs_intern_put(&pcs->module_ids, key, &idx, &is_new)
                        : -ENOMEM;
    if (is_new) {
        pcs->modules[idx] = *module;
        pcs->modules[idx].path = copy;
        return idx;
    }
    free(copy);
    return pcs->err == 0 ? idx : HS_INFRA_NOWHERE;
}

/* Reads {"sa":"7f00","sz":"1000","mf":"/lib/x.so","fo":"1000","build_id":"ab12"}. */
static void read_region(struct hs_infra_pcs *pcs, struct hs_infra_map *map,
                        struct hs_json_reader *json)
{
    struct hs_json_text key, text;
    struct region region = { 0 };
    struct hs_infra_module module = { 0 };
    struct hs_buf path = HS_BUF_INIT;
    uint64_t size_bytes = 0;
    hs_json_enter(json, '{');
    while (hs_json_next_key(json, &key)) {
        if (hs_json_text_is(&key, "sa")) {
            region.start_va = hs_infra_read_hex(json);
        } else if (hs_json_text_is(&key, "sz")) {
            size_bytes = hs_infra_read_hex(json);
        } else if (hs_json_text_is(&key, "fo")) {
            region.link_va = hs_infra_read_hex(json);
            region.has_link_va = region.link_va > 0;
        } else if (hs_json_text_is(&key, "build_id")) {
            module.build_id_bytes = hs_infra_read_build_id(json, module.build_id);
        } else if (!hs_json_text_is(&key, "mf")) {
            hs_json_skip(json);
        } else if (hs_json_read_text(json, &text)) {
            hs_buf_clear(&path);
            hs_buf_add(&path, text.text, text.bytes);
        }
    }
    region.end_va = region.start_va + size_bytes;
    pcs->err = pcs->err ? pcs->err : path.err;
    if (path.bytes > 0 && region.end_va > region.start_va) {
        region.module = module_of(pcs, hs_buf_text(&path), &module);
        pcs->err = pcs->err ? pcs->err
                            : hs_array_reserve(&map->regions, &map->capacity, map->count + 1,
                                               sizeof(map->regions[0]));
        if (pcs->err == 0) {
            map->regions[map->count++] = region;
        }
    }
    hs_buf_deinit(&path);
}

static int compare_regions(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    return x->start_va != y->start_va ? (x->start_va < y->start_va ? -1 : 1)
                                      : (x->module > y->module) - (x->module < y->module);
}

static void find_link_addresses(struct hs_infra_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        struct region *region = &map->regions[i];
        for (size_t back = 1; !region->has_link_va && back <= REGIONS_BACK && back <= i; back++) {
            const struct region *before = &map->regions[i - back];
            if (before->module == region->module) {
                region->link_va = before->link_va + (region->start_va - before->start_va);
                break;
            }
        }
    }
}

static void read_map(struct hs_infra_pcs *pcs, const struct event *event, const char *place)
{
    uint32_t process = process_of(pcs, event->pid);
    if (!place || pcs->err != 0 || event->us < pcs->maps[process].us) {
        return; /* a later one was read */
    }
    struct hs_infra_map *map = &pcs->maps[process];
    struct hs_json_reader json;
    map->us = event->us;
    map->count = 0;
    hs_json_begin(&json, place, pcs->end);
    if (hs_json_enter(&json, '[')) {
        while (hs_json_next_element(&json) && pcs->err == 0) {
            read_region(pcs, map, &json);
        }
    }
    pcs->err = pcs->err ? pcs->err : json.err;
    hs_json_end(&json);
    if (map->count > 0) {
        qsort(map->regions, map->count, sizeof(map->regions[0]), compare_regions);
    }
    find_link_addresses(map);
}

/* --- names --- */

static bool pc_of(const struct hs_json_text *text, uint64_t *ret_pc)
{
    return text->bytes > strlen(PC) && memcmp(text->text, PC, strlen(PC)) == 0 &&
           hs_infra_parse_hex(text->text + strlen(PC), text->bytes - strlen(PC), ret_pc);
}

/* Reads a name, and notes it if it is an address. */
static void read_name(struct hs_infra_pcs *pcs, uint32_t process, struct hs_json_reader *json)
{
    struct hs_json_text text;
    uint64_t pc;
    bool is_text = hs_json_peek(json) == '"';
    const char *place = hs_json_place(json);
    if (!is_text) {
        hs_json_skip(json);
    } else if (hs_json_read_text(json, &text) && pc_of(&text, &pc)) {
        pcs->err = pcs->err ? pcs->err
                            : hs_array_reserve(&pcs->pcs, &pcs->capacity, pcs->count + 1,
                                               sizeof(pcs->pcs[0]));
        if (pcs->err == 0) {
            pcs->pcs[pcs->count++] = (struct hs_infra_pc){
                .text_off = (size_t)(place - pcs->text),
                .text_bytes = (uint32_t)(json->past - place),
                .module = process,
                .pc = pc,
            };
        }
    }
}

/* Reads the value of `name` of the object that comes next. */
static void read_named(struct hs_infra_pcs *pcs, uint32_t process, struct hs_json_reader *json,
                       const char *name)
{
    struct hs_json_text key;
    if (!hs_json_enter(json, '{')) {
        return;
    }
    while (hs_json_next_key(json, &key)) {
        if (hs_json_text_is(&key, name)) {
            read_name(pcs, process, json);
        } else {
            hs_json_skip(json);
        }
    }
}

/* Reads "strings" of heaps_v2, or "stackFrames" of the older form. */
static void read_names(struct hs_infra_pcs *pcs, const struct event *event, const char *place)
{
    struct hs_json_reader json;
    struct hs_json_text key;
    uint32_t process = process_of(pcs, event->pid);
    if (!place) {
        return;
    }
    hs_json_begin(&json, place, pcs->end);
    if (event->is_frames && hs_json_enter(&json, '{')) {
        while (hs_json_next_key(&json, &key) && pcs->err == 0) {
            read_named(pcs, process, &json, "name");
        }
    } else if (event->is_dump && hs_json_enter(&json, '[')) {
        while (hs_json_next_element(&json) && pcs->err == 0) {
            read_named(pcs, process, &json, "string");
        }
    }
    pcs->err = pcs->err ? pcs->err : json.err;
    hs_json_end(&json);
}

/* --- events --- */

static void read_parts(struct hs_infra_pcs *pcs, const struct event *event)
{
    if (event->is_frames) {
        read_names(pcs, event, hs_json_find(event->args, pcs->end, "stackFrames", &pcs->err));
    } else if (event->is_dump) {
        const char *dumps = hs_json_find(event->args, pcs->end, "dumps", &pcs->err);
        const char *mmaps = hs_json_find(dumps, pcs->end, "process_mmaps", &pcs->err);
        const char *heaps = hs_json_find(dumps, pcs->end, "heaps_v2", &pcs->err);
        const char *maps = hs_json_find(heaps, pcs->end, "maps", &pcs->err);
        read_map(pcs, event, hs_json_find(mmaps, pcs->end, "vm_regions", &pcs->err));
        read_names(pcs, event, hs_json_find(maps, pcs->end, "strings", &pcs->err));
    }
}

static bool is_text(struct hs_json_reader *json, const char *with)
{
    struct hs_json_text text;
    return hs_json_read_text(json, &text) && hs_json_text_is(&text, with);
}

static void read_event(struct hs_infra_pcs *pcs, struct hs_json_reader *json)
{
    struct event event = { 0 };
    struct hs_json_text key;
    double number;
    if (!hs_json_enter(json, '{')) {
        return;
    }
    while (hs_json_next_key(json, &key)) {
        if (hs_json_text_is(&key, "ph")) {
            event.is_dump = is_text(json, "v");
        } else if (hs_json_text_is(&key, "name")) {
            event.is_frames = is_text(json, "stackFrames");
        } else if (hs_json_text_is(&key, "pid")) {
            bool is_pid = hs_json_read_number(json, &number) && number >= 0 && number < 0x1p53;
            event.pid = is_pid ? (uint64_t)number : 0;
        } else if (hs_json_text_is(&key, "ts")) {
            event.us = hs_json_read_number(json, &number) && number > 0 ? number : 0;
        } else {
            event.args = hs_json_text_is(&key, "args") ? hs_json_place(json) : event.args;
            hs_json_skip(json);
        }
    }
    event.is_frames &= !event.is_dump;
    if (event.args && pcs->err == 0) {
        read_parts(pcs, &event);
    }
}

static void read_events(struct hs_infra_pcs *pcs, struct hs_json_reader *json)
{
    if (hs_json_enter(json, '[')) {
        while (hs_json_next_element(json) && pcs->err == 0) {
            read_event(pcs, json);
        }
    }
}

static void resolve(const struct hs_infra_pcs *pcs, struct hs_infra_pc *pc)
{
    const struct hs_infra_map *map = &pcs->maps[pc->module];
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->regions[middle].start_va <= pc->pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    pc->module = HS_INFRA_NOWHERE;
    if (low > 0 && pc->pc < map->regions[low - 1].end_va) {
        const struct region *region = &map->regions[low - 1];
        pc->module = region->module;
        pc->pc = pc->pc - region->start_va + region->link_va;
    }
}

static int compare_pcs(const void *a, const void *b)
{
    const struct hs_infra_pc *x = a, *y = b;
    return x->text_off < y->text_off ? -1 : x->text_off > y->text_off;
}

int hs_infra_pcs_find(struct hs_infra_pcs *pcs, const char *text, size_t bytes)
{
    struct hs_json_reader json;
    struct hs_json_text key;
    *pcs = (struct hs_infra_pcs){ .text = text, .end = text + bytes };
    hs_json_begin(&json, text, pcs->end);
    if (hs_json_peek(&json) == '[') {
        read_events(pcs, &json);
    } else if (hs_json_enter(&json, '{')) {
        while (hs_json_next_key(&json, &key) && pcs->err == 0) {
            if (hs_json_text_is(&key, "traceEvents")) {
                read_events(pcs, &json);
            } else {
                hs_json_skip(&json);
            }
        }
    }
    pcs->err = pcs->err ? pcs->err : json.err;
    pcs->is_bad = json.is_bad;
    pcs->is_cut = json.is_cut;
    hs_json_end(&json);
    for (size_t i = 0; i < pcs->count && pcs->err == 0; i++) {
        resolve(pcs, &pcs->pcs[i]);
    }
    if (pcs->count > 0) {
        qsort(pcs->pcs, pcs->count, sizeof(pcs->pcs[0]), compare_pcs);
    }
    return pcs->err;
}
