/*
 * What the loader of another process has loaded: its link map, and symbols by the objects' hash tables.
 *
 * Found as a debugger finds it: the program headers (the kernel tells where they are, in /proc/PID/auxv),
 * the dynamic section, DT_DEBUG, struct r_debug, and the list. Nothing runs in the process, nothing of it is
 * stopped, so the list may change while it is read.
 *
 * Trust     all of it is hostile: counts are capped, lists have an end, and what points nowhere is not followed.
 * Threads   no state.
 * Fails     enum hs_inject_error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/remote_memory.h"

#define HS_REMOTE_NAME_BYTES 96

struct hs_remote_object {
    char name[HS_REMOTE_NAME_BYTES]; /* without its folder, cut; "" of the program itself */
    bool is_from_descriptor;         /* loaded from /proc/self/fd/N, as by us */
    uint64_t bias_va;                /* run-time address minus link-time address */
    uint64_t start_va; /* all its segments lie in [start_va, end_va); 0, 0: not known */
    uint64_t end_va;
    uint64_t eh_hdr_va; /* PT_GNU_EH_FRAME; 0: none */
    uint64_t eh_hdr_bytes;
    uint64_t symbols_va;
    uint64_t strings_va;
    uint64_t gnu_hash_va;
    uint64_t sysv_hash_va;
    uint64_t versions_va;
};

struct hs_remote_objects {
    struct hs_remote_object *items; /* in the order of loading; the first is the program */
    size_t count;
    size_t capacity;
    uint64_t debug_va;                 /* its struct r_debug */
    uint64_t last_map_va;              /* the last entry of the list */
    uint64_t loader_va;                /* where the loader was mapped */
    char loader[HS_REMOTE_NAME_BYTES]; /* its path as the program names it */
};

/* What the kernel says of the program. */
struct hs_remote_program {
    uint64_t headers_va; /* its program headers */
    uint64_t header_count;
    uint64_t loader_va;
};

struct hs_remote_symbol {
    uint64_t va;
    uint64_t size_bytes;
    unsigned type; /* STT_* */
};

/* Replaces what *objects held. Zeroes are an empty one. */
int hs_remote_objects_load(pid_t tid, const struct hs_remote_memory *memory,
                           struct hs_remote_objects *objects);
/* The same from what /proc/PID/auxv would say. */
int hs_remote_objects_walk(const struct hs_remote_program *program,
                           const struct hs_remote_memory *memory,
                           struct hs_remote_objects *objects);
void hs_remote_objects_deinit(struct hs_remote_objects *objects);

/* Fills *ret_object from the loader's struct link_map at `map_va`, and says where the next one is. False: it
 * makes no sense. */
bool hs_remote_objects_read_map(const struct hs_remote_memory *memory, uint64_t map_va,
                                struct hs_remote_object *ret_object, uint64_t *ret_next_va);

/* NULL: none there. */
const struct hs_remote_object *hs_remote_objects_at(const struct hs_remote_objects *objects,
                                                    uint64_t va);

/* Is the list as whole as the loader leaves it, and as we read it? False also while objects come or go. */
bool hs_remote_objects_are_settled(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects);

/* The object's own definition of `name`, its default version if it has several. */
bool hs_remote_objects_symbol(const struct hs_remote_memory *memory,
                              const struct hs_remote_object *object, const char *name,
                              struct hs_remote_symbol *ret_symbol);

/* The same in all objects, the last one loaded first. NULL: nowhere. */
const struct hs_remote_object *hs_remote_objects_search(const struct hs_remote_memory *memory,
                                                        const struct hs_remote_objects *objects,
                                                        const char *name,
                                                        struct hs_remote_symbol *ret_symbol);
