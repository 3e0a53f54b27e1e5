/*
 * /proc/PID/maps as an array: where there is memory, and with which permissions.
 *
 * Threads   no state.
 * Fails     -errno of reading. Lines that make no sense are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_remote_map {
    uint64_t start_va;
    uint64_t end_va;
    bool is_readable;
    bool is_writable;
    bool is_executable;
    bool is_growing; /* the main thread's stack, which the kernel extends downwards */
};

struct hs_remote_maps {
    struct hs_remote_map *items; /* by address */
    size_t count;
    size_t capacity;
};

/* Reads the maps of `tid` in place of what *maps held. A zeroed struct is an empty array. 0 or
 * -errno. */
int hs_remote_maps_load(pid_t tid, struct hs_remote_maps *maps);
/* Frees the array. */
void hs_remote_maps_deinit(struct hs_remote_maps *maps);

/* The mapping that contains `va`. NULL: there is none. */
const struct hs_remote_map *hs_remote_maps_find(const struct hs_remote_maps *maps, uint64_t va);

/* Parses one line, with or without its newline. False: the line makes no sense. */
bool hs_remote_maps_parse(const char *line, struct hs_remote_map *ret_map);
