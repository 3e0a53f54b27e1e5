/*
 * A ledger: what the resident memory of one process consists of, at one moment.
 *
 * Each resident page of the process is in one line. A line that is a part of malloc's memory counts
 * the bytes of its chunks that lie in resident pages, so that lines may share a page, but no byte.
 * The lines therefore add up to the process's resident set, except for what changed while the
 * ledger was read.
 *
 * This is the interface between collecting and writing, as snapshot.h is: src/collect/ledger makes
 * a ledger, src/trace writes it.
 *
 * Threads   none; a ledger belongs to the code that made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values are in files: append only. */
enum hs_ledger_kind {
    HS_LEDGER_UNKNOWN,
    HS_LEDGER_MALLOC_USED,     /* chunks that malloc has given to the program */
    HS_LEDGER_MALLOC_LARGE,    /* the same, in mappings of their own */
    HS_LEDGER_MALLOC_BINNED,   /* free chunks in the lists of arenas */
    HS_LEDGER_MALLOC_FAST,     /* the same, not yet merged with their neighbours */
    HS_LEDGER_MALLOC_CACHED,   /* free chunks in the lists of threads */
    HS_LEDGER_MALLOC_TOP,      /* free memory at the ends of arenas */
    HS_LEDGER_MALLOC_INTERNAL, /* the arenas' own tables */
    HS_LEDGER_MALLOC_UNREAD,   /* memory of arenas whose chunks could not be read */
    HS_LEDGER_BRK,             /* memory from brk(2) that is not malloc's */
    HS_LEDGER_ANONYMOUS,       /* other private anonymous mappings; `name` as the kernel has it */
    HS_LEDGER_SHARED,          /* shared memory: shm, memfd, shared anonymous mappings */
    HS_LEDGER_STACK,           /* `name` is the thread's */
    HS_LEDGER_CODE,            /* a module's pages as in its file: `name` is its path */
    HS_LEDGER_DATA,            /* a module's pages that differ from its file, and its zeroed data */
    HS_LEDGER_FILE,            /* other mapped files */
    HS_LEDGER_KERNEL,          /* mappings that the kernel made: [vdso] */
    HS_LEDGER_RECORDER,        /* heapscope's own */
    HS_LEDGER_MMAP,            /* what the program has mapped itself: blocks of the heap mmap */
    HS_LEDGER_ALLOCATOR,       /* of an allocator that is not glibc's malloc: `name` */
    HS_LEDGER_RUNTIME,         /* of the runtime of a language: `name` is the part, "JVM heap" */
    HS_LEDGER_KIND_N,
};

/* What of an allocator's resident memory is in blocks. Those that are recorded and live count as
 * the program asked for them; the rest is free, tables, rounding, and blocks from before the
 * recording. */
struct hs_ledger_blocks {
    double bytes;         /* an estimate, if any is sampled: it can be more than what is resident */
    double sampled_bytes; /* of these */
    double variance;      /* of sampled_bytes */
    double weight_bytes;  /* the most that one sample stands for */
    uint64_t used_bytes;  /* in all blocks, by the allocator's own tables; 0: they were not read */
};

struct hs_ledger_line {
    uint32_t kind;       /* enum hs_ledger_kind */
    char *name;          /* "": it has none */
    uint64_t count;      /* of chunks, threads or mappings */
    uint64_t size_bytes; /* resident or not */
    uint64_t rss_bytes, pss_bytes, swap_bytes;
    struct hs_ledger_blocks blocks; /* of HS_LEDGER_ALLOCATOR; else 0 */
    /* rss_bytes is an estimate, at most so much more or less in 95 of 100 cases; 0: it is exact.
     * Estimates add up to an exact sum. */
    uint64_t rss_margin_bytes;
};

/* A stack that mapped memory, of those of the line HS_LEDGER_MMAP. */
struct hs_ledger_stack {
    uint32_t stack_id; /* of the snapshot */
    uint64_t count;    /* of ranges */
    uint64_t size_bytes;
    uint64_t rss_bytes, swap_bytes;
};

/* A ledger has at most so many stacks: those with the most resident bytes. */
#define HS_LEDGER_STACKS_MAX 1024U

/* Why malloc's memory is not divided into lines. */
enum hs_ledger_malloc {
    HS_LEDGER_MALLOC_READ,
    HS_LEDGER_MALLOC_NONE,          /* the process does not use glibc's malloc */
    HS_LEDGER_MALLOC_OTHER_RELEASE, /* of glibc, whose layout is not known */
    HS_LEDGER_MALLOC_BROKEN,        /* its arenas make no sense */
    HS_LEDGER_MALLOC_FORBIDDEN,     /* heapscope may not read the process's memory */
};

struct hs_ledger {
    uint32_t pid;
    uint64_t time_mono_ns;
    uint64_t cpu_ns;    /* what reading took of the reader's CPU time */
    uint64_t rss_bytes; /* sums over the mappings, from the kernel */
    uint64_t pss_bytes, swap_bytes;
    uint64_t page_table_bytes; /* not part of the resident set */
    uint64_t hugetlb_bytes;    /* in huge pages of the system's pool; not part of it either */
    uint32_t malloc_result;    /* enum hs_ledger_malloc */
    uint32_t arena_count;
    bool is_free_cut;           /* some free chunks are counted as in use */
    uint64_t trim_bytes;        /* of the resident bytes, malloc_trim(3) would give back so many */
    uint64_t trim_margin_bytes; /* as rss_margin_bytes */
    /* One part in so many of malloc's chunks was read, and stands for all; 0 or 1: all were. */
    uint32_t malloc_part_share;
    struct hs_ledger_line *lines; /* the largest first */
    uint32_t line_count;
    struct hs_ledger_stack *stacks; /* those with the most resident bytes first */
    uint32_t stack_count;
};

/* The name of a kind in JSON and SQL: "malloc_used". */
const char *hs_ledger_kind_key(uint32_t kind);
/*
 * Does a line say what its memory is for, or to whom it belongs? Anonymous memory without a name
 * does not, nor does memory of malloc's that could not be read, nor a kind that this version does
 * not know.
 */
bool hs_ledger_is_explained(uint32_t kind, bool has_name);

/* Adds blocks whose samples are different ones. */
void hs_ledger_blocks_add(struct hs_ledger_blocks *sum, const struct hs_ledger_blocks *more);

/* Returns a copy, or NULL: there is no memory. */
struct hs_ledger *hs_ledger_copy(const struct hs_ledger *ledger);
/* Frees the ledger and everything that it owns. NULL is allowed. */
void hs_ledger_free(struct hs_ledger *ledger);
