/*
 * The call tree of the page: modules, functions, frames and nodes, which all files, snapshots and
 * heaps share.
 *
 * Each file is folded by hs_agg_build_tree(); its tree is then put into the common one, in which
 * equal names are equal functions. Classes and wrappers are those that the report of the file has.
 *
 * Holds     parent < own index.
 * Threads   one user while it is built; then any number of readers.
 * Fails     -ENOMEM, -EOVERFLOW
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "page/page_names.h"
#include "profile/analyse/aggregate.h"

struct hs_page_module {
    uint32_t path, name, build_id; /* strings */
    bool is_program;
};

struct hs_page_function {
    uint32_t name, short_name; /* strings */
    uint32_t module;           /* UINT32_MAX: none */
    uint32_t file, folded;     /* strings; 0: none */
    uint32_t same;             /* of functions that are one in a comparison */
    uint8_t class_;            /* enum hs_frame_class */
    uint8_t kind;              /* enum hs_frame_kind */
    bool is_nameless, is_wrapper;
};

struct hs_page_frame {
    uint32_t function;
    uint32_t file, line; /* string; 0: unknown */
    bool is_inlined;
};

struct hs_page_node {
    uint32_t parent; /* HS_NODE_NONE: outermost */
    uint32_t frame;
};

struct hs_page_tree {
    struct hs_page_names *names;
    struct hs_intern module_ids, function_ids, frame_ids, node_ids, same_ids;
    struct hs_page_module *modules;
    struct hs_page_function *functions;
    struct hs_page_frame *frames;
    struct hs_page_node *nodes;
    size_t module_capacity, function_capacity, frame_capacity, node_capacity;
};

/* The tree of one file, and where it is in the common one. */
struct hs_page_branch {
    struct hs_agg agg; /* as hs_agg_build_tree() makes it */
    uint32_t *node_of; /* by node of agg */
};

/* Frees the tree, but not the names. */
void hs_page_tree_deinit(struct hs_page_tree *tree);
/* Frees the branch. */
void hs_page_branch_deinit(struct hs_page_branch *branch);

/*
 * Adds the stacks of a file: those of the samples of the dumps that are marked in is_kept. The
 * selection is the one that its report shows.
 */
int hs_page_tree_add(struct hs_page_tree *tree, const struct hs_selection *selection,
                     const bool *is_kept, struct hs_page_branch *ret_branch);

/* The node of the tree at which a stack of the file ends; `node` is one of the profile. */
static inline uint32_t hs_page_branch_node(const struct hs_page_branch *branch, uint32_t node)
{
    return branch->node_of[branch->agg.malloc_nodes[node]];
}

struct hs_json;
/* Writes the fields "modules", "functions", "frames" and "tree" of the open object. */
void hs_page_tree_write(const struct hs_page_tree *tree, struct hs_json *json);
