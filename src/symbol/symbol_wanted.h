/*
 * Collects the modules and addresses to look up, each once, and makes requests of them.
 *
 * The profile of a build may contain a thousand processes that ran the same compiler. Modules are
 * the same when path and build id are, wherever they were mapped, so that their names are looked up
 * once. Code made at run time is different in each process; for it the pid counts too.
 *
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW; what was added before stays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbolizer.h"
#include "util/intern.h"

struct hs_symbol_wanted_module {
    char *path;
    uint8_t *build_id;
    size_t build_id_bytes;
    uint32_t pid;
};

struct hs_symbol_wanted_pc {
    uint64_t rel_pc;
    uint32_t module; /* number of a wanted module */
    uint32_t slot;   /* index among the addresses of its request, once requests are made */
};

/* Zero-initialized is empty. */
struct hs_symbol_wanted {
    struct hs_intern module_ids;
    struct hs_intern pc_ids;
    struct hs_symbol_wanted_module *modules; /* by id */
    struct hs_symbol_wanted_pc *pcs;
    size_t module_capacity;
    size_t pc_capacity;
    struct hs_symbol_request *requests; /* by module, once requests are made */
    uint64_t *request_pcs;
};

/* Frees everything, the requests too. */
void hs_symbol_wanted_deinit(struct hs_symbol_wanted *wanted);

/*
 * Adds a module, or finds it; *ret_module is its number (0, 1, 2 ...). `pid` counts for
 * HS_SYMBOL_PATH_ANON only.
 */
int hs_symbol_wanted_module(struct hs_symbol_wanted *wanted, const char *path,
                            const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                            uint32_t *ret_module);
/* Adds an address of a module. The second one also says its number, the index in `pcs`. */
int hs_symbol_wanted_pc(struct hs_symbol_wanted *wanted, uint32_t module, uint64_t rel_pc);
int hs_symbol_wanted_pc_id(struct hs_symbol_wanted *wanted, uint32_t module, uint64_t rel_pc,
                           uint32_t *ret_id);

/*
 * Finds where the names of an address will be: in table number *ret_module, span *ret_slot. False
 * when it was never added. Call it after hs_symbol_wanted_requests().
 */
bool hs_symbol_wanted_find(const struct hs_symbol_wanted *wanted, const char *path,
                           const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                           uint64_t rel_pc, uint32_t *ret_module, uint32_t *ret_slot);

/*
 * Makes the requests: one for each module, in the order of their numbers, with addresses in the
 * order in which they were added. They live as long as `wanted`; afterwards nothing may be added.
 */
int hs_symbol_wanted_requests(struct hs_symbol_wanted *wanted,
                              const struct hs_symbol_request **ret_requests, size_t *ret_count);
