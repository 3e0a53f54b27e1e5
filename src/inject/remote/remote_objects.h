/*
 * What the loader of another process has loaded: its link map, and symbols through the hash tables
 * of the objects.
 *
 * The list is found as a debugger finds it: the program headers (whose address the kernel gives in
 * /proc/PID/auxv), the dynamic section, DT_DEBUG, struct r_debug, and the link map. No code runs in
 * the process and no thread of it is stopped, so the list may change while it is read.
 *
 * Trust     everything read is hostile: counts are capped, lists end, and an address without memory
 *           ends the walk.
 * Threads   no state.
 * Fails     enum hs_inject_error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/remote/remote_memory.h"

#define HS_REMOTE_NAME_BYTES 96

/* Where heapscope loads its library from: the folder of descriptors, as no program writes it. */
#define HS_REMOTE_FD_FOLDER "/proc/self/task/../fd/"

struct hs_remote_object {
    /* file name without its directory, truncated; "" for the program itself */
    char name[HS_REMOTE_NAME_BYTES];
    bool is_from_descriptor; /* loaded from HS_REMOTE_FD_FOLDER, as only heapscope does */
    uint64_t bias_va;        /* run-time address minus link-time address */
    uint64_t start_va;       /* all segments lie in [start_va, end_va); 0, 0: not known */
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
    uint64_t debug_va;                 /* address of the process's struct r_debug */
    uint64_t last_map_va;              /* the last entry of the list */
    uint64_t loader_va;                /* where the loader is mapped */
    char loader[HS_REMOTE_NAME_BYTES]; /* the loader's path, as PT_INTERP names it */
};

/* What the kernel says about the program, in /proc/PID/auxv. */
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

/* Reads the objects of `tid` in place of what *objects held. A zeroed struct is an empty list.
 * HS_INJECT_DONE or enum hs_inject_error. */
int hs_remote_objects_load(pid_t tid, const struct hs_remote_memory *memory,
                           struct hs_remote_objects *objects);
/* The same, with *program in place of /proc/PID/auxv. */
int hs_remote_objects_walk(const struct hs_remote_program *program,
                           const struct hs_remote_memory *memory,
                           struct hs_remote_objects *objects);
/* Frees the list. */
void hs_remote_objects_deinit(struct hs_remote_objects *objects);

/* Fills *ret_object from the loader's struct link_map at `map_va`; *ret_next_va is the address of
 * the next one. False: it makes no sense. */
bool hs_remote_objects_read_map(const struct hs_remote_memory *memory, uint64_t map_va,
                                struct hs_remote_object *ret_object, uint64_t *ret_next_va);

/* The object whose segments contain `va`. NULL: none. */
const struct hs_remote_object *hs_remote_objects_at(const struct hs_remote_objects *objects,
                                                    uint64_t va);

/* Is the loader's list consistent, and does it still end where it ended when it was read? False
 * also while the loader adds or removes objects. */
bool hs_remote_objects_are_settled(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects);

/* Finds the object's own definition of `name`, in its default version if it has several. False: the
 * object does not define it. */
bool hs_remote_objects_symbol(const struct hs_remote_memory *memory,
                              const struct hs_remote_object *object, const char *name,
                              struct hs_remote_symbol *ret_symbol);

/* The same in all objects, the last loaded first. Returns the object, or NULL if none defines
 * `name`. */
const struct hs_remote_object *hs_remote_objects_search(const struct hs_remote_memory *memory,
                                                        const struct hs_remote_objects *objects,
                                                        const char *name,
                                                        struct hs_remote_symbol *ret_symbol);
