/*
 * Snapshots made by hand, for tests of code that writes and reads them.
 *
 * A small builder: modules, frames and stacks are appended, figures are set afterwards. Everything
 * is allocated so that hs_snapshot_free() can free it.
 */
#pragma once

#include "trace/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline struct hs_snapshot *fixture_snapshot(uint32_t pid, uint64_t start_ns,
                                                   uint64_t time_ns)
{
    struct hs_snapshot *snap = calloc(1, sizeof(*snap));
    snap->pid = pid;
    snap->ppid = pid - 1;
    snprintf(snap->comm, sizeof(snap->comm), "prog%u", pid % 100000000U);
    snap->exe = strdup("/usr/bin/prog");
    snap->cmdline = malloc(16);
    memcpy(snap->cmdline, "prog\0-x\0a b", 12);
    snap->cmdline_bytes = 12;
    snap->is_from_startup = true;
    snap->start_mono_ns = start_ns;
    snap->time_mono_ns = time_ns;
    snap->interval_bytes = 4096;
    snap->orig_interval_bytes = 4096;
    strcpy(snap->malloc_path, "/lib/libc.so.6");
    snap->heaps = calloc(HS_REGION_HEAPS, sizeof(snap->heaps[0]));
    strcpy(snap->heaps[0].name, "libc.malloc");
    snap->heap_count = 1;
    /* Module 0 is that of markers. */
    snap->modules = calloc(1, sizeof(snap->modules[0]));
    snap->modules[0].path = strdup("");
    snap->modules[0].kind = HS_MODULE_MARKER;
    snap->module_count = 1;
    return snap;
}

/*
 * start_va is the address of its executable segment; exec_off is that segment's offset in the file.
 */
static inline uint32_t fixture_module(struct hs_snapshot *snap, const char *path, uint8_t id_byte,
                                      uint64_t bias_va)
{
    snap->modules = realloc(snap->modules, (snap->module_count + 1) * sizeof(snap->modules[0]));
    struct hs_snap_module *module = &snap->modules[snap->module_count];
    memset(module, 0, sizeof(*module));
    module->path = strdup(path);
    module->kind = path[0] == '[' ? HS_MODULE_ANON : HS_MODULE_ELF;
    if (module->kind == HS_MODULE_ELF) {
        module->build_id_bytes = 20;
        memset(module->build_id, id_byte, 20);
        module->build_id[0] = 0; /* ids are bytes, not text */
        module->bias_va = bias_va;
        module->start_va = bias_va;
        module->end_va = bias_va + 0x9000;
        module->exec_off = 0x1040;
        module->exec_sva = 0x2040;
        module->exec_bytes = 0x5000;
    }
    return snap->module_count++;
}

static inline uint32_t fixture_frame(struct hs_snapshot *snap, uint32_t module_id, uint64_t rel_pc,
                                     uint32_t flags)
{
    snap->frames = realloc(snap->frames, (snap->frame_count + 1) * sizeof(snap->frames[0]));
    snap->frames[snap->frame_count] = (struct hs_snap_frame){
        .rel_pc = rel_pc,
        .pc = flags & HS_FRAME_MARKER ? rel_pc : rel_pc + snap->modules[module_id].bias_va,
        .module_id = module_id,
        .flags = flags,
    };
    return snap->frame_count++;
}

/* Frames innermost first. */
static inline struct hs_snap_stack *fixture_stack(struct hs_snapshot *snap, uint8_t heap_id,
                                                  const uint32_t *frames, uint16_t count)
{
    /* Stacks point into one array, which realloc may move. */
    uint32_t *ids = realloc(snap->frame_ids, (snap->frame_id_count + count + 1) * sizeof(ids[0]));
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        snap->stacks[i].frame_ids = ids + (snap->stacks[i].frame_ids - snap->frame_ids);
    }
    snap->frame_ids = ids;
    for (uint16_t i = 0; i < count; i++) {
        ids[snap->frame_id_count + i] = frames[i];
    }
    snap->stacks = realloc(snap->stacks, (snap->stack_count + 1) * sizeof(snap->stacks[0]));
    struct hs_snap_stack *stack = &snap->stacks[snap->stack_count++];
    *stack = (struct hs_snap_stack){
        .frame_ids = ids + snap->frame_id_count,
        .frame_count = count,
        .heap_id = heap_id,
    };
    snap->frame_id_count += count;
    return stack;
}

static inline struct hs_estimate fixture_amount(double bytes, double count)
{
    return (struct hs_estimate){ bytes, count, bytes * 4096, count / 8 };
}

static inline void fixture_add(struct hs_estimate *sum, const struct hs_estimate *more)
{
    sum->bytes += more->bytes;
    sum->count += more->count;
    sum->bytes_var += more->bytes_var;
    sum->count_var += more->count_var;
}

/* Sums over the stacks of each heap, and over those of all heaps that are not carved. */
static inline void fixture_totals(struct hs_snapshot *snap)
{
    snap->alloc = snap->live = snap->peak = (struct hs_estimate){ 0 };
    for (uint32_t i = 0; i < HS_REGION_HEAPS; i++) {
        struct hs_snap_heap *heap = &snap->heaps[i];
        heap->alloc = heap->live = heap->peak = (struct hs_estimate){ 0 };
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *s = &snap->stacks[i];
        struct hs_snap_heap *heap = &snap->heaps[s->heap_id];
        fixture_add(&heap->alloc, &s->alloc);
        fixture_add(&heap->live, &s->live);
        fixture_add(&heap->peak, &s->peak);
        if (!heap->is_carved) {
            fixture_add(&snap->alloc, &s->alloc);
            fixture_add(&snap->live, &s->live);
            fixture_add(&snap->peak, &s->peak);
        }
    }
}

/*
 * A process with `stack_count` stacks of `depth` frames, shaped like a real one: few callers, many
 * leaves.
 */
static inline struct hs_snapshot *fixture_typical(uint32_t pid, uint32_t stack_count,
                                                  uint16_t depth, uint64_t time_ns)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, 1000000000, time_ns);
    uint32_t modules[4];
    char path[64];
    for (uint32_t m = 0; m < 4; m++) {
        snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libpart%u.so.%u", m, m);
        modules[m] =
            fixture_module(snap, path, (uint8_t)(m + 1), UINT64_C(0x7f0000000000) + pid * 4096U);
    }
    uint32_t frame_count = stack_count * 2 + depth;
    snap->frames = malloc(frame_count * sizeof(snap->frames[0]));
    for (uint32_t f = 0; f < frame_count; f++) {
        uint64_t rel_pc = 0x2040 + (uint64_t)f * 37;
        snap->frames[f] = (struct hs_snap_frame){ .rel_pc = rel_pc,
                                                  .pc = rel_pc + snap->modules[1].bias_va,
                                                  .module_id = modules[f % 4] };
    }
    snap->frame_count = frame_count;
    snap->frame_id_count = (uint64_t)stack_count * depth;
    snap->frame_ids = malloc(snap->frame_id_count * sizeof(uint32_t));
    snap->stacks = calloc(stack_count, sizeof(snap->stacks[0]));
    snap->stack_count = stack_count;
    uint64_t seed = 88172645463325252U + 0 * pid;
    for (uint32_t s = 0; s < stack_count; s++) {
        uint32_t *ids = snap->frame_ids + (uint64_t)s * depth;
        for (uint16_t d = 0; d < depth; d++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            /* d frames from the outermost there are 2^d choices, up to all frames. */
            uint32_t choices = d < 20 && (2U << d) < frame_count ? 2U << d : frame_count;
            ids[depth - 1 - d] = (uint32_t)(seed % choices);
        }
        double samples = (double)(1 + seed % 50);
        snap->stacks[s] = (struct hs_snap_stack){
            .frame_ids = ids,
            .frame_count = depth,
            .alloc = fixture_amount(samples * 4096, samples * 4096 / 48),
        };
        if (seed % 3 == 0) {
            snap->stacks[s].live = fixture_amount(4096, 4096.0 / 48);
        }
        snap->stacks[s].peak = fixture_amount(seed % 5 ? 0 : 4096, seed % 5 ? 0 : 4096.0 / 48);
    }
    snap->peak_time_mono_ns = time_ns - 1;
    fixture_totals(snap);
    return snap;
}
