/*
 * See aggregate.h. This file folds the stacks; aggregate_query.c reads the folded tree.
 *
 * Only nodes that the selected dumps reach are folded. Samples mark their stacks, one sweep passes
 * the marks on to the parents (a parent's id is smaller), and a second sweep in the other direction
 * makes the nodes.
 */
#include "profile/analyse/aggregate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/heap_sums.h"
#include "profile/analyse/runtimes.h"
#include "profile/model/describe.h"
#include "profile/model/frame_class.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/intern.h"

#define NO_LINE   UINT32_MAX
#define NO_MODULE UINT32_MAX

const struct hs_view_info hs_views[HS_VIEW_N] = {
    [HS_VIEW_SPACE] = { "space", "live memory", HS_QUANTITY_LIVE, false },
    [HS_VIEW_OBJECTS] = { "objects", "live objects", HS_QUANTITY_LIVE, true },
    [HS_VIEW_ALLOC_SPACE] = { "alloc_space", "allocated memory", HS_QUANTITY_ALLOC, false },
    [HS_VIEW_ALLOC_OBJECTS] = { "alloc_objects", "allocations", HS_QUANTITY_ALLOC, true },
    [HS_VIEW_PEAK] = { "peak", "memory at the peak", HS_QUANTITY_PEAK, false },
};

const char *hs_view_title(enum hs_view view, bool is_peak_of_several)
{
    return view == HS_VIEW_PEAK && is_peak_of_several
               ? "memory at the peaks of the processes, added up"
               : hs_views[view].title;
}

/* State that exists only while the tree is folded. */
struct folder {
    struct hs_agg *agg;
    const struct hs_profile *profile;
    bool is_by_line;
    struct hs_intern function_ids, node_ids;
    size_t function_capacity, node_capacity;
    /* Each heap is folded by itself. */
    /* for each node of the profile, the node of the tree; HS_NODE_NONE: not reached */
    uint32_t *node_of;
};

/* Heaps whose stacks have one root in the tree. */
struct heap_group {
    uint32_t number; /* as in the array of heaps' groups */
    uint32_t root;   /* the outermost node; HS_NODE_NONE: the program's own frames are outermost */
};

/* `file` counts for functions that an interpreter runs: they have no module of their own that would
 * tell two of the same name apart. */
static int put_function(struct folder *folder, const struct hs_profile_frame *frame, uint32_t name,
                        uint32_t file, uint32_t *ret_id)
{
    const struct hs_profile *p = folder->profile;
    struct hs_agg *agg = folder->agg;
    uint32_t module = frame->module < p->module_count ? frame->module : NO_MODULE;
    /* An empty string means no name, whatever its id. */
    name = hs_profile_string(p, name)[0] != '\0' ? name : 0;
    uint64_t rel_pc = name ? 0 : frame->rel_pc;
    struct hs_intern_key key = { .hi = (uint64_t)module << 32 | name, .lo = rel_pc };
    file = frame->kind == HS_FRAME_KIND_INTERPRETED ? file : 0;
    if (file != 0) {
        key = hs_intern_mix(key, file);
    }
    bool is_new;
    int err = hs_intern_put(&folder->function_ids, key, ret_id, &is_new);
    if (err < 0 || !is_new) {
        return err;
    }
    err = hs_array_reserve(&agg->functions, &folder->function_capacity,
                           (size_t)agg->function_count + 1, sizeof(*agg->functions));
    if (err < 0) {
        return err;
    }
    const char *path = module == NO_MODULE ? "" : hs_profile_string(p, p->modules[module].path);
    enum hs_frame_class class_ = frame->kind == HS_FRAME_KIND_MARKER
                                     ? HS_FRAME_CLASS_MARKER
                                     : hs_frame_class_of(hs_profile_string(p, name), path);
    agg->functions[agg->function_count++] = (struct hs_agg_function){
        .name = name,
        .module = module,
        .file = file,
        .rel_pc = rel_pc,
        .kind = frame->kind,
        .class_ = (uint8_t)class_,
    };
    return 0;
}

static int put_node(struct folder *folder, uint32_t parent, uint32_t function, uint32_t line,
                    uint32_t *ret_id)
{
    struct hs_agg *agg = folder->agg;
    struct hs_intern_key key = { .hi = (uint64_t)parent << 32 | function };
    if (folder->is_by_line && line != NO_LINE) {
        const struct hs_profile_line *at = &folder->profile->lines[line];
        key.lo = (uint64_t)at->file << 32 | at->line;
    }
    bool is_new;
    int err = hs_intern_put(&folder->node_ids, key, ret_id, &is_new);
    if (err < 0 || !is_new) {
        return err;
    }
    err = hs_array_reserve(&agg->nodes, &folder->node_capacity, (size_t)agg->node_count + 1,
                           sizeof(*agg->nodes));
    if (err < 0) {
        return err;
    }
    agg->nodes[agg->node_count++] = (struct hs_agg_node){
        .parent = parent,
        .function = function,
        .line = line,
        .depth = parent == HS_NODE_NONE ? 0 : agg->nodes[parent].depth + 1,
    };
    return 0;
}

static int put_heap(struct folder *folder, uint32_t name, uint32_t *ret_node)
{
    struct hs_agg *agg = folder->agg;
    struct hs_intern_key key = { .hi = (uint64_t)NO_MODULE << 32 | name, .lo = UINT64_MAX };
    uint32_t function;
    bool is_new;
    int err = hs_intern_put(&folder->function_ids, key, &function, &is_new);
    if (err == 0 && is_new) {
        err = hs_array_reserve(&agg->functions, &folder->function_capacity,
                               (size_t)agg->function_count + 1, sizeof(*agg->functions));
    }
    if (err < 0) {
        return err;
    }
    if (is_new) {
        agg->functions[agg->function_count++] =
            (struct hs_agg_function){ .name = name,
                                      .module = NO_MODULE,
                                      .kind = HS_FRAME_KIND_MARKER,
                                      .class_ = HS_FRAME_CLASS_MARKER,
                                      .is_heap = true };
    }
    return put_node(folder, HS_NODE_NONE, function, NO_LINE, ret_node);
}

/* Folds one node of the profile: makes a node for each of its lines, the outermost first. */
static int fold_node(struct folder *folder, uint32_t idx, uint32_t root)
{
    const struct hs_profile *p = folder->profile;
    const struct hs_profile_node *node = &p->nodes[idx];
    const struct hs_profile_frame *frame = &p->frames[node->frame];
    uint32_t at = node->parent == HS_NODE_NONE ? root : folder->node_of[node->parent];
    uint32_t function;
    int err = 0;
    if (frame->line_count == 0) {
        err = put_function(folder, frame, frame->name, 0, &function);
        err = err < 0 ? err : put_node(folder, at, function, NO_LINE, &at);
    }
    for (uint32_t i = frame->line_count; i > 0 && err == 0; i--) {
        uint32_t line = frame->line_first + i - 1;
        err = put_function(folder, frame, p->lines[line].function, p->lines[line].file, &function);
        err = err < 0 ? err : put_node(folder, at, function, line, &at);
    }
    folder->node_of[idx] = at;
    return err;
}

/* Folds the marked nodes of the profile, and marks those above them. */
static int fold_marked(struct folder *folder, bool *is_used, uint32_t root)
{
    const struct hs_profile *p = folder->profile;
    int err = 0;
    for (uint32_t i = p->node_count; i > 0; i--) {
        if (is_used[i - 1] && p->nodes[i - 1].parent != HS_NODE_NONE) {
            is_used[p->nodes[i - 1].parent] = true;
        }
    }
    for (uint32_t i = 0; i < p->node_count && err == 0; i++) {
        folder->node_of[i] = HS_NODE_NONE;
        if (is_used[i]) {
            err = fold_node(folder, i, root);
        }
    }
    return err;
}

/* Folds the stacks of one group. */
static int fold_group(struct folder *folder, const struct hs_selection *selection,
                      const uint32_t *group_of, const struct heap_group *group)
{
    const struct hs_profile *p = folder->profile;
    bool *is_used = calloc(p->node_count + 1u, sizeof(*is_used));
    int err = is_used ? 0 : -ENOMEM;
    for (uint32_t d = 0; d < selection->dump_count && err == 0; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
            is_used[sample->node] |= group_of[sample->heap] == group->number;
        }
    }
    err = err ? err : fold_marked(folder, is_used, group->root);
    size_t at = 0;
    for (uint32_t d = 0; d < selection->dump_count && err == 0; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++, at++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
            if (group_of[sample->heap] == group->number) {
                folder->agg->sample_nodes[at] = folder->node_of[sample->node];
            }
        }
    }
    free(is_used);
    return err;
}

/* Keeps the nodes of a group's stacks that the report looks up. Without groups, all heaps are in
 * the first. */
static void keep_nodes(struct folder *folder, bool is_first, const char *heap)
{
    size_t bytes = folder->profile->node_count * sizeof(folder->node_of[0]);
    if (is_first) {
        memcpy(folder->agg->malloc_nodes, folder->node_of, bytes);
    }
    if (is_first || strcmp(heap, HS_PROFILE_HEAP_MMAP) == 0) {
        memcpy(folder->agg->mmap_nodes, folder->node_of, bytes);
    }
}

static int fold_groups(struct folder *folder, const struct hs_selection *selection)
{
    const struct hs_profile *p = folder->profile;
    uint32_t *group_of = calloc(p->heap_count + 1u, sizeof(*group_of));
    uint32_t names[HS_HEAPS_APART_MAX + 1] = { 0 }; /* by group */
    uint32_t group_count = 1;
    int err = group_of ? 0 : -ENOMEM;
    if (err == 0 && selection->is_by_heap) {
        hs_heap_sums_group(selection, group_of, names, &group_count);
    }
    for (uint32_t i = 0; i < group_count && err == 0; i++) {
        struct heap_group group = { .number = i, .root = HS_NODE_NONE };
        err = i > 0 ? put_heap(folder, names[i], &group.root) : 0;
        err = err ? err : fold_group(folder, selection, group_of, &group);
        keep_nodes(folder, i == 0, i > 0 ? hs_profile_string(p, names[i]) : "");
    }
    free(group_of);
    return err;
}

static int fold_nodes(struct folder *folder, const struct hs_selection *selection)
{
    const struct hs_profile *p = folder->profile;
    size_t sample_count = 0;
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        sample_count += p->dumps[selection->dumps[d]].samples_n;
    }
    folder->node_of = calloc(p->node_count + 1u, sizeof(*folder->node_of));
    folder->agg->sample_nodes = calloc(sample_count + 1, sizeof(uint32_t));
    folder->agg->malloc_nodes = calloc(p->node_count + 1u, sizeof(uint32_t));
    folder->agg->mmap_nodes = calloc(p->node_count + 1u, sizeof(uint32_t));
    return folder->node_of && folder->agg->sample_nodes && folder->agg->malloc_nodes &&
                   folder->agg->mmap_nodes
               ? fold_groups(folder, selection)
               : -ENOMEM;
}

/* Turns samples into selves: one for each node that has any, in the order of nodes. */
static int add_samples(struct folder *folder, const struct hs_selection *selection)
{
    const struct hs_profile *p = folder->profile;
    struct hs_agg *agg = folder->agg;
    /* A sample that is missing may be missing in each process that was forked since. */
    const float family_count =
        selection->interval_max_bytes > 1
            ? (float)selection->sample_most_bytes / (float)selection->interval_max_bytes
            : 1;
    uint32_t *self_of = calloc(agg->node_count + 1u, sizeof(*self_of)); /* index + 1 */
    int err = self_of ? 0 : -ENOMEM;
    size_t at = 0;
    for (uint32_t d = 0; d < selection->dump_count && err == 0; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            self_of[folder->agg->sample_nodes[at++]] = 1;
        }
    }
    at = 0;
    for (uint32_t i = 0; i < agg->node_count && err == 0; i++) {
        if (self_of[i] != 0) {
            self_of[i] = ++agg->self_count;
        }
    }
    agg->selves = calloc(agg->self_count + 1u, sizeof(*agg->selves));
    err = agg->selves ? err : -ENOMEM;
    for (uint32_t d = 0; d < selection->dump_count && err == 0; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
            uint32_t node = folder->agg->sample_nodes[at++];
            struct hs_agg_self *self = &agg->selves[self_of[node] - 1];
            self->node = node;
            const struct hs_amount parts[HS_QUANTITY_N] = {
                [HS_QUANTITY_LIVE] = sample->live,
                [HS_QUANTITY_ALLOC] = sample->alloc,
                [HS_QUANTITY_PEAK] = sample->peak,
            };
            for (int q = 0; q < HS_QUANTITY_N; q++) {
                struct hs_amount part =
                    hs_selection_part(selection, d, &parts[q], &sample->inherited);
                part.interval_bytes *= part.interval_bytes > 1 ? family_count : 1;
                hs_amount_add(&self->by[q], &part);
            }
        }
    }
    for (uint32_t i = 0; i < agg->self_count && err == 0; i++) {
        for (int quantity = 0; quantity < HS_QUANTITY_N; quantity++) {
            hs_amount_widen(&agg->selves[i].by[quantity], agg->interval_bytes);
        }
    }
    free(self_of);
    return err;
}

int hs_agg_build(const struct hs_selection *selection, bool is_by_line, struct hs_agg *ret_agg)
{
    struct hs_agg agg = { .profile = selection->profile,
                          .interval_bytes = (float)selection->sample_least_bytes };
    struct folder folder = { .agg = &agg, .profile = agg.profile, .is_by_line = is_by_line };
    int err = fold_nodes(&folder, selection);
    if (err == 0) {
        hs_runtimes_mark(&agg);
        err = add_samples(&folder, selection);
    }
    hs_intern_deinit(&folder.function_ids);
    hs_intern_deinit(&folder.node_ids);
    free(folder.node_of);
    if (err < 0) {
        hs_agg_deinit(&agg);
        return err;
    }
    HS_ASSERT_SLOW(hs_agg_is_valid(&agg));
    *ret_agg = agg;
    return 0;
}

int hs_agg_build_tree(const struct hs_profile *profile, bool *is_used, struct hs_agg *ret_agg)
{
    struct hs_agg agg = { .profile = profile };
    struct folder folder = { .agg = &agg, .profile = profile, .is_by_line = true };
    folder.node_of = calloc(profile->node_count + 1u, sizeof(*folder.node_of));
    int err = folder.node_of ? fold_marked(&folder, is_used, HS_NODE_NONE) : -ENOMEM;
    if (err == 0) {
        hs_runtimes_mark(&agg);
    }
    agg.malloc_nodes = folder.node_of;
    hs_intern_deinit(&folder.function_ids);
    hs_intern_deinit(&folder.node_ids);
    if (err < 0) {
        hs_agg_deinit(&agg);
        return err;
    }
    HS_ASSERT_SLOW(hs_agg_is_valid(&agg));
    *ret_agg = agg;
    return 0;
}

#if HS_HAS_CHECKS
bool hs_agg_is_valid(const struct hs_agg *agg)
{
    for (uint32_t i = 0; i < agg->node_count; i++) {
        const struct hs_agg_node *node = &agg->nodes[i];
        bool is_root = node->parent == HS_NODE_NONE;
        if ((!is_root && node->parent >= i) || node->function >= agg->function_count ||
            node->depth != (is_root ? 0 : agg->nodes[node->parent].depth + 1)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        if (agg->selves[i].node >= agg->node_count ||
            (i > 0 && agg->selves[i - 1].node >= agg->selves[i].node)) {
            return false;
        }
    }
    return true;
}
#endif

void hs_agg_deinit(struct hs_agg *agg)
{
    free(agg->functions);
    free(agg->nodes);
    free(agg->malloc_nodes);
    free(agg->mmap_nodes);
    free(agg->sample_nodes);
    free(agg->selves);
    *agg = (struct hs_agg){ 0 };
}

void hs_agg_write_function(const struct hs_agg *agg, uint32_t function, struct hs_buf *buf)
{
    const struct hs_agg_function *f = &agg->functions[function];
    if (f->is_heap) {
        hs_heap_sums_write_frame(agg->profile, f->name, buf);
        return;
    }
    if (f->name != 0) {
        hs_buf_str(buf, hs_profile_string(agg->profile, f->name));
        return;
    }
    if (hs_describe_module(agg->profile, f->module)[0] != '\0') {
        hs_buf_printf(buf, "%s+", hs_describe_module(agg->profile, f->module));
    }
    hs_buf_printf(buf, "0x%" PRIx64, f->rel_pc);
}
