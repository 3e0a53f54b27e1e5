/*
 * See other_below.h. The nodes that stand for small stacks are appended to the profile, which keeps
 * parents in front of their children.
 */
#include "profile/analyse/other_below.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/builder_state.h"
#include "util/array.h"
#include "util/intern.h"
#include "util/parse.h"

struct merger {
    struct hs_profile *p;
    struct hs_other_below limits;
    enum hs_view view;
    uint32_t module, root; /* of "<other>"; root is HS_NODE_NONE until it is needed */
    size_t string_capacity, frame_capacity, node_capacity, module_capacity;
    struct hs_intern counts; /* of stacks that were added up together */
    uint32_t *nodes;         /* by number of the count */
    size_t count_capacity;
    uint32_t *small_counts; /* by heap, of the current dump */
    int err;
};

bool hs_other_below_parse(const char *text, struct hs_other_below *ret_limits)
{
    char size[32];
    uint64_t bytes, count;
    const char *comma = strchr(text, ',');
    size_t size_bytes = comma ? (size_t)(comma - text) : sizeof(size);
    if (size_bytes >= sizeof(size)) {
        return false;
    }
    memcpy(size, text, size_bytes);
    size[size_bytes] = '\0';
    if (hs_parse_size(size, &bytes) != 0 || hs_parse_number(comma + 1, &count) != 0 || bytes == 0 ||
        count == 0) {
        return false;
    }
    *ret_limits = (struct hs_other_below){ (double)bytes, (double)count };
    return true;
}

/* --- nodes --- */

/* Room for one element more, in an array whose capacity is at first its count. */
static bool reserve(struct merger *m, void *array_address, size_t *capacity, size_t count,
                    size_t elem_bytes)
{
    m->err = m->err ? m->err
             : count >= UINT32_MAX - 1
                 ? -EOVERFLOW
                 : hs_array_reserve(array_address, capacity, count + 1, elem_bytes);
    return m->err == 0;
}

static uint32_t add_module(struct merger *m)
{
    struct hs_profile *p = m->p;
    if (!reserve(m, &p->modules, &m->module_capacity, p->module_count, sizeof(p->modules[0]))) {
        return 0;
    }
    p->modules[p->module_count] = (struct hs_profile_module){ 0 };
    return p->module_count++;
}

static uint32_t add_string(struct merger *m, const char *text)
{
    struct hs_profile *p = m->p;
    char *copy = strdup(text);
    m->err = m->err ? m->err : copy ? 0 : -ENOMEM;
    if (!reserve(m, &p->strings, &m->string_capacity, p->string_count, sizeof(p->strings[0]))) {
        free(copy);
        return 0;
    }
    p->strings[p->string_count] = copy;
    return p->string_count++;
}

/* Adds a node with a frame of its own. */
static uint32_t add_node(struct merger *m, uint32_t parent, const char *name)
{
    struct hs_profile *p = m->p;
    uint32_t string = add_string(m, name);
    if (!reserve(m, &p->frames, &m->frame_capacity, p->frame_count, sizeof(p->frames[0])) ||
        !reserve(m, &p->nodes, &m->node_capacity, p->node_count, sizeof(p->nodes[0]))) {
        return HS_NODE_NONE;
    }
    p->frames[p->frame_count] = (struct hs_profile_frame){ .module = m->module,
                                                           .name = string,
                                                           .kind = HS_FRAME_KIND_MARKER };
    p->nodes[p->node_count] = (struct hs_profile_node){ .parent = parent,
                                                        .frame = p->frame_count++,
                                                        .depth = parent == HS_NODE_NONE ? 0 : 1 };
    return p->node_count++;
}

/* The node that stands for so many stacks. */
static uint32_t node_of(struct merger *m, uint32_t stack_count)
{
    char name[40];
    uint32_t idx = 0;
    bool is_new = false;
    if (m->root == HS_NODE_NONE) {
        m->module = add_module(m);
        m->root = m->err ? HS_NODE_NONE : add_node(m, HS_NODE_NONE, HS_OTHER_NAME);
    }
    if (!reserve(m, &m->nodes, &m->count_capacity, m->counts.count, sizeof(m->nodes[0]))) {
        return 0;
    }
    m->err = hs_intern_put(&m->counts, (struct hs_intern_key){ .lo = stack_count }, &idx, &is_new);
    if (m->err != 0) {
        return 0;
    }
    if (is_new) {
        snprintf(name, sizeof(name), "[%u small stack%s]", stack_count,
                 stack_count == 1 ? "" : "s");
        m->nodes[idx] = add_node(m, m->root, name);
    }
    return m->nodes[idx];
}

/* --- samples --- */

static bool is_small_amount(const struct merger *m, const struct hs_amount *amount)
{
    return fabs(amount->bytes) < m->limits.bytes && fabs(amount->count) < m->limits.count;
}

static const struct hs_amount *amount_of(const struct merger *m,
                                         const struct hs_profile_sample *sample)
{
    enum hs_quantity quantity = hs_views[m->view].quantity;
    return quantity == HS_QUANTITY_LIVE    ? &sample->live
           : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                           : &sample->peak;
}

static bool is_small(const struct merger *m, const struct hs_profile_sample *sample)
{
    if (m->view == HS_VIEW_AUTO) {
        return is_small_amount(m, &sample->live) && is_small_amount(m, &sample->alloc) &&
               is_small_amount(m, &sample->peak);
    }
    return is_small_amount(m, amount_of(m, sample));
}

/* True when the view shows something of the sample; others are no stacks of the view. */
static bool has_figure(const struct merger *m, const struct hs_profile_sample *sample)
{
    return m->view == HS_VIEW_AUTO || amount_of(m, sample)->bytes != 0 ||
           amount_of(m, sample)->count != 0;
}

static void merge_dump(struct merger *m, struct hs_profile_dump *dump)
{
    struct hs_profile *p = m->p;
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    memset(m->small_counts, 0, p->heap_count * sizeof(m->small_counts[0]));
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        m->small_counts[samples[i].heap] += is_small(m, &samples[i]) && has_figure(m, &samples[i]);
    }
    for (uint32_t i = 0; i < dump->samples_n && m->err == 0; i++) {
        uint32_t count = m->small_counts[samples[i].heap];
        if (count > 0 && is_small(m, &samples[i])) {
            uint32_t node = node_of(m, count);
            samples[i].node = m->err ? samples[i].node : node;
        }
    }
    /* The samples of heaps that are not counted stand behind the others. */
    uint32_t kept = (uint32_t)hs_builder_tidy_samples(p, samples, dump->samples_n);
    memmove(samples + kept, samples + dump->samples_n, dump->aside_n * sizeof(samples[0]));
    dump->samples_n = kept;
}

int hs_other_below_apply(struct hs_profile *profile, const struct hs_other_below *limits,
                         enum hs_view view)
{
    struct merger m = {
        .p = profile,
        .limits = *limits,
        .view = view,
        .root = HS_NODE_NONE,
        .string_capacity = profile->string_count,
        .frame_capacity = profile->frame_count,
        .node_capacity = profile->node_count,
        .module_capacity = profile->module_count,
        .small_counts = calloc(profile->heap_count + 1u, sizeof(uint32_t)),
    };
    m.err = m.small_counts ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < profile->dump_count && m.err == 0; i++) {
        profile->dumps[i].has_parts = false; /* they name the stacks that are merged here */
        if (profile->dumps[i].has_samples && profile->dumps[i].samples_n > 0) {
            merge_dump(&m, &profile->dumps[i]);
        }
    }
    hs_intern_deinit(&m.counts);
    free(m.nodes);
    free(m.small_counts);
    return m.err;
}
