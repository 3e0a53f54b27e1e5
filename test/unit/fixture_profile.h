/*
 * Profiles made by hand, for tests of code that reads profiles: a few calls make strings,
 * functions, stacks and samples whose sums the test knows.
 *
 *     struct fixture fx = fixture_new();
 *     uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
 *     uint32_t load = fixture_call(&fx, main_, "load");
 *     fixture_process(&fx, 100, "prog");
 *     fixture_dump(&fx, 0);
 *     fixture_sample(&fx, load, fixture_exact(4096, 1), fixture_exact(8192, 2), ...);
 *
 * Holds     the invariants of profile.h, if samples are given in the order of nodes.
 * Fails     by ending the test program.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/profile.h"

#define FIXTURE __attribute__((unused)) static

struct fixture {
    struct hs_profile p;
    uint32_t module; /* module of the frames that follow */
    uint32_t line;   /* line number of the frames that follow; 0: their line_count is 0 */
};

/* Makes room for one more element at the end of an array; realloc takes care of doubling. */
FIXTURE void *fixture_grow(void *array, uint64_t count, size_t element_bytes)
{
    char *bigger = array;
    /* Allocates only when the count is a power of two. */
    if ((count & (count - 1)) == 0) {
        bigger = realloc(array, (count ? count * 2 : 1) * element_bytes);
        if (!bigger) {
            abort();
        }
    }
    memset(bigger + count * element_bytes, 0, element_bytes);
    return bigger;
}

FIXTURE uint32_t fixture_string(struct fixture *fx, const char *text)
{
    struct hs_profile *p = &fx->p;
    /* Searches recent strings first: a test with many strings reuses the last ones. */
    for (uint32_t i = p->string_count; i > 0 && p->string_count - i < 4096; i--) {
        if (strcmp(p->strings[i - 1], text) == 0) {
            return i - 1;
        }
    }
    p->strings = fixture_grow(p->strings, p->string_count, sizeof(*p->strings));
    p->strings[p->string_count] = strdup(text);
    return p->string_count++;
}

FIXTURE uint32_t fixture_module(struct fixture *fx, const char *path, uint64_t start_va)
{
    struct hs_profile *p = &fx->p;
    p->modules = fixture_grow(p->modules, p->module_count, sizeof(*p->modules));
    struct hs_profile_module *m = &p->modules[p->module_count];
    m->path = fixture_string(fx, path);
    m->build_id_hex = fixture_string(fx, "0123456789abcdef");
    m->start_va = start_va;
    m->end_va = start_va + 0x100000;
    m->bias_va = start_va;
    return fx->module = p->module_count++;
}

FIXTURE struct fixture fixture_new(void)
{
    struct fixture fx = { .line = 1 };
    fixture_string(&fx, "");
    fixture_module(&fx, "/usr/bin/prog", 0x400000);
    fx.p.heaps = fixture_grow(NULL, 0, sizeof(*fx.p.heaps));
    fx.p.heaps[fx.p.heap_count++] = fixture_string(&fx, "libc.malloc");
    return fx;
}

FIXTURE uint32_t fixture_node(struct fixture *fx, uint32_t parent, uint32_t frame)
{
    struct hs_profile *p = &fx->p;
    p->nodes = fixture_grow(p->nodes, p->node_count, sizeof(*p->nodes));
    p->nodes[p->node_count] = (struct hs_profile_node){
        .parent = parent,
        .frame = frame,
        .depth = parent == HS_NODE_NONE ? 0 : p->nodes[parent].depth + 1,
    };
    return p->node_count++;
}

/* A frame whose lines are names[0 .. count), the innermost inlined one first. */
FIXTURE uint32_t fixture_frame(struct fixture *fx, const char *const *names, uint32_t count)
{
    struct hs_profile *p = &fx->p;
    p->frames = fixture_grow(p->frames, p->frame_count, sizeof(*p->frames));
    struct hs_profile_frame *frame = &p->frames[p->frame_count];
    frame->rel_pc = 0x1000 + p->frame_count * 16u;
    frame->module = fx->module;
    frame->line_first = p->line_count;
    frame->line_count = count;
    for (uint32_t i = 0; i < count; i++) {
        p->lines = fixture_grow(p->lines, p->line_count, sizeof(*p->lines));
        struct hs_profile_line *line = &p->lines[p->line_count++];
        line->function = fixture_string(fx, names[i]);
        line->system_name = line->function;
        if (fx->line > 0) {
            line->file = fixture_string(fx, "/src/prog.c");
            line->line = fx->line;
        }
    }
    return p->frame_count++;
}

FIXTURE uint32_t fixture_call(struct fixture *fx, uint32_t parent, const char *name)
{
    return fixture_node(fx, parent, fixture_frame(fx, &name, 1));
}

FIXTURE void fixture_process(struct fixture *fx, uint32_t pid, const char *name)
{
    struct hs_profile *p = &fx->p;
    p->processes = fixture_grow(p->processes, p->process_count, sizeof(*p->processes));
    p->processes[p->process_count++] = (struct hs_profile_process){
        .pid = pid,
        .name = fixture_string(fx, name),
        .cmdline = fixture_string(fx, name),
        .start_ns = 1000000000,
        .is_from_startup = true,
        .last_dump = UINT32_MAX,
    };
}

/* A dump of the last process, `seconds` after its start. */
FIXTURE struct hs_profile_dump *fixture_dump(struct fixture *fx, uint64_t seconds)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_process *process = &p->processes[p->process_count - 1];
    p->dumps = fixture_grow(p->dumps, p->dump_count, sizeof(*p->dumps));
    p->dumps[p->dump_count] = (struct hs_profile_dump){
        .process = p->process_count - 1,
        .index = process->dump_count++,
        .start_ns = process->start_ns,
        .time_ns = process->start_ns + seconds * 1000000000,
        .interval_bytes = 4096,
        .orig_interval_bytes = 4096,
        .has_peak = true,
        .has_scaled_counts = true,
        .sample_first = (uint32_t)p->sample_count,
    };
    process->last_dump = p->dump_count++;
    return &p->dumps[process->last_dump];
}

FIXTURE struct hs_amount fixture_exact(double bytes, double count)
{
    return (struct hs_amount){ .bytes = bytes, .count = count };
}

/* An amount that rests on samples only. */
FIXTURE struct hs_amount fixture_sampled(double bytes, double count, double bytes_var,
                                         double count_var)
{
    return (struct hs_amount){ .bytes = bytes,
                               .count = count,
                               .bytes_var = bytes_var,
                               .count_var = count_var,
                               .sampled_bytes = bytes,
                               .sampled_count = count };
}

FIXTURE void fixture_sample(struct fixture *fx, uint32_t node, struct hs_amount live,
                            struct hs_amount alloc, struct hs_amount peak)
{
    struct hs_profile *p = &fx->p;
    p->samples = fixture_grow(p->samples, p->sample_count, sizeof(*p->samples));
    p->samples[p->sample_count++] =
        (struct hs_profile_sample){ .node = node, .live = live, .alloc = alloc, .peak = peak };
    struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    dump->samples_n++;
    dump->sample_count++;
    hs_amount_add(&dump->live, &live);
    hs_amount_add(&dump->alloc, &alloc);
    hs_amount_add(&dump->peak, &peak);
}

/* A part of the newest dump. Parts of what lives are given first, each view in the order of nodes.
 */
FIXTURE void fixture_part(struct fixture *fx, enum hs_part_view view, uint32_t node,
                          const char *thread, uint32_t tid, struct hs_amount amount)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    uint32_t name = fixture_string(fx, thread);
    p->parts = fixture_grow(p->parts, p->part_count, sizeof(*p->parts));
    if (dump->parts_n[view] == 0) {
        dump->part_first[view] = (uint32_t)p->part_count;
    }
    p->parts[p->part_count++] =
        (struct hs_profile_part){ .node = node, .tid = tid, .thread_name = name, .amount = amount };
    dump->parts_n[view]++;
    dump->has_parts = true;
}

/* What of a node's live blocks was allocated in a window. The newest dump has its times; births are
 * given in the order of nodes and windows. */
FIXTURE void fixture_birth(struct fixture *fx, uint32_t node, uint32_t window,
                           struct hs_amount amount)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    p->births = fixture_grow(p->births, p->birth_count, sizeof(*p->births));
    if (dump->births_n == 0) {
        dump->birth_first = (uint32_t)p->birth_count;
    }
    p->births[p->birth_count++] =
        (struct hs_profile_birth){ .node = node, .window = window, .amount = amount };
    dump->births_n++;
}

/* A sum of freed blocks of the last sample of the last dump; in the order of `what`. */
FIXTURE void fixture_lifetime(struct fixture *fx, uint32_t node, uint32_t what, double bytes,
                              double count)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_dump *dump = &p->dumps[p->dump_count - 1];
    p->lifetimes = fixture_grow(p->lifetimes, p->lifetime_count, sizeof(*p->lifetimes));
    if (!dump->has_lifetimes) {
        dump->lifetime_first = (uint32_t)p->lifetime_count;
    }
    p->lifetimes[p->lifetime_count++] =
        (struct hs_profile_lifetime){ .node = node, .what = what, .bytes = bytes, .count = count };
    dump->lifetimes_n++;
    dump->has_lifetimes = true;
}

FIXTURE void fixture_loss(struct fixture *fx, const char *name, const char *text, uint64_t count)
{
    struct hs_profile *p = &fx->p;
    p->losses = fixture_grow(p->losses, p->loss_count, sizeof(*p->losses));
    p->losses[p->loss_count++] = (struct hs_profile_loss){
        .process = p->process_count - 1,
        .name = fixture_string(fx, name),
        .text = fixture_string(fx, text),
        .count = count,
        .is_serious = true,
    };
}

/* When `count` of the newest loss was lost, in ms after the start of its process. */
FIXTURE void fixture_loss_time(struct fixture *fx, uint64_t from_ms, uint64_t to_ms, uint64_t count)
{
    struct hs_profile *p = &fx->p;
    struct hs_profile_loss loss = p->losses[p->loss_count - 1];
    uint64_t start_ns = p->processes[loss.process].start_ns;
    loss.count = count;
    p->loss_times = fixture_grow(p->loss_times, p->loss_time_count, sizeof(*p->loss_times));
    p->loss_times[p->loss_time_count++] = (struct hs_profile_loss_time){
        .loss = loss,
        .from_ns = start_ns + from_ms * 1000000,
        .to_ns = start_ns + to_ms * 1000000,
    };
}

FIXTURE void fixture_deinit(struct fixture *fx)
{
    struct hs_profile *p = &fx->p;
    for (uint32_t i = 0; i < p->string_count; i++) {
        free(p->strings[i]);
    }
    free(p->strings);
    free(p->modules);
    free(p->lines);
    free(p->frames);
    free(p->nodes);
    free(p->heaps);
    free(p->processes);
    free(p->dumps);
    free(p->samples);
    free(p->parts);
    free(p->births);
    free(p->lifetimes);
    free(p->loss_times);
    free(p->losses);
    free(p->cut_modules);
    free(p->nameless);
    free(p->changes);
    free(p->ledgers);
    free(p->ledger_lines);
}
