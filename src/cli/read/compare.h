/*
 * Loads two profiles, compares them and writes what changed: for `diff`, and for `report` and
 * `export` with --base.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/analyse/diff.h"
#include "profile/analyse/part_sums.h"
#include "view/filter_words.h"

struct hs_filter_options;
struct hs_profile;

enum hs_compare_format {
    HS_COMPARE_TABLE,
    HS_COMPARE_TREE,
    HS_COMPARE_JSON,
    HS_COMPARE_FOLDED,
    HS_COMPARE_PPROF,
    HS_COMPARE_SVG,
    HS_COMPARE_LEAKS, /* `output` is a folder */
    HS_COMPARE_FORMAT_N,
};

/* Names for --format, by enum hs_compare_format. */
extern const char *const hs_compare_formats[HS_COMPARE_FORMAT_N];

struct hs_compare_side {
    const char *name; /* as typed */
    char *path;       /* without the snapshot */
    bool has_snapshot;
    struct hs_select_spec select;
};

struct hs_compare {
    struct hs_compare_side sides[HS_DIFF_SIDE_N];
    enum hs_view view; /* or HS_VIEW_AUTO */
    enum hs_compare_format format;
    const char *output; /* "-": standard output */
    uint32_t top_count;
    bool has_columns;
    unsigned columns; /* with has_columns; else the terminal's width */
    bool is_normalized;
    bool is_rss; /* compares the resident memory: HS_COMPARE_TABLE or HS_COMPARE_JSON */
    /* by_count > 0: compares parts: HS_COMPARE_TABLE or HS_COMPARE_JSON */
    struct hs_part_groups by;
    uint64_t leak_bytes, leak_count; /* HS_COMPARE_LEAKS: only stacks that gained more than both */
    const struct hs_filter_options *filters; /* NULL: none */
    bool is_telling;                         /* prints what was written to a file */
};

/* Fills in a side from "FILE", "FILE@N" or "FILE@NAME". 0, or the exit status. */
int hs_compare_name_side(struct hs_compare_side *side, const char *operand);
/* Selects processes: by pid when `process` is a number, else by name. NULL: all. */
void hs_compare_choose_process(struct hs_select_spec *select, const char *process);

/* Fills in both sides for --base: the base may name its snapshot, the other file does it by its own
 * options. 0, or the exit status. */
int hs_compare_fill_in(struct hs_compare *compare, const char *base, const char *path,
                       const struct hs_select_spec *select);

/* The patterns of its filters, to be named. */
struct hs_filter_texts hs_compare_filter_texts(const struct hs_compare *compare);
/* Filters the stacks of a profile and changes its names, as the options of the comparison say.
 * 0, or the exit status after a message. */
int hs_compare_filter(const struct hs_compare *compare, int side, struct hs_profile *profile,
                      enum hs_view view);
/* Compares and writes the output. Returns the exit status. */
int hs_compare_run(const struct hs_compare *compare);
/* Frees the paths of both sides. */
void hs_compare_deinit(struct hs_compare *compare);
