/*
 * Which dumps a view is about.
 *
 * A file may hold many processes, each with many dumps of an absolute state. A view shows one state of
 * each process: the last one unless asked otherwise. Totals of several processes are added up; their
 * peaks too, though they were not all at the same moment (`is_peak_of_several` says so).
 *
 * Holds     at most one dump of a process is selected.
 * Threads   one user.
 * Fails     -ENOMEM; HS_SELECT_E_* when nothing fits, which the caller says in words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

#define HS_SELECT_LAST UINT32_MAX
/* From here on snapshots are counted from the end: HS_SELECT_LAST - 1 is the one before the last. */
#define HS_SELECT_FROM_END      0x80000000u
#define HS_SELECT_ANY_PID       0

#define HS_SELECT_E_EMPTY       1 /* the profile has no dump at all */
#define HS_SELECT_E_NO_PID      2 /* no such process, or name, in it, or it was never dumped */
#define HS_SELECT_E_NO_SNAPSHOT 3 /* no process has that many dumps */
#define HS_SELECT_E_NO_PEAK     4 /* a view of the peak is wanted, which was not recorded */

struct hs_select_spec {
    uint32_t pid;      /* HS_SELECT_ANY_PID: all */
    uint32_t snapshot; /* number within its process, or counted from the end */
    const char *name;  /* of the process, as hs_describe_process() has it; NULL: any */
};

struct hs_selection {
    const struct hs_profile *profile;
    uint32_t *dumps; /* indices; the process that started first comes first */
    uint32_t dump_count;
    uint32_t *relative_counts; /* by selected dump: those before it of the same family (family.h) */
    bool *has_process;         /* by process: is a dump of it selected? */
    bool has_peak;             /* every dump has its peak */
    bool is_peak_of_several;   /* more than one process had a heap */
    bool is_by_heap; /* the stacks of each heap stand by themselves: the file has more than one */
    bool is_sampled; /* something in it was sampled: its figures are estimates */
    bool is_lossy;   /* data is missing: figures are at least so much, and no margin holds */
    double missing_bytes, missing_alloc_count; /* as far as it is known */
    struct hs_amount live, alloc, peak;
    uint64_t sample_count;
    uint64_t start_ns, end_ns;   /* from the first start to the last dump */
    uint64_t interval_min_bytes; /* in force at its dumps */
    uint64_t interval_max_bytes; /* the widest that anything in it was sampled at */
    /* The most that one sample can stand for in its sums: the same, once for each process of a family. */
    uint64_t sample_most_bytes;
};

int hs_select_dumps(const struct hs_profile *profile, const struct hs_select_spec *spec,
                    struct hs_selection *ret_selection);
/* This one dump alone: index in dumps. */
int hs_select_dump(const struct hs_profile *profile, uint32_t dump_idx,
                   struct hs_selection *ret_selection);
void hs_selection_deinit(struct hs_selection *selection);

/* An amount of the selected dump number `i`, as it is to be added to those of the dumps before it: the errors of samples that
 * it has in common with its relatives add up. `inherited`: of the sample, or of the dump for its totals. */
struct hs_amount hs_selection_part(const struct hs_selection *selection, uint32_t i,
                                   const struct hs_amount *amount,
                                   const struct hs_inherited_var *inherited);

/* Does a loss concern what is selected? Those of the file as a whole always do. */
bool hs_selection_has_loss(const struct hs_selection *selection,
                           const struct hs_profile_loss *loss);

/* How many dumps the process with the most has; 0 for none. */
uint32_t hs_select_dump_count_max(const struct hs_profile *profile);
