/*
 * See diff_leaks.h.
 */
#include "view/diff_leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "profile/model/dump_parts.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/json.h"
#include "view/infra_rows.h"

enum side {
    BEFORE,
    AFTER,
};

struct builder {
    struct hs_diff_leaks *out;
    const struct hs_selection *selections[2];
    enum hs_view view;
    uint32_t *made[2];  /* by node of a profile: node of the comparison + 1; 0: not yet */
    uint32_t *heaps[2]; /* by heap of a profile: its index after */
    uint32_t *path;     /* scratch */
    size_t path_capacity;
    bool *is_taken; /* by dump of the selection before */
    int err;
};

/* --- stacks --- */

static uint32_t name_of(struct builder *b, const char *text)
{
    struct hs_diff_leaks *out = b->out;
    bool is_new = false;
    uint32_t idx = 0;
    b->err = b->err ? b->err
                    : hs_array_reserve(&out->name_offs, &out->name_capacity,
                                       (size_t)out->name_ids.count + 1, sizeof(out->name_offs[0]));
    if (b->err == 0) {
        b->err = hs_intern_put(&out->name_ids, hs_intern_hash(text, strlen(text)), &idx, &is_new);
    }
    if (is_new) {
        out->name_offs[idx] = out->texts->bytes;
        hs_buf_add(out->texts, text, strlen(text) + 1);
        b->err = out->texts->err;
    }
    return idx;
}

static uint32_t node_below(struct builder *b, uint32_t parent, const char *text)
{
    struct hs_diff_leaks *out = b->out;
    bool is_new = false;
    uint32_t idx = 0;
    struct hs_intern_key key = { .hi = parent, .lo = name_of(b, text) };
    b->err = b->err ? b->err
                    : hs_array_reserve(&out->nodes, &out->node_capacity,
                                       (size_t)out->node_ids.count + 1, sizeof(out->nodes[0]));
    if (b->err == 0) {
        b->err = hs_intern_put(&out->node_ids, key, &idx, &is_new);
    }
    if (is_new) {
        out->nodes[idx] = (struct hs_diff_leak_node){ .parent = parent, .name = (uint32_t)key.lo };
    }
    return idx;
}

static uint32_t add_frame(struct builder *b, enum side side, uint32_t parent,
                          const struct hs_profile_frame *frame)
{
    const struct hs_profile *p = b->out->profiles[side];
    for (uint32_t i = frame->line_count; i > 0; i--) {
        parent = node_below(b, parent,
                            hs_profile_string(p, p->lines[frame->line_first + i - 1].function));
    }
    if (frame->line_count > 0) {
        return parent;
    }
    if (frame->name != 0) {
        return node_below(b, parent, hs_profile_string(p, frame->name));
    }
    struct hs_buf text = HS_BUF_INIT;
    hs_buf_printf(&text, "%s+0x%" PRIx64, hs_describe_module(p, frame->module), frame->rel_pc);
    uint32_t node = node_below(b, parent, hs_buf_text(&text));
    b->err = b->err ? b->err : text.err;
    hs_buf_deinit(&text);
    return node;
}

static uint32_t stack_of(struct builder *b, enum side side, uint32_t node)
{
    const struct hs_profile *p = b->out->profiles[side];
    uint32_t made = HS_NODE_NONE;
    size_t depth = 0;
    for (; node != HS_NODE_NONE && b->err == 0; node = p->nodes[node].parent) {
        if (b->made[side][node] != 0) {
            made = b->made[side][node] - 1;
            break;
        }
        b->err = hs_array_reserve(&b->path, &b->path_capacity, depth + 1, sizeof(b->path[0]));
        if (b->err == 0) {
            b->path[depth++] = node;
        }
    }
    while (depth > 0 && b->err == 0) {
        node = b->path[--depth];
        made = add_frame(b, side, made, &p->frames[p->nodes[node].frame]);
        b->made[side][node] = made + 1;
    }
    return made;
}

/* --- rows --- */

static struct hs_intern_key heap_key(const struct hs_profile *p, uint32_t heap)
{
    const char *name = hs_profile_string(p, p->heaps[heap]);
    return hs_intern_hash(name, strlen(name));
}

/* For each heap of a side, the one of that name in the profile after; HS_PROFILE_NO_HEAP: none. */
static int match_heaps(struct builder *b, enum side side)
{
    const struct hs_profile *p = b->out->profiles[side], *after = b->out->profiles[AFTER];
    struct hs_intern names = { 0 };
    int err = 0;
    b->heaps[side] = calloc(p->heap_count + 1u, sizeof(uint32_t));
    for (uint32_t i = 0; i < after->heap_count && err == 0; i++) {
        uint32_t number;
        bool is_new;
        err = hs_intern_put(&names, heap_key(after, i), &number, &is_new);
    }
    for (uint32_t i = 0; i < p->heap_count && err == 0 && b->heaps[side]; i++) {
        /* A profile has each name once, so that the number is the index. */
        if (!hs_intern_find(&names, heap_key(p, i), &b->heaps[side][i])) {
            b->heaps[side][i] = HS_PROFILE_NO_HEAP;
        }
    }
    hs_intern_deinit(&names);
    return b->heaps[side] ? err : -ENOMEM;
}

static void add_type(struct builder *b, const struct hs_diff_leak *leak, const char *name,
                     double count)
{
    struct hs_diff_leaks *out = b->out;
    uint32_t name_idx = name_of(b, name);
    b->err = b->err ? b->err
                    : hs_array_reserve(&out->types, &out->type_capacity, out->type_count + 1,
                                       sizeof(out->types[0]));
    if (b->err == 0) {
        out->types[out->type_count++] = (struct hs_diff_leak_type){
            .heap = leak->heap, .node = leak->node, .name = name_idx, .count = count
        };
    }
}

/* Divides a sample by the types of its parts. What no part has is of an unknown type. */
static void add_types(struct builder *b, enum side side, const struct hs_profile_dump *dump,
                      const struct hs_profile_sample *sample, const struct hs_diff_leak *leak)
{
    const struct hs_profile *p = b->out->profiles[side];
    enum hs_quantity quantity = hs_views[b->view].quantity;
    double sign = side == AFTER ? 1 : -1, rest = leak->count;
    if (quantity != HS_QUANTITY_ALLOC && dump->has_types) {
        const struct hs_part_range range = hs_dump_parts_of(
            p, dump, quantity == HS_QUANTITY_PEAK ? HS_PARTS_PEAK : HS_PARTS_LIVE, sample);
        for (uint64_t i = range.first; i < range.end && b->err == 0; i++) {
            double count = p->parts[i].amount.count;
            if (isfinite(count)) {
                add_type(b, leak, hs_infra_part_type(p, &p->parts[i]), sign * count);
                rest -= sign * count;
            }
        }
    }
    add_type(b, leak, HS_INFRA_TYPE_UNKNOWN_NAME, rest);
}

static void add_dump(struct builder *b, enum side side, uint32_t dump_idx)
{
    const struct hs_profile *p = b->out->profiles[side];
    const struct hs_profile_dump *dump = &p->dumps[dump_idx];
    struct hs_diff_leaks *out = b->out;
    const uint32_t *heaps = b->heaps[side];
    for (uint64_t i = 0; i < dump->samples_n && b->err == 0; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        const struct hs_amount *amount = hs_infra_amount(sample, b->view);
        if (heaps[sample->heap] == HS_PROFILE_NO_HEAP || !isfinite(amount->bytes) ||
            !isfinite(amount->count)) {
            continue;
        }
        b->err = hs_array_reserve(&out->leaks, &out->leak_capacity, out->leak_count + 1,
                                  sizeof(out->leaks[0]));
        if (b->err == 0) {
            double sign = side == AFTER ? 1 : -1;
            out->leaks[out->leak_count++] =
                (struct hs_diff_leak){ .heap = heaps[sample->heap],
                                       .node = stack_of(b, side, sample->node),
                                       .bytes = sign * amount->bytes,
                                       .count = sign * amount->count };
            add_types(b, side, dump, sample, &out->leaks[out->leak_count - 1]);
        }
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct hs_diff_leak *x = a, *y = b;
    return x->heap != y->heap ? (x->heap < y->heap ? -1 : 1)
                              : (x->node > y->node) - (x->node < y->node);
}

static void add_up(void *sum, void *item)
{
    struct hs_diff_leak *to = sum;
    const struct hs_diff_leak *from = item;
    to->bytes += from->bytes;
    to->count += from->count;
}

static int compare_types(const void *a, const void *b)
{
    const struct hs_diff_leak_type *x = a, *y = b;
    return x->heap != y->heap   ? (x->heap < y->heap ? -1 : 1)
           : x->node != y->node ? (x->node < y->node ? -1 : 1)
                                : (x->name > y->name) - (x->name < y->name);
}

static void add_up_types(void *sum, void *item)
{
    struct hs_diff_leak_type *to = sum;
    to->count += ((const struct hs_diff_leak_type *)item)->count;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct hs_diff_leak *x = a, *y = b;
    if (x->heap != y->heap) {
        return x->heap < y->heap ? -1 : 1;
    }
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static void add_list(struct builder *b, const struct hs_diff_leak_list *list)
{
    struct hs_diff_leaks *out = b->out;
    b->err = b->err ? b->err
                    : hs_array_reserve(&out->lists, &out->list_capacity, out->list_count + 1,
                                       sizeof(out->lists[0]));
    if (b->err == 0) {
        out->lists[out->list_count++] = *list;
    }
}

/* Makes lists of the rows from `first` on: one for each heap, of the rows above the limits. */
static void make_lists(struct builder *b, uint32_t process, size_t first, size_t type_first,
                       const struct hs_diff_leak_limits *limits)
{
    struct hs_diff_leaks *out = b->out;
    size_t type_count = out->type_count - type_first;
    size_t count = out->leak_count - first, kept = 0;
    if (count == 0) {
        return; /* there may be no array */
    }
    struct hs_diff_leak *rows = out->leaks + first;
    count = hs_array_merge(rows, count, sizeof(rows[0]), compare_keys, add_up);
    qsort(rows, count, sizeof(rows[0]), compare_sizes);
    type_count = hs_array_merge(out->types + type_first, type_count, sizeof(out->types[0]),
                                compare_types, add_up_types);
    out->type_count = type_first + type_count;
    for (size_t i = 0; i < count;) {
        size_t from = kept;
        uint32_t heap = rows[i].heap;
        for (; i < count && rows[i].heap == heap; i++) {
            if (rows[i].bytes > limits->bytes && rows[i].count > limits->count) {
                rows[kept++] = rows[i];
            }
        }
        const struct hs_diff_leak_list list = { .process = process,
                                                .heap = heap,
                                                .first = (uint32_t)(first + from),
                                                .count = (uint32_t)(kept - from),
                                                .type_first = (uint32_t)type_first,
                                                .type_count = (uint32_t)type_count };
        add_list(b, &list);
    }
    out->leak_count = first + kept;
}

/* --- processes --- */

static bool is_same_name(const struct builder *b, uint32_t dump_before, uint32_t dump_after)
{
    struct hs_buf names[2] = { HS_BUF_INIT, HS_BUF_INIT };
    const struct hs_profile *p = b->out->profiles[BEFORE], *q = b->out->profiles[AFTER];
    hs_describe_process(p, p->dumps[dump_before].process, &names[0]);
    hs_describe_process(q, q->dumps[dump_after].process, &names[1]);
    bool is_same = strcmp(hs_buf_text(&names[0]), hs_buf_text(&names[1])) == 0;
    hs_buf_deinit(&names[0]);
    hs_buf_deinit(&names[1]);
    return is_same;
}

static uint32_t pid_of(const struct builder *b, enum side side, uint32_t dump)
{
    const struct hs_profile *p = b->out->profiles[side];
    return p->processes[p->dumps[dump].process].pid;
}

/* Pairs dumps that are not paired yet. pairs[i]: that of the selection before + 1, or 0. */
static void pair(struct builder *b, uint32_t *pairs, bool is_by_pid)
{
    const struct hs_selection *before = b->selections[BEFORE], *after = b->selections[AFTER];
    for (uint32_t i = 0; i < after->dump_count; i++) {
        for (uint32_t k = 0; k < before->dump_count && pairs[i] == 0; k++) {
            if (!b->is_taken[k] &&
                (!is_by_pid ||
                 pid_of(b, BEFORE, before->dumps[k]) == pid_of(b, AFTER, after->dumps[i])) &&
                is_same_name(b, before->dumps[k], after->dumps[i])) {
                b->is_taken[k] = true;
                pairs[i] = k + 1;
            }
        }
    }
}

static void build(struct builder *b, const struct hs_diff_leak_limits *limits)
{
    const struct hs_selection *before = b->selections[BEFORE], *after = b->selections[AFTER];
    uint32_t *pairs = calloc(after->dump_count + 1u, sizeof(*pairs));
    b->err = pairs ? b->err : -ENOMEM;
    if (b->err == 0) {
        pair(b, pairs, true);
        pair(b, pairs, false);
    }
    for (uint32_t i = 0; i < after->dump_count && b->err == 0; i++) {
        size_t first = b->out->leak_count, type_first = b->out->type_count;
        add_dump(b, AFTER, after->dumps[i]);
        if (pairs[i] != 0) {
            add_dump(b, BEFORE, before->dumps[pairs[i] - 1]);
        }
        if (b->err == 0) {
            make_lists(b, b->out->profiles[AFTER]->dumps[after->dumps[i]].process, first,
                       type_first, limits);
        }
    }
    free(pairs);
}

int hs_diff_leaks_build(const struct hs_selection *before, const struct hs_selection *after,
                        enum hs_view view, const struct hs_diff_leak_limits *limits,
                        struct hs_diff_leaks *ret_leaks)
{
    struct hs_diff_leaks *out = ret_leaks;
    *out = (struct hs_diff_leaks){ .profiles = { before->profile, after->profile },
                                   .texts = calloc(1, sizeof(struct hs_buf)) };
    struct builder b = {
        .out = out,
        .selections = { before, after },
        .view = view,
        .made = { calloc(before->profile->node_count + 1u, sizeof(uint32_t)),
                  calloc(after->profile->node_count + 1u, sizeof(uint32_t)) },
        .is_taken = calloc(before->dump_count + 1u, sizeof(bool)),
    };
    b.err = hs_infra_names_init(&out->names, after->profile);
    b.err = b.err || (out->texts && b.made[0] && b.made[1] && b.is_taken) ? b.err : -ENOMEM;
    b.err = b.err ? b.err : match_heaps(&b, BEFORE);
    b.err = b.err ? b.err : match_heaps(&b, AFTER);
    if (b.err == 0) {
        build(&b, limits);
    }
    free(b.made[0]);
    free(b.made[1]);
    free(b.heaps[0]);
    free(b.heaps[1]);
    free(b.path);
    free(b.is_taken);
    if (b.err != 0) {
        hs_diff_leaks_deinit(out);
    }
    return b.err;
}

void hs_diff_leaks_deinit(struct hs_diff_leaks *leaks)
{
    hs_infra_names_deinit(&leaks->names);
    hs_intern_deinit(&leaks->node_ids);
    hs_intern_deinit(&leaks->name_ids);
    if (leaks->texts) {
        hs_buf_deinit(leaks->texts);
    }
    free(leaks->texts);
    free(leaks->leaks);
    free(leaks->types);
    free(leaks->lists);
    free(leaks->nodes);
    free(leaks->name_offs);
    *leaks = (struct hs_diff_leaks){ 0 };
}

/* --- output --- */

void hs_diff_leaks_write_name(const struct hs_diff_leaks *leaks, size_t list, struct hs_buf *buf)
{
    const struct hs_diff_leak_list *l = &leaks->lists[list];
    hs_buf_printf(buf, "process_%" PRIu64 "_%s-leaks.json", hs_infra_pid(&leaks->names, l->process),
                  hs_infra_heap_name(&leaks->names, l->heap));
}

static const char *text_at(const struct hs_diff_leaks *leaks, uint32_t name)
{
    return hs_buf_text(leaks->texts) + leaks->name_offs[name];
}

/* Writes how many more objects of each type a stack has. */
static void write_types(struct hs_json *json, const struct hs_diff_leaks *leaks,
                        const struct hs_diff_leak_list *list, const struct hs_diff_leak *leak)
{
    const struct hs_diff_leak_type *types = leaks->types + list->type_first;
    size_t at = 0, end = list->type_count;
    while (at < end) { /* the first one that is not before the stack's */
        size_t middle = at + (end - at) / 2;
        const struct hs_diff_leak_type *type = &types[middle];
        bool is_before =
            type->heap != leak->heap ? type->heap < leak->heap : type->node < leak->node;
        at = is_before ? middle + 1 : at;
        end = is_before ? end : middle;
    }
    hs_json_key(json, "count_by_type");
    hs_json_open_inline(json, '{');
    for (; at < list->type_count && types[at].heap == leak->heap && types[at].node == leak->node;
         at++) {
        double count = round(types[at].count);
        if (count > 0) {
            hs_json_kv_double(json, text_at(leaks, types[at].name), count);
        }
    }
    hs_json_close(json, '}');
}

int hs_diff_leaks_write(const struct hs_diff_leaks *leaks, size_t list, struct hs_buf *buf)
{
    const struct hs_diff_leak_list *l = &leaks->lists[list];
    struct hs_json json;
    hs_json_init(&json, buf, 1);
    hs_json_open(&json, '[');
    for (uint32_t i = 0; i < l->count && buf->err == 0; i++) {
        const struct hs_diff_leak *leak = &leaks->leaks[l->first + i];
        hs_json_open(&json, '{');
        hs_json_kv_double(&json, "count", round(leak->count));
        hs_json_kv_double(&json, "size", round(leak->bytes));
        write_types(&json, leaks, l, leak);
        hs_json_key(&json, "stackframes");
        hs_json_open(&json, '[');
        for (uint32_t n = leak->node; n != HS_NODE_NONE; n = leaks->nodes[n].parent) {
            hs_json_string(&json, text_at(leaks, leaks->nodes[n].name));
        }
        hs_json_close(&json, ']');
        hs_json_close(&json, '}');
    }
    hs_json_close(&json, ']');
    return buf->err;
}
