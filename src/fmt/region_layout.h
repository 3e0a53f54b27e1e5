/*
 * The region: all that the client records about one process, in one shared memory file.
 *
 * The client, inside the target, creates the file as a sealed memfd, hands it to a collector over a
 * unix socket, and keeps only mappings of it. The collector maps it read-only, except for the
 * control page. Whatever happens to the target, the file stays whole and readable.
 *
 * The file is sparse and never changes its size. The control page and the header come first, then
 * sections: plain arrays, each contiguous in the file, with far more room than it will ever need.
 *
 *   0x0000  struct hs_region_control_v1   the only page a collector writes
 *   0x1000  struct hs_region_header_v2    which process this is, and where the sections are
 *   ...     BLOCKS     struct hs_thread_block_v1   per running thread: counters
 *   ...     THREADS    struct hs_thread_v1         per thread that ever sampled: tid, name
 *   ...     MODULES    struct hs_module_v1         executables, libraries, at their addresses
 *   ...     BYTES      char                        paths, command line
 *   ...     FRAMES     struct hs_frame_v1          distinct code addresses
 *   ...     FRAME_IDS  uint32_t                    the stacks' frames, innermost first
 *   ...     STACKS     struct hs_stack_v1          distinct (heap, type, scope, frames): totals
 *   ...     RECORDS    struct hs_record_v1         sampled blocks, live or just dead
 *   ...     HEAPS      struct hs_heap_v2           named allocators, and what they hold
 *   ...     TYPES      struct hs_name_v2           names of types
 *   ...     SCOPES     struct hs_name_v2           names of what the program says that it is doing
 *   ...     LIFETIMES  struct hs_lifetimes_v2      by stack, how long freed blocks lived
 *   ...     UNWIND_TABLES  bytes             unwind information, which the collector writes
 *   ...     CODE_NAMES struct hs_code_name_v2      frames that have no code address but a name
 *
 * Blocks. A block is known by its heap and an id: its address, or any number that the program uses
 * for it. The record has the id, and the record's stack has the heap. A heap is either primary (its
 * memory is its own), or carved (its blocks lie inside the blocks of other heaps, so that the same
 * bytes would count twice). The live total and the peak of the control page are those of all
 * primary heaps together; a carved heap has its own in its element of HEAPS.
 *
 * Cuts. A cut is one instant of all records, taken while every thread goes on. `epoch` counts
 * these instants: a cut C is taken by C = epoch++ (atomically). A record with birth epoch B and,
 * if it is dead, death epoch D belongs to the cut C when B <= C and it is alive or D > C. At most
 * two cuts are in use at a time for a block: the snapshot that a collector has open, and the
 * highest live total so far (the peak: of its heap if that is carved, otherwise of all primary
 * heaps). A record that dies while one of them needs it stays behind as a tombstone until neither
 * does. Example: epoch 7, peak cut 5, snapshot cut 6. A record born at 4 that dies now becomes
 * {DEAD | IN_PEAK | IN_SNAPSHOT, epoch 7}; one born at 6 becomes {DEAD | IN_SNAPSHOT, epoch 7};
 * one born at 7 is free at once.
 *
 * Totals. Those of a stack are kept twice, by the parity of the allocation's epoch. When a snapshot
 * takes the cut C, writers go on with the totals of parity (C + 1) & 1, so those of parity C & 1 do
 * not change while they are read. (Peak cuts do not change the parity: they advance `epoch` by 2,
 * while a snapshot, which takes C = epoch and sets epoch = C + 1, advances it by 1.)
 *
 * Unwind tables. The collector, not the client, writes UNWIND_TABLES: unwind_table_layout.h. The
 * `count` of that section stays 0; the control page says how many bytes are in use.
 *
 * Ensures   every multi-byte field is little-endian and naturally aligned. A section's `count` only
 *           grows, and elements below it are whole. Unknown flags and reserved fields are 0.
 * Threads   writers: all threads of the target, without locks. Readers: any process that has the
 *           file, at any time.
 * Trust     a reader treats every byte as hostile: the target may overwrite any of it, or die, at
 *           any moment. The file cannot shrink (F_SEAL_SHRINK), so no page of a mapping can end up
 *           beyond the end of the file.
 * See       docs/FORMAT.md (normative tables), docs/CONCURRENCY.md (which write becomes visible
 *           when).
 */
#pragma once

#include <stdint.h>

#include "fmt/code_name_layout.h"
#include "fmt/heap_rules_layout.h"
#include "fmt/java_layout.h"
#include "fmt/lifetime_layout.h"
#include "fmt/own_ranges_layout.h"
#include "fmt/totals_layout.h"

#define HS_REGION_MAGIC       UINT64_C(0x31304e4f49474552) /* "REGION01" read as little-endian */
#define HS_REGION_VERSION     2U

#define HS_REGION_CONTROL_OFF 0U
#define HS_REGION_HEADER_OFF  4096U

/* A collector that changes a setting adds this to floor_bytes: it is more than any countdown. There
 * is room for four million changes. */
#define HS_FLOOR_STEP (UINT64_C(1) << 42)

/* The sections, in their order in the file. */
enum hs_section_id {
    HS_SECTION_BLOCKS,
    HS_SECTION_THREADS,
    HS_SECTION_MODULES,
    HS_SECTION_BYTES,
    HS_SECTION_FRAMES,
    HS_SECTION_FRAME_IDS,
    HS_SECTION_STACKS,
    HS_SECTION_RECORDS,
    HS_SECTION_HEAPS, /* from here on: since version 2 */
    HS_SECTION_TYPES,
    HS_SECTION_SCOPES,
    HS_SECTION_LIFETIMES,     /* from here on in the header's later_sections */
    HS_SECTION_UNWIND_TABLES, /* the first one in the file */
    HS_SECTION_CODE_NAMES,
    HS_SECTION_N,
};

#define HS_SECTION_N_V1          8
#define HS_SECTION_N_V2          11
#define HS_REGION_LATER_SECTIONS 8U
_Static_assert(HS_SECTION_N <= HS_SECTION_N_V2 + HS_REGION_LATER_SECTIONS, "room in the header");

/* Why a sample was lost or a stack cut short. Each of these counters reaches the user. */
enum hs_loss {
    HS_LOSS_REENTRANT,       /* allocated by a signal handler that interrupted our own code */
    HS_LOSS_NO_MEMORY,       /* the region or an index could not grow */
    HS_LOSS_NO_THREAD_BLOCK, /* no counter block for this thread */
    HS_LOSS_STACK_EMPTY,     /* not a single frame could be found */
    HS_LOSS_TABLE_FULL,      /* a section reached its last element */
    HS_LOSS_DUPLICATE,       /* an address was recorded twice without a free (implicit free) */
    HS_LOSS_INHERITED,       /* a forked child's block, whose record the parent had reused */
    HS_LOSS_LIMIT, /* the region has reached its permitted size: control.region_limit_bytes */
    HS_LOSS_UNSEEN_SYMBOLS,   /* 1: not all symbols of the allocator could be redirected */
    HS_LOSS_UNSEEN_ALLOCATOR, /* 1: an object opened with RTLD_DEEPBIND brought another malloc */
    HS_LOSS_UNSEEN_NAMESPACE, /* 1: dlmopen loads objects with an allocator of their own */
    HS_LOSS_UNTRACKED,        /* a change of what the program has mapped could not be followed */
    HS_LOSS_UNMOVED,          /* an object of Python could not be moved out of its arena */
    HS_LOSS_N,
};

/* Why a walk ended. Only END is a complete stack. */
enum hs_stack_end {
    HS_STACK_END,            /* the outermost frame, as its unwind information says */
    HS_STACK_END_NO_INFO,    /* code without unwind information, and no frame pointer to follow */
    HS_STACK_END_BAD_INFO,   /* unwind information that cannot be used */
    HS_STACK_END_UNREADABLE, /* stack memory that cannot be read */
    HS_STACK_END_NO_ADVANCE, /* the next frame is not further out */
    HS_STACK_END_NO_MODULE,  /* a return address outside all code */
    HS_STACK_END_TOO_DEEP,   /* more frames than are walked (the outermost are missing) */
    HS_STACK_END_N,
};

/* Flags of the control page. */
enum hs_control_flag {
    HS_CONTROL_TIMED = 1U << 0, /* a share of the samples is timed: hs_thread_block_v1.timed_ns */
    HS_CONTROL_NO_MALLOC = 1U << 1, /* malloc's heap is not recorded */
    /* Set by the client: no collector has the region, see HS_HELLO_BOUND. */
    HS_CONTROL_KEPT = 1U << 2,
    /* Set by the client: it keeps a descriptor of the region for the next collector. */
    HS_CONTROL_BOUND = 1U << 3,
    /* Set by a collector: a session has left out heaps that the bound process records itself. */
    HS_CONTROL_PARTIAL = 1U << 4,
    HS_CONTROL_LIFETIMES = 1U << 5, /* LIFETIMES is written */
    HS_CONTROL_NATIVE_ONLY = 1U << 6,
};

/* If a timed sample took longer than this, the thread was not running: the excess is not the
 * client's. */
#define HS_TIMED_MAX_NS UINT64_C(50000)

/* The control page: 4 KiB, which the collector maps writable too. */
struct hs_region_control_v1 {
    uint64_t magic;
    /* A thread whose countdown is not above this takes the slow path at its next allocation, and
     * reads the settings below. Each change of a setting raises it by HS_FLOOR_STEP. */
    uint64_t floor_bytes;
    /* Requested mean distance of samples; HS_INTERVAL_OFF: record nothing. */
    uint64_t interval_bytes;
    uint32_t generation; /* +1 whenever a setting changes */
    uint32_t flags;      /* enum hs_control_flag */
    /* Since start_mono_ns, when the collector last polled the client; it may lag behind. */
    uint32_t collector_ms;
    /* A region serves one session. A collector that wants to begin another session changes this
     * together with the other settings; the client then makes a new region, and announces it by a
     * hello. */
    uint32_t session;
    /* These let another collector find out whether this one still exists. 0: no collector yet. */
    uint32_t collector_pid; /* as it sees itself */
    uint32_t reserved0;
    uint64_t collector_start_ticks; /* of that process: field 22 of its /proc/PID/stat */
    /* Tables of samples stop growing when the region would have pages for more than this. 0: no
     * limit. */
    uint64_t region_limit_bytes;

    uint64_t epoch;          /* see "Cuts"; starts at 2 */
    uint64_t snapshot_epoch; /* cut of the open snapshot; 0: none is open */

    /* Live total as the threads last flushed it, and its highest value. Written by the client. */
    int64_t live_bytes;
    int64_t peak_bytes;
    uint64_t peak_epoch;   /* cut of the peak; 0: none yet */
    uint64_t peak_time_ns; /* CLOCK_MONOTONIC; 0 until the epoch has moved past peak_epoch */
    /* How far the highest total can have been above the marked peak: see
     * collect/region/peak_bound.h. */
    /* Highest total that a thread saw before a free: live_bytes and its own part. */
    int64_t peak_most_bytes;
    int64_t peak_quantum_bytes; /* no thread's part was ever larger; 0: the client does not tell */

    struct hs_heap_selection_v2 heap_selection; /* since version 2 */
    /* Bytes of UNWIND_TABLES that are in use. The collector raises it, and the generation with it,
     * when it has written a table. 0 also if the region has no such section. */
    uint64_t unwind_tables_bytes;
};

/* Where a section lies in the file, and how long it is. */
struct hs_section_v1 {
    uint64_t file_off;
    uint32_t elem_bytes;
    uint32_t reserved;
    uint64_t max_count;
    uint64_t count; /* elements handed out; a complete one is published by its own state or id */
};

#define HS_REGION_HEAPS     256 /* heap 0 is malloc's */
#define HS_REGION_INTERVALS 64

/* The header: which process this is, and where the sections are. */
struct hs_region_header_v2 {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t pid; /* as the target sees it */
    uint32_t ppid;
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC at creation */
    uint64_t start_real_ns; /* CLOCK_REALTIME, same moment */
    uint64_t start_boot_ns; /* CLOCK_BOOTTIME, same moment */
    uint32_t page_bytes;
    uint32_t is_from_startup; /* 1: records since exec; 0: attached later; forked: as the parent */
    uint32_t exe_off;         /* in BYTES, NUL-terminated path of the executable */
    uint32_t cmdline_off;     /* in BYTES: /proc/self/cmdline as it is, cmdline_bytes long */
    uint32_t cmdline_bytes;
    uint32_t real_malloc_module; /* module id that serves malloc, +1; 0 unknown */
    char comm[16];
    /* Intervals that samples were taken with; a record names its interval by index. Entry 0 is
     * unused. */
    uint64_t interval_bytes[HS_REGION_INTERVALS];
    uint32_t interval_count;
    uint32_t forked_from_pid; /* the process whose blocks it began with; 0: with none, after exec */
    struct hs_section_v1 sections[HS_SECTION_N_V2];
    /* In the target's memory: struct hs_own_ranges_v2; 0: none. This and what follows are not there
     * in older regions: header_bytes says how much is. */
    uint64_t own_ranges_va;
    /* From LIFETIMES on, with room for more. */
    struct hs_section_v1 later_sections[HS_REGION_LATER_SECTIONS];
    uint32_t python_state;    /* enum hs_python_state */
    uint32_t python_version;  /* as PY_VERSION_HEX, the lower 16 bits 0; 0: unknown */
    uint8_t script_states[8]; /* enum hs_script_state, by enum hs_code_language */
    struct hs_java_v2 java;
};

/* The heap of what the program maps itself. Its blocks are ranges of addresses. */
#define HS_HEAP_NAME_MMAP "mmap"
/* The heap of the small objects of a Python interpreter. */
#define HS_HEAP_NAME_PYTHON "python.obj"

/* Flags of a heap. */
enum hs_heap_flag {
    HS_HEAP_NAMED = 1U << 0,  /* set last: the element is whole */
    HS_HEAP_CARVED = 1U << 1, /* its blocks lie inside blocks of other heaps */
    /* The program chose the samples itself: their sizes are weights, and their number is no
     * estimate of the number of allocations. */
    HS_HEAP_OWN_SAMPLES = 1U << 2,
    HS_HEAP_EXACT = 1U << 3, /* each block is recorded, at any interval */
};

/* A heap. */
struct hs_heap_v2 {
    char name[HS_HEAP_NAME_BYTES]; /* NUL-terminated */
    uint32_t flags;                /* enum hs_heap_flag */
    uint32_t parent;               /* id + 1 of the heap that its blocks lie in; 0: unknown */
    uint64_t interval_bytes;       /* now in force; HS_INTERVAL_OFF: it is not recorded. Of heap 0:
                                      unused, the control page has it */
    /* Of a carved heap, with the meanings that they have in the control page; otherwise 0. */
    int64_t live_bytes;
    int64_t peak_bytes;
    uint64_t peak_epoch;
    uint64_t peak_time_ns;
    int64_t peak_most_bytes;
    uint64_t alloc_bytes; /* weight recorded, of heaps that the program registers */
};

/* The scope of samples whose scopes could not be stored: its element is empty. */
#define HS_SCOPE_OTHER 1U
/* The type of samples whose types could not be stored: its element is empty. */
#define HS_TYPE_OTHER 1U
/* Elements of TYPES, at most. */
#define HS_TYPES_MAX 32766U
/* The longest name of a scope or a type, with the NUL. */
#define HS_SCOPE_NAME_BYTES 256U

/* A name of a type or a scope. Entry 0 is unused. A label is a scope whose name contains a '=': its
 * key is what stands before the first one. */
struct hs_name_v2 {
    uint64_t hash;     /* of the name and the parent; 0 until the entry is whole */
    uint32_t name_off; /* in BYTES, NUL-terminated */
    uint32_t parent;   /* of a scope: the one that it lies in, whose id is lower; 0: none */
    uint64_t reserved[2];
};

/* Counters of one running thread, which only this thread writes. The block of a thread that has
 * ended passes to a new one, which continues to count: the sum over all blocks is the process's. */
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
    /* What the samples stand for that lost_count counts as not recorded. 0 from an older client:
     * unknown. */
    uint64_t lost_bytes;
    uint64_t lost_alloc_fx;   /* allocations; HS_COUNT_SHIFT */
    uint64_t inherited_count; /* of sample_count: a forked child began with them */
    uint64_t duplicate_bytes; /* weight of the blocks that lost_count[HS_LOSS_DUPLICATE] counts */
    /* 1: what the stacks and blocks of a forked child tell as inherited is all of it; 0: also of an
     * older client. */
    uint64_t is_inherited_known;
    uint64_t lost_scope_count; /* recorded samples whose scopes could not all be told */
    uint64_t reserved[1];
    uint64_t lost_count[16];      /* by enum hs_loss */
    uint64_t stack_end_count[16]; /* by enum hs_stack_end */
};

#define HS_THREAD_ID_OTHER 0U /* entry 0 of THREADS: threads beyond the last entry */

/* A thread that has sampled. */
struct hs_thread_v1 {
    uint32_t tid;
    uint32_t start_ms; /* of its first sample, since start_mono_ns */
    char name[16];
    uint64_t reserved;
};

#define HS_BUILD_ID_BYTES 32

/* An executable or library, loaded at one place. */
struct hs_module_v1 {
    uint64_t start_va;   /* lowest mapped address */
    uint64_t end_va;     /* first address after it */
    uint64_t bias_va;    /* run-time address minus link-time address */
    uint64_t exec_off;   /* of the first executable segment: its file offset, */
    uint64_t exec_sva;   /* its link-time address, */
    uint64_t exec_bytes; /* its size in memory */
    uint64_t load_ns;    /* CLOCK_MONOTONIC when first seen */
    uint64_t unload_ns;  /* when found to be gone; 0: still loaded */
    uint32_t path_off;   /* in BYTES, NUL-terminated */
    uint8_t build_id_bytes;
    uint8_t kind; /* enum hs_module_kind */
    /* Where the table of UNWIND_TABLES comes from that the client uses for it: enum
     * hs_unwind_table_source; 0: none. */
    uint16_t table_source;
    uint8_t build_id[HS_BUILD_ID_BYTES];
    uint64_t reserved[3];
};

/* Kinds of modules. */
enum hs_module_kind {
    HS_MODULE_ELF,
    HS_MODULE_ANON, /* code in memory that belongs to no file: JIT */
    HS_MODULE_VDSO,
    HS_MODULE_MARKER, /* module 0: frames that are not code, see HS_FRAME_MARKER */
};

#define HS_MODULE_ID_MARKER 0U

/* Flags of a frame. */
enum hs_frame_flag {
    HS_FRAME_EXACT = 1U << 0,  /* pc is the next instruction itself, not a return address */
    HS_FRAME_MARKER = 1U << 1, /* pc is 256 + enum hs_stack_end, or HS_FRAME_PC_CUT */
    /* pc is an index in CODE_NAMES: a function that an interpreter runs. module_id is
     * HS_MODULE_ID_MARKER. */
    HS_FRAME_NAMED = 1U << 2,
};

#define HS_FRAME_PC_CUT UINT64_C(1)   /* marker: middle frames of a very deep stack are left out */
#define HS_FRAME_PC_END UINT64_C(256) /* marker: + enum hs_stack_end, outermost, why it ends */

/* A code address in a module. */
struct hs_frame_v1 {
    uint64_t pc;
    uint32_t module_id;
    uint32_t flags;
};

/* A stack, and what was allocated through it. */
struct hs_stack_v1 {
    uint64_t hash; /* of heap, type, scope and frames; 0 until the entry is whole */
    /* Of the innermost frame, in FRAME_IDS. Stacks that differ only in heap, type or scope may
     * share their frames. */
    uint32_t frame_ids_idx;
    uint16_t frame_count;
    uint8_t heap_id;
    uint8_t end;      /* enum hs_stack_end */
    uint32_t type_id; /* in TYPES: the program gave it; 0: it did not */
    /* Id + 1 of the innermost frame whose caller was found by following a frame pointer, for lack
     * of unwind information. The frame may have no frame pointer, and then other frames are
     * missing. 0: there is none, or the client is an older one. */
    uint32_t guessed_frame;
    /* Of what was allocated, by parity of the epoch: each in a cache line of its own. */
    struct hs_totals_v1 totals[2];
    /* In a forked child: the part of the totals' variances that came with its parent's samples. The
     * bits of doubles. */
    uint64_t inherited_bytes_var;
    uint64_t inherited_count_var;
    uint32_t scope_id; /* in SCOPES; 0: none */
    uint32_t base_id;  /* id + 1 of the stack of heap 0 whose frames it shares; 0: none */
};

/* States of a record, in its word. */
enum hs_record_state {
    HS_RECORD_FREE = 0,
    HS_RECORD_ALIVE = 1U << 0,
    HS_RECORD_DEAD = 1U << 1, /* tombstone; `epoch` is that of its death */
    /* Tombstone contained in the snapshot that was open when it died. */
    HS_RECORD_IN_SNAPSHOT = 1U << 2,
    HS_RECORD_IN_PEAK = 1U << 3, /* tombstone contained in the peak of that time */
};

/* One sampled block. `word` changes its state atomically. The other fields are written before it
 * says ALIVE, each in one store, because a reader may still look at what the record was before. */
struct hs_record_v1 {
    uint64_t addr;        /* address, or the id that the program uses for the block */
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
_Static_assert(sizeof(struct hs_region_header_v2) <= 4096, "one page");
_Static_assert(sizeof(struct hs_heap_v2) == 128, "two cache lines");
_Static_assert(sizeof(struct hs_name_v2) == 32, "layout v2");
_Static_assert(sizeof(struct hs_thread_block_v1) == 384, "layout v1");
_Static_assert(sizeof(struct hs_thread_v1) == 32, "layout v1");
_Static_assert(sizeof(struct hs_module_v1) == 128, "layout v1");
_Static_assert(sizeof(struct hs_frame_v1) == 16, "layout v1");
_Static_assert(sizeof(struct hs_stack_v1) == 128, "two cache lines");
_Static_assert(sizeof(struct hs_record_v1) == 32, "half a cache line");
_Static_assert(HS_LOSS_N <= 16 && HS_STACK_END_N <= 16, "counters are arrays of 16");

/* Size of a section's elements. */
static inline uint32_t hs_section_elem_bytes(enum hs_section_id section)
{
    static const uint32_t bytes[HS_SECTION_N] = {
        [HS_SECTION_BLOCKS] = sizeof(struct hs_thread_block_v1),
        [HS_SECTION_THREADS] = sizeof(struct hs_thread_v1),
        [HS_SECTION_MODULES] = sizeof(struct hs_module_v1),
        [HS_SECTION_BYTES] = 1,
        [HS_SECTION_FRAMES] = sizeof(struct hs_frame_v1),
        [HS_SECTION_FRAME_IDS] = sizeof(uint32_t),
        [HS_SECTION_STACKS] = sizeof(struct hs_stack_v1),
        [HS_SECTION_RECORDS] = sizeof(struct hs_record_v1),
        [HS_SECTION_HEAPS] = sizeof(struct hs_heap_v2),
        [HS_SECTION_TYPES] = sizeof(struct hs_name_v2),
        [HS_SECTION_SCOPES] = sizeof(struct hs_name_v2),
        [HS_SECTION_LIFETIMES] = sizeof(struct hs_lifetimes_v2),
        [HS_SECTION_UNWIND_TABLES] = 1,
        [HS_SECTION_CODE_NAMES] = sizeof(struct hs_code_name_v2),
    };
    return bytes[section];
}

/* Where the header has a section. */
static inline struct hs_section_v1 *hs_region_section(struct hs_region_header_v2 *header,
                                                      enum hs_section_id section)
{
    return section < HS_SECTION_N_V2 ? &header->sections[section]
                                     : &header->later_sections[section - HS_SECTION_N_V2];
}
