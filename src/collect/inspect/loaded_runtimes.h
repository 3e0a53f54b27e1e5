/*
 * Which runtimes a process has loaded: its C library, its allocator, sanitizers, other profilers,
 * heapscope's own client.
 *
 * They are recognized by the names of the files whose code is mapped, because nothing else can be
 * found out without running code in the process. A file that is mapped as data (by a debugger, a
 * linker) does not count. A process that maps other files under such names misleads only its own
 * user.
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
    HS_LIBC_NONE, /* no C library is mapped: a static program */
    HS_LIBC_GLIBC,
    HS_LIBC_MUSL,
};

enum hs_allocator {
    HS_ALLOCATOR_LIBC,
    HS_ALLOCATOR_JEMALLOC,
    HS_ALLOCATOR_TCMALLOC,
    HS_ALLOCATOR_MIMALLOC,
    HS_ALLOCATOR_OWN, /* part of the executable; exe_file.h finds it, not this file */
    HS_ALLOCATOR_N,
};

struct hs_loaded_runtimes {
    enum hs_libc libc;
    char libc_path[PATH_MAX]; /* path in the process's own root; "": unknown */
    bool is_libc_deleted;     /* an upgrade has replaced it: the file at libc_path is another one */
    enum hs_allocator allocator;
    const char *sanitizer; /* "AddressSanitizer" ...; NULL none */
    const char *profiler;  /* "heaptrack" ...; NULL none */
    bool has_valgrind;
    bool has_client;       /* heapscope's client */
    bool is_client_linked; /* the last one that was found is libheapscope_malloc.so */
    bool has_two_clients;  /* it is linked, and another one came by LD_PRELOAD or by attaching */
    uint64_t control_va;   /* address of its region's control page; 0: it has no region */
};

/* Finds the runtimes in the text of /proc/PID/maps. */
void hs_loaded_runtimes_find(const char *maps, size_t maps_bytes,
                             struct hs_loaded_runtimes *ret_runtimes);

/* The allocator's name: "the C library", "jemalloc" ... */
const char *hs_allocator_name(enum hs_allocator allocator);
