/*
 * See stack_mode.h.
 */
#include "profile/analyse/stack_mode.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/analyse/part_sums.h"
#include "profile/model/append.h"
#include "profile/model/builder_state.h"
#include "profile/model/dump_parts.h"
#include "rt/check.h"
#include "util/array.h"

/* A difference of sums that are equal but for rounding is below this share of them. */
#define ROUNDING 1e-9

const char *const hs_stack_mode_names[HS_STACK_MODE_N] = {
    [HS_STACK_MODE_NATIVE] = "native",
    [HS_STACK_MODE_PSEUDO] = "pseudo",
    [HS_STACK_MODE_MIXED] = "mixed",
    [HS_STACK_MODE_THREADS] = "native-with-thread-names",
};

struct rewriter {
    struct hs_profile *p;
    enum hs_stack_mode mode;
    struct hs_append append;
    /* the new samples of all dumps so far */
    struct hs_profile_sample *samples;
    size_t sample_count, sample_capacity;
    uint32_t *part_nodes; /* by index in p->parts: the new node */
    /* By scope, 0: none: what was allocated of the current sample, less what of it lives. Used if
     * the dump tells scopes of what was allocated. */
    struct hs_amount *freed;
    /* (node, element of a chain): the node where the chain ends, appended to that node */
    struct hs_intern chains;
    uint32_t *chain_nodes;
    size_t chain_capacity;
    uint32_t *path; /* scratch */
    size_t path_capacity;
};

/* What is appended to a stack: scopes or frames. Elements have numbers from 1 on. */
enum chain { CHAIN_SCOPES, CHAIN_FRAMES };

/* --- nodes ------------------------------------------------------------------------------------ */

/* The element outside of this one; 0: it is the outermost. */
static uint32_t outer_element(const struct hs_profile *p, enum chain chain, uint32_t element)
{
    if (chain == CHAIN_SCOPES) {
        return p->scopes[element - 1].parent;
    }
    uint32_t parent = p->nodes[element - 1].parent;
    return parent == HS_NODE_NONE ? 0 : parent + 1;
}

static uint32_t frame_of(struct rewriter *w, enum chain chain, uint32_t element)
{
    const struct hs_profile *p = w->p;
    return chain == CHAIN_FRAMES
               ? p->nodes[element - 1].frame
               : hs_append_frame(&w->append, hs_profile_string(p, p->scopes[element - 1].name),
                                 HS_FRAME_KIND_NATIVE);
}

static struct hs_intern_key chain_key(uint32_t root, enum chain chain, uint32_t element)
{
    return (struct hs_intern_key){ .hi = root, .lo = (uint64_t)chain << 32 | element };
}

static void keep_chain(struct rewriter *w, struct hs_intern_key key, uint32_t node)
{
    uint32_t number;
    bool is_new;
    int *err = &w->append.err;
    *err = *err ? *err
                : hs_array_reserve(&w->chain_nodes, &w->chain_capacity, (size_t)w->chains.count + 1,
                                   sizeof(w->chain_nodes[0]));
    *err = *err ? *err : hs_intern_put(&w->chains, key, &number, &is_new);
    if (*err == 0) {
        w->chain_nodes[number] = node;
    }
}

/* Appends scopes or frames to the node `root`, or begins a stack with them: HS_NODE_NONE. Returns
 * the node of `element`; `root` if that is 0. */
static uint32_t append_chain(struct rewriter *w, uint32_t root, enum chain chain, uint32_t element)
{
    uint32_t node = root, number;
    size_t depth = 0;
    /* Outwards to an element that was appended before, then inwards again. */
    for (; element != 0 && w->append.err == 0; element = outer_element(w->p, chain, element)) {
        if (hs_intern_find(&w->chains, chain_key(root, chain, element), &number)) {
            node = w->chain_nodes[number];
            break;
        }
        w->append.err =
            hs_array_reserve(&w->path, &w->path_capacity, depth + 1, sizeof(w->path[0]));
        if (w->append.err == 0) {
            w->path[depth++] = element;
        }
    }
    while (depth > 0 && w->append.err == 0) {
        element = w->path[--depth];
        node = hs_append_node(&w->append, node, frame_of(w, chain, element));
        keep_chain(w, chain_key(root, chain, element), node);
    }
    return w->append.err == 0 ? node : 0;
}

static uint32_t root_node(struct rewriter *w, const char *name, enum hs_frame_kind kind)
{
    return hs_append_node(&w->append, HS_NODE_NONE, hs_append_frame(&w->append, name, kind));
}

static uint32_t thread_node(struct rewriter *w, const struct hs_profile_part *part)
{
    const char *name = hs_profile_string(w->p, part->thread_name);
    return part->is_others   ? root_node(w, HS_STACK_OTHERS, HS_FRAME_KIND_MARKER)
           : name[0] == '\0' ? root_node(w, HS_STACK_UNKNOWN, HS_FRAME_KIND_MARKER)
                             : root_node(w, name, HS_FRAME_KIND_NATIVE);
}

/* The node of a stack of this sample's functions, or of a scope, or of both, below `root`. */
static uint32_t node_below(struct rewriter *w, uint32_t root, uint32_t scope, uint32_t node)
{
    if (w->mode != HS_STACK_MODE_THREADS) {
        root = append_chain(w, root, CHAIN_SCOPES, scope);
    }
    return w->mode == HS_STACK_MODE_PSEUDO ? root : append_chain(w, root, CHAIN_FRAMES, node + 1);
}

static uint32_t part_node(struct rewriter *w, const struct hs_profile_part *part)
{
    uint32_t root = w->mode == HS_STACK_MODE_MIXED ? HS_NODE_NONE : thread_node(w, part);
    return node_below(w, root, part->scope, part->node);
}

/* The outermost frame of what has no part. */
enum rest { REST_UNKNOWN, REST_FREED, REST_FREED_IN_SCOPE };

/* The node of what has no part. */
static uint32_t rest_node(struct rewriter *w, enum rest rest, uint32_t scope, uint32_t node)
{
    static const char *const freed[HS_STACK_MODE_N] = {
        [HS_STACK_MODE_PSEUDO] = "[freed: thread and scope not recorded]",
        [HS_STACK_MODE_MIXED] = "[freed: scope not recorded]",
        [HS_STACK_MODE_THREADS] = "[freed: thread not recorded]",
    };
    const char *name = rest == REST_UNKNOWN ? HS_STACK_UNKNOWN
                       : rest == REST_FREED ? freed[w->mode]
                                            : freed[HS_STACK_MODE_THREADS];
    return node_below(w, root_node(w, name, HS_FRAME_KIND_MARKER), scope, node);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Whether the samples show scopes, and the dump tells those of what was allocated. */
static bool has_alloc_by_scope(const struct rewriter *w, const struct hs_profile_dump *dump)
{
    return dump->has_alloc_scopes && w->mode != HS_STACK_MODE_THREADS;
}

/* The amount 0, of samples like those of `whole`. */
static struct hs_amount nothing_of(const struct hs_amount *whole)
{
    return (struct hs_amount){ .interval_bytes = whole->interval_bytes,
                               .has_sample_counts = whole->has_sample_counts };
}

static double less(double value, double part)
{
    return part < value ? value - part : 0;
}

static void subtract(struct hs_amount *rest, const struct hs_amount *part)
{
    rest->bytes = less(rest->bytes, part->bytes);
    rest->count = less(rest->count, part->count);
    rest->bytes_var = less(rest->bytes_var, part->bytes_var);
    rest->count_var = less(rest->count_var, part->count_var);
    rest->sampled_bytes = less(rest->sampled_bytes, part->sampled_bytes);
    rest->sampled_count = less(rest->sampled_count, part->sampled_count);
    rest->peak_excess_bytes = (float)less(rest->peak_excess_bytes, part->peak_excess_bytes);
    rest->peak_lean_bytes = (float)less(rest->peak_lean_bytes, part->peak_lean_bytes);
    rest->peak_common_bytes = (float)less(rest->peak_common_bytes, part->peak_common_bytes);
    rest->peak_short_bytes = (float)less(rest->peak_short_bytes, part->peak_short_bytes);
}

/* What is left of an amount; nothing, if only rounding has left it. */
static struct hs_amount left_of(const struct hs_amount *rest, const struct hs_amount *whole)
{
    bool is_left = rest->bytes > whole->bytes * ROUNDING || rest->count > whole->count * ROUNDING;
    return is_left ? *rest : nothing_of(whole);
}

static void add_sample(struct rewriter *w, const struct hs_profile_sample *sample)
{
    int *err = &w->append.err;
    *err = *err ? *err
           : w->sample_count >= UINT32_MAX - 1
               ? -EOVERFLOW
               : hs_array_reserve(&w->samples, &w->sample_capacity, w->sample_count + 1,
                                  sizeof(w->samples[0]));
    if (*err == 0) {
        w->samples[w->sample_count++] = *sample;
    }
}

static struct hs_profile_sample nothing_like(const struct hs_profile_sample *whole)
{
    return (struct hs_profile_sample){ .node = whole->node,
                                       .heap = whole->heap,
                                       .live = nothing_of(&whole->live),
                                       .alloc = nothing_of(&whole->alloc),
                                       .peak = nothing_of(&whole->peak) };
}

/* A forked process may hold more than it has allocated itself. */
static bool is_allocated(const struct hs_profile_sample *whole)
{
    return whole->live.bytes <= whole->alloc.bytes && whole->live.count <= whole->alloc.count;
}

/* What lives was allocated: takes it off *rest, and returns so much of it as there is. */
static struct hs_amount allocate(struct hs_amount *rest, const struct hs_amount *live)
{
    struct hs_amount alloc = *rest, left = *rest;
    subtract(&left, live);
    subtract(&alloc, &left);
    *rest = left;
    return alloc;
}

/* Adds a sample for each part that the view has of `whole`, and takes it off `rest`. */
static void add_parts(struct rewriter *w, const struct hs_profile_dump *dump,
                      enum hs_part_view view, const struct hs_profile_sample *whole,
                      struct hs_profile_sample *rest)
{
    const struct hs_profile *p = w->p;
    const struct hs_part_range range = hs_dump_parts_of(p, dump, view, whole);
    bool is_live = view == HS_PARTS_LIVE;
    bool is_inherited = is_live == (whole->live.bytes_var > 0);
    bool has_scopes = has_alloc_by_scope(w, dump);
    for (uint64_t i = range.first; i < range.end && w->append.err == 0; i++) {
        const struct hs_profile_part *part = &p->parts[i];
        struct hs_amount amount = hs_part_amount(part, is_live ? &whole->live : &whole->peak);
        struct hs_profile_sample sample = nothing_like(whole);
        sample.node = part_node(w, part);
        *(is_live ? &sample.live : &sample.peak) = amount;
        subtract(is_live ? &rest->live : &rest->peak, &amount);
        if (is_live && is_allocated(whole)) {
            sample.alloc = allocate(has_scopes ? &w->freed[part->scope] : &rest->alloc, &amount);
            hs_amount_widen(&sample.alloc, whole->alloc.interval_bytes);
        }
        if (is_inherited) {
            sample.inherited = hs_part_inherited(part, whole, view);
            rest->inherited.bytes -= sample.inherited.bytes;
            rest->inherited.count -= sample.inherited.count;
        }
        w->part_nodes[i] = sample.node;
        add_sample(w, &sample);
    }
}

static bool has_figure(const struct hs_amount *amount)
{
    return amount->bytes > 0 || amount->count > 0;
}

/* Adds samples for what no part has: of what was freed, and of what is not known. */
static void add_rest(struct rewriter *w, const struct hs_profile_sample *whole,
                     const struct hs_profile_sample *rest, bool has_parts)
{
    struct hs_profile_sample unknown = nothing_like(whole), freed = nothing_like(whole);
    bool is_freed = has_parts && is_allocated(whole);
    unknown.live = left_of(&rest->live, &whole->live);
    unknown.peak = left_of(&rest->peak, &whole->peak);
    *(is_freed ? &freed.alloc : &unknown.alloc) = left_of(&rest->alloc, &whole->alloc);
    *(unknown.live.bytes > 0 ? &unknown.inherited : &freed.inherited) = rest->inherited;
    if (has_figure(&unknown.live) || has_figure(&unknown.peak) || has_figure(&unknown.alloc)) {
        unknown.node = rest_node(w, REST_UNKNOWN, 0, whole->node);
        add_sample(w, &unknown);
    }
    if (has_figure(&freed.alloc)) {
        freed.node = rest_node(w, REST_FREED, 0, whole->node);
        add_sample(w, &freed);
    }
}

/* Puts what was allocated in each scope into w->freed, and takes it off rest->alloc. */
static void begin_scopes(struct rewriter *w, const struct hs_part_range *range,
                         const struct hs_profile_sample *whole, struct hs_profile_sample *rest)
{
    for (uint64_t i = range->first; i < range->end; i++) {
        struct hs_amount amount = hs_part_amount(&w->p->parts[i], &whole->alloc);
        hs_amount_add(&w->freed[w->p->parts[i].scope], &amount);
        subtract(&rest->alloc, &amount);
    }
    if (range->first == range->end) {
        w->freed[0] = whole->alloc;
        rest->alloc = nothing_of(&whole->alloc);
    }
}

static void end_scope(struct rewriter *w, const struct hs_profile_sample *whole, uint32_t scope)
{
    struct hs_profile_sample sample = nothing_like(whole);
    sample.alloc = left_of(&w->freed[scope], &whole->alloc);
    w->freed[scope] = (struct hs_amount){ 0 };
    if (!has_figure(&sample.alloc)) {
        return;
    }
    if (w->mode == HS_STACK_MODE_MIXED) {
        sample.node = node_below(w, HS_NODE_NONE, scope, whole->node);
    } else {
        sample.node = rest_node(w, is_allocated(whole) ? REST_FREED_IN_SCOPE : REST_UNKNOWN, scope,
                                whole->node);
    }
    add_sample(w, &sample);
}

/* Adds samples for what was allocated in each scope and does not live; empties w->freed. */
static void end_scopes(struct rewriter *w, const struct hs_part_range *range,
                       const struct hs_profile_sample *whole)
{
    for (uint64_t i = range->first; i < range->end; i++) {
        end_scope(w, whole, w->p->parts[i].scope);
    }
    if (range->first == range->end) {
        end_scope(w, whole, 0);
    }
}

static void divide_sample(struct rewriter *w, const struct hs_profile_dump *dump,
                          const struct hs_profile_sample *whole)
{
    const struct hs_part_range alloc = hs_dump_parts_of(w->p, dump, HS_PARTS_ALLOC, whole);
    struct hs_profile_sample rest = *whole;
    bool has_scopes = has_alloc_by_scope(w, dump);
    if (has_scopes) {
        begin_scopes(w, &alloc, whole, &rest);
    }
    add_parts(w, dump, HS_PARTS_LIVE, whole, &rest);
    add_parts(w, dump, HS_PARTS_PEAK, whole, &rest);
    if (has_scopes) {
        end_scopes(w, &alloc, whole);
    }
    add_rest(w, whole, &rest, dump->has_parts);
}

/* Divides `count` samples of a dump from `first` on. Returns how many there are then. */
static uint32_t divide(struct rewriter *w, const struct hs_profile_dump *dump, uint64_t first,
                       uint32_t count)
{
    size_t begin = w->sample_count;
    for (uint64_t i = first; i < first + count && w->append.err == 0; i++) {
        divide_sample(w, dump, &w->p->samples[i]);
    }
    if (w->append.err == 0 && w->sample_count > begin) {
        w->sample_count =
            begin + hs_builder_tidy_samples(w->p, &w->samples[begin], w->sample_count - begin);
    }
    return (uint32_t)(w->sample_count - begin);
}

static void divide_dump(struct rewriter *w, struct hs_profile_dump *dump)
{
    uint32_t first = (uint32_t)w->sample_count;
    uint32_t kept = divide(w, dump, dump->sample_first, dump->samples_n);
    dump->aside_n = divide(w, dump, (uint64_t)dump->sample_first + dump->samples_n, dump->aside_n);
    dump->samples_n = kept;
    dump->sample_first = first;
    dump->parts_n[HS_PARTS_ALLOC] = 0; /* a part by scope is of several samples now */
    dump->has_alloc_scopes = false;
    if (w->append.err == 0) {
        hs_dump_parts_move(w->p, dump, w->part_nodes);
    }
}

int hs_stack_mode_apply(struct hs_profile *profile, enum hs_stack_mode mode)
{
    struct rewriter w = { .p = profile, .mode = mode };
    if (mode == HS_STACK_MODE_NATIVE) {
        return 0;
    }
    hs_append_init(&w.append, profile);
    w.part_nodes = calloc(profile->part_count + 1, sizeof(w.part_nodes[0]));
    w.freed = calloc(profile->scope_count + 1u, sizeof(w.freed[0]));
    w.append.err = w.part_nodes && w.freed ? 0 : -ENOMEM;
    for (uint64_t i = 0; i < profile->part_count && w.part_nodes; i++) {
        w.part_nodes[i] = profile->parts[i].node;
    }
    for (uint32_t i = 0; i < profile->dump_count && w.append.err == 0; i++) {
        hs_dump_forget_others(&profile->dumps[i]);
        if (profile->dumps[i].has_samples) {
            divide_dump(&w, &profile->dumps[i]);
        }
    }
    if (w.append.err == 0) {
        free(profile->samples);
        profile->samples = w.samples;
        profile->sample_count = w.sample_count;
        HS_ASSERT_SLOW(hs_profile_is_valid(profile));
    } else {
        free(w.samples);
    }
    hs_append_deinit(&w.append);
    hs_intern_deinit(&w.chains);
    free(w.chain_nodes);
    free(w.part_nodes);
    free(w.freed);
    free(w.path);
    return w.append.err;
}

int hs_stack_mode_check(const struct hs_profile *profile, const struct hs_select_spec *spec)
{
    struct hs_part_groups groups = { .by = { HS_PART_BY_THREAD }, .by_count = 1 };
    int r = hs_part_groups_check(profile, spec, HS_QUANTITY_LIVE, &groups);
    return r != 0 ? r : hs_part_groups_check(profile, spec, HS_QUANTITY_PEAK, &groups);
}
