/*
 * Who already lives in a process: its C library, its allocator, sanitizers, other profilers, our own client.
 *
 * Told by the names of the files whose code is mapped, since nothing else can be asked without running in
 * there. A file that is mapped as data (by a debugger, a linker) is not meant. A process that maps files under
 * such names without need deceives nobody but its user.
 *
 * Threads   pure functions.
 * See       util/proc_maps.h
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_libc {
    HS_LIBC_NONE, /* none is mapped: a static program */
    HS_LIBC_GLIBC,
    HS_LIBC_MUSL,
};

enum hs_allocator {
    HS_ALLOCATOR_LIBC,
    HS_ALLOCATOR_JEMALLOC,
    HS_ALLOCATOR_TCMALLOC,
    HS_ALLOCATOR_MIMALLOC,
    HS_ALLOCATOR_OWN, /* of the executable; runtimes don't show it, exe_file.h does */
    HS_ALLOCATOR_N,
};

struct hs_loaded_runtimes {
    enum hs_libc libc;
    char libc_path[PATH_MAX]; /* as the process sees it; "" unknown */
    bool is_libc_deleted;     /* replaced by an upgrade: what is at libc_path is another one */
    enum hs_allocator allocator;
    const char *sanitizer; /* "AddressSanitizer" ...; NULL none */
    const char *profiler;  /* "heaptrack" ...; NULL none */
    bool has_valgrind;
    bool has_client;     /* ours */
    uint64_t control_va; /* where it has its region's control page; 0: it has no region */
};

/* From the text of /proc/PID/maps. */
void hs_loaded_runtimes_find(const char *maps, size_t maps_bytes,
                             struct hs_loaded_runtimes *ret_runtimes);

/* Where malloc comes from: "the C library", "jemalloc" ... */
const char *hs_allocator_name(enum hs_allocator allocator);
