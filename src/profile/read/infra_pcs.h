/*
 * The frames of a MemoryInfra trace that are only addresses ("pc:7f3a10"): where their names stand
 * in the text, and which module and link-time address each one means.
 *
 * Names are strings of heaps_v2, and names of stackFrames in the older form. The last map of a
 * process counts, by its time, for all of its dumps. An address in it means
 * `pc - sa + fo` in the file of its region. Without `fo`, the first region of the file is taken as
 * the place of the file's address 0.
 *
 * Ensures   the strings do not overlap, and are sorted by their place. Work is in proportion to the
 *           text, and memory to the number of addresses and of modules.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW.
 * See       load_memory_infra.c, which reads the whole trace into a profile
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "util/intern.h"

#define HS_INFRA_NOWHERE UINT32_MAX

struct hs_infra_module {
    char *path;
    uint8_t build_id[HS_BUILD_ID_MAX];
    size_t build_id_bytes; /* 0: unknown */
};

struct hs_infra_pc {
    size_t text_off;     /* of the string, which begins with its quote */
    uint32_t text_bytes; /* with both quotes */
    uint32_t module;     /* index; HS_INFRA_NOWHERE: in no region */
    uint64_t pc;         /* link-time address; as it stands in the text when it is in no region */
};

struct hs_infra_map; /* of a process */

/* Zero-initialized is empty. */
struct hs_infra_pcs {
    struct hs_infra_pc *pcs;
    size_t count, capacity;
    struct hs_infra_module *modules;
    size_t module_capacity;
    struct hs_intern module_ids, pids;
    struct hs_infra_map *maps; /* by number of the pid */
    size_t map_capacity;
    const char *text, *end;
    bool is_bad, is_cut; /* the text is no JSON; it ends too early */
    int err;
};

/* Finds the addresses in a text. 0 or -errno. */
int hs_infra_pcs_find(struct hs_infra_pcs *pcs, const char *text, size_t bytes);
/* Frees the memory. */
void hs_infra_pcs_deinit(struct hs_infra_pcs *pcs);
