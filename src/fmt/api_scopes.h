/*
 * What libheapscope.so keeps of the program's scopes, and the client reads at a sample: the names,
 * and the stack of open scopes of the calling thread.
 *
 * A name has an id, which stays the same for the life of the process. Id 0 is no name: a scope
 * without one counts for the depth and is not recorded. Id 1, HS_API_SCOPE_OTHER, stands for all
 * names for which there was no room.
 *
 * A label is a scope whose name is "key=value": the first '=' ends the key.
 *
 * A thread's stack. `depth` counts all open scopes; those below HS_API_SCOPE_DEPTH have an element
 * of `ids`. A begin takes its slow path while `depth` is not below `room`. The client sets `room`
 * to 0 when it finds the stack empty; so the library tells it of the next begin, and samples of a
 * thread without open scopes need not look.
 *
 * Threads   a thread's stack is read and written by that thread only, also in signal handlers.
 *           Names are written once, and found through `count` and their buckets.
 */
#pragma once

#include <stdint.h>

#define HS_API_SCOPE_DEPTH      128U /* open scopes of a thread that have names */
#define HS_API_SCOPE_NAME_BYTES 256U /* with the NUL; the rest of a longer name is cut off */
#define HS_API_SCOPE_NAMES      65536U
#define HS_API_SCOPE_TEXT_BYTES (4U << 20) /* of all names together */
#define HS_API_SCOPE_BUCKETS    16384U
#define HS_API_SCOPE_OTHER      1U
#define HS_API_SCOPE_OTHER_NAME "(other)"

/* A name. */
struct hs_api_scope_name_v1 {
    uint64_t hash; /* of the text; 0 until the element is whole */
    uint32_t text_off;
    uint32_t bytes; /* without the NUL */
    uint32_t next;  /* in the same bucket; 0: the last one */
    uint32_t reserved;
};

/* All names of the process; it is mapped when the first one is needed. */
struct hs_api_scope_names_v1 {
    uint32_t count;      /* elements handed out; 0 is unused */
    uint32_t text_bytes; /* of `text` in use */
    uint64_t lost_count; /* how often a name had to be HS_API_SCOPE_OTHER */
    uint32_t buckets[HS_API_SCOPE_BUCKETS];
    struct hs_api_scope_name_v1 names[HS_API_SCOPE_NAMES];
    char text[HS_API_SCOPE_TEXT_BYTES];
};

/* A thread's stack of open scopes. */
struct hs_api_scopes_v1 {
    uint32_t depth;
    uint32_t room;
    uint32_t *ids; /* of the names, outermost first; NULL: no scope was ever opened */
};

/* The calling thread's. */
typedef struct hs_api_scopes_v1 *hs_api_scopes_fn(void);
/* Tells the client that the calling thread opens a scope. */
typedef void hs_api_note_scopes_fn(void);
