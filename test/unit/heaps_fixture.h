/*
 * A snapshot of a process with heaps of all kinds, for tests of what is said of heaps.
 *
 *     libc.malloc   primary                        live 100000   allocated 200000   peak 150000
 *     pool          carved from libc.malloc        live  40000   allocated  60000   own peak 50000
 *     slab/inner    carved from pool               live  10000   allocated  10000   own peak 10000
 *     lost pool     carved, parent unknown, own samples
 *                                                  live   5000   allocated   5000   own peak  5000
 *     gpu           primary, interval 65536        live 300000   allocated 300000   peak 200000
 *     idle          primary, without figures
 */
#pragma once

#include "snapshot_fixture.h"

static inline void fixture_heap_stack(struct hs_snapshot *snap, uint8_t heap_id, uint32_t frame,
                                      double alloc, double live, double peak)
{
    struct hs_snap_stack *stack = fixture_stack(snap, heap_id, (uint32_t[]){ frame, 0 }, 2);
    stack->alloc = (struct hs_estimate){ .bytes = alloc, .count = alloc / 1000 };
    stack->live = (struct hs_estimate){ .bytes = live, .count = live / 1000 };
    stack->peak = (struct hs_estimate){ .bytes = peak, .count = peak / 1000 };
}

/* Everything was recorded. The first frame is "main", the second of each heap its own. */
static inline struct hs_snapshot *fixture_heaps(uint32_t pid, uint64_t time_ns)
{
    static const char *const names[] = { "libc.malloc", "pool", "slab/inner",
                                         "lost pool",   "gpu",  "idle" };
    struct hs_snapshot *snap = fixture_snapshot(pid, 2000000, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    snap->interval_bytes = snap->orig_interval_bytes = 1;
    snap->peak_time_mono_ns = time_ns - 1000;
    snap->sample_count = 6;
    for (uint32_t i = 0; i < 6; i++) {
        strcpy(snap->heaps[i].name, names[i]);
        snap->heaps[i].peak_time_mono_ns = snap->peak_time_mono_ns;
        fixture_frame(snap, exe, 0x2100 + i * 16, 0);
    }
    snap->heap_count = 6;
    for (uint32_t i = 1; i < 4; i++) {
        snap->heaps[i].is_carved = true;
        snap->heaps[i].peak_time_mono_ns = time_ns - 1000 - i * 100;
    }
    snap->heaps[1].parent = 1;
    snap->heaps[1].peak_short_bytes = 7;
    snap->heaps[2].parent = 2;
    snap->heaps[3].has_own_samples = true;
    snap->heaps[4].interval_bytes = 65536;
    fixture_heap_stack(snap, 0, 1, 150000, 60000, 100000);
    fixture_heap_stack(snap, 0, 2, 50000, 40000, 50000);
    fixture_heap_stack(snap, 1, 1, 60000, 40000, 50000);
    fixture_heap_stack(snap, 2, 3, 10000, 10000, 10000);
    fixture_heap_stack(snap, 3, 4, 5000, 5000, 5000);
    fixture_heap_stack(snap, 4, 5, 300000, 300000, 200000);
    /* Of gpu, a third was sampled. */
    snap->stacks[5].live.bytes_var = snap->stacks[5].alloc.bytes_var = 65536.0 * 100000;
    fixture_totals(snap);
    return snap;
}
