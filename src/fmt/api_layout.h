/*
 * The table between libheapscope.so, in which a program registers heaps, and the client, which
 * records them.
 *
 * The library exports one table, HS_API_SYMBOL. It holds no code of the client's and has no
 * relocation: a client may fill it in as soon as the library is mapped. The client finds it through
 * the link map when it starts, when it is attached, and when it looks for new objects; and the
 * library's constructor calls HS_API_FOUND_SYMBOL if the process has a client that exports it.
 *
 * A call of the library that reports something compares two words and returns when they are equal:
 * the word at table + generation_off, and `quiet`. Without a client both are 0. A client lets
 * generation_off point to the word of the control page that changes with each setting, and sets
 * `quiet` to that word's value while it records none of the program's heaps, otherwise to
 * HS_API_NEVER_QUIET.
 *
 * Ensures   `calls` is there before generation_off is changed, and never changes again. A heap's
 *           name, flags and callbacks do not change once HS_API_HEAP_REGISTERED is set.
 * Threads   any. The library serialises the creation of heaps; all else is atomic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/api_scopes.h"

#define HS_API_SYMBOL       "heapscope_api_v1"
#define HS_API_FOUND_SYMBOL "heapscope_api_found_v1"     /* void (struct hs_api_v1 *table) */
#define HS_API_MAGIC        UINT64_C(0x3130304950415348) /* "HSAPI001" read as little-endian */
#define HS_API_VERSION      1U
#define HS_API_HEAPS        256U /* ids 1 to 255; 0 is no heap */
#define HS_API_NAME_BYTES   64U  /* with the NUL */
#define HS_API_NEVER_QUIET  (UINT64_C(1) << 32)

enum hs_api_heap_flag {
    HS_API_HEAP_REGISTERED = 1U << 0, /* set last, with release */
    HS_API_HEAP_PRIMARY = 1U << 1,    /* its memory is its own; otherwise it lies in other heaps' */
};

/* `info`: a pointer to struct hs_api_callback_info_v1, valid during the call. */
typedef void hs_api_callback_fn(void *data, const void *info);

/* A heap of the program. */
struct hs_api_heap_v1 {
    char name[HS_API_NAME_BYTES];
    uint32_t flags;       /* enum hs_api_heap_flag */
    uint32_t parent;      /* id of the heap in whose blocks it lies; 0: unknown (mostly malloc) */
    uint32_t client_heap; /* set by the client: what reports name; 0: not recorded by this client */
    uint32_t adoption;    /* the client's: how far it is with the heap */
    /* The client calls these, outside its locks, in a call of the library. */
    hs_api_callback_fn *on_enabled;
    void *enabled_data;
    hs_api_callback_fn *on_disabled;
    void *disabled_data;
    uint64_t told_interval_bytes; /* what the last callback was told; 0: disabled. The client's */
};

struct hs_api_callback_info_v1 {
    uint64_t interval_bytes;
};

/* A figure that the client does not count. */
#define HS_API_STATS_UNKNOWN UINT64_MAX

struct hs_api_stats_v1 {
    uint64_t allocated_bytes; /* since recording began; estimates unless is_exact */
    uint64_t deallocated_bytes;
    uint64_t is_exact; /* 1: every allocation was recorded */
    uint64_t reserved[5];
};

/* How a program wants to be recorded without a session. */
struct hs_api_bind_v1 {
    uint64_t interval_bytes; /* 0: as the environment says */
    const char *socket; /* absolute path of the daemon's socket; NULL: as the environment says */
    uint64_t reserved[6];
};

/* `heap` is hs_api_heap_v1.client_heap. */
typedef bool hs_api_report_fn(uint32_t heap, uint64_t id, uint64_t size_bytes);
/* `type`: the name of the block's type, read during the call; NULL or "": none is given. */
typedef bool hs_api_report_of_fn(uint32_t heap, uint64_t id, uint64_t size_bytes, const char *type);
typedef void hs_api_free_fn(uint32_t heap, uint64_t id);
typedef void hs_api_poll_fn(void);
typedef int hs_api_snapshot_fn(const char *name);
typedef int hs_api_stats_fn(struct hs_api_stats_v1 *global, struct hs_api_stats_v1 *local);
typedef int hs_api_bind_fn(const struct hs_api_bind_v1 *request);

/* What the client does for the library. */
struct hs_api_calls_v1 {
    uint32_t version;
    uint32_t bytes;
    hs_api_report_fn *report_alloc;
    hs_api_report_fn *report_sample;
    hs_api_free_fn *report_free;
    /* Takes up new settings and newly registered heaps, and runs the callbacks that are due. */
    hs_api_poll_fn *poll;
    /* Sends a named snapshot's name to the collector, and waits until its cut is open, 2 s at most.
     * 0 or -errno: -ENOTCONN without a collector, -ETIMEDOUT, -ENAMETOOLONG. */
    hs_api_snapshot_fn *take_snapshot;
    /* Either may be NULL. 0 or -errno. */
    hs_api_stats_fn *get_stats;
    /* Begins to record without a session. 0 or -errno: see heapscope_bind(3). */
    hs_api_bind_fn *bind;
    /* Not there in older clients, whose `bytes` end before it. */
    hs_api_note_scopes_fn *note_scopes;
    /* Not there in older clients, either. */
    hs_api_report_of_fn *report_alloc_of;
};

struct hs_api_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t table_bytes;
    int64_t generation_off; /* from this table; at first that of no_generation */
    uint64_t quiet;
    const struct hs_api_calls_v1 *calls; /* NULL: no client has found the table */
    uint32_t no_generation;              /* always 0 */
    uint32_t heap_count;                 /* slots handed out, slot 0 included */
    uint32_t is_child;                   /* 1: in a forked child; no callback is called any more */
    uint32_t reserved0;
    /* Both are set by the library when it runs, in this order; NULL: there are no scopes. */
    struct hs_api_scope_names_v1 *scope_names;
    hs_api_scopes_fn *scopes;
    uint64_t reserved[6];
    struct hs_api_heap_v1 heaps[HS_API_HEAPS];
};
