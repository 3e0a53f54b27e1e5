/*
 * What version 1 of the region had and version 2 has not: a header in which all heaps have their
 * names. fmt/region_layout.h has the rest, which both versions share.
 *
 * Clients before 0.2 write this version. A collector reads it.
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

#define HS_REGION_HEAPS_V1 64

/* A heap's name. */
struct hs_heap_v1 {
    char name[64]; /* NUL-terminated; "" while unused */
    uint64_t reserved[2];
};

/* The header. Its fields up to `sections` are those of struct hs_region_header_v2. */
struct hs_region_header_v1 {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t pid;
    uint32_t ppid;
    uint64_t start_mono_ns;
    uint64_t start_real_ns;
    uint64_t start_boot_ns;
    uint32_t page_bytes;
    uint32_t is_from_startup;
    uint32_t exe_off;
    uint32_t cmdline_off;
    uint32_t cmdline_bytes;
    uint32_t real_malloc_module;
    char comm[16];
    uint64_t interval_bytes[HS_REGION_INTERVALS];
    uint32_t interval_count;
    uint32_t forked_from_pid;
    struct hs_section_v1 sections[HS_SECTION_N_V1];
    struct hs_heap_v1 heaps[HS_REGION_HEAPS_V1];
};

_Static_assert(sizeof(struct hs_region_header_v1) == 5984, "layout v1");
