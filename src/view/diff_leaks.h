/*
 * What each heap of each process has more of than before, in the form of Chrome's
 * diff_heap_profiler: the stacks that gained more than a number of objects and of bytes.
 *
 * Values are those of a stack itself. Chrome's script subtracts callees from callers even if the
 * values are such, so that functions which allocate and call others that do go missing there.
 *
 * A process is compared with the one that has its pid and its name, or else, in the order of the
 * files, with one that has its name; without one, all that it has is new. Stacks are the same when
 * the names of their frames are; a frame without a name is its module's file name and the offset.
 *
 * Types are those of the parts of what lives, or lived at the peak. A stack is listed with the
 * types of which there are more objects than before; of what was allocated they are not known.
 *
 * Ensures   the file names of all lists differ.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW.
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "util/intern.h"
#include "view/infra_names.h"

struct hs_buf;

struct hs_diff_leak {
    uint32_t heap; /* index in heaps of the profile after */
    uint32_t node; /* in nodes of hs_diff_leaks */
    double bytes, count;
};

/* What of a stack is of one type. */
struct hs_diff_leak_type {
    uint32_t heap, node; /* as in hs_diff_leak */
    uint32_t name;       /* in texts; of an unknown one HS_INFRA_TYPE_UNKNOWN_NAME */
    double count;
};

/* One heap of one process. */
struct hs_diff_leak_list {
    uint32_t process, heap; /* indices in the profile after */
    uint32_t first, count;  /* in leaks; the largest first */
    /* in types; by heap, node and name: those of all stacks of the process */
    uint32_t type_first, type_count;
};

struct hs_diff_leak_node {
    uint32_t parent; /* HS_NODE_NONE: outermost */
    uint32_t name;
};

struct hs_diff_leaks {
    const struct hs_profile *profiles[2];
    struct hs_infra_names names; /* of the profile after */
    struct hs_diff_leak *leaks;
    size_t leak_count, leak_capacity;
    struct hs_diff_leak_type *types;
    size_t type_count, type_capacity;
    struct hs_diff_leak_list *lists;
    size_t list_count, list_capacity;
    struct hs_intern node_ids, name_ids;
    struct hs_diff_leak_node *nodes;
    size_t node_capacity;
    size_t *name_offs; /* in texts; each ends in a NUL */
    size_t name_capacity;
    struct hs_buf *texts;
};

/* Both must be exceeded. */
struct hs_diff_leak_limits {
    double bytes, count;
};

/* Compares two selections. The view says which figures are meant: live, allocated, or peak. */
int hs_diff_leaks_build(const struct hs_selection *before, const struct hs_selection *after,
                        enum hs_view view, const struct hs_diff_leak_limits *limits,
                        struct hs_diff_leaks *ret_leaks);
/* Frees what the lists own. */
void hs_diff_leaks_deinit(struct hs_diff_leaks *leaks);

/* Writes the name of a list's file: "process_12_malloc-leaks.json". */
void hs_diff_leaks_write_name(const struct hs_diff_leaks *leaks, size_t list, struct hs_buf *buf);
/* Writes a list. Returns 0 or -errno. */
int hs_diff_leaks_write(const struct hs_diff_leaks *leaks, size_t list, struct hs_buf *buf);
