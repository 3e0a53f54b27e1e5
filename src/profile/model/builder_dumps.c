/*
 * The second half of the builder: processes, their dumps, threads and losses.
 *
 * See       builder.h
 */
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder.h"
#include "profile/model/builder_state.h"
#include "profile/model/dump_parts.h"
#include "profile/model/peak_margin.h"
#include "util/saturate.h"

uint32_t hs_builder_process(struct hs_builder *builder, const struct hs_profile_process *process)
{
    struct hs_profile *p = builder->p;
    if (!hs_builder_grow(builder, &p->processes, &builder->process_capacity,
                         (uint64_t)p->process_count + 1, sizeof(p->processes[0]))) {
        return 0;
    }
    p->processes[p->process_count] = *process;
    p->processes[p->process_count].dump_count = 0;
    p->processes[p->process_count].last_dump = UINT32_MAX;
    return p->process_count++;
}

struct hs_profile_process *hs_builder_process_at(struct hs_builder *builder, uint32_t process)
{
    return process < builder->p->process_count ? &builder->p->processes[process] : NULL;
}

static int compare_samples(const void *left, const void *right)
{
    const struct hs_profile_sample *a = left, *b = right;
    return hs_sample_order(a->node, a->heap, b->node, b->heap);
}

void hs_builder_sort_samples(struct hs_profile_sample *samples, size_t count)
{
    if (count > 0) {
        qsort(samples, count, sizeof(samples[0]), compare_samples);
    }
}

static bool is_sorted(const struct hs_profile_sample *samples, size_t count)
{
    size_t i = 1;
    while (i < count && compare_samples(&samples[i - 1], &samples[i]) <= 0) {
        i++;
    }
    return i >= count;
}

size_t hs_builder_tidy_samples(const struct hs_profile *p, struct hs_profile_sample *samples,
                               size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (samples[i].node < p->node_count && samples[i].heap < p->heap_count) {
            if (kept != i) {
                samples[kept] = samples[i];
            }
            kept++;
        }
    }
    if (!is_sorted(samples, kept)) {
        hs_builder_sort_samples(samples, kept);
    }
    size_t n = 0;
    for (size_t i = 0; i < kept; i++) {
        if (n > 0 && compare_samples(&samples[n - 1], &samples[i]) == 0) {
            hs_amount_add(&samples[n - 1].alloc, &samples[i].alloc);
            hs_amount_add(&samples[n - 1].live, &samples[i].live);
            hs_amount_add(&samples[n - 1].peak, &samples[i].peak);
            samples[n - 1].inherited.bytes += samples[i].inherited.bytes;
            samples[n - 1].inherited.count += samples[i].inherited.count;
        } else if (n++ != i) {
            samples[n - 1] = samples[i];
        }
    }
    return n;
}

bool hs_builder_has_room(const struct hs_builder *builder, size_t count)
{
    return builder->p->sample_count + count <= HS_BUILDER_SAMPLES_MAX;
}

/*
 * Notes in an amount how it was sampled. An amount of 0 needs it too: there may be blocks that no
 * sample hit.
 */
static void note_sampling(const struct hs_profile_dump *dump, struct hs_amount *amount)
{
    uint64_t widest_bytes = hs_dump_widest_bytes(dump);
    hs_amount_widen(amount, (float)widest_bytes);
    amount->has_sample_counts = !dump->has_scaled_counts && widest_bytes > 1;
}

void hs_builder_dump_samples(struct hs_builder *builder, uint32_t dump,
                             struct hs_profile_sample *samples, size_t count)
{
    struct hs_profile *p = builder->p;
    if (builder->err != 0 || dump >= p->dump_count) {
        return;
    }
    size_t kept = hs_builder_tidy_samples(p, samples, count);
    if (!hs_builder_grow(builder, &p->samples, &builder->sample_capacity, p->sample_count + kept,
                         sizeof(p->samples[0]))) {
        return;
    }
    if (kept > 0) {
        memcpy(&p->samples[p->sample_count], samples, kept * sizeof(samples[0]));
    }
    p->dumps[dump].has_samples = true;
    p->dumps[dump].sample_first = (uint32_t)p->sample_count;
    p->dumps[dump].samples_n = (uint32_t)kept;
    p->sample_count += kept;
}

/* Is it the last dump of its process, of the same name and instant? A daemon that was killed has
 * written that one, and the next daemon found the snapshot's cut still open. */
static bool is_again(const struct hs_profile *p, uint32_t last, const struct hs_profile_dump *dump)
{
    return dump->name != 0 && last < p->dump_count && !p->dumps[last].is_incomplete &&
           p->dumps[last].name == dump->name && p->dumps[last].time_ns == dump->time_ns;
}

uint32_t hs_builder_dump(struct hs_builder *builder, const struct hs_profile_dump *dump,
                         struct hs_profile_sample *samples, size_t count)
{
    struct hs_profile *p = builder->p;
    struct hs_profile_process *process = hs_builder_process_at(builder, dump->process);
    if (!process || !hs_builder_grow(builder, &p->dumps, &builder->dump_capacity,
                                     (uint64_t)p->dump_count + 1, sizeof(p->dumps[0]))) {
        return 0;
    }
    if (is_again(p, process->last_dump, dump)) {
        return process->last_dump;
    }
    uint32_t id = p->dump_count++;
    p->dumps[id] = *dump;
    note_sampling(dump, &p->dumps[id].live);
    note_sampling(dump, &p->dumps[id].alloc);
    note_sampling(dump, &p->dumps[id].peak);
    struct hs_peak_luck luck = hs_peak_luck_of(&dump->alloc, &dump->peak);
    hs_peak_luck_set(&p->dumps[id].peak, &luck);
    p->dumps[id].index = process->dump_count++;
    p->dumps[id].has_samples = false;
    p->dumps[id].sample_first = p->dumps[id].samples_n = p->dumps[id].aside_n = 0;
    p->dumps[id].heap_first = p->dumps[id].heaps_n = 0;
    p->dumps[id].has_parts = p->dumps[id].has_alloc_scopes = false;
    hs_dump_forget_others(&p->dumps[id]);
    process->last_dump = id;
    if (samples && hs_builder_has_room(builder, count)) {
        hs_builder_dump_samples(builder, id, samples, count);
    }
    return id;
}

void hs_builder_dump_heaps(struct hs_builder *builder, uint32_t dump,
                           struct hs_profile_dump_heap *heaps, size_t count)
{
    struct hs_profile *p = builder->p;
    if (count == 0 || dump + 1 != p->dump_count || p->dumps[dump].heaps_n > 0 ||
        !hs_builder_grow(builder, &p->dump_heaps, &builder->dump_heap_capacity,
                         (uint64_t)p->dump_heap_count + count, sizeof(p->dump_heaps[0]))) {
        return;
    }
    memcpy(&p->dump_heaps[p->dump_heap_count], heaps, count * sizeof(heaps[0]));
    count = hs_builder_tidy_heaps(p, &p->dump_heaps[p->dump_heap_count], count);
    p->dumps[dump].heap_first = p->dump_heap_count;
    p->dumps[dump].heaps_n = (uint32_t)count;
    p->dump_heap_count += (uint32_t)count;
}

void hs_builder_dump_parts(struct hs_builder *builder, uint32_t dump, enum hs_part_view view,
                           struct hs_profile_part *parts, size_t count)
{
    struct hs_profile *p = builder->p;
    size_t kept = 0;
    if (builder->err != 0 || dump >= p->dump_count || !p->dumps[dump].has_samples ||
        p->part_count + count > HS_BUILDER_SAMPLES_MAX ||
        !hs_builder_grow(builder, &p->parts, &builder->part_capacity, p->part_count + count,
                         sizeof(p->parts[0]))) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].node < p->node_count && parts[i].heap < p->heap_count) {
            p->parts[p->part_count + kept++] = parts[i];
        }
    }
    if (kept > 0) {
        if (kept > 0) {
            hs_dump_parts_sort(&p->parts[p->part_count], kept);
        }
    }
    p->dumps[dump].part_first[view] = (uint32_t)p->part_count;
    p->dumps[dump].parts_n[view] = (uint32_t)kept;
    p->dumps[dump].has_parts = true;
    p->part_count += kept;
}

static int compare_births(const void *left, const void *right)
{
    const struct hs_profile_birth *a = left, *b = right;
    int order = hs_sample_order(a->node, a->heap, b->node, b->heap);
    return order != 0 ? order : (a->window > b->window) - (a->window < b->window);
}

void hs_builder_sort_births(struct hs_profile_birth *births, size_t count)
{
    qsort(births, count, sizeof(births[0]), compare_births);
}

void hs_builder_dump_births(struct hs_builder *builder, uint32_t dump, uint64_t window_ms,
                            uint64_t span_ms, const struct hs_profile_birth *births, size_t count)
{
    struct hs_profile *p = builder->p;
    size_t kept = 0;
    if (builder->err != 0 || dump >= p->dump_count || !p->dumps[dump].has_samples ||
        p->birth_count + count > HS_BUILDER_SAMPLES_MAX ||
        !hs_builder_grow(builder, &p->births, &builder->birth_capacity, p->birth_count + count,
                         sizeof(p->births[0]))) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (births[i].node < p->node_count && births[i].heap < p->heap_count) {
            p->births[p->birth_count + kept++] = births[i];
        }
    }
    if (kept > 0) {
        hs_builder_sort_births(&p->births[p->birth_count], kept);
    }
    p->dumps[dump].birth_first = (uint32_t)p->birth_count;
    p->dumps[dump].births_n = (uint32_t)kept;
    p->dumps[dump].birth_window_ms = window_ms;
    p->dumps[dump].birth_span_ms = span_ms;
    p->birth_count += kept;
}

static int compare_lifetimes(const void *left, const void *right)
{
    const struct hs_profile_lifetime *a = left, *b = right;
    int order = hs_sample_order(a->node, a->heap, b->node, b->heap);
    return order != 0 ? order : (a->what > b->what) - (a->what < b->what);
}

void hs_builder_sort_lifetimes(struct hs_profile_lifetime *lifetimes, size_t count)
{
    qsort(lifetimes, count, sizeof(lifetimes[0]), compare_lifetimes);
}

void hs_builder_dump_lifetimes(struct hs_builder *builder, uint32_t dump,
                               struct hs_profile_lifetime *lifetimes, size_t count)
{
    struct hs_profile *p = builder->p;
    size_t kept = 0;
    if (builder->err != 0 || dump >= p->dump_count || !p->dumps[dump].has_samples ||
        p->lifetime_count + count > HS_BUILDER_SAMPLES_MAX ||
        !hs_builder_grow(builder, &p->lifetimes, &builder->lifetime_capacity,
                         p->lifetime_count + count, sizeof(p->lifetimes[0]))) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (lifetimes[i].node < p->node_count && lifetimes[i].heap < p->heap_count) {
            p->lifetimes[p->lifetime_count + kept++] = lifetimes[i];
        }
    }
    if (kept > 0) {
        hs_builder_sort_lifetimes(&p->lifetimes[p->lifetime_count], kept);
    }
    p->dumps[dump].lifetime_first = (uint32_t)p->lifetime_count;
    p->dumps[dump].lifetimes_n = (uint32_t)kept;
    p->dumps[dump].has_lifetimes = true;
    p->lifetime_count += kept;
}

void hs_builder_dump_alloc_scopes(struct hs_builder *builder, uint32_t dump)
{
    struct hs_profile *p = builder->p;
    if (builder->err == 0 && dump < p->dump_count) {
        p->dumps[dump].has_alloc_scopes = p->dumps[dump].has_parts;
    }
}

void hs_builder_thread(struct hs_builder *builder, const struct hs_profile_thread *thread)
{
    struct hs_profile *p = builder->p;
    if (hs_builder_grow(builder, &p->threads, &builder->thread_capacity,
                        (uint64_t)p->thread_count + 1, sizeof(p->threads[0]))) {
        const struct hs_profile_process *process = hs_builder_process_at(builder, thread->process);
        struct hs_profile_thread *out = &p->threads[p->thread_count++];
        *out = *thread;
        if (process && process->last_dump < p->dump_count) {
            note_sampling(&p->dumps[process->last_dump], &out->live);
        }
    }
}

void hs_builder_cut_module(struct hs_builder *builder, const struct hs_profile_cut_module *module)
{
    struct hs_profile *p = builder->p;
    if (hs_builder_grow(builder, &p->cut_modules, &builder->cut_module_capacity,
                        (uint64_t)p->cut_module_count + 1, sizeof(p->cut_modules[0]))) {
        p->cut_modules[p->cut_module_count++] = *module;
    }
}

void hs_builder_place(struct hs_builder *builder, const struct hs_profile_place *place)
{
    struct hs_profile *p = builder->p;
    if (hs_builder_grow(builder, &p->places, &builder->place_capacity, (uint64_t)p->place_count + 1,
                        sizeof(p->places[0]))) {
        p->places[p->place_count] = *place;
        p->places[p->place_count].order = p->place_count;
        p->place_count++;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct hs_profile_place *x = a, *y = b;
    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    if (x->module != y->module) {
        return x->module < y->module ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

void hs_builder_tidy_places(struct hs_builder *builder)
{
    struct hs_profile *p = builder->p;
    uint32_t kept = 0;
    if (p->place_count > 0) {
        qsort(p->places, p->place_count, sizeof(p->places[0]), compare_places);
    }
    for (uint32_t i = 0; i < p->place_count; i++) {
        bool is_same = kept > 0 && p->places[kept - 1].process == p->places[i].process &&
                       p->places[kept - 1].module == p->places[i].module;
        kept -= is_same;
        p->places[kept++] = p->places[i];
    }
    p->place_count = kept;
}

void hs_builder_asked_heap(struct hs_builder *builder, const char *name)
{
    struct hs_profile *p = builder->p;
    uint32_t string = hs_builder_string(builder, name);
    for (uint32_t i = 0; i < p->asked_heap_count; i++) {
        if (p->asked_heaps[i] == string) {
            return;
        }
    }
    if (p->asked_heap_count < HS_ASKED_HEAPS_MAX &&
        hs_builder_grow(builder, &p->asked_heaps, &builder->asked_heap_capacity,
                        (uint64_t)p->asked_heap_count + 1, sizeof(p->asked_heaps[0]))) {
        p->asked_heaps[p->asked_heap_count++] = string;
    }
}

void hs_builder_change(struct hs_builder *builder, const struct hs_profile_change *change)
{
    struct hs_profile *p = builder->p;
    if (hs_builder_grow(builder, &p->changes, &builder->change_capacity,
                        (uint64_t)p->change_count + 1, sizeof(p->changes[0]))) {
        p->changes[p->change_count++] = *change;
    }
}

void hs_builder_tracks(struct hs_builder *builder, struct hs_profile_track *tracks,
                       uint32_t track_count, struct hs_profile_counter *counters,
                       uint32_t counter_count)
{
    struct hs_profile *p = builder->p;
    free(p->tracks);
    free(p->counters);
    p->tracks = tracks;
    p->track_count = track_count;
    p->counters = counters;
    p->counter_count = counter_count;
}

void hs_builder_loss(struct hs_builder *builder, uint32_t process, const char *name,
                     const char *text, uint64_t count, bool is_serious)
{
    const struct hs_profile_loss loss = { .process = process,
                                          .count = count,
                                          .is_serious = is_serious };
    hs_builder_weighed_loss(builder, name, text, &loss);
}

void hs_builder_weighed_loss(struct hs_builder *builder, const char *name, const char *text,
                             const struct hs_profile_loss *loss)
{
    struct hs_profile *p = builder->p;
    if (loss->count == 0) {
        return;
    }
    struct hs_profile_loss put = *loss;
    put.name = hs_builder_string(builder, name);
    put.text = hs_builder_string(builder, text);
    if (hs_builder_grow(builder, &p->losses, &builder->loss_capacity, (uint64_t)p->loss_count + 1,
                        sizeof(p->losses[0]))) {
        p->losses[p->loss_count++] = put;
    }
}

void hs_builder_loss_time(struct hs_builder *builder, const char *name, const char *text,
                          const struct hs_profile_loss_time *time)
{
    struct hs_profile *p = builder->p;
    struct hs_profile_loss_time put = *time;
    put.loss.name = hs_builder_string(builder, name);
    put.loss.text = hs_builder_string(builder, text);
    if (put.loss.count > 0 &&
        hs_builder_grow(builder, &p->loss_times, &builder->loss_time_capacity,
                        (uint64_t)p->loss_time_count + 1, sizeof(p->loss_times[0]))) {
        p->loss_times[p->loss_time_count++] = put;
    }
}

void hs_builder_cost(struct hs_builder *builder, const struct hs_profile_cost *cost)
{
    struct hs_profile_cost *sum = &builder->p->cost;
    bool is_whole = !builder->p->has_cost || sum->collector_cpu_ns != 0;
    builder->p->has_cost = true;
    sum->recording_cpu_ns = hs_saturate_add_unsigned(sum->recording_cpu_ns, cost->recording_cpu_ns);
    sum->names_cpu_ns = hs_saturate_add_unsigned(sum->names_cpu_ns, cost->names_cpu_ns);
    sum->collector_cpu_ns =
        is_whole && cost->collector_cpu_ns != 0
            ? hs_saturate_add_unsigned(sum->collector_cpu_ns, cost->collector_cpu_ns)
            : 0;
    if (cost->collector_rss_peak_bytes > sum->collector_rss_peak_bytes) {
        sum->collector_rss_peak_bytes = cost->collector_rss_peak_bytes;
    }
}

void hs_builder_set_origin(struct hs_builder *builder, const char *origin)
{
    builder->p->origin = origin;
}

void hs_builder_set_realtime(struct hs_builder *builder, uint64_t real_minus_mono_ns)
{
    if (builder->p->real_minus_mono_ns == 0) {
        builder->p->real_minus_mono_ns = real_minus_mono_ns;
    }
}
