/*
 * The profile: the in-memory form of every heap profile.
 *
 * Every file format that heapscope reads is converted to it, and every output is computed from it.
 * It consists of plain arrays whose elements refer to each other by ids, so that an output format
 * is written with plain loops. builder.h builds a profile once; it does not change afterwards,
 * except that symbolize.h may fill in names, and that dump_heaps.h may choose other heaps.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. Stacks form a tree. A stack is a node: the node's frame is
 * the innermost frame of the stack, and the node's parent is the stack of the caller. Two stacks
 * therefore share the nodes of their common outer frames.
 *
 * Each array is one block from malloc, and so is each string.
 *
 * Holds     id 0 of strings is "". In `nodes`, parent < own id; the parent of an outermost frame is
 *           HS_NODE_NONE. The samples of a dump are ordered by node, and each (node, heap) occurs
 *           once.
 * Threads   any number of readers, except while symbolize.h or dump_heaps.h change it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/model/amount.h"
#include "profile/model/cut_modules.h"
#include "profile/model/profile_ledger.h"
#include "rt/check.h"
#include "trace/freed_sums.h"
#include "trace/heap_parts.h"

/* Heaps that heapscope records without being asked. */
#define HS_PROFILE_HEAP_MALLOC "libc.malloc"
#define HS_PROFILE_HEAP_MMAP   "mmap"       /* what the program maps itself */
#define HS_PROFILE_HEAP_PYTHON "python.obj" /* small objects of a Python interpreter */

#define HS_NODE_NONE           UINT32_MAX
#define HS_BUILD_ID_MAX        32
/* Used where an index in processes is expected, for what concerns the whole file. */
#define HS_PROFILE_NO_PROCESS UINT32_MAX
#define HS_PROFILE_NO_HEAP    UINT32_MAX

struct hs_profile_module {
    uint32_t path;         /* string id */
    uint32_t build_id_hex; /* string id, "" unknown */
    uint8_t build_id[HS_BUILD_ID_MAX];
    uint8_t build_id_bytes;
    uint64_t start_va, end_va, bias_va; /* as mapped in the (first) process; 0 unknown */
    uint64_t exec_off;                  /* file offset of the executable mapping */
    bool is_symbolized;                 /* names have been looked up, found or not */
    /* enum hs_symbol_reason: why addresses of it had no name when the recording ended; 0: they had
     * names, or it is unknown */
    uint8_t nameless_reason;
    uint32_t nameless_detail; /* string id: the file that the reason is about; "" none */
};

/* A module in which addresses had no name when names were looked up at the end of the recording. */
struct hs_profile_nameless {
    uint32_t path, build_id_hex; /* string ids, as in hs_profile_module */
    uint32_t detail;             /* string id: the file that the reason is about; "" none */
    uint32_t nameless_count;     /* addresses without a name, of address_count */
    uint32_t address_count;
    uint8_t reason; /* enum hs_symbol_reason */
};

/* The address at which a module was mapped in one process, as last seen. */
struct hs_profile_place {
    uint32_t process, module; /* indices */
    /* order in the file; if a module has several places, the last one is used */
    uint32_t order;
    uint64_t bias_va; /* as in hs_profile_module */
};

/* One source position of a frame. A frame has several when calls were inlined there. */
struct hs_profile_line {
    uint32_t function;    /* string id: demangled name */
    uint32_t system_name; /* string id: as in the symbol table */
    uint32_t file;        /* string id, 0 unknown */
    uint32_t line;        /* 1-based, 0 unknown */
    uint32_t folded;      /* string id: all functions that share the code, "a | b"; 0 none */
};

enum hs_frame_kind {
    HS_FRAME_KIND_NATIVE,
    HS_FRAME_KIND_JIT,
    HS_FRAME_KIND_INTERPRETED,
    HS_FRAME_KIND_MARKER, /* not code: "[stack cut]", "ERROR ..." */
};

struct hs_profile_frame {
    uint64_t rel_pc;     /* link-time address of the instruction */
    uint32_t module;     /* index in modules */
    uint32_t name;       /* string id: name recorded with the trace, 0 none */
    uint32_t line_first; /* innermost inlined line, in lines[] */
    uint32_t line_count; /* 0: no symbols; show name, or module+rel_pc */
    uint32_t line;       /* source line recorded with the trace, 0 none */
    uint8_t kind;        /* enum hs_frame_kind */
};

struct hs_profile_node {
    uint32_t parent; /* towards main; HS_NODE_NONE at the outermost frame */
    uint32_t frame;
    uint32_t depth; /* 0: outermost */
};

struct hs_profile_sample {
    uint32_t node; /* the whole stack */
    uint32_t heap; /* index in heaps */
    struct hs_amount alloc, live, peak;
    struct hs_inherited_var inherited;
};

/* The order of samples, and of all that has the stack and heap of a sample: by node, then by heap.
 * Below 0: the first pair comes before the second. */
static inline int hs_sample_order(uint32_t node, uint32_t heap, uint32_t other_node,
                                  uint32_t other_heap)
{
    return node != other_node ? (node < other_node ? -1 : 1)
                              : (heap > other_heap) - (heap < other_heap);
}

/*
 * What a program said that it was doing: a scope, which may lie in another one. It is a label if
 * its name contains a '=': the key stands before the first one.
 */
struct hs_profile_scope {
    uint32_t name;   /* string id */
    uint32_t parent; /* index + 1 of the scope that it lies in, lower than its own; 0: none */
};

/*
 * What one thread had allocated through one stack, of one age: trace/heap_parts.h. The parts of a
 * sample add up to its live, or peak.
 */
struct hs_profile_part {
    uint32_t node, heap; /* the sample's */
    uint32_t tid;
    uint32_t thread_name;    /* string id */
    uint32_t type;           /* string id; 0: unknown */
    uint32_t scope;          /* index + 1 in scopes[]: the innermost that was open; 0: none */
    uint16_t age_class;      /* index of hs_age_from_ms; HS_PART_OTHERS: see is_others */
    bool is_type_given;      /* the program gave it with the report of the block */
    bool is_others;          /* all parts of the sample that were too many to be kept apart */
    struct hs_amount amount; /* without the interval, which is that of the sample */
};

/*
 * What of a sample's live blocks was allocated in one window of time: trace/heap_births.h. Those of
 * a sample add up to its live, except for blocks of which it is not known.
 */
struct hs_profile_birth {
    uint32_t node, heap;     /* the sample's */
    uint32_t window;         /* below HS_BIRTH_WINDOWS */
    struct hs_amount amount; /* bytes, count and the variance of bytes; without the interval */
};

/*
 * A sum of the freed blocks of one stack: trace/freed_sums.h. Of HS_LIFETIME_SUM_TIMES, the
 * fields are: bytes times ms, objects times ms, the covariance of the second with the number of
 * objects, and its variance; of the blocks whose lifetimes are known.
 */
struct hs_profile_lifetime {
    uint32_t node, heap; /* the sample's */
    uint32_t what;
    double bytes, count, bytes_var, count_var;
};

/*
 * A recorded block that lived at a dump. What the blocks of a sample stand for adds up to its live,
 * unless block_left_out_count of the dump is not 0.
 */
struct hs_profile_block {
    uint64_t address; /* or the id that its heap gives it; 0: not known */
    uint64_t size_bytes;
    uint64_t birth_ns;   /* on the clock of the dump's time; 0: not known */
    double bytes, count; /* what it stands for */
    uint32_t node, heap; /* the sample's */
    uint32_t tid;
    uint32_t thread_name; /* string id */
    uint32_t type;        /* string id; 0: unknown */
    bool is_type_given;   /* as in hs_profile_part */
};

/*
 * A heap of one process at one instant. A carved heap gets its memory from blocks of other heaps,
 * so that adding it to them would count memory twice. All others are primary heaps.
 */
struct hs_profile_dump_heap {
    uint32_t heap;   /* index in heaps */
    uint32_t parent; /* index in heaps of the heap that a carved one lies in; HS_PROFILE_NO_HEAP */
    bool is_carved;
    bool has_own_samples; /* the program chose the samples: counts are numbers of samples */
    bool has_peak;
    bool is_counted;                /* the figures of the dump contain it: dump_heaps.h */
    bool is_inside;                 /* it lies in a heap that is counted */
    bool is_left_out;               /* the recording did not select it: it has no figures */
    uint64_t interval_bytes;        /* in force; 0: unknown, or nothing was recorded */
    uint64_t interval_widest_bytes; /* the widest at which its samples were taken */
    struct hs_amount live, alloc;
    /* of a carved heap at its own peak, of others at the peak of the process */
    struct hs_amount peak;
    uint64_t peak_time_ns;             /* 0 unknown */
    struct hs_inherited_var inherited; /* of all its samples */
};

/* One process at one instant. */
struct hs_profile_dump {
    uint32_t process; /* index in processes */
    uint32_t index;   /* 0, 1, ... within its process */
    uint32_t name;    /* string: the name that the program gave it; 0 none */
    bool is_final;
    uint64_t start_ns;     /* start of the time span that this dump covers */
    uint64_t time_ns;      /* the instant */
    uint64_t peak_time_ns; /* 0 unknown */
    uint64_t interval_bytes;
    uint64_t orig_interval_bytes;
    /* the widest interval at which its samples were taken; 0: interval_bytes */
    uint64_t interval_widest_bytes;
    uint64_t rss_bytes; /* 0 unknown */
    uint64_t rss_peak_bytes;
    /*
     * RSS at the start of the recording, in a process that already ran; 0: recorded from its start
     */
    uint64_t rss_start_bytes;
    bool has_peak;          /* samples carry the peak */
    bool is_at_max;         /* the user asked for the peak in place of the state at the dump */
    bool has_scaled_counts; /* counts are estimates of objects, not numbers of samples */
    /*
     * totals of the heaps that are counted; the peak is that of the process, not the sum of its
     * stacks' peaks
     */
    struct hs_amount live, alloc, peak;
    /* several carved heaps are counted, each at its own peak, at moments of their own */
    bool is_peak_of_heaps;
    /* the peak is what the counted heaps held at the peak of all heaps, of which others are left
     * out: at another moment they may have held more */
    bool is_peak_of_all;
    struct hs_inherited_var inherited; /* of all samples */
    /* false: a forked process, and the file does not tell what it inherited */
    bool is_inherited_known;
    /* a forked process, which began with the blocks of its parent */
    bool has_inherited;
    uint64_t sample_count; /* 0 also when only some heaps are counted and it is not known */
    uint64_t free_count;   /* recorded allocations that were freed */
    uint64_t replay_count; /* stacks found by replay, without a walk */
    uint64_t walk_count;   /* stacks walked frame by frame */
    /* estimate of the CPU time that recording took in the process so far; 0: not measured */
    uint64_t client_cpu_ns;
    uint64_t region_bytes; /* size of the shared memory of the client in the process; 0 unknown */
    bool has_samples;      /* false: only totals were kept, because the file has too many dumps */
    bool is_incomplete; /* the file was damaged: some stacks' figures are older than the totals */
    uint32_t sample_first; /* in samples[] */
    uint32_t samples_n;
    /* behind these, samples of the heaps that are not counted: also ordered by node */
    uint32_t aside_n;
    /* in parts[], by enum hs_part_view: in the order of the samples of all heaps */
    uint32_t part_first[HS_PART_VIEWS_ALL], parts_n[HS_PART_VIEWS_ALL];
    bool has_parts; /* each sample with a figure has parts */
    /* in births[]: in the order of the samples of all heaps, then of the windows */
    uint32_t birth_first, births_n;
    uint64_t birth_window_ms;       /* the width of a window; 0: births are not known */
    uint64_t birth_span_ms;         /* from the start of recording to the instant */
    bool has_blocks;                /* its live blocks are listed: */
    uint64_t block_first, blocks_n; /* in blocks[], by node, heap and address */
    uint64_t block_left_out_count;
    bool has_types; /* types were looked for */
    /* when the memory of blocks was read for them last; of a program that has ended, before that;
     * 0: unknown */
    uint64_t types_time_ns;
    /* parts tell the scopes of what was allocated: a sample without such parts has none */
    bool has_alloc_scopes;
    bool has_only_types;   /* parts tell types, but neither threads, ages nor scopes */
    bool is_without_types; /* the user asked that they are not */
    /* in lifetimes[], in the order of the samples of all heaps */
    uint32_t lifetime_first, lifetimes_n;
    bool has_lifetimes;  /* they were measured, and the dump has samples */
    uint32_t heap_first; /* in dump_heaps[] */
    uint32_t heaps_n;    /* each heap once, in order of the index */
    /* index + 1 in ledgers[]; 0: none was read */
    uint32_t ledger;
    uint32_t rss_peak_ledger; /* of the largest resident set, if that was at another moment */
    uint32_t pins;            /* index + 1 in pins[], read with `ledger`; 0: none */
};

/* A thread, as of its process's last dump. */
struct hs_profile_thread {
    uint32_t process;
    uint32_t tid;
    uint32_t name;         /* string id */
    uint64_t start_ns;     /* of its first sample */
    struct hs_amount live; /* allocated by the thread and not freed yet, by any thread */
};

/* A change of the sampling interval during the recording, because of a budget. */
struct hs_profile_change {
    uint32_t process;
    uint64_t time_ns;
    uint64_t from_bytes, to_bytes; /* equal: only the schedule of dumps changed */
    uint64_t limit;                /* by reason: bytes, millionths of the CPU time, nanoseconds */
    /* the time between scheduled dumps is this many times the requested one; 0: no more */
    uint32_t rarity;
    uint8_t reason; /* enum hs_change_reason of trace/snapshot.h */
};

enum hs_loss_unit {
    HS_LOSS_UNIT_ANY, /* given in the text */
    HS_LOSS_UNIT_SAMPLES,
    HS_LOSS_UNIT_STACKS,
    HS_LOSS_UNIT_WALKS, /* walks of stacks; a stack that occurs again is not walked again */
    HS_LOSS_UNIT_PROCESSES,
    HS_LOSS_UNIT_FLAG, /* nothing is counted: the text says all, and the count is 1 */
};

/* A counter of what is missing, with a text for users. */
struct hs_profile_loss {
    uint32_t process; /* HS_PROFILE_NO_PROCESS: damage of the file */
    uint32_t name;    /* string id, e.g. "stack_cut_unreadable" */
    uint32_t text;    /* string id, e.g. "stacks cut short (stack memory that cannot be read)" */
    uint64_t count;
    /*
     * What the count stands for: allocations that are missing, or that were recorded without their
     * whole stack. alloc_count 0: not known.
     */
    double bytes;
    double alloc_count;
    uint8_t unit;    /* enum hs_loss_unit, of `count` */
    bool is_serious; /* data is missing, not only frames */
    /* counts processes that were not profiled; the figures of others are complete */
    bool is_refusal;
};

/* When a process lost something: `loss` counts what was found lost after from_ns, and not after
 * to_ns. What it stands for is not known. */
struct hs_profile_loss_time {
    struct hs_profile_loss loss;
    uint64_t from_ns, to_ns;
};

/* What the recording cost the collector. */
struct hs_profile_cost {
    uint64_t recording_cpu_ns; /* for looking at the recorded processes, and for dumps */
    uint64_t names_cpu_ns;     /* for looking up names at the end */
    /* Of the process that recorded, as a whole; 0: not known, as it had other work, too. */
    uint64_t collector_cpu_ns;
    uint64_t collector_rss_peak_bytes;
};

/* A figure of a process or of the machine, read repeatedly. */
struct hs_profile_track {
    /* HS_PROFILE_NO_PROCESS: of the machine, or of a process whose heap is not in the file */
    uint32_t process;
    uint32_t pid;                       /* 0: of the machine */
    uint32_t name;                      /* string id: "mem.rss.anon", as the Perfetto UI calls it */
    uint8_t unit;                       /* enum hs_counter_unit of util/proc_counters.h */
    uint32_t counter_first, counters_n; /* in counters[] */
};

/* The value of a track from this time on. */
struct hs_profile_counter {
    uint64_t time_ns;
    int64_t value; /* bytes, nanoseconds, or a count */
};

struct hs_profile_process {
    uint32_t pid;
    uint32_t ppid;
    /* the process that it was forked from, and whose live blocks it inherited; 0: none, or it has
     * executed a program since */
    uint32_t forked_from_pid;
    uint32_t name;        /* string id: comm, or basename of the executable */
    uint32_t exe;         /* string id */
    uint32_t cmdline;     /* string id, arguments joined by blanks */
    uint32_t malloc_path; /* string id: library that serves malloc, 0 unknown */
    /* string id: the Android packages that its user can run, with colons between; 0 unknown */
    uint32_t packages;
    uint64_t start_ns;
    uint64_t end_ns;        /* 0 still running at the last dump */
    bool is_from_startup;   /* as in trace/snapshot.h */
    bool has_own_malloc;    /* as in trace/snapshot.h */
    bool is_without_malloc; /* the session left out libc.malloc */
    uint8_t exit_kind;      /* enum hs_exit_kind of trace/snapshot.h */
    int exit_value;
    bool is_oom_killed; /* killed by the kernel's OOM killer */
    /* enum hs_refusal of trace/refusal.h: why its dump is empty; 0: it was profiled */
    uint8_t refusal;
    uint32_t refusal_text, refusal_remedy; /* string ids */
    uint32_t dump_count;
    uint32_t last_dump; /* index in dumps; UINT32_MAX none */
};

struct hs_profile {
    char **strings;
    uint32_t string_count;
    struct hs_profile_module *modules;
    uint32_t module_count;
    struct hs_profile_line *lines;
    uint32_t line_count;
    struct hs_profile_frame *frames;
    uint32_t frame_count;
    struct hs_profile_node *nodes;
    uint32_t node_count;
    uint32_t *heaps; /* string ids of the heaps' names */
    uint32_t heap_count;
    struct hs_profile_dump_heap *dump_heaps;
    uint32_t dump_heap_count;
    struct hs_profile_ledger *ledgers;
    uint32_t ledger_count;
    struct hs_profile_ledger_line *ledger_lines;
    uint32_t ledger_line_count;
    struct hs_profile_mapped_stack *mapped_stacks;
    uint32_t mapped_stack_count;
    struct hs_profile_pins *pins;
    uint32_t pins_count;
    bool has_removed_heaps; /* figures of threads contain heaps that were removed: dump_heaps.h */
    uint32_t *asked_heaps;  /* string ids of names and globs by which the sessions selected heaps */
    uint32_t asked_heap_count;
    struct hs_profile_process *processes;
    uint32_t process_count;
    struct hs_profile_dump *dumps; /* in file order */
    uint32_t dump_count;
    struct hs_profile_sample *samples;
    uint64_t sample_count;
    struct hs_profile_part *parts;
    uint64_t part_count;
    struct hs_profile_birth *births;
    uint64_t birth_count;
    struct hs_profile_lifetime *lifetimes;
    uint64_t lifetime_count;
    struct hs_profile_block *blocks;
    uint64_t block_count;
    struct hs_profile_scope *scopes; /* equal ones are one */
    uint32_t scope_count;
    struct hs_profile_thread *threads;
    uint32_t thread_count;
    struct hs_profile_loss *losses;
    uint32_t loss_count;
    struct hs_profile_loss_time *loss_times; /* by process, then by from_ns */
    uint32_t loss_time_count;
    struct hs_profile_cut_module *cut_modules; /* by process */
    uint32_t cut_module_count;
    struct hs_profile_nameless *nameless; /* in file order */
    uint32_t nameless_count;
    uint32_t looked_up_module_count;   /* in so many, names were looked up; see has_looked_up */
    bool has_looked_up;                /* false: the file does not say */
    struct hs_profile_change *changes; /* by process, then by time */
    uint32_t change_count;
    struct hs_profile_place *places; /* by process, then by module; only some traces have them */
    uint32_t place_count;
    struct hs_profile_track *tracks; /* by pid, process and name */
    uint32_t track_count;
    struct hs_profile_counter *counters; /* by track, then by time */
    uint32_t counter_count;
    /*
     * For a file that has no information about the run: its kind, such as "a pprof profile" (a
     * constant string). NULL: the file is a trace.
     */
    const char *origin;
    bool has_cost; /* false: the file does not tell `cost` */
    struct hs_profile_cost cost;
    uint64_t real_minus_mono_ns; /* add to a time to get CLOCK_REALTIME; 0 unknown */
};

/*
 * The bias_va of `module` in `process`; when the file does not tell it, that of the first process.
 */
uint64_t hs_profile_bias_of(const struct hs_profile *p, uint32_t process, uint32_t module);

/* The widest interval, in bytes, at which any sample of a dump was taken. */
static inline uint64_t hs_dump_widest_bytes(const struct hs_profile_dump *dump)
{
    return dump->interval_widest_bytes > dump->interval_bytes ? dump->interval_widest_bytes
                                                              : dump->interval_bytes;
}

/* The string with this id; "" when there is none. Belongs to the profile. */
static inline const char *hs_profile_string(const struct hs_profile *p, uint32_t id)
{
    return id < p->string_count ? p->strings[id] : "";
}

/* Frees the profile with everything in it. NULL is fine. */
void hs_profile_free(struct hs_profile *profile);

#if HS_HAS_CHECKS
/* For tests: whether what the top of this file says under Holds is true of the whole profile. */
bool hs_profile_is_valid(const struct hs_profile *p);
#endif
