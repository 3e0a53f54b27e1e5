/*
 * Folds the selected stacks into a tree of functions, from which every view takes its figures.
 *
 * The profile's own tree has a node for each return address. Users think in functions, and an
 * inlined call is a function of its own. The selected dumps are therefore folded into a tree whose
 * nodes are distinguished by function and, on request, by line. The "self" of a node is what was
 * allocated at the node; its "total" is that and everything below it.
 *
 *     main                          self  0   total 70
 *     |- load                       self  0   total 60
 *     |  |- parse                   self 40   total 40
 *     |  `- operator new            self 20   total 20     headline of this stack: load
 *     `- init                       self 10   total 10
 *
 * In the table of functions, the total of a function counts each stack once, however often the
 * function is in it (recursion). The self of a function includes what allocation functions
 * (frame_class.h) allocated on its behalf.
 *
 * When the selection has more than one heap, the stacks of every heap other than libc.malloc hang
 * below a node "[heap NAME]", so that no stack adds up the memory of two heaps.
 *
 * Holds     parent < own id; the depth of a child is its parent's + 1; selves are ordered by node.
 *           The sum of all selves is the sum of the selected dumps' samples.
 * Threads   immutable once built.
 * Fails     -ENOMEM; -EOVERFLOW for more than 2^31 nodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/analyse/select.h"
#include "profile/model/margin.h"
#include "profile/model/profile.h"
#include "rt/check.h"

struct hs_buf;

enum hs_quantity {
    HS_QUANTITY_LIVE,
    HS_QUANTITY_ALLOC,
    HS_QUANTITY_PEAK,
    HS_QUANTITY_N,
};

enum hs_view {
    HS_VIEW_SPACE,
    HS_VIEW_OBJECTS,
    HS_VIEW_ALLOC_SPACE,
    HS_VIEW_ALLOC_OBJECTS,
    HS_VIEW_PEAK,
    HS_VIEW_N,
};

struct hs_view_info {
    const char *name;  /* as in --view */
    const char *title; /* "live memory" */
    enum hs_quantity quantity;
    bool is_count; /* objects, not bytes */
};

extern const struct hs_view_info hs_views[HS_VIEW_N];
/* The title of a view. It stays true when each of several processes has its own peak. */
const char *hs_view_title(enum hs_view view, bool is_peak_of_several);

#define HS_VIEW_AUTO HS_VIEW_N

/*
 * Chooses the view to show: `wanted`, or for HS_VIEW_AUTO the one that fits the profile.
 * *ret_reason is a clause that can follow "as" and says why the view is not the live memory; NULL
 * when there is no such reason. HS_SELECT_E_NO_PEAK: the peak is wanted and was not recorded.
 */
int hs_view_choose(const struct hs_selection *selection, enum hs_view wanted,
                   enum hs_view *ret_view, const char **ret_reason);

struct hs_agg_function {
    uint32_t name;   /* string id; 0: only its address is known */
    uint32_t module; /* index in modules; UINT32_MAX: none */
    uint32_t file;   /* string id: of a function that an interpreter runs; otherwise 0 */
    uint64_t rel_pc; /* only for a function without a name */
    uint8_t kind;    /* enum hs_frame_kind */
    uint8_t class_;  /* enum hs_frame_class */
    bool is_wrapper; /* found by wrappers.h: it allocates on behalf of its callers */
    /* not a function but a heap with this name; the outermost node of its stacks */
    bool is_heap;
};

struct hs_agg_node {
    uint32_t parent; /* HS_NODE_NONE: outermost */
    uint32_t function;
    uint32_t line; /* index in the profile's lines, of the first stack seen; UINT32_MAX: none */
    uint32_t depth;
};

/* What was allocated at a node itself. */
struct hs_agg_self {
    uint32_t node;
    struct hs_amount by[HS_QUANTITY_N];
};

struct hs_agg {
    const struct hs_profile *profile;
    /*
     * sample_least_bytes of the selection: any figure may lack samples of this weight. A figure
     * with samples of a heap with a wider interval may lack heavier ones.
     */
    float interval_bytes;
    struct hs_agg_function *functions;
    uint32_t function_count;
    struct hs_agg_node *nodes;
    uint32_t node_count;
    /* By node of the profile: the node of libc.malloc's stack that ends there; HS_NODE_NONE: no
     * such stack is selected. */
    uint32_t *malloc_nodes;
    uint32_t *mmap_nodes; /* the same of the heap mmap */
    /* By position among the samples of the selected dumps, dump after dump: the node where the
     * sample's stack ends. */
    uint32_t *sample_nodes;
    struct hs_agg_self *selves;
    uint32_t self_count;
};

struct hs_agg_row {
    uint32_t function;
    struct hs_amount self, total;
};

/*
 * Builds the tree of a selection; with is_by_line, lines distinguish nodes too. The profile must
 * outlive it. 0, -ENOMEM, -EOVERFLOW.
 */
int hs_agg_build(const struct hs_selection *selection, bool is_by_line, struct hs_agg *ret_agg);
/*
 * Builds a tree by line without figures, of the stacks that end at the marked nodes of the profile,
 * whatever their heaps: malloc_nodes tells where they end. Marks the nodes above them as well. The
 * profile must outlive it. 0, -ENOMEM, -EOVERFLOW.
 */
int hs_agg_build_tree(const struct hs_profile *profile, bool *is_used, struct hs_agg *ret_agg);
/* Frees the arrays of the tree. */
void hs_agg_deinit(struct hs_agg *agg);
#if HS_HAS_CHECKS
/* For tests: whether parents, depths and the order of the selves are as stated under Holds. */
bool hs_agg_is_valid(const struct hs_agg *agg);
#endif

/*
 * The amount that is 100 % in a view: the totals that the dumps state, or the sum of their stacks
 * if that is larger. Stacks that were lost are in the first and not in the second.
 */
struct hs_amount hs_agg_total(const struct hs_agg *agg, const struct hs_selection *selection,
                              enum hs_view view);

/* The totals of all nodes, by node id. The caller frees them. 0 or -ENOMEM. */
int hs_agg_totals(const struct hs_agg *agg, enum hs_quantity quantity,
                  struct hs_amount **ret_totals);

/*
 * A row for each function with a figure above 0, in order of ids. The caller frees them. 0 or
 * -ENOMEM.
 */
int hs_agg_functions(const struct hs_agg *agg, enum hs_quantity quantity,
                     struct hs_agg_row **ret_rows, uint32_t *ret_row_count);

enum hs_agg_order {
    HS_AGG_BY_SELF,
    HS_AGG_BY_TOTAL,
};

/* Sorts rows, the largest first; equal rows by id, so that two runs print the same. */
void hs_agg_sort_functions(struct hs_agg_row *rows, uint32_t row_count, enum hs_view view,
                           enum hs_agg_order order);

/*
 * Indices into selves, the largest first, without those that are 0. The caller frees them. 0 or
 * -ENOMEM.
 */
int hs_agg_sorted_stacks(const struct hs_agg *agg, enum hs_view view, uint32_t **ret_order,
                         uint32_t *ret_count);

/*
 * The children of all nodes, the largest first: those of node n are children[first[n] .. first[n +
 * 1]). The outermost nodes are the children of n == node_count.
 */
struct hs_agg_children {
    uint32_t *first; /* node_count + 2 */
    uint32_t *children;
};

/* Lists the children of all nodes; `totals` are those of hs_agg_totals(). 0 or -ENOMEM. */
int hs_agg_children_build(const struct hs_agg *agg, const struct hs_amount *totals,
                          enum hs_view view, struct hs_agg_children *ret_children);
/* Frees both arrays. */
void hs_agg_children_deinit(struct hs_agg_children *children);

/*
 * The node that names the stack which ends at `node`, and whose function the stack counts for in a
 * table of functions: the innermost frame of the program itself; if there is none, the innermost
 * one of a language's library or runtime. So every view makes the same function responsible.
 */
uint32_t hs_agg_headline(const struct hs_agg *agg, uint32_t node);

/*
 * Writes the name of a function: "parse(char const*)", "libfoo.so+0x1a2b", "0x7f12...". The text is
 * raw: neither shortened nor sanitized.
 */
void hs_agg_write_function(const struct hs_agg *agg, uint32_t function, struct hs_buf *buf);

/* The value of an amount in a view: bytes or objects. */
static inline double hs_view_value(enum hs_view view, const struct hs_amount *amount)
{
    return hs_views[view].is_count ? amount->count : amount->bytes;
}

/* The same with its margins. */
static inline struct hs_figure hs_view_figure(enum hs_view view, const struct hs_amount *amount)
{
    return hs_figure_of(amount, hs_views[view].is_count);
}
