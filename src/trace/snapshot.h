/*
 * A snapshot: one process's heap at one instant, as plain arrays.
 *
 * The waist between collecting and writing: src/collect fills it from a region, src/trace writes it
 * to a file. It owns its arrays. Everything is absolute (never a difference to an earlier one), and
 * ids stay the same over all snapshots of a process, so that a writer can tell what is new.
 *
 * Weights are estimates: `bytes` and `count` stand for the whole population, not for the samples,
 * and carry their variance (0 when every allocation was recorded).
 *
 * Holds     stacks[i].live <= stacks[i].alloc in bytes and count; frame ids < frame_count;
 *           module ids < module_count.
 * Threads   none; belongs to whoever made it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "trace/refusal.h"

struct hs_estimate {
    double bytes;
    double count;
    double bytes_var; /* variance of `bytes`, bytes^2 */
    double count_var;
};

/* The part of a forked process's variances that came with its parent's samples, which have the same errors there. */
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
    /* Stacks that followed frame pointers through code of this module without unwind information, and what was allocated
     * through them since the start. */
    uint32_t guessed_stack_count;
    double guessed_bytes, guessed_allocs;
};

struct hs_snap_frame {
    uint64_t rel_pc; /* link-time address of the instruction: inside the call for a caller */
    uint64_t pc;     /* run-time address as recorded; markers: HS_FRAME_PC_* */
    uint32_t module_id;
    uint32_t flags; /* enum hs_frame_flag */
};

struct hs_snap_stack {
    const uint32_t *frame_ids; /* innermost first */
    uint16_t frame_count;
    uint8_t heap_id;
    uint8_t end; /* enum hs_stack_end */
    uint32_t type_id;
    uint32_t guessed_frame;   /* id + 1, as in the region */
    struct hs_estimate alloc; /* since the start */
    struct hs_estimate live;  /* at the instant */
    struct hs_estimate peak;  /* live at the instant of the highest live total */
    struct hs_inherited inherited;
};

struct hs_snap_thread {
    uint32_t tid;
    char name[16];
    uint64_t start_ms;
    struct hs_estimate live;
};

struct hs_snap_heap {
    char name[64];
};

/* Why the interval of a running session changed. */
enum hs_change_reason {
    HS_CHANGE_UNKNOWN,
    HS_CHANGE_MEMORY,   /* the region comes close to `limit` bytes */
    HS_CHANGE_OVERHEAD, /* recording took more than `limit` millionths of the process's CPU time */
    HS_CHANGE_COLLECTOR_CPU, /* the collector uses up its `limit` nanoseconds of CPU time */
    HS_CHANGE_EASED,         /* recording has long taken far less than `limit` millionths */
    HS_CHANGE_N,
};

struct hs_snap_change {
    uint64_t time_mono_ns;
    uint64_t from_bytes, to_bytes; /* intervals; the same: only dumps have changed */
    uint64_t limit;                /* by reason */
    uint32_t reason;               /* enum hs_change_reason */
    uint32_t rarity; /* scheduled dumps come so many times more rarely than asked; 0: no more */
};

/* How the process ended, as far as it is known when the snapshot was taken. */
enum hs_exit_kind {
    HS_EXIT_RUNNING,
    HS_EXIT_CODE,     /* exit_value is the status */
    HS_EXIT_SIGNAL,   /* exit_value is the signal */
    HS_EXIT_UNKNOWN,  /* gone, and nobody could ask how */
    HS_EXIT_EXECUTED, /* the process lives: it executed another program */
};

struct hs_snapshot {
    uint32_t pid;
    uint32_t ppid;
    uint32_t forked_from_pid;        /* whose live blocks it began with; 0: none, after exec */
    uint64_t inherited_sample_count; /* of sample_count, those that it began with */
    bool is_inherited_told;          /* that is known, and so is `inherited` */
    char comm[16];
    char *exe;     /* path of the executable, "" unknown */
    char *cmdline; /* arguments joined by NUL, cmdline_bytes long */
    uint32_t cmdline_bytes;
    bool is_from_startup;
    bool is_final;           /* the last one of this process */
    bool has_own_malloc;     /* the executable carries its own malloc: nothing could be seen */
    enum hs_refusal refusal; /* why there is nothing in this one; none: there is */
    const struct hs_refusal_words *words; /* of a refusal, not owned; NULL: none */
    enum hs_exit_kind exit_kind;
    int exit_value;
    bool is_oom_killed; /* by the kernel, for want of memory: then by SIGKILL */

    uint64_t start_mono_ns;     /* CLOCK_MONOTONIC when recording began */
    uint64_t time_mono_ns;      /* of the instant */
    uint64_t peak_time_mono_ns; /* of the highest live total; 0: none */
    uint64_t interval_bytes;    /* in force */
    uint64_t orig_interval_bytes;
    uint64_t rss_bytes;      /* 0: unknown (gone) */
    uint64_t rss_peak_bytes; /* 0: unknown */
    uint64_t
        rss_start_bytes; /* when recording began in a process that ran already; 0: it began with it */
    uint64_t region_bytes; /* memory the client's region takes */
    char malloc_path[256]; /* the library that serves malloc; "" unknown */

    struct hs_snap_change *changes; /* of the interval, oldest first */
    uint32_t change_count;

    struct hs_estimate live, alloc, peak; /* sums over all heaps */
    struct hs_inherited inherited;
    uint64_t peak_short_bytes; /* the highest live total was at most so much above `peak` */

    struct hs_snap_heap *heaps;
    uint32_t heap_count;
    struct hs_snap_module *modules;
    uint32_t module_count;
    struct hs_snap_frame *frames;
    uint32_t frame_count;
    uint32_t *frame_ids; /* what stacks[].frame_ids points into */
    uint64_t frame_id_count;
    struct hs_snap_stack *stacks;
    uint32_t stack_count;
    struct hs_snap_thread *threads;
    uint32_t thread_count;

    uint64_t sample_count; /* allocations recorded */
    uint64_t free_count;
    uint64_t replay_count;
    uint64_t walk_count;
    uint64_t lost_count[HS_LOSS_N];           /* samples */
    uint64_t stack_end_count[HS_STACK_END_N]; /* walks */
    /* What these stand for, since the start. Of losses 0: unknown, of an older client. */
    double lost_bytes[HS_LOSS_N], lost_allocs[HS_LOSS_N];
    double stack_end_bytes[HS_STACK_END_N], stack_end_allocs[HS_STACK_END_N];
    uint64_t bad_count; /* elements of the region that made no sense and were left out */
};

/* Frees everything it owns, and the snapshot. NULL is fine. */
void hs_snapshot_free(struct hs_snapshot *snap);
