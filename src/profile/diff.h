/*
 * Two states of memory, compared: what grew, what shrank, what is new or gone, what is noise.
 *
 * Both selections are folded into one tree of functions. A function is the same in both when its name and
 * its module are: addresses, lines, folders and versions of libraries do not count, so that two builds of
 * a program compare. The program itself is the same module whatever its file is called. A frame without a
 * name is told by its build id and address, or by its module and address.
 *
 *     before                    after                     function   before after
 *     main -> load -> parse 40  main -> load -> parse 90  parse          40    90  grew
 *     main -> init 10           main -> init 10           init           10    10  same
 *                               main -> log 20            log             0    20  new
 *
 * Significance. Each side has a 95 % interval (margin.h) [v - below, v + above]. That of the difference
 * d = after - before is the one of the two intervals' shares, added up as independent errors are
 * (G. Y. Zou, A. Donner, Statistics in Medicine 27, 2008):
 *
 *     d - sqrt(below_after^2 + above_before^2)  ..  d + sqrt(above_after^2 + below_before^2)
 *
 * A side that shows no sample may hide some, also beside exact blocks: its `above` is then 1.96^2 samples. Nothing
 * beyond 0 is noise. Only profiles that recorded every allocation have no margin. docs/SAMPLING.md says what that means for many rows and for two
 * snapshots of one process.
 *
 * Holds     parent < own id. The sum of all selves of a side is the sum of its samples.
 * Threads   immutable once built.
 * Fails     -ENOMEM, -EOVERFLOW after 2^31 nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/select.h"
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
    HS_DIFF_NOISE, /* differs by no more than chance explains */
    HS_DIFF_SAME,  /* does not differ */
    HS_DIFF_VERDICT_N,
};

extern const char *const hs_diff_verdict_names[HS_DIFF_VERDICT_N];

struct hs_diff_amounts {
    struct hs_amount by[HS_DIFF_SIDE_N];
};

struct hs_diff_function {
    size_t name_off, module_off; /* in text; the module of the program itself is "" */
    struct hs_diff_amounts self; /* with what plumbing allocated on its behalf */
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
    uint32_t counts[HS_DIFF_SIDE_N]; /* so many are selected */
    struct hs_diff_amounts total;    /* of their dumps */
};

struct hs_diff {
    enum hs_view view;
    bool is_peak_of_several;               /* on one side at least, as of struct hs_selection */
    double interval_bytes[HS_DIFF_SIDE_N]; /* of each side: sample_most_bytes of select.h */
    bool is_cumulative; /* both are of one process's allocations: after holds all of before */
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
    struct hs_diff_amounts total;  /* the dumps' own totals, as in every view */
};

struct hs_diff_change {
    double before, after;
    double delta, low, high; /* 95 % interval of the difference */
    enum hs_diff_verdict verdict;
};

/* Both selections must have the view's quantity: hs_view_choose() tells. */
int hs_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                  enum hs_view view, struct hs_diff *ret_diff);
void hs_diff_deinit(struct hs_diff *diff);

/* Scales before to the total of after. -EDOM when a side is empty. */
int hs_diff_normalize(struct hs_diff *diff);

struct hs_diff_change hs_diff_change_of(const struct hs_diff *diff,
                                        const struct hs_diff_amounts *amounts);

/* Indices of what differs or is there at all, the largest difference first; to be freed by the caller. */
int hs_diff_sorted_functions(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count);
int hs_diff_sorted_stacks(const struct hs_diff *diff, uint32_t **ret_order, uint32_t *ret_count);

/* Does a side have more than one process? Then what each of them did is worth to be told. */
bool hs_diff_has_processes(const struct hs_diff *diff);

static inline const char *hs_diff_name(const struct hs_diff *diff, uint32_t function)
{
    return diff->text.data + diff->functions[function].name_off;
}

static inline const char *hs_diff_module(const struct hs_diff *diff, uint32_t function)
{
    return diff->text.data + diff->functions[function].module_off;
}
