/*
 * The tables that a MemoryInfra trace refers to: strings, types, nodes of stacks, and code regions.
 *
 * Readers keep tables for each process, but look ids up in those of all processes, so that an id is
 * given once in the whole file. A table is written piece by piece: each dump has the entries that
 * are new since the previous dump of its process.
 *
 * A frame without a name is called "pc:" and its address in the process. That is done only where a
 * reader finds the frame's module at the address; elsewhere the name is the module and the offset.
 *
 * Holds     ids are 1, 2, ..., and 0 of the type that is not known; a parent has a lower id than
 *           its children. Two nodes of a process with the same parent have different names. The
 *           regions of a process do not overlap.
 * Threads   one user.
 * Fails     by setting err; all ids are 0 then.
 * See       memory_infra.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "util/buf.h"
#include "util/intern.h"

/* The type of blocks whose type is not known, and of small parts that were recorded as one. */
#define HS_INFRA_TYPE_UNKNOWN      0
#define HS_INFRA_TYPE_UNKNOWN_NAME "[unknown]"
#define HS_INFRA_TYPE_OTHERS_NAME  "(others)"

struct hs_infra_region {
    uint64_t start_va, end_va;
    uint64_t bias_va; /* of the module in this process */
    uint32_t module;
    bool is_used; /* a stack has a frame in it */
};

struct hs_infra_process {
    struct hs_infra_region *regions; /* sorted by address */
    size_t region_count, region_capacity;
    bool is_known;
};

struct hs_infra_string {
    uint64_t id;
    size_t text_off; /* in new_texts; a NUL ends it */
};

struct hs_infra_node {
    uint64_t id, parent; /* parent 0: an outermost frame */
    uint64_t name_sid;
};

struct hs_infra_type {
    uint64_t id, name_sid;
};

struct hs_infra_maps {
    const struct hs_profile *profile;
    struct hs_infra_process *processes;
    uint32_t process; /* the current one */
    /* scratch: the last process + 1 whose stacks have this node, or a frame in this module */
    uint32_t *node_marks, *module_marks;
    /* since the last hs_infra_maps_clear_new() */
    struct hs_infra_string *new_strings;
    size_t new_string_count, new_string_capacity;
    struct hs_buf new_texts;
    struct hs_infra_node *new_nodes;
    size_t new_node_count, new_node_capacity;
    struct hs_infra_type *new_types;
    size_t new_type_count, new_type_capacity;
    /* of all processes */
    struct hs_intern strings, nodes, stacks, types;
    /* by the numbers of the tables above */
    uint64_t *string_ids, *node_ids, *stack_ids, *type_ids;
    size_t string_capacity, node_capacity, stack_capacity, type_capacity;
    uint64_t last_id;
    uint32_t *path; /* scratch: nodes of the profile */
    size_t path_capacity;
    int err;
};

/* Initializes empty tables for this profile. */
void hs_infra_maps_init(struct hs_infra_maps *maps, const struct hs_profile *profile);
/* Frees the memory. */
void hs_infra_maps_deinit(struct hs_infra_maps *maps);

/* The ids that follow are those of this process. Finds its regions. */
void hs_infra_maps_begin(struct hs_infra_maps *maps, uint32_t process);
/* The id of a string. */
uint64_t hs_infra_string(struct hs_infra_maps *maps, const char *text);
/* The id of the innermost node of a stack of the profile. */
uint64_t hs_infra_stack(struct hs_infra_maps *maps, uint32_t node);
/* The id of the type with this name; HS_INFRA_TYPE_UNKNOWN_NAME and "" are of the type that is not
 * known. */
uint64_t hs_infra_type(struct hs_infra_maps *maps, const char *name);
/* Forgets which entries are new. */
void hs_infra_maps_clear_new(struct hs_infra_maps *maps);
