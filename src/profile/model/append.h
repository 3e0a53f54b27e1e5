/*
 * Adds strings, frames and nodes to a profile that is finished, for computations that give its
 * samples other stacks.
 *
 * Ensures   a node is appended behind its parent, so that the invariants of profile.h stay true.
 * Threads   one user, and no reader meanwhile.
 * Fails     by setting err: -ENOMEM, -EOVERFLOW. Ids are 0 then, and nothing is added.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "util/intern.h"

struct hs_append {
    struct hs_profile *p;
    size_t string_capacity, frame_capacity, node_capacity, module_capacity;
    /* names of frames, frames by name, and nodes by parent and frame that were added */
    struct hs_intern names, frames, nodes;
    uint32_t *strings, *frame_ids, *node_ids; /* by the numbers of the tables */
    size_t strings_capacity, frame_ids_capacity, node_ids_capacity;
    uint32_t module; /* of the frames: one without a path; UINT32_MAX until it is needed */
    int err;
};

/* Begins to add to a profile. */
void hs_append_init(struct hs_append *append, struct hs_profile *profile);
/* Frees what was needed for adding. What was added stays. */
void hs_append_deinit(struct hs_append *append);

/* The string with this text, which is added once. */
uint32_t hs_append_string(struct hs_append *append, const char *text);
/* The frame that has this name and no code, which is added once. */
uint32_t hs_append_frame(struct hs_append *append, const char *name, enum hs_frame_kind kind);
/* The node of a frame of the profile below `parent`, which may be HS_NODE_NONE. It is added once,
 * and is another one than those that the profile had. */
uint32_t hs_append_node(struct hs_append *append, uint32_t parent, uint32_t frame);
