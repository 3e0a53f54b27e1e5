/*
 * See diff.h. This file folds two trees into one; diff_change.c computes the verdicts.
 */
#include "profile/analyse/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/diff_internal.h"
#include "util/array.h"
#include "util/intern.h"

/* State that exists only while both sides are folded. */
struct folder {
    struct hs_diff *diff;
    struct hs_intern function_ids, node_ids;
    size_t function_capacity, node_capacity, process_capacity;
    /* of the current side */
    const struct hs_selection *selection;
    struct hs_agg agg;
    enum hs_diff_side side;
    /*
     * as in struct hs_selection, of one side or both: heaps that are kept apart on one side are
     * kept apart on both
     */
    bool is_by_heap;
    uint32_t *function_of, *node_of;
};

/* Writes the key that identifies a function: its module, and its name or address. */
static void write_key(const struct hs_agg *agg, uint32_t function, const char *module,
                      struct hs_buf *key)
{
    const struct hs_profile *p = agg->profile;
    const struct hs_agg_function *f = &agg->functions[function];
    if (f->is_heap) {
        hs_buf_char(key, 'h');
        hs_agg_write_function(agg, function, key);
        return;
    }
    if (f->name != 0) {
        const char *name = hs_profile_string(p, f->name);
        hs_buf_printf(key, "n%s%c", module, '\0');
        hs_diff_write_name(name, key);
        return;
    }
    const char *build_id =
        f->module < p->module_count ? hs_profile_string(p, p->modules[f->module].build_id_hex) : "";
    hs_buf_printf(key, "a%s%c%" PRIx64, build_id[0] ? build_id : module, '\0', f->rel_pc);
}

void hs_diff_write_key(const struct hs_selection *selection, const struct hs_agg *agg,
                       uint32_t function, struct hs_buf *key)
{
    struct hs_buf module = HS_BUF_INIT;
    hs_diff_write_module(selection, agg->functions[function].module, &module);
    write_key(agg, function, hs_buf_text(&module), key);
    key->err = key->err ? key->err : module.err;
    hs_buf_deinit(&module);
}

/*
 * A function with two names, from two builds or two copies, is shown under the part that they
 * share.
 */
static int name_merged(struct folder *folder, uint32_t function, struct hs_diff_function *known)
{
    struct hs_diff *diff = folder->diff;
    struct hs_buf name = HS_BUF_INIT;
    struct hs_buf shared = HS_BUF_INIT;
    hs_agg_write_function(&folder->agg, function, &name);
    if (strcmp(hs_buf_text(&name), diff->text.data + known->name_off) != 0 &&
        folder->agg.functions[function].name != 0) {
        hs_diff_write_name(hs_buf_text(&name), &shared);
        if (strcmp(hs_buf_text(&shared), diff->text.data + known->name_off) != 0) {
            known->name_off = diff->text.bytes;
            hs_buf_str(&diff->text, hs_buf_text(&shared));
            hs_buf_char(&diff->text, '\0');
        }
    }
    int err = name.err ? name.err : shared.err ? shared.err : diff->text.err;
    hs_buf_deinit(&name);
    hs_buf_deinit(&shared);
    return err;
}

static int put_function(struct folder *folder, uint32_t function)
{
    struct hs_diff *diff = folder->diff;
    struct hs_buf module = HS_BUF_INIT;
    struct hs_buf key = HS_BUF_INIT;
    bool is_new = false;
    uint32_t id = 0;
    hs_diff_write_module(folder->selection, folder->agg.functions[function].module, &module);
    write_key(&folder->agg, function, hs_buf_text(&module), &key);
    int err = module.err ? module.err : key.err;
    if (err == 0) {
        err =
            hs_intern_put(&folder->function_ids, hs_intern_hash(key.data, key.bytes), &id, &is_new);
    }
    if (err == 0 && is_new) {
        err = hs_array_reserve(&diff->functions, &folder->function_capacity, (size_t)id + 1,
                               sizeof(*diff->functions));
    }
    if (err == 0 && is_new) {
        struct hs_diff_function *f = &diff->functions[diff->function_count++];
        *f = (struct hs_diff_function){ .name_off = diff->text.bytes };
        hs_agg_write_function(&folder->agg, function, &diff->text);
        hs_buf_char(&diff->text, '\0');
        f->module_off = diff->text.bytes;
        hs_buf_str(&diff->text, hs_buf_text(&module));
        hs_buf_char(&diff->text, '\0');
        err = diff->text.err;
    }
    if (err == 0 && !is_new) {
        err = name_merged(folder, function, &diff->functions[id]);
    }
    folder->function_of[function] = id;
    hs_buf_deinit(&module);
    hs_buf_deinit(&key);
    return err;
}

static int put_node(struct folder *folder, uint32_t node)
{
    struct hs_diff *diff = folder->diff;
    const struct hs_agg_node *from = &folder->agg.nodes[node];
    uint32_t parent = from->parent == HS_NODE_NONE ? HS_NODE_NONE : folder->node_of[from->parent];
    uint32_t function = folder->function_of[from->function];
    struct hs_intern_key key = { .hi = (uint64_t)parent << 32 | function };
    bool is_new = false;
    int err = hs_intern_put(&folder->node_ids, key, &folder->node_of[node], &is_new);
    if (err < 0 || !is_new) {
        return err;
    }
    err = hs_array_reserve(&diff->nodes, &folder->node_capacity, (size_t)diff->node_count + 1,
                           sizeof(*diff->nodes));
    if (err == 0) {
        diff->nodes[diff->node_count++] =
            (struct hs_diff_node){ .parent = parent, .function = function, .depth = from->depth };
    }
    return err;
}

/*
 * Adds a self to its node, to the function that is responsible for it, and to the total of each
 * function above it, once.
 */
static void add_self(struct folder *folder, const struct hs_agg_self *self, uint32_t *seen,
                     uint32_t mark)
{
    struct hs_diff *diff = folder->diff;
    const struct hs_amount *amount = &self->by[hs_views[diff->view].quantity];
    enum hs_diff_side side = folder->side;
    uint32_t headline = folder->agg.nodes[hs_agg_headline(&folder->agg, self->node)].function;
    hs_amount_add(&diff->nodes[folder->node_of[self->node]].self.by[side], amount);
    hs_amount_add(&diff->functions[folder->function_of[headline]].self.by[side], amount);
    hs_amount_add(&diff->stacks.by[side], amount);
    for (uint32_t n = self->node; n != HS_NODE_NONE; n = folder->agg.nodes[n].parent) {
        uint32_t function = folder->function_of[folder->agg.nodes[n].function];
        if (seen[function] != mark) {
            seen[function] = mark;
            hs_amount_add(&diff->functions[function].total.by[side], amount);
        }
    }
}

static int fold_side(struct folder *folder)
{
    struct hs_selection selection = *folder->selection;
    selection.is_by_heap = folder->is_by_heap;
    int err = hs_agg_build(&selection, false, &folder->agg);
    if (err < 0) {
        return err;
    }
    const struct hs_agg *agg = &folder->agg;
    uint32_t *seen = NULL;
    folder->function_of = calloc(agg->function_count + 1u, sizeof(*folder->function_of));
    folder->node_of = calloc(agg->node_count + 1u, sizeof(*folder->node_of));
    err = folder->function_of && folder->node_of ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < agg->function_count && err == 0; i++) {
        err = put_function(folder, i);
    }
    for (uint32_t i = 0; i < agg->node_count && err == 0; i++) {
        err = put_node(folder, i);
    }
    if (err == 0) {
        seen = calloc(folder->diff->function_count + 1u, sizeof(*seen));
        err = seen ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->self_count && err == 0; i++) {
        add_self(folder, &agg->selves[i], seen, i + 1);
    }
    if (err == 0) {
        folder->diff->total.by[folder->side] =
            hs_agg_total(agg, folder->selection, folder->diff->view);
    }
    free(seen);
    free(folder->function_of);
    free(folder->node_of);
    hs_agg_deinit(&folder->agg);
    return err;
}

static void add_totals(struct hs_diff *diff)
{
    for (uint32_t i = diff->node_count; i > 0; i--) {
        struct hs_diff_node *node = &diff->nodes[i - 1];
        for (int side = 0; side < HS_DIFF_SIDE_N; side++) {
            hs_amount_add(&node->total.by[side], &node->self.by[side]);
            if (node->parent != HS_NODE_NONE) {
                hs_amount_add(&diff->nodes[node->parent].total.by[side], &node->total.by[side]);
            }
        }
    }
}

/*
 * True when the allocations of `before` are part of those of `after`: a later snapshot of the same
 * process contains what was allocated until an earlier one.
 */
static bool is_cumulative(const struct hs_selection *before, const struct hs_selection *after,
                          enum hs_view view)
{
    if (hs_views[view].quantity != HS_QUANTITY_ALLOC || before->profile != after->profile) {
        return false;
    }
    const struct hs_profile *p = before->profile;
    for (uint32_t i = 0; i < before->dump_count; i++) {
        const struct hs_profile_dump *early = &p->dumps[before->dumps[i]];
        bool is_part = false;
        for (uint32_t k = 0; k < after->dump_count; k++) {
            const struct hs_profile_dump *late = &p->dumps[after->dumps[k]];
            is_part |= late->process == early->process && late->time_ns >= early->time_ns;
        }
        if (!is_part) {
            return false;
        }
    }
    return true;
}

int hs_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                  enum hs_view view, struct hs_diff *ret_diff)
{
    const struct hs_selection *sides[HS_DIFF_SIDE_N] = { before, after };
    struct hs_diff diff = { .view = view,
                            .is_peak_of_several =
                                before->is_peak_of_several || after->is_peak_of_several,
                            .scale = 1,
                            .is_cumulative = is_cumulative(before, after, view) };
    struct folder folder = { .diff = &diff, .is_by_heap = before->is_by_heap || after->is_by_heap };
    int err = 0;
    for (int side = 0; side < HS_DIFF_SIDE_N && err == 0; side++) {
        folder.selection = sides[side];
        folder.side = (enum hs_diff_side)side;
        diff.interval_bytes[side] = (double)sides[side]->sample_most_bytes;
        err = fold_side(&folder);
        if (err == 0) {
            err = hs_diff_add_processes(&diff, folder.side, folder.selection,
                                        &folder.process_capacity);
        }
    }
    hs_intern_deinit(&folder.function_ids);
    hs_intern_deinit(&folder.node_ids);
    if (err < 0) {
        hs_diff_deinit(&diff);
        return err;
    }
    add_totals(&diff);
    err = hs_diff_sort_processes(&diff);
    if (err < 0) {
        hs_diff_deinit(&diff);
        return err;
    }
    HS_ASSERT_SLOW(hs_diff_is_valid(&diff));
    *ret_diff = diff;
    return 0;
}

#if HS_HAS_CHECKS
bool hs_diff_is_valid(const struct hs_diff *diff)
{
    for (uint32_t i = 0; i < diff->node_count; i++) {
        const struct hs_diff_node *node = &diff->nodes[i];
        bool is_root = node->parent == HS_NODE_NONE;
        if ((!is_root && node->parent >= i) || node->function >= diff->function_count ||
            node->depth != (is_root ? 0 : diff->nodes[node->parent].depth + 1)) {
            return false;
        }
    }
    return true;
}
#endif

void hs_diff_deinit(struct hs_diff *diff)
{
    hs_buf_deinit(&diff->text);
    free(diff->functions);
    free(diff->nodes);
    free(diff->processes);
    *diff = (struct hs_diff){ 0 };
}
