/*
 * A snapshot: the heap of one process at one instant, as plain arrays.
 *
 * This is the interface between collecting and writing: src/collect fills a snapshot from a region,
 * src/trace writes it to a file. A snapshot owns its arrays. All figures are absolute, never
 * differences from an earlier snapshot. An id means the same in all snapshots of a process, so that
 * a writer can tell what is new.
 *
 * Figures are estimates: `bytes` and `count` stand for all allocations, not only for the samples.
 * They have a variance, which is 0 when every allocation was recorded.
 *
 * Holds     stacks[i].live <= stacks[i].alloc in bytes and count; frame ids < frame_count; module
 *           ids < module_count; scope ids < scope_count, or 0. Stacks that differ in their scope
 *           only have the same frames and heap; a reader that shows no scopes adds them up.
 * Threads   none; a snapshot belongs to the code that made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "rt/check.h"
#include "trace/heap_parts.h"
#include "trace/ledger.h"
#include "trace/pinned_pages.h"
#include "trace/refusal.h"

struct hs_estimate {
    double bytes;
    double count;
    double bytes_var; /* variance of `bytes`, in bytes^2 */
    double count_var;
};

/* Adds an estimate with errors of its own. */
static inline void hs_estimate_add(struct hs_estimate *sum, const struct hs_estimate *more)
{
    sum->bytes += more->bytes;
    sum->count += more->count;
    sum->bytes_var += more->bytes_var;
    sum->count_var += more->count_var;
}

/* In a forked process, the part of the variances that comes from inherited samples. The parent's
 * figures contain the same errors. */
struct hs_inherited {
    double bytes_var;
    double count_var;
};

struct hs_snap_module {
    char *path; /* "" when unknown; "[anon]" for code without a file */
    uint8_t build_id[HS_BUILD_ID_BYTES];
    uint8_t build_id_bytes;
    uint8_t kind; /* enum hs_module_kind */
    uint64_t start_va, end_va, bias_va;
    uint64_t exec_off, exec_sva, exec_bytes; /* first executable segment */
    uint64_t unload_ns;                      /* 0: still loaded */
    /* Stacks whose guessed_frame is in this module: the number of stacks, and what was allocated
     * through them since the start. */
    uint32_t guessed_stack_count;
    double guessed_bytes, guessed_allocs;
    /* The same of stacks that end in this module and should go on. */
    uint32_t cut_stack_count;
    double cut_bytes, cut_allocs, cut_live_bytes;
    uint8_t unwind_reason; /* enum hs_unwind_reason: why they end */
    bool has_unwind_table; /* the client uses one that it was given */
};

struct hs_snap_frame {
    /* link-time address of the instruction; in a caller, an address inside the call instruction */
    uint64_t rel_pc;
    /* run-time address as recorded; markers: HS_FRAME_PC_*; HS_FRAME_NAMED: index in code_names */
    uint64_t pc;
    uint32_t module_id;
    uint32_t flags; /* enum hs_frame_flag */
};

/* A function that an interpreter runs. Its texts are UTF-8 without control characters, and lie in
 * the snapshot's code_texts. */
struct hs_snap_code_name {
    const char *function; /* "": unknown */
    const char *file;     /* "": unknown */
    uint32_t line;        /* that the frame runs; 0: unknown */
    uint32_t first_line;  /* of the function; 0: unknown */
    uint32_t language;    /* enum hs_code_language, below HS_LANGUAGE_N */
};

/* The module that a trace gives to functions of a language (enum hs_code_language, below
 * HS_LANGUAGE_N): "[python]". */
const char *hs_snap_language_module(uint32_t language);

/* What the program said that it was doing: a scope, which lies in others. It is a label if its name
 * contains a '=': the key is what stands before the first one. */
struct hs_snap_scope {
    char *name;      /* UTF-8 without control characters; "": not known */
    uint32_t parent; /* id of the scope that it lies in, lower than its own; 0: none */
};

struct hs_snap_stack {
    const uint32_t *frame_ids; /* innermost first */
    uint16_t frame_count;
    uint8_t heap_id;
    uint8_t end; /* enum hs_stack_end */
    uint32_t type_id;
    uint32_t scope_id; /* the innermost scope; 0: none */
    /* id + 1 of the innermost frame whose caller was found by a frame pointer, for lack of unwind
     * information; 0: none */
    uint32_t guessed_frame;
    struct hs_estimate alloc; /* since the start */
    struct hs_estimate live;  /* at the instant */
    struct hs_estimate peak;  /* live at the instant of the highest live total */
    struct hs_inherited inherited;
};

/* What one thread has allocated through one stack, of one type and age. */
struct hs_snap_part {
    struct hs_part_key key;
    struct hs_estimate amount;
};

/* Adds the amount of a part to that of another one with the same key: for hs_array_merge(). */
static inline void hs_snap_part_add(void *sum, void *item)
{
    struct hs_snap_part *to = (struct hs_snap_part *)sum;
    hs_estimate_add(&to->amount, &((const struct hs_snap_part *)item)->amount);
}

/* What of a stack's live blocks was allocated in one window of time: trace/heap_births.h. */
struct hs_snap_birth {
    uint32_t stack_id;
    uint32_t window; /* HS_BIRTH_WINDOWS: not known */
    struct hs_estimate amount;
};

/* The freed blocks of one stack. */
struct hs_snap_lifetimes {
    uint32_t stack_id;
    struct hs_estimate by_lifetime[HS_LIFETIME_CLASSES]; /* fmt/lifetime_layout.h */
    struct hs_estimate temporary[HS_TEMPORARY_CLASSES];  /* each class by itself */
    /* Of those whose lifetimes are known: sums of bytes and of objects times ms; of the latter, its
     * covariance with the number of objects, and its variance. */
    double byte_ms, count_ms, count_ms_cov, count_ms_var;
};

/* A recorded block that lived at the instant. What it stands for: trace/block_weight.h. */
struct hs_snap_block {
    /* The id that its heap gives it, of most heaps its address. 0: not known, because the block was
     * freed while the snapshot was read. */
    uint64_t va;
    uint64_t size_bytes; /* as asked for */
    uint32_t stack_id;
    uint32_t birth_ms;  /* since block_clock_ns; 0 also of blocks that a forked child inherited */
    uint16_t thread_id; /* as in struct hs_part_key */
    uint16_t type_id;
    uint8_t hits;         /* 0: it was recorded for its size, and stands for itself */
    uint8_t interval_idx; /* in block_interval_bytes, if there are hits */
};

/* A type that parts or blocks have. */
struct hs_snap_type {
    uint16_t id; /* the same in all snapshots of the process */
    char *name;
};

struct hs_snap_thread {
    uint32_t id; /* in the region */
    uint32_t tid;
    char name[16];
    uint64_t start_ms;
    struct hs_estimate live;
};

/* The longest name of a snapshot that a program takes, without its NUL. */
#define HS_SNAP_NAME_MAX 63

struct hs_snap_heap {
    char name[64];
    /* Its blocks lie inside the blocks of other heaps: the totals of the process do not contain
     * them. */
    bool is_carved;
    /* The program chose the samples itself: their number is no estimate of a number of
     * allocations. */
    bool has_own_samples;
    bool is_left_out;        /* the session did not select it: nothing of it was recorded */
    uint32_t parent;         /* id + 1 of the heap that a carved one lies in; 0: unknown */
    uint64_t interval_bytes; /* now in force; 0: not recorded, or that of the process (heap 0) */
    struct hs_estimate live, alloc;
    /* Of a carved heap: at its own highest total, which was at most peak_short_bytes higher.
     * Otherwise: at the peak of the process. */
    struct hs_estimate peak;
    uint64_t peak_time_mono_ns;
    uint64_t peak_short_bytes;
};

/* Why the sampling interval of a running session changed. */
enum hs_change_reason {
    HS_CHANGE_UNKNOWN,
    HS_CHANGE_MEMORY,   /* the region's size comes close to `limit` bytes */
    HS_CHANGE_OVERHEAD, /* recording took more than `limit` millionths of the process's CPU time */
    /* the collector uses up its budget of `limit` nanoseconds of CPU time */
    HS_CHANGE_COLLECTOR_CPU,
    /* for a long time, recording has taken far less than `limit` millionths of the CPU time */
    HS_CHANGE_EASED,
    HS_CHANGE_N,
};

struct hs_snap_change {
    uint64_t time_mono_ns;
    uint64_t from_bytes, to_bytes; /* intervals; equal if only the dump schedule has changed */
    uint64_t limit;                /* its unit depends on `reason` */
    uint32_t reason;               /* enum hs_change_reason */
    /* the time between scheduled dumps is this many times the requested one; 0: there are no more
     * scheduled dumps */
    uint32_t rarity;
};

/* So many times of losses are kept of a process. */
#define HS_SNAP_LOSS_TIMES_MAX 64U

/* When something was lost: `count` of this kind, after `from` and not after `to`. */
struct hs_snap_loss_time {
    uint64_t from_mono_ns, to_mono_ns;
    uint64_t count;
    uint64_t loss; /* enum hs_loss */
};

/* How the process ended, as far as it is known when the snapshot is taken. */
enum hs_exit_kind {
    HS_EXIT_RUNNING,
    HS_EXIT_CODE,     /* exit_value is the status */
    HS_EXIT_SIGNAL,   /* exit_value is the signal */
    HS_EXIT_UNKNOWN,  /* the process is gone, and its exit status could not be read */
    HS_EXIT_EXECUTED, /* the process lives on, but it has executed another program */
};

struct hs_snapshot {
    char name[HS_SNAP_NAME_MAX + 1]; /* that the program gave it; "": none */
    uint32_t pid;
    uint32_t ppid;
    /* the process that it was forked from, and whose live blocks it inherited; 0: none, or it has
     * executed a program since */
    uint32_t forked_from_pid;
    uint64_t inherited_sample_count; /* how many of the sample_count were inherited */
    bool is_inherited_known;         /* inherited_sample_count and `inherited` are known */
    char comm[16];
    char *exe;     /* path of the executable; "": unknown */
    char *cmdline; /* arguments joined by NUL, cmdline_bytes long */
    uint32_t cmdline_bytes;
    bool is_from_startup; /* recorded since its first allocation, or forked from such a process */
    bool is_final;        /* the last snapshot of this process */
    /* Another collector opened its cut, and may have handed it on before it was killed. */
    bool is_of_another_collector;
    /* the executable contains its own malloc, so that no allocation could be seen */
    bool has_own_malloc;
    enum hs_refusal refusal; /* why the snapshot is empty; HS_REFUSAL_NONE: it is not */
    const struct hs_refusal_words *words; /* text of the refusal, not owned; NULL: none */
    enum hs_exit_kind exit_kind;
    int exit_value;
    bool is_oom_killed; /* the kernel's OOM killer killed it */

    uint64_t start_mono_ns;     /* CLOCK_MONOTONIC when recording began */
    uint64_t time_mono_ns;      /* the instant of the snapshot */
    uint64_t peak_time_mono_ns; /* when the live total was highest; 0: no peak is known */
    uint64_t interval_bytes;    /* the interval now in force */
    uint64_t orig_interval_bytes;
    uint64_t rss_bytes;      /* 0: unknown, because the process is gone */
    uint64_t rss_peak_bytes; /* 0: unknown */
    /* resident bytes when recording began, if the process ran already; 0: recording began with
     * the process */
    uint64_t rss_start_bytes;
    uint64_t region_bytes; /* size of the client's region */
    char malloc_path[256]; /* path of the library that serves malloc; "": unknown */

    struct hs_ledger *ledger;          /* of about this moment; NULL: none was read */
    struct hs_pinned_pages *pins;      /* read with `ledger`; NULL: none */
    struct hs_ledger *rss_peak_ledger; /* of the largest resident set; NULL: that is `ledger` */

    struct hs_snap_change *changes; /* changes of the interval, oldest first */
    uint32_t change_count;
    struct hs_snap_loss_time *loss_times; /* in the order of their beginnings */
    uint32_t loss_time_count;

    struct hs_estimate live, alloc, peak; /* sums over all heaps that are not carved */
    struct hs_inherited inherited;
    /* What the session selects: libc.malloc is left out; names and globs of other heaps that it
     * records or leaves out, not owned. */
    bool is_without_malloc;
    const char *asked_heaps[HS_REGION_HEAP_RULES];
    uint32_t asked_heap_count;
    uint64_t peak_short_bytes; /* the highest live total was at most this much above `peak` */

    struct hs_snap_heap *heaps;
    uint32_t heap_count;
    struct hs_snap_module *modules;
    uint32_t module_count;
    struct hs_snap_frame *frames;
    uint32_t frame_count;
    struct hs_snap_code_name *code_names; /* of frames with HS_FRAME_NAMED */
    uint32_t code_name_count;
    char *code_texts;    /* what the names of code_names point into */
    uint32_t *frame_ids; /* the array that stacks[].frame_ids point into */
    uint64_t frame_id_count;
    struct hs_snap_stack *stacks;
    uint32_t stack_count;
    struct hs_snap_scope *scopes; /* element 0 is no scope */
    uint32_t scope_count;
    uint64_t lost_scope_count;      /* samples whose scopes could not all be told */
    uint32_t python_state;          /* enum hs_python_state */
    uint32_t python_version;        /* as PY_VERSION_HEX; 0: not known */
    uint32_t java_refusal;          /* enum hs_java_refusal */
    uint32_t java_version;          /* of the JVM; 0: not known */
    struct hs_snap_thread *threads; /* those with live blocks or parts, in the order of their ids */
    uint32_t thread_count;
    /* By enum hs_part_view, in the order of the stacks; of one stack, the largest is the last. The
     * parts of a stack add up to its live, or peak. */
    struct hs_snap_part *parts[HS_PART_VIEWS];
    size_t part_count[HS_PART_VIEWS];
    /* In the order of the stacks, then of the windows. Those of a stack add up to its live. */
    struct hs_snap_birth *births;
    size_t birth_count;
    uint64_t birth_window_ms; /* the width of a window */
    uint64_t birth_span_ms;   /* from the start of recording to the instant */
    /* If they were asked for: what each live sample stands for, one by one. They add up to the live
     * figures of the stacks, except for those that were left out because they were too many. */
    bool has_blocks;
    struct hs_snap_block *blocks;
    size_t block_count;
    uint64_t block_left_out_count; /* records */
    uint64_t block_clock_ns;       /* CLOCK_MONOTONIC: when the clock of their births began */
    uint64_t block_interval_bytes[HS_REGION_INTERVALS];
    uint64_t cut_epoch;          /* blocks that were born later have a higher one */
    bool has_types;              /* types were looked for */
    uint64_t types_time_mono_ns; /* when the blocks' memory was read last; 0: it was not */
    bool is_without_types;       /* the user asked that they are not */
    struct hs_snap_type *types;  /* those that parts or blocks have, in the order of their ids */
    uint32_t type_count;

    /* Lifetimes were measured: of each stack, alloc is live and by_lifetime together. In the order
     * of the stacks, those of which something was freed. */
    bool has_lifetimes;
    struct hs_snap_lifetimes *lifetimes;
    size_t lifetime_count;

    uint64_t sample_count; /* allocations recorded */
    uint64_t free_count;
    uint64_t timed_count,
        timed_ns;           /* recorded allocations that were timed, and how long they took */
    uint64_t client_cpu_ns; /* estimate of what recording took in the process; 0: not known */
    uint64_t replay_count;
    uint64_t walk_count;
    uint64_t lost_count[HS_LOSS_N];           /* counts of samples */
    uint64_t stack_end_count[HS_STACK_END_N]; /* counts of stack walks */
    /* What the lost samples and the incomplete stacks stand for, since the start. lost_* is 0 for a
     * client of an older version, which does not report it. */
    double lost_bytes[HS_LOSS_N], lost_allocs[HS_LOSS_N];
    double stack_end_bytes[HS_STACK_END_N], stack_end_allocs[HS_STACK_END_N];
    uint32_t unread_interpreters; /* bits by enum hs_code_language: no frames of their scripts */
    uint64_t bad_count;           /* inconsistent elements of the region, which were left out */
};

/* Frees the snapshot and everything that it owns. NULL is allowed. */
void hs_snapshot_free(struct hs_snapshot *snap);

#if HS_HAS_CHECKS
/* For tests: whether all stacks and frames are as the top of this file says under Holds. */
bool hs_snapshot_is_valid(const struct hs_snapshot *snap);
#endif
