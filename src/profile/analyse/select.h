/*
 * Selects the dumps that a view shows.
 *
 * A file may contain many processes, each with many dumps of an absolute state. A view shows one
 * state of each process: the last one, unless the user asks for another. The totals of several
 * processes are added up. Their peaks are added up too, though they were at different moments
 * (`is_peak_of_several` says so).
 *
 * Holds     at most one dump of a process is selected.
 * Threads   one user.
 * Fails     -ENOMEM; HS_SELECT_E_* when no dump fits, which the caller reports to the user.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/profile.h"

#define HS_SELECT_LAST UINT32_MAX
/*
 * From this value on, snapshots are counted from the end: HS_SELECT_LAST - 1 is the one before the
 * last.
 */
#define HS_SELECT_FROM_END      0x80000000u
#define HS_SELECT_ANY_PID       0

#define HS_SELECT_E_EMPTY       1 /* the profile has no dump at all */
#define HS_SELECT_E_NO_PID      2 /* the profile has no such process or name, or no dump of it */
#define HS_SELECT_E_NO_SNAPSHOT 3 /* no process has that many dumps */
#define HS_SELECT_E_NO_PEAK     4 /* the view needs the peak, which was not recorded */
#define HS_SELECT_E_NO_NAMED    5 /* no process has a dump of that name */

struct hs_heap_patterns;

/* Which stacks are shown: stack_mode.h. */
enum hs_stack_mode {
    HS_STACK_MODE_NATIVE,  /* those of the program's functions, as they were recorded */
    HS_STACK_MODE_PSEUDO,  /* the thread and its scopes */
    HS_STACK_MODE_MIXED,   /* the scopes, then the functions */
    HS_STACK_MODE_THREADS, /* the thread, then the functions */
    HS_STACK_MODE_N,
};

struct hs_select_spec {
    uint32_t pid;      /* HS_SELECT_ANY_PID: all */
    uint32_t snapshot; /* number within its process, or counted from the end */
    /* the last one to which the program gave this name, instead of a number; NULL: by number */
    const char *snapshot_name;
    const char *name; /* the process's name, as hs_describe_process() writes it; NULL: any */
    /* the heaps that the command chooses when it opens the file (heap_choice.h); NULL: primary */
    const struct hs_heap_patterns *heaps;
    enum hs_stack_mode stack_mode; /* into which the command changes stacks then */
};

struct hs_selection {
    const struct hs_profile *profile;
    uint32_t *dumps; /* indices; the process that started first comes first */
    uint32_t dump_count;
    /* for each selected dump, the number of earlier selected dumps of its family (family.h) */
    uint32_t *relative_counts;
    bool *has_process;       /* for each process: a dump of it is selected */
    bool has_peak;           /* every dump has its peak */
    bool is_peak_of_several; /* more than one selected process has live memory or a peak */
    bool is_peak_of_heaps;   /* the peak of a dump adds up peaks of heaps at several moments */
    bool is_peak_of_all;     /* the peak of a dump is that of all heaps, not of the counted ones */
    /* the stacks of each heap are kept apart, because the file has more than one heap */
    bool is_by_heap;
    bool is_sampled; /* something was sampled, so that figures are estimates */
    bool is_lossy;   /* data is missing: figures are lower bounds, and no margin holds */
    double missing_bytes, missing_alloc_count; /* as far as they are known */
    struct hs_amount live, alloc, peak;
    uint64_t sample_count;
    uint64_t start_ns, end_ns;   /* from the first start to the last dump */
    uint64_t interval_min_bytes; /* the narrowest in force at a selected dump */
    uint64_t interval_max_bytes; /* the widest at which anything in the selection was sampled */
    /*
     * The most that one sample can stand for in the sums of the selection, in bytes:
     * interval_max_bytes, times the number of selected processes of the largest family.
     */
    uint64_t sample_most_bytes;
    /* the same in the heap that was sampled at the narrowest interval */
    uint64_t sample_least_bytes;
};

/* Selects the dumps that the specification asks for. 0, -ENOMEM or HS_SELECT_E_*. */
int hs_select_dumps(const struct hs_profile *profile, const struct hs_select_spec *spec,
                    struct hs_selection *ret_selection);
/* Selects one dump, given by its index in dumps. 0 or -ENOMEM. */
int hs_select_dump(const struct hs_profile *profile, uint32_t dump_idx,
                   struct hs_selection *ret_selection);
/* Frees what the selection owns. */
void hs_selection_deinit(struct hs_selection *selection);

/*
 * An amount of the selected dump number `i`, with the variance that it adds to the sum of the dumps
 * before it: the errors of samples that it shares with its relatives add up. `inherited` is that of
 * the sample, or of the dump for its totals.
 */
struct hs_amount hs_selection_part(const struct hs_selection *selection, uint32_t i,
                                   const struct hs_amount *amount,
                                   const struct hs_inherited_var *inherited);

/* True when every selected dump was taken at the end of its process. */
bool hs_selection_is_at_end(const struct hs_selection *selection);

/* True when a loss concerns a selected process. A loss of the file as a whole always does. */
bool hs_selection_has_loss(const struct hs_selection *selection,
                           const struct hs_profile_loss *loss);

/* The number of dumps of the process that has the most; 0 when there is none. */
uint32_t hs_select_dump_count_max(const struct hs_profile *profile);
