/*
 * Compares two states of memory: what grew, what shrank, what is new, what is gone, and what is
 * noise.
 *
 * Both selections are folded into one tree of functions. A function is the same on both sides when
 * its name and its module are the same. Addresses, lines, folders and versions of libraries do not
 * count, so that two builds of a program can be compared. The program itself is the same module
 * whatever its file is called. A frame without a name is identified by its build id and address, or
 * by its module and address.
 *
 *     before                    after                     function   before after
 *     main -> load -> parse 40  main -> load -> parse 90  parse          40    90  grew
 *     main -> init 10           main -> init 10           init           10    10  same
 *                               main -> log 20            log             0    20  new
 *
 * Significance. Each side has a 95 % interval (margin.h) [v - below, v + above]. The interval of
 * the difference d = after - before combines the two, as independent errors add up (G. Y. Zou, A.
 * Donner, Statistics in Medicine 27, 2008):
 *
 *     d - sqrt(below_after^2 + above_before^2)  ..  d + sqrt(above_after^2 + below_before^2)
 *
 * A side without a sample may still hold blocks that no sample hit, even if it has exact blocks:
 * its `above` is then 1.96^2 samples. A difference whose interval contains 0 is noise. Only
 * profiles that recorded every allocation have no margin. docs/SAMPLING.md says what that means for
 * many rows and for two snapshots of one process.
 *
 * Holds     parent < own id. The sum of all selves of a side is the sum of its samples.
 * Threads   immutable once built.
 * Fails     -ENOMEM; -EOVERFLOW for more than 2^31 nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "rt/check.h"
#include "util/buf.h"

enum hs_diff_side {
    HS_DIFF_BEFORE,
    HS_DIFF_AFTER,
    HS_DIFF_SIDE_N,
};

enum hs_diff_verdict {
    HS_DIFF_GREW,
    HS_DIFF_SHRANK,
    HS_DIFF_NEW,
    HS_DIFF_GONE,
    HS_DIFF_NOISE, /* the difference is not larger than chance explains */
    HS_DIFF_SAME,  /* no difference */
    HS_DIFF_VERDICT_N,
};

extern const char *const hs_diff_verdict_names[HS_DIFF_VERDICT_N];

struct hs_diff_amounts {
    struct hs_amount by[HS_DIFF_SIDE_N];
};

struct hs_diff_function {
    size_t name_off, module_off; /* offsets in `text`; the module of the program itself is "" */
    struct hs_diff_amounts self; /* including what allocation functions allocated on its behalf */
    struct hs_diff_amounts total;
};

struct hs_diff_node {
    uint32_t parent; /* HS_NODE_NONE: outermost */
    uint32_t function;
    uint32_t depth;
    struct hs_diff_amounts self, total;
};

/* All processes of one name. */
struct hs_diff_process {
    size_t name_off;
    uint32_t counts[HS_DIFF_SIDE_N]; /* number of selected processes */
    struct hs_diff_amounts total;    /* of their dumps */
};

struct hs_diff {
    enum hs_view view;
    bool is_peak_of_several;               /* on at least one side, as in struct hs_selection */
    double interval_bytes[HS_DIFF_SIDE_N]; /* sample_most_bytes (select.h) of each side */
    /* both count allocations of one process: `after` contains all of `before` */
    bool is_cumulative;
    struct hs_buf text; /* names, each ended by NUL */
    struct hs_diff_function *functions;
    uint32_t function_count;
    struct hs_diff_node *nodes;
    uint32_t node_count;
    struct hs_diff_process *processes; /* the largest change first */
    uint32_t process_count;
    bool is_normalized; /* before was multiplied by scale */
    double scale;
    struct hs_diff_amounts stacks; /* sum of the selves */
    struct hs_diff_amounts total;  /* the totals that the dumps state, as in every view */
};

struct hs_diff_change {
    double before, after;
    double delta, low, high; /* 95 % interval of the difference */
    enum hs_diff_verdict verdict;
};

/*
 * Compares two selections. Both must have the quantity of the view, which hs_view_choose() checks.
 * 0, -ENOMEM, -EOVERFLOW.
 */
int hs_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                  enum hs_view view, struct hs_diff *ret_diff);
/* Frees what the comparison owns. */
void hs_diff_deinit(struct hs_diff *diff);
#if HS_HAS_CHECKS
/* For tests: whether each parent comes before its children, one level above them. */
bool hs_diff_is_valid(const struct hs_diff *diff);
#endif

/* Scales `before` so that its total equals that of `after`. -EDOM when a side is empty. */
int hs_diff_normalize(struct hs_diff *diff);

/* The difference of two amounts, its interval and its verdict. */
struct hs_diff_change hs_diff_change_of(const struct hs_diff *diff,
                                        const struct hs_diff_amounts *amounts);

/*
 * Indices of functions with a figure above 0 on either side, the largest difference first. The
 * caller frees them. 0 or -ENOMEM.
 */
int hs_diff_sorted_functions(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count);
/* The same for nodes, which stand for the stacks that end at them. */
int hs_diff_sorted_stacks(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count);

/*
 * Writes the key by which a function is identified on both sides: two functions with the same key
 * are one. `agg` is a tree of the selection's profile.
 */
void hs_diff_write_key(const struct hs_selection *selection, const struct hs_agg *agg,
                       uint32_t function, struct hs_buf *key);

/* True when a side has more than one process. Then a table of processes is worth printing. */
bool hs_diff_has_processes(const struct hs_diff *diff);

/* The name of a function. */
static inline const char *hs_diff_name(const struct hs_diff *diff, uint32_t function)
{
    return diff->text.data + diff->functions[function].name_off;
}

/* The module of a function; "" for the program itself. */
static inline const char *hs_diff_module(const struct hs_diff *diff, uint32_t function)
{
    return diff->text.data + diff->functions[function].module_off;
}
