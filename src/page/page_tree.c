/*
 * See page_tree.h.
 */
#include "page/page_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/diff.h"
#include "profile/analyse/wrappers.h"
#include "profile/model/describe.h"
#include "rt/check.h"
#include "util/array.h"
#include "util/cxx_name.h"

/* State that exists only while a file is added. */
struct adder {
    struct hs_page_tree *tree;
    const struct hs_profile *profile;
    const struct hs_selection *selection;
    const struct hs_agg *agg; /* the one whose functions are added */
    uint32_t *module_of;      /* by module of the profile, index + 1; 0: not added yet */
    uint32_t *folded_of;      /* by string of the profile: its functions that share code; 0: none */
    bool *is_inlined;         /* by line of the profile */
    struct hs_buf text;
};

/* Puts a key into a table and makes room for its element. 0 or -errno. */
static int put(struct hs_intern *ids, struct hs_intern_key key, void *array, size_t *capacity,
               size_t elem_bytes, uint32_t *ret_idx, bool *ret_is_new)
{
    int err = hs_array_reserve(array, capacity, (size_t)ids->count + 1, elem_bytes);
    return err ? err : hs_intern_put(ids, key, ret_idx, ret_is_new);
}

static bool is_program(const struct hs_profile *p, const char *path)
{
    for (uint32_t i = 0; i < p->process_count; i++) {
        if (strcmp(hs_profile_string(p, p->processes[i].exe), path) == 0) {
            return path[0] != '\0';
        }
    }
    return false;
}

static int put_module(struct adder *adder, uint32_t module, uint32_t *ret_idx)
{
    struct hs_page_tree *tree = adder->tree;
    const struct hs_profile *p = adder->profile;
    if (module >= p->module_count) {
        *ret_idx = UINT32_MAX;
        return 0;
    }
    if (adder->module_of[module] != 0) {
        *ret_idx = adder->module_of[module] - 1;
        return 0;
    }
    const char *path = hs_profile_string(p, p->modules[module].path);
    struct hs_page_module new = {
        .path = hs_page_names_put(tree->names, path),
        .name = hs_page_names_put(tree->names, hs_describe_module(p, module)),
        .build_id =
            hs_page_names_put(tree->names, hs_profile_string(p, p->modules[module].build_id_hex)),
        .is_program = is_program(p, path),
    };
    struct hs_intern_key key = { .hi = new.path, .lo = new.build_id };
    bool is_new = false;
    int err = put(&tree->module_ids, key, &tree->modules, &tree->module_capacity,
                  sizeof(tree->modules[0]), ret_idx, &is_new);
    if (err == 0 && is_new) {
        tree->modules[*ret_idx] = new;
    }
    if (err == 0) {
        tree->modules[*ret_idx].is_program |= new.is_program;
        adder->module_of[module] = *ret_idx + 1;
    }
    return err;
}

/* The number of all functions that are the same as this one in a comparison. */
static int put_same(struct adder *adder, uint32_t function, uint32_t *ret_same)
{
    struct hs_buf *key = &adder->text;
    bool is_new;
    hs_diff_write_key(adder->selection, adder->agg, function, key);
    int err = key->err ? key->err
                       : hs_intern_put(&adder->tree->same_ids,
                                       hs_intern_hash(key->data, key->bytes), ret_same, &is_new);
    hs_buf_clear(key);
    return err;
}

static int put_function(struct adder *adder, uint32_t function, uint32_t *ret_idx)
{
    struct hs_page_tree *tree = adder->tree;
    const struct hs_profile *p = adder->profile;
    const struct hs_agg_function *from = &adder->agg->functions[function];
    struct hs_page_function new = { .class_ = from->class_,
                                    .kind = from->kind,
                                    .is_nameless = from->name == 0,
                                    .is_wrapper = from->is_wrapper };
    bool is_new = false;
    int err = put_module(adder, from->module, &new.module);
    hs_agg_write_function(adder->agg, function, &adder->text);
    new.name = hs_page_names_take(tree->names, &adder->text);
    new.file = hs_page_names_put(tree->names, hs_profile_string(p, from->file));
    struct hs_intern_key key = { .hi = (uint64_t) new.module << 32 | new.name, .lo = new.file };
    err = err ? err
              : put(&tree->function_ids, key, &tree->functions, &tree->function_capacity,
                    sizeof(tree->functions[0]), ret_idx, &is_new);
    if (err < 0 || !is_new) {
        return err;
    }
    hs_cxx_write_short(&adder->text, hs_page_names_get(tree->names, new.name));
    new.short_name = from->name == 0 ? new.name : hs_page_names_take(tree->names, &adder->text);
    hs_buf_clear(&adder->text);
    new.folded = adder->folded_of[from->name];
    err = put_same(adder, function, &new.same);
    tree->functions[*ret_idx] = new;
    return err;
}

/* Adds the functions that the report shows, with the wrappers that it finds. */
static int add_report(struct adder *adder)
{
    struct hs_agg agg;
    int err = hs_agg_build(adder->selection, true, &agg);
    if (err < 0) {
        return err;
    }
    adder->agg = &agg;
    err = hs_wrappers_find(&agg);
    for (uint32_t i = 0; i < agg.function_count && err == 0; i++) {
        uint32_t idx;
        if (!agg.functions[i].is_heap) {
            err = put_function(adder, i, &idx);
        }
    }
    hs_agg_deinit(&agg);
    adder->agg = NULL;
    return err;
}

static int put_frame(struct adder *adder, uint32_t function, uint32_t line, uint32_t *ret_idx)
{
    struct hs_page_tree *tree = adder->tree;
    struct hs_page_frame new = { .function = function };
    bool is_new;
    if (line != UINT32_MAX) {
        const struct hs_profile_line *at = &adder->profile->lines[line];
        new.file = hs_page_names_put(tree->names, hs_profile_string(adder->profile, at->file));
        new.line = at->line;
        new.is_inlined = adder->is_inlined[line];
    }
    struct hs_intern_key key = { .hi = (uint64_t) new.function << 32 | new.line,
                                 .lo = (uint64_t) new.file << 1 | new.is_inlined };
    int err = put(&tree->frame_ids, key, &tree->frames, &tree->frame_capacity,
                  sizeof(tree->frames[0]), ret_idx, &is_new);
    if (err == 0) {
        tree->frames[*ret_idx] = new;
    }
    return err;
}

static int put_node(struct adder *adder, struct hs_page_node new, uint32_t *ret_idx)
{
    struct hs_page_tree *tree = adder->tree;
    struct hs_intern_key key = { .hi = (uint64_t) new.parent << 32 | new.frame };
    bool is_new;
    int err = put(&tree->node_ids, key, &tree->nodes, &tree->node_capacity, sizeof(tree->nodes[0]),
                  ret_idx, &is_new);
    if (err == 0) {
        HS_ASSERT(new.parent == HS_NODE_NONE || new.parent < *ret_idx);
        tree->nodes[*ret_idx] = new;
    }
    return err;
}

/* Puts the tree of the file into the common one. */
static int add_nodes(struct adder *adder, struct hs_page_branch *branch)
{
    struct hs_agg *agg = &branch->agg;
    uint32_t *function_of = calloc(agg->function_count + 1u, sizeof(*function_of));
    branch->node_of = calloc(agg->node_count + 1u, sizeof(*branch->node_of));
    int err = function_of && branch->node_of ? 0 : -ENOMEM;
    adder->agg = agg;
    for (uint32_t i = 0; i < agg->function_count && err == 0; i++) {
        err = put_function(adder, i, &function_of[i]);
        if (err == 0) {
            agg->functions[i].class_ = adder->tree->functions[function_of[i]].class_;
        }
    }
    for (uint32_t i = 0; i < agg->node_count && err == 0; i++) {
        const struct hs_agg_node *node = &agg->nodes[i];
        struct hs_page_node new = {
            .parent = node->parent == HS_NODE_NONE ? HS_NODE_NONE : branch->node_of[node->parent],
        };
        err = put_frame(adder, function_of[node->function], node->line, &new.frame);
        err = err ? err : put_node(adder, new, &branch->node_of[i]);
    }
    free(function_of);
    return err;
}

/* Looks at the lines of the profile: which are of inlined calls, and which of folded code. */
static void look_at_lines(struct adder *adder)
{
    const struct hs_profile *p = adder->profile;
    for (uint32_t i = 0; i < p->frame_count; i++) {
        for (uint32_t k = 0; k + 1 < p->frames[i].line_count; k++) {
            adder->is_inlined[p->frames[i].line_first + k] = true;
        }
    }
    for (uint32_t i = 0; i < p->line_count; i++) {
        const struct hs_profile_line *line = &p->lines[i];
        if (line->folded != 0 && adder->folded_of[line->function] == 0) {
            adder->folded_of[line->function] =
                hs_page_names_put(adder->tree->names, hs_profile_string(p, line->folded));
        }
    }
}

/* Folds the stacks of the dumps that are kept. */
static int fold(const struct hs_profile *p, const bool *is_kept, struct hs_agg *ret_agg)
{
    bool *is_used = calloc(p->node_count + 1u, sizeof(*is_used));
    for (uint32_t d = 0; is_used && d < p->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[d];
        uint32_t count = is_kept[d] ? dump->samples_n + dump->aside_n : 0;
        for (uint32_t i = 0; i < count; i++) {
            is_used[p->samples[dump->sample_first + i].node] = true;
        }
    }
    int err = is_used ? hs_agg_build_tree(p, is_used, ret_agg) : -ENOMEM;
    free(is_used);
    return err;
}

int hs_page_tree_add(struct hs_page_tree *tree, const struct hs_selection *selection,
                     const bool *is_kept, struct hs_page_branch *ret_branch)
{
    const struct hs_profile *p = selection->profile;
    struct hs_page_branch branch = { 0 };
    struct adder adder = { .tree = tree, .profile = p, .selection = selection };
    adder.module_of = calloc(p->module_count + 1u, sizeof(*adder.module_of));
    adder.folded_of = calloc(p->string_count + 1u, sizeof(*adder.folded_of));
    adder.is_inlined = calloc(p->line_count + 1u, sizeof(*adder.is_inlined));
    int err = adder.module_of && adder.folded_of && adder.is_inlined ? 0 : -ENOMEM;
    if (err == 0) {
        look_at_lines(&adder);
        err = add_report(&adder);
    }
    err = err ? err : fold(p, is_kept, &branch.agg);
    err = err ? err : add_nodes(&adder, &branch);
    err = err ? err : tree->names->err;
    hs_buf_deinit(&adder.text);
    free(adder.module_of);
    free(adder.folded_of);
    free(adder.is_inlined);
    if (err < 0) {
        hs_page_branch_deinit(&branch);
        return err;
    }
    *ret_branch = branch;
    return 0;
}

void hs_page_branch_deinit(struct hs_page_branch *branch)
{
    hs_agg_deinit(&branch->agg);
    free(branch->node_of);
    branch->node_of = NULL;
}

void hs_page_tree_deinit(struct hs_page_tree *tree)
{
    hs_intern_deinit(&tree->module_ids);
    hs_intern_deinit(&tree->function_ids);
    hs_intern_deinit(&tree->frame_ids);
    hs_intern_deinit(&tree->node_ids);
    hs_intern_deinit(&tree->same_ids);
    free(tree->modules);
    free(tree->functions);
    free(tree->frames);
    free(tree->nodes);
    *tree = (struct hs_page_tree){ 0 };
}
