/*
 * The labels of a pprof sample that heapscope knows: of which process and heap it is; and those of
 * a sample that is one block, as heapscope and Fuchsia's heapdump write them.
 *
 *     address "0x7f10"   bytes 100   timestamp 123456 (nanoseconds)   thread "worker[4711]"   type
 *
 * Threads   one user.
 */
#pragma once

#include "profile/read/pprof_tables.h"

struct hs_pprof_labels_read {
    uint64_t pid;
    uint32_t heap;         /* string id; 0: none */
    uint32_t process_name; /* string id; 0: none */
    /* The sample is a block: address, size, birth, thread and type are those of its labels. */
    bool is_block;
    struct hs_profile_block block;
};

/* Reads the labels of a sample. */
struct hs_pprof_labels_read hs_pprof_read_labels(struct hs_pprof_tables *tables,
                                                 const Hs__Pprof__PprofSample *sample);
