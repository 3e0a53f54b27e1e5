/*
 * The region: everything one process knows about its heap, in one shared memory file.
 *
 * The client (inside the target) creates it as a sealed memfd, hands it to a collector over a unix
 * socket, and keeps only mappings of it. The collector maps it read-only, but for the control page.
 * Whatever happens to the target, the file stays whole and readable.
 *
 * The file is sparse and never changes size. After the control page and the header come sections:
 * plain arrays, each contiguous in the file, each far larger than it will ever become.
 *
 *   0x0000  struct hs_region_control_v1   the only page a collector writes
 *   0x1000  struct hs_region_header_v1    who this is, and where the sections are
 *   ...     BLOCKS     struct hs_thread_block_v1   per running thread: counters
 *   ...     THREADS    struct hs_thread_v1         per thread that ever sampled: tid, name
 *   ...     MODULES    struct hs_module_v1         executables, libraries, at their addresses
 *   ...     BYTES      char                        paths, command line
 *   ...     FRAMES     struct hs_frame_v1          distinct code addresses
 *   ...     FRAME_IDS  uint32_t                    the stacks' frames, innermost first
 *   ...     STACKS     struct hs_stack_v1          distinct (heap, type, frames), with totals
 *   ...     RECORDS    struct hs_record_v1         sampled blocks, live or just dead
 *
 * Cuts. `epoch` counts moments. A cut is a moment C taken by C = epoch++ (atomically). A record
 * with birth epoch B and, if dead, death epoch D belongs to the cut C when B <= C and it is alive or
 * D > C. There are at most two cuts of interest: the snapshot that a collector has open, and the
 * highest live total so far (the peak). A dying record that either one needs stays behind as a
 * tombstone until neither needs it any more. Example: epoch 7, peak cut 5, snapshot cut 6. A
 * record born at 4 that dies now becomes {DEAD | IN_PEAK | IN_SNAPSHOT, epoch 7}; one born at 6
 * {DEAD | IN_SNAPSHOT, epoch 7}; one born at 7 is free at once.
 *
 * Totals of a stack are kept twice, by the parity of the epoch of the allocation. When a snapshot
 * takes cut C, writers move on to parity (C + 1) & 1, so the totals of parity C & 1 stand still
 * while they are read. (Peak cuts do not change the parity: they advance `epoch` by 2, and a
 * snapshot, which takes C = epoch and sets epoch = C + 1, by 1.)
 *
 * Holds     every multi-byte field is little-endian and naturally aligned. A section's `count` only
 *           grows, and elements below it are whole. Unknown flags and reserved fields are 0.
 * Threads   writers: all threads of the target, without locks. Readers: anyone, at any time.
 * Trust     a reader treats every byte as hostile: the target may scribble or die at any moment.
 *           The file cannot shrink (F_SEAL_SHRINK), so a mapping never faults.
 * See       docs/FORMAT.md (normative tables), docs/CONCURRENCY.md (who publishes what to whom).
 */
#pragma once

#include <stdint.h>

#define HS_REGION_MAGIC       UINT64_C(0x31304e4f49474552) /* "REGION01" read as little-endian */
#define HS_REGION_VERSION     1U

#define HS_REGION_CONTROL_OFF 0U
#define HS_REGION_HEADER_OFF  4096U

/* `floor_bytes` of a client without a session: far more than will ever be allocated. */
#define HS_INTERVAL_OFF UINT64_C(0)

/* A collector that changes a setting adds this to floor_bytes: more than any countdown. There is room for four million
 * changes. */
#define HS_FLOOR_STEP (UINT64_C(1) << 42)

/* Fixed-point fractions of estimated counts: 1 object = 1 << HS_COUNT_SHIFT. */
#define HS_COUNT_SHIFT 10

enum hs_section_id {
    HS_SECTION_BLOCKS,
    HS_SECTION_THREADS,
    HS_SECTION_MODULES,
    HS_SECTION_BYTES,
    HS_SECTION_FRAMES,
    HS_SECTION_FRAME_IDS,
    HS_SECTION_STACKS,
    HS_SECTION_RECORDS,
    HS_SECTION_N,
};

/* Why a sample was lost or a stack cut short; every one of them reaches the user. */
enum hs_loss {
    HS_LOSS_REENTRANT,       /* allocated by a signal handler that interrupted our own code */
    HS_LOSS_NO_MEMORY,       /* the region or an index could not grow */
    HS_LOSS_NO_THREAD_BLOCK, /* no counter block for this thread */
    HS_LOSS_STACK_EMPTY,     /* not one frame could be found */
    HS_LOSS_TABLE_FULL,      /* a section reached its last element */
    HS_LOSS_DUPLICATE,       /* an address was recorded twice without a free (implicit free) */
    HS_LOSS_INHERITED,       /* a forked child's block, whose record the parent had used again */
    HS_LOSS_LIMIT, /* the region has the size that it may have: control.region_limit_bytes */
    HS_LOSS_UNSEEN_SYMBOLS, /* 1: not all symbols of the allocator could be redirected to the hooks */
    HS_LOSS_UNSEEN_ALLOCATOR, /* 1: an object that was opened with RTLD_DEEPBIND brought another malloc */
    HS_LOSS_UNSEEN_NAMESPACE, /* 1: dlmopen loads objects with an allocator of their own */
    HS_LOSS_N,
};

/* How an unwind ended. Only END is a whole stack. */
enum hs_stack_end {
    HS_STACK_END,            /* the outermost frame, as its unwind information says */
    HS_STACK_END_NO_INFO,    /* code without unwind information, and no frame pointer to follow */
    HS_STACK_END_BAD_INFO,   /* unwind information that cannot be used */
    HS_STACK_END_UNREADABLE, /* stack memory that may not be read */
    HS_STACK_END_NO_ADVANCE, /* the next frame is not further out */
    HS_STACK_END_NO_MODULE,  /* a return address outside all code */
    HS_STACK_END_TOO_DEEP,   /* more frames than are walked (the outermost are missing) */
    HS_STACK_END_N,
};

enum hs_control_flag {
    HS_CONTROL_TIMED = 1U << 0, /* a share of the samples is timed: hs_thread_block_v1.timed_ns */
};

/* Of a timed sample's time, more than this is not ours: the thread was not running. */
#define HS_TIMED_MAX_NS UINT64_C(50000)

/* One 4 KiB page. Mapped writable by the collector too. */
struct hs_region_control_v1 {
    uint64_t magic;
    /* Threads whose countdown is below this take the slow path at their next allocation, which
     * picks up the settings below. Normally 0. */
    uint64_t floor_bytes;
    uint64_t interval_bytes; /* wanted mean distance of samples; HS_INTERVAL_OFF: record nothing */
    uint32_t generation;     /* +1 whenever a setting changes */
    uint32_t flags;          /* enum hs_control_flag */
    uint32_t
        collector_ms; /* since start_mono_ns, when the collector looked last; it may lag behind */
    /* A region serves one session. A collector that wants to begin another one changes this, with the
     * other settings; the client then makes a new region, and announces it by a hello. */
    uint32_t session;
    /* So that another collector can tell whether this one is still there. 0: none has come yet. */
    uint32_t collector_pid; /* as it sees itself */
    uint32_t reserved0;
    uint64_t collector_start_ticks; /* of that process: field 22 of its /proc/PID/stat */
    /* Tables of samples do not grow when the region then had pages for more than this. 0: no limit. */
    uint64_t region_limit_bytes;

    uint64_t epoch;          /* see "Cuts"; starts at 2 */
    uint64_t snapshot_epoch; /* cut of the open snapshot; 0: none is open */

    /* Live total as the threads last flushed it, and its highest value. Written by the client. */
    int64_t live_bytes;
    int64_t peak_bytes;
    uint64_t peak_epoch;   /* cut of the peak; 0: none yet */
    uint64_t peak_time_ns; /* CLOCK_MONOTONIC; 0 while peak_epoch is not yet passed */
    /* How far the highest total can have been above what was marked: see collect/peak_bound.h. */
    int64_t
        peak_most_bytes; /* highest total that a thread saw before a free: live_bytes and its own part */
    int64_t
        peak_quantum_bytes; /* no thread's part was ever larger; 0: a client that did not tell */
};

struct hs_section_v1 {
    uint64_t file_off;
    uint32_t elem_bytes;
    uint32_t reserved;
    uint64_t max_count;
    uint64_t count; /* elements handed out; a whole one is published by its own state or id */
};

#define HS_REGION_HEAPS     64
#define HS_REGION_INTERVALS 64

struct hs_heap_v1 {
    char name[64]; /* NUL-terminated; "" while unused */
    uint64_t reserved[2];
};

struct hs_region_header_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t pid; /* as the target sees itself */
    uint32_t ppid;
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC at creation */
    uint64_t start_real_ns; /* CLOCK_REALTIME, same moment */
    uint64_t start_boot_ns; /* CLOCK_BOOTTIME, same moment */
    uint32_t page_bytes;
    uint32_t is_from_startup; /* 1: since exec; 0: attached later */
    uint32_t exe_off;         /* in BYTES, NUL-terminated path of the executable */
    uint32_t cmdline_off;     /* in BYTES: /proc/self/cmdline as it is, cmdline_bytes long */
    uint32_t cmdline_bytes;
    uint32_t real_malloc_module; /* module id that serves malloc, +1; 0 unknown */
    char comm[16];
    /* Intervals that samples were taken with; a record names one by index. Entry 0 is unused. */
    uint64_t interval_bytes[HS_REGION_INTERVALS];
    uint32_t interval_count;
    uint32_t forked_from_pid; /* whose blocks it began with; 0: with none, after exec */
    struct hs_section_v1 sections[HS_SECTION_N];
    struct hs_heap_v1 heaps[HS_REGION_HEAPS];
};

/* Counters of one running thread; written by it alone. A dead thread's block passes to a new one,
 * which counts on: the sum over all blocks is the process's. */
struct hs_thread_block_v1 {
    uint32_t tid;          /* kernel thread id of the owner; 0: never used */
    uint32_t thread_id;    /* index in THREADS */
    int64_t live_bytes;    /* this thread's part of the live total that is not flushed yet */
    uint64_t sample_count; /* allocations recorded */
    uint64_t free_count;   /* recorded allocations freed */
    uint64_t replay_count; /* stacks found by replay of a known path */
    uint64_t walk_count;   /* stacks walked frame by frame */
    uint64_t alloc_bytes;  /* weight recorded, all heaps */
    uint64_t timed_count;  /* samples that were timed, while HS_CONTROL_TIMED was set, */
    uint64_t timed_ns;     /* and how long they took, each HS_TIMED_MAX_NS at most */
    /* What the samples stand for that lost_count counts as not recorded; 0 of an older client: unknown. */
    uint64_t lost_bytes;
    uint64_t lost_alloc_fx;   /* allocations; HS_COUNT_SHIFT */
    uint64_t inherited_count; /* of sample_count: a forked child began with them */
    uint64_t duplicate_bytes; /* weight of the blocks that lost_count[HS_LOSS_DUPLICATE] counts */
    /* 1: what the stacks and blocks of a forked child tell as inherited is all of it; 0: also of an older client. */
    uint64_t is_inherited_told;
    uint64_t reserved[2];
    uint64_t lost_count[16];      /* by enum hs_loss */
    uint64_t stack_end_count[16]; /* by enum hs_stack_end */
};

#define HS_THREAD_ID_OTHER 0U /* entry 0 of THREADS: threads beyond the last entry */

struct hs_thread_v1 {
    uint32_t tid;
    uint32_t start_ms; /* of its first sample, since start_mono_ns */
    char name[16];
    uint64_t reserved;
};

#define HS_BUILD_ID_BYTES 32

struct hs_module_v1 {
    uint64_t start_va;   /* lowest mapped address */
    uint64_t end_va;     /* first address after it */
    uint64_t bias_va;    /* run-time address minus link-time address */
    uint64_t exec_off;   /* of the first executable segment: its file offset, */
    uint64_t exec_sva;   /* its link-time address, */
    uint64_t exec_bytes; /* its size in memory */
    uint64_t load_ns;    /* CLOCK_MONOTONIC when first seen */
    uint64_t unload_ns;  /* when seen gone; 0: still there */
    uint32_t path_off;   /* in BYTES, NUL-terminated */
    uint8_t build_id_bytes;
    uint8_t kind; /* enum hs_module_kind */
    uint16_t reserved0;
    uint8_t build_id[HS_BUILD_ID_BYTES];
    uint64_t reserved[3];
};

enum hs_module_kind {
    HS_MODULE_ELF,
    HS_MODULE_ANON, /* code in memory that belongs to no file: JIT */
    HS_MODULE_VDSO,
    HS_MODULE_MARKER, /* module 0: frames that are not code, see HS_FRAME_MARKER */
};

#define HS_MODULE_ID_MARKER 0U

enum hs_frame_flag {
    HS_FRAME_EXACT = 1U << 0,  /* pc is the next instruction itself, not a return address */
    HS_FRAME_MARKER = 1U << 1, /* pc is 256 + enum hs_stack_end, or HS_FRAME_PC_CUT */
};

#define HS_FRAME_PC_CUT UINT64_C(1)   /* marker: middle frames of a very deep stack are left out */
#define HS_FRAME_PC_END UINT64_C(256) /* marker: + enum hs_stack_end, outermost, why it ends */

struct hs_frame_v1 {
    uint64_t pc;
    uint32_t module_id;
    uint32_t flags;
};

/* What was allocated through one stack, by allocations of one epoch parity. Exact and sampled
 * parts apart, because only the latter have an error: its variance in bytes is
 * interval_bytes * sampled_bytes. The variance of the count is up to (interval_bytes / size)^2 for each
 * sample, more than any fixed point has room for when the interval is large. */
struct hs_totals_v1 {
    uint64_t exact_bytes;
    uint64_t exact_count;
    uint64_t sampled_bytes;     /* weight: hits * interval */
    uint64_t sampled_count_fx;  /* sum of 1/p, p = 1 - e^(-size/interval); HS_COUNT_SHIFT */
    uint64_t sampled_count_var; /* sum of (1-p)/p^2: the bits of a double */
};

struct hs_stack_v1 {
    uint64_t hash;          /* of heap, type and frames; 0 until the entry is whole */
    uint32_t frame_ids_idx; /* of the innermost frame, in FRAME_IDS */
    uint16_t frame_count;
    uint8_t heap_id;
    uint8_t end;      /* enum hs_stack_end */
    uint32_t type_id; /* 0: unknown */
    /* Id + 1 of the innermost frame whose caller was found by following a frame pointer, for want of unwind information;
     * the frame may have none, and then others are missing. 0: there is none, or the client is an older one. */
    uint32_t guessed_frame;
    struct hs_totals_v1 totals[2]; /* by parity of the epoch: each in a line of its own */
    /* Of a forked child: the part of the totals' variances that came with its parent's samples. The bits of doubles. */
    uint64_t inherited_bytes_var;
    uint64_t inherited_count_var;
    uint64_t pad;
};

enum hs_record_state {
    HS_RECORD_FREE = 0,
    HS_RECORD_ALIVE = 1U << 0,
    HS_RECORD_DEAD = 1U << 1,        /* tombstone; `epoch` is that of its death */
    HS_RECORD_IN_SNAPSHOT = 1U << 2, /* tombstone that the snapshot open at its death contains */
    HS_RECORD_IN_PEAK = 1U << 3,     /* tombstone that the peak of that time contains */
};

/* One sampled block. `word` changes state atomically; the rest is written before it says ALIVE, and
 * in one piece each, as a reader may still look at what the record was before. */
struct hs_record_v1 {
    uint64_t addr;        /* address, or the id a custom allocator gave */
    uint64_t size_thread; /* HS_RECORD_SIZE_THREAD */
    uint32_t stack_id;
    uint32_t birth_ms; /* since start_mono_ns; 0 also of blocks that a forked child inherited */
    uint64_t word;     /* HS_RECORD_WORD */
};

/* epoch:48 | interval index:6 | hits:6 | state:4. hits 0: exact, else weight = hits * interval. */
#define HS_RECORD_WORD(epoch, interval_idx, hits, state)                                           \
    ((uint64_t)(epoch) << 16 | (uint64_t)(interval_idx) << 10 | (uint64_t)(hits) << 4 |            \
     (uint64_t)(state))
#define HS_RECORD_STATE(word)    ((unsigned)((word)&15U))
#define HS_RECORD_HITS(word)     ((unsigned)((word) >> 4 & 63U))
#define HS_RECORD_INTERVAL(word) ((unsigned)((word) >> 10 & 63U))
#define HS_RECORD_EPOCH(word)    ((uint64_t)(word) >> 16)
#define HS_RECORD_HITS_MAX       63U

/* size as asked for, saturated:48 (the low bits) | index in THREADS:16 */
#define HS_RECORD_SIZE_THREAD(size_bytes, thread_id)                                               \
    (((uint64_t)(size_bytes)&HS_RECORD_SIZE_MAX) | (uint64_t)(thread_id) << 48)
#define HS_RECORD_SIZE(size_thread)   ((uint64_t)(size_thread)&HS_RECORD_SIZE_MAX)
#define HS_RECORD_THREAD(size_thread) ((uint32_t)((uint64_t)(size_thread) >> 48))
#define HS_RECORD_SIZE_MAX            ((UINT64_C(1) << 48) - 1)
#define HS_THREAD_ID_MAX              65535U

_Static_assert(sizeof(struct hs_region_control_v1) <= 4096, "one page");
_Static_assert(sizeof(struct hs_section_v1) == 32, "layout v1");
_Static_assert(sizeof(struct hs_thread_block_v1) == 384, "layout v1");
_Static_assert(sizeof(struct hs_thread_v1) == 32, "layout v1");
_Static_assert(sizeof(struct hs_module_v1) == 128, "layout v1");
_Static_assert(sizeof(struct hs_frame_v1) == 16, "layout v1");
_Static_assert(sizeof(struct hs_stack_v1) == 128, "two cache lines");
_Static_assert(sizeof(struct hs_record_v1) == 32, "half a cache line");
_Static_assert(HS_LOSS_N <= 16 && HS_STACK_END_N <= 16, "counters are arrays of 16");
