/*
 * /proc/PID/maps as an array: where there is memory, and what may be done with it.
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
    bool is_growing; /* the main thread's stack: the kernel makes room below it */
};

struct hs_remote_maps {
    struct hs_remote_map *items; /* by address */
    size_t count;
    size_t capacity;
};

/* Replaces what *maps held. Zeroes are an empty one. */
int hs_remote_maps_load(pid_t tid, struct hs_remote_maps *maps);
void hs_remote_maps_deinit(struct hs_remote_maps *maps);

/* NULL: no memory at va. */
const struct hs_remote_map *hs_remote_maps_find(const struct hs_remote_maps *maps, uint64_t va);

/* One line, without its newline or with it. */
bool hs_remote_maps_parse(const char *line, struct hs_remote_map *ret_map);
