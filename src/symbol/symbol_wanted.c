/*
 * Collects modules and addresses. See symbol_wanted.h.
 */
#include "symbol/symbol_wanted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void hs_symbol_wanted_deinit(struct hs_symbol_wanted *wanted)
{
    for (uint32_t i = 0; i < wanted->module_ids.count && wanted->modules; i++) {
        free(wanted->modules[i].path);
        free(wanted->modules[i].build_id);
    }
    free(wanted->modules);
    free(wanted->pcs);
    free(wanted->requests);
    free(wanted->request_pcs);
    hs_intern_deinit(&wanted->module_ids);
    hs_intern_deinit(&wanted->pc_ids);
    *wanted = (struct hs_symbol_wanted){ 0 };
}

static struct hs_intern_key module_key(const char *path, const uint8_t *build_id,
                                       size_t build_id_bytes, uint32_t pid)
{
    struct hs_intern_key id_key = hs_intern_hash(build_id, build_id_bytes);
    struct hs_intern_key key = hs_intern_hash(path, strlen(path));
    bool is_by_process = strcmp(path, HS_SYMBOL_PATH_ANON) == 0;
    key = hs_intern_mix(hs_intern_mix(key, id_key.hi), id_key.lo);
    return hs_intern_mix(key, is_by_process ? pid : 0);
}

static struct hs_intern_key pc_key(uint32_t module, uint64_t rel_pc)
{
    struct hs_intern_key key = { .hi = module, .lo = rel_pc };
    return hs_intern_mix(key, rel_pc);
}

int hs_symbol_wanted_module(struct hs_symbol_wanted *wanted, const char *path,
                            const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                            uint32_t *ret_module)
{
    /* The array is extended first, so that every id has its element. */
    int err = hs_array_reserve(&wanted->modules, &wanted->module_capacity,
                               (size_t)wanted->module_ids.count + 1, sizeof(*wanted->modules));
    if (err != 0) {
        return err;
    }
    uint32_t id;
    bool is_new;
    err = hs_intern_put(&wanted->module_ids, module_key(path, build_id, build_id_bytes, pid), &id,
                        &is_new);
    if (err != 0) {
        return err;
    }
    struct hs_symbol_wanted_module *module = &wanted->modules[id];
    if (is_new) {
        *module = (struct hs_symbol_wanted_module){ 0 };
    }
    /* A module that is not new but has no path: memory was short the last time. */
    if (!module->path) {
        char *own_path = strdup(path);
        uint8_t *own_id = malloc(build_id_bytes + 1);
        if (!own_path || !own_id) {
            free(own_path);
            free(own_id);
            return -ENOMEM;
        }
        if (build_id_bytes > 0) {
            memcpy(own_id, build_id, build_id_bytes);
        }
        *module = (struct hs_symbol_wanted_module){
            .path = own_path, .build_id = own_id, .build_id_bytes = build_id_bytes, .pid = pid
        };
    }
    *ret_module = id;
    return 0;
}

int hs_symbol_wanted_pc_id(struct hs_symbol_wanted *wanted, uint32_t module, uint64_t rel_pc,
                           uint32_t *ret_id)
{
    int err = hs_array_reserve(&wanted->pcs, &wanted->pc_capacity, (size_t)wanted->pc_ids.count + 1,
                               sizeof(*wanted->pcs));
    if (err != 0) {
        return err;
    }
    bool is_new;
    err = hs_intern_put(&wanted->pc_ids, pc_key(module, rel_pc), ret_id, &is_new);
    if (err == 0 && is_new) {
        wanted->pcs[*ret_id] = (struct hs_symbol_wanted_pc){ .rel_pc = rel_pc, .module = module };
    }
    return err;
}

int hs_symbol_wanted_pc(struct hs_symbol_wanted *wanted, uint32_t module, uint64_t rel_pc)
{
    uint32_t id;
    return hs_symbol_wanted_pc_id(wanted, module, rel_pc, &id);
}

int hs_symbol_wanted_requests(struct hs_symbol_wanted *wanted,
                              const struct hs_symbol_request **ret_requests, size_t *ret_count)
{
    size_t count = wanted->module_ids.count;
    size_t pc_count = wanted->pc_ids.count;
    struct hs_symbol_request *requests = calloc(count + 1, sizeof(*requests));
    uint64_t *pcs = calloc(pc_count + 1, sizeof(*pcs));
    if (!requests || !pcs) {
        free(requests);
        free(pcs);
        return -ENOMEM;
    }
    for (size_t i = 0; i < pc_count; i++) {
        requests[wanted->pcs[i].module].rel_pc_count++;
    }
    uint64_t *next = pcs;
    for (size_t i = 0; i < count; i++) {
        const struct hs_symbol_wanted_module *module = &wanted->modules[i];
        requests[i].path = module->path ? module->path : "";
        requests[i].build_id = module->build_id;
        requests[i].build_id_bytes = module->build_id_bytes;
        requests[i].pid = module->pid;
        requests[i].rel_pcs = next;
        next += requests[i].rel_pc_count;
        requests[i].rel_pc_count = 0;
    }
    for (size_t i = 0; i < pc_count; i++) {
        struct hs_symbol_request *request = &requests[wanted->pcs[i].module];
        wanted->pcs[i].slot = (uint32_t)request->rel_pc_count++;
        pcs[(size_t)(request->rel_pcs - pcs) + wanted->pcs[i].slot] = wanted->pcs[i].rel_pc;
    }
    free(wanted->requests);
    free(wanted->request_pcs);
    wanted->requests = requests;
    wanted->request_pcs = pcs;
    *ret_requests = requests;
    *ret_count = count;
    return 0;
}

bool hs_symbol_wanted_find(const struct hs_symbol_wanted *wanted, const char *path,
                           const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                           uint64_t rel_pc, uint32_t *ret_module, uint32_t *ret_slot)
{
    uint32_t module, id;
    if (!hs_intern_find(&wanted->module_ids, module_key(path, build_id, build_id_bytes, pid),
                        &module) ||
        !hs_intern_find(&wanted->pc_ids, pc_key(module, rel_pc), &id)) {
        return false;
    }
    *ret_module = module;
    *ret_slot = wanted->pcs[id].slot;
    return true;
}
