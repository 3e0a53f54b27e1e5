/*
 * The scan: one pass over all records that adds up what each stack and thread holds at a cut.
 *
 * Two cuts are taken in the same pass, the snapshot's and the peak's. A record is 32 bytes and is
 * read once; the sums of its stack for both cuts are one cache line. The weight of a sample needs
 * 1/(1 - e^(-size/interval)); sizes repeat, so a small table caches it.
 *
 * Holds     estimates are finite; sums[i] is only written for i < stack_count.
 * Threads   one; the records change during the scan, and each word is loaded once.
 * Fails     never: a record that makes no sense is counted in bad_count and left out.
 * See       cut.h for what belongs to a cut, docs/SAMPLING.md for the weights.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/region/block_list.h"
#include "collect/region/part_table.h"
#include "collect/region/record_types.h"
#include "fmt/region_layout.h"
#include "trace/snapshot.h"

struct hs_stack_sums {
    struct hs_estimate live;
    struct hs_estimate peak;
};

#define HS_SCAN_LEFT_OUT 0xFFFFU

struct hs_record_scan {
    /* in */
    const void *records; /* mapped; struct hs_record_v1 */
    size_t record_bytes; /* distance of the records */
    uint64_t record_count;
    uint64_t cut_epoch;  /* or HS_CUT_OF_DEAD */
    uint64_t peak_epoch; /* 0: no peak */
    /* By stack id: the heap's id + 1 if the heap is carved, HS_SCAN_LEFT_OUT if its records do not
     * count, otherwise 0. NULL: all are 0. */
    const uint16_t *carved_heaps;
    const struct hs_heap_v2 *heaps; /* of these */
    const uint64_t *interval_bytes;
    uint32_t interval_count;
    uint32_t stack_count;
    uint32_t thread_count;
    /* For ages: when the records' clock began, the cut, and the peak. */
    uint64_t start_mono_ns, cut_mono_ns, peak_mono_ns;
    uint64_t birth_window_ms, birth_span_ms; /* trace/heap_births.h */
    const struct hs_record_types *types;     /* NULL: they are not known */
    /* Of a viewer that looks again and again. Not NULL: there are no parts of live blocks without a
     * type; those whose memory was not read are added up here, by stack id, the others nowhere. */
    struct hs_estimate *unread;
    /* out, zeroed by the caller */
    struct hs_stack_sums *sums; /* indexed by stack id */
    /* Live estimates of heaps that are not carved, indexed by thread id; at least one element. */
    struct hs_estimate *threads;
    /* Where parts are added up, by enum hs_part_view; NULL: nowhere. */
    struct hs_part_table *parts[HS_PART_VIEWS];
    /* Where live blocks are added up by stack and by the window of their birth, in place of the age
     * class; NULL: nowhere. The window is the last one for a block that is younger than the cut. */
    struct hs_part_table *births;
    struct hs_block_list *blocks; /* where live blocks are listed; NULL: nowhere */
    uint64_t bad_count;
};

/* Scans all records, and adds to sums, threads and bad_count. */
void hs_record_scan_run(struct hs_record_scan *scan);
