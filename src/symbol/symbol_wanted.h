/*
 * What to look up: modules and addresses as they are met, each once, made into requests.
 *
 * A profile of a build has a thousand processes that ran the same compiler. Their modules are the
 * same when path and build id are, wherever they were mapped; so the work is that of one.
 * Code made at run time is different in each process: there the pid counts too.
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
    uint32_t slot;   /* place among its request's addresses, once they are made */
};

/* Zero-initialised is empty. */
struct hs_symbol_wanted {
    struct hs_intern module_ids;
    struct hs_intern pc_ids;
    struct hs_symbol_wanted_module *modules; /* by id */
    struct hs_symbol_wanted_pc *pcs;
    size_t module_capacity;
    size_t pc_capacity;
    struct hs_symbol_request *requests; /* by module, once they are made */
    uint64_t *request_pcs;
};

void hs_symbol_wanted_deinit(struct hs_symbol_wanted *wanted);

/* *ret_module numbers the modules 0, 1, 2 ... pid counts for HS_SYMBOL_PATH_ANON only. */
int hs_symbol_wanted_module(struct hs_symbol_wanted *wanted, const char *path,
                            const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                            uint32_t *ret_module);
int hs_symbol_wanted_pc(struct hs_symbol_wanted *wanted, uint32_t module, uint64_t rel_pc);

/* Where the answer for an address will be: table number *ret_module, span *ret_slot. False when it was
 * never added. After hs_symbol_wanted_requests(). */
bool hs_symbol_wanted_find(const struct hs_symbol_wanted *wanted, const char *path,
                           const uint8_t *build_id, size_t build_id_bytes, uint32_t pid,
                           uint64_t rel_pc, uint32_t *ret_module, uint32_t *ret_slot);

/*
 * The requests: one for each module, in the order of their numbers; addresses in the order they were
 * added. They live as long as `wanted`, and no more may be added.
 */
int hs_symbol_wanted_requests(struct hs_symbol_wanted *wanted,
                              const struct hs_symbol_request **ret_requests, size_t *ret_count);
