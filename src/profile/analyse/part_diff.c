/*
 * See part_diff.h.
 */
#include "profile/analyse/part_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/diff_internal.h"
#include "profile/analyse/wrappers.h"
#include "profile/model/describe.h"
#include "profile/model/frame_class.h"
#include "rt/check.h"
#include "util/array.h"
#include "util/cxx_name.h"
#include "util/intern.h"

/* Of the name of a stack. */
#define STACK_FRAMES       12U
#define STACK_NAME_COLUMNS 48U

struct builder {
    struct hs_part_diff *parts;
    struct hs_intern ids; /* (parent, hash of the name) */
    size_t capacity;
    /* the side that is added */
    enum hs_diff_side side;
    const struct hs_selection *selection;
    struct hs_agg agg;
    bool is_by_heap; /* of either side: stacks of each heap are kept apart on both */
};

/* --- names ------------------------------------------------------------------------------------ */

static void write_function(const struct builder *b, uint32_t function, struct hs_buf *buf)
{
    const struct hs_agg_function *f = &b->agg.functions[function];
    struct hs_buf name = HS_BUF_INIT;
    hs_agg_write_function(&b->agg, function, &name);
    if (f->name != 0) {
        hs_diff_write_name(hs_buf_text(&name), buf);
    } else {
        hs_buf_str(buf, hs_buf_text(&name));
    }
    hs_buf_deinit(&name);
}

/* Writes the functions of a stack from `node` outwards, each followed by '\n'. */
static void write_frames(const struct builder *b, uint32_t node, struct hs_buf *buf)
{
    for (; node != HS_NODE_NONE; node = b->agg.nodes[node].parent) {
        write_function(b, b->agg.nodes[node].function, buf);
        hs_buf_char(buf, '\n');
    }
}

/* Writes "parse < load < main", with names that are shortened if they are long. */
static void write_stack(const struct builder *b, uint32_t leaf, struct hs_buf *buf)
{
    uint32_t left = STACK_FRAMES;
    size_t begin = buf->bytes;
    for (uint32_t n = hs_agg_headline(&b->agg, leaf); n != HS_NODE_NONE;
         n = b->agg.nodes[n].parent) {
        struct hs_buf name = HS_BUF_INIT;
        bool is_first = buf->bytes == begin;
        if (b->agg.functions[b->agg.nodes[n].function].class_ == HS_FRAME_CLASS_START &&
            !is_first) {
            break;
        }
        hs_buf_str(buf, is_first ? "" : " < ");
        if (left-- == 0) {
            hs_buf_str(buf, "…");
            break;
        }
        write_function(b, b->agg.nodes[n].function, &name);
        hs_cxx_write_fit(buf, hs_buf_text(&name), STACK_NAME_COLUMNS);
        hs_buf_deinit(&name);
    }
}

/* Writes what a group is compared by. */
static void write_key(const struct builder *b, enum hs_part_by by,
                      const struct hs_part_group *group, struct hs_buf *buf)
{
    const struct hs_profile *p = b->selection->profile;
    if (by == HS_PART_BY_STACK) {
        write_frames(b, hs_part_group_node(group), buf);
    } else if (by == HS_PART_BY_PROCESS) {
        hs_describe_process(p, (uint32_t)group->key, buf);
    } else if (by == HS_PART_BY_THREAD) {
        hs_part_group_write_thread(p, group, buf);
    } else {
        hs_part_group_write(p, by, group, buf);
    }
}

/* --- groups ----------------------------------------------------------------------------------- */

static int name_group(struct builder *b, enum hs_part_by by, const struct hs_part_group *from,
                      const char *key, struct hs_part_diff_group *group)
{
    struct hs_buf *text = &b->parts->text;
    group->name_off = text->bytes;
    if (by == HS_PART_BY_STACK) {
        write_stack(b, hs_part_group_node(from), text);
        hs_buf_char(text, '\0');
        group->frames_off = text->bytes;
    }
    hs_buf_add(text, key, strlen(key) + 1);
    return text->err;
}

/* The group with this name below `parent`, a new one if there is none yet. */
static int put(struct builder *b, uint32_t parent, const struct hs_part_group *from,
               uint32_t *ret_idx)
{
    struct hs_part_diff *parts = b->parts;
    enum hs_part_by by = parts->by[from->depth];
    struct hs_buf key = HS_BUF_INIT;
    bool is_new = false;
    write_key(b, by, from, &key);
    int err = key.err;
    if (err == 0) {
        struct hs_intern_key id = hs_intern_hash(hs_buf_text(&key), key.bytes);
        err = hs_intern_put(&b->ids, hs_intern_mix(id, parent), ret_idx, &is_new);
    }
    if (err == 0 && is_new) {
        err = hs_array_reserve(&parts->groups, &b->capacity, (size_t)parts->count + 1,
                               sizeof(parts->groups[0]));
    }
    if (err == 0 && is_new) {
        struct hs_part_diff_group *group = &parts->groups[parts->count++];
        *group = (struct hs_part_diff_group){ .depth = from->depth, .parent = parent };
        err = name_group(b, by, from, hs_buf_text(&key), group);
    }
    hs_buf_deinit(&key);
    return err;
}

static int add_groups(struct builder *b, const struct hs_part_groups *groups)
{
    uint32_t path[HS_PART_BY_N];
    int err = 0;
    for (uint32_t i = 0; i < groups->count && err == 0; i++) {
        const struct hs_part_group *from = &groups->groups[i];
        uint32_t parent = from->depth > 0 ? path[from->depth - 1] : HS_PART_DIFF_NONE;
        err = put(b, parent, from, &path[from->depth]);
        if (err == 0) {
            hs_amount_add(&b->parts->groups[path[from->depth]].amounts.by[b->side], &from->amount);
        }
    }
    return err;
}

static int add_side(struct builder *b, const struct hs_selection *selection,
                    enum hs_quantity quantity, const struct hs_part_groups *asked)
{
    struct hs_part_groups groups = *asked;
    struct hs_selection both = *selection;
    both.is_by_heap = b->is_by_heap;
    b->selection = &both;
    int err = hs_agg_build(&both, false, &b->agg);
    if (err != 0) {
        return err;
    }
    err = hs_wrappers_find(&b->agg);
    err = err ? err : hs_part_groups_build(&both, &b->agg, quantity, &groups);
    if (err == 0) {
        err = add_groups(b, &groups);
        hs_part_groups_deinit(&groups);
    }
    hs_agg_deinit(&b->agg);
    return err;
}

/* --- order ------------------------------------------------------------------------------------ */

struct ranked {
    uint32_t parent, idx;
    double change, size;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->change != y->change) {
        return x->change > y->change ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->idx < y->idx ? -1 : x->idx > y->idx;
}

/* Appends the groups below `parent`, which is an index of old ones, to `out`. At most HS_PART_BY_N
 * deep. */
static void arrange(const struct hs_part_diff *parts, const struct ranked *ranks, uint32_t parent,
                    uint32_t new_parent, struct hs_part_diff_group *out, uint32_t *count)
{
    uint32_t low = 0, high = parts->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ranks[middle].parent < parent) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < parts->count && ranks[low].parent == parent; low++) {
        uint32_t idx = (*count)++;
        out[idx] = parts->groups[ranks[low].idx];
        out[idx].parent = new_parent;
        arrange(parts, ranks, ranks[low].idx, idx, out, count);
    }
}

static int sort_groups(struct hs_part_diff *parts, const struct hs_diff *diff)
{
    struct ranked *ranks = calloc(parts->count + 1u, sizeof(ranks[0]));
    struct hs_part_diff_group *out = calloc(parts->count + 1u, sizeof(out[0]));
    uint32_t count = 0;
    for (uint32_t i = 0; i < parts->count && ranks; i++) {
        struct hs_diff_change change = hs_diff_change_of(diff, &parts->groups[i].amounts);
        ranks[i] = (struct ranked){ .parent = parts->groups[i].parent,
                                    .idx = i,
                                    .change = fabs(change.delta),
                                    .size = change.before + change.after };
    }
    if (ranks && out) {
        qsort(ranks, parts->count, sizeof(ranks[0]), compare_ranks);
        arrange(parts, ranks, HS_PART_DIFF_NONE, HS_PART_DIFF_NONE, out, &count);
        HS_ASSERT(count == parts->count);
        free(parts->groups);
        parts->groups = out;
    } else {
        free(out);
    }
    free(ranks);
    return count == parts->count ? 0 : -ENOMEM;
}

int hs_part_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                       const struct hs_diff *diff, const struct hs_part_groups *groups,
                       struct hs_part_diff *ret_parts)
{
    const struct hs_selection *sides[HS_DIFF_SIDE_N] = { before, after };
    struct hs_part_diff parts = { .by_count = groups->by_count };
    struct builder b = { .parts = &parts, .is_by_heap = before->is_by_heap || after->is_by_heap };
    int err = 0;
    memcpy(parts.by, groups->by, sizeof(parts.by));
    hs_buf_char(&parts.text, '\0'); /* no offset is 0 */
    for (int side = 0; side < HS_DIFF_SIDE_N && err == 0; side++) {
        b.side = (enum hs_diff_side)side;
        err = add_side(&b, sides[side], hs_views[diff->view].quantity, groups);
    }
    err = err ? err : parts.text.err;
    err = err ? err : sort_groups(&parts, diff);
    hs_intern_deinit(&b.ids);
    if (err != 0) {
        hs_part_diff_deinit(&parts);
        return err;
    }
    *ret_parts = parts;
    return 0;
}

void hs_part_diff_deinit(struct hs_part_diff *parts)
{
    hs_buf_deinit(&parts->text);
    free(parts->groups);
    *parts = (struct hs_part_diff){ 0 };
}
