/*
 * Groups parts: see part_sums.h.
 *
 * Each part becomes a row of keys. The rows are sorted by their keys, which puts the rows of a
 * group beside each other; the groups of one level are then sorted by size, and each is divided by
 * its next key.
 */
#include "profile/analyse/part_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/base.h"
#include "util/array.h"
#include "util/buf.h"

#define KEY_OTHERS UINT64_MAX
/* What only parts of threads tell, by enum hs_part_by. */
#define OF_THREADS                                                                                 \
    (1U << HS_PART_BY_THREAD | 1U << HS_PART_BY_SCOPE | 1U << HS_PART_BY_LABEL |                   \
     1U << HS_PART_BY_AGE)

const char *const hs_part_by_names[HS_PART_BY_N] = {
    [HS_PART_BY_PROCESS] = "process", [HS_PART_BY_HEAP] = "heap",   [HS_PART_BY_THREAD] = "thread",
    [HS_PART_BY_TYPE] = "type",       [HS_PART_BY_SCOPE] = "scope", [HS_PART_BY_LABEL] = "label",
    [HS_PART_BY_AGE] = "age",         [HS_PART_BY_STACK] = "stack",
};
/* What is known of all that was allocated. */
#define OF_ALLOCATED                                                                               \
    (1U << HS_PART_BY_PROCESS | 1U << HS_PART_BY_HEAP | 1U << HS_PART_BY_SCOPE |                   \
     1U << HS_PART_BY_LABEL | 1U << HS_PART_BY_STACK)

struct row {
    uint64_t keys[HS_PART_BY_N];
    struct hs_amount amount;
};

struct grouping {
    const struct hs_selection *selection;
    const struct hs_agg *agg;
    enum hs_quantity quantity;
    struct hs_part_groups *groups;
    size_t group_capacity;
    struct row *rows;
    size_t row_count, row_capacity;
};

/* --- what is asked for ------------------------------------------------------------------------ */

#define LABEL "label:"

static int find_name(const char *name, size_t bytes)
{
    if (bytes > strlen(LABEL) && memcmp(name, LABEL, strlen(LABEL)) == 0) {
        return HS_PART_BY_LABEL;
    }
    for (int i = 0; i < HS_PART_BY_N; i++) {
        if (i != HS_PART_BY_LABEL && strlen(hs_part_by_names[i]) == bytes &&
            memcmp(hs_part_by_names[i], name, bytes) == 0) {
            return i;
        }
    }
    return -EINVAL;
}

int hs_part_by_parse(const char *text, struct hs_part_groups *ret_groups, const char **ret_bad)
{
    *ret_groups = (struct hs_part_groups){ .groups = NULL };
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        int by = find_name(at, bytes);
        *ret_bad = at;
        for (uint32_t i = 0; i < ret_groups->by_count && by >= 0; i++) {
            by = ret_groups->by[i] == (enum hs_part_by)by ? -EINVAL : by;
        }
        if (by < 0) {
            return by;
        }
        ret_groups->by[ret_groups->by_count++] = (enum hs_part_by)by;
        ret_groups->label_key = by == HS_PART_BY_LABEL ? at + strlen(LABEL) : ret_groups->label_key;
        at += bytes;
        if (*at == '\0') {
            return 0;
        }
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The string of the innermost label with this key; 0: there is none. */
static uint32_t find_label(const struct hs_profile *p, uint32_t scope, const char *key)
{
    size_t key_bytes = strcspn(key, ",");
    for (; scope > 0; scope = p->scopes[scope - 1].parent) {
        const char *name = hs_profile_string(p, p->scopes[scope - 1].name);
        if (strncmp(name, key, key_bytes) == 0 && name[key_bytes] == '=') {
            return p->scopes[scope - 1].name;
        }
    }
    return 0;
}

static uint64_t key_of(const struct grouping *grouping, const struct hs_profile_dump *dump,
                       const struct hs_profile_part *part, uint32_t node, enum hs_part_by by)
{
    switch (by) {
    case HS_PART_BY_PROCESS:
        return dump->process;
    case HS_PART_BY_HEAP:
        return part->heap;
    case HS_PART_BY_THREAD:
        return part->is_others ? KEY_OTHERS : (uint64_t)part->thread_name << 32 | part->tid;
    case HS_PART_BY_TYPE:
        return part->is_others ? KEY_OTHERS : part->type;
    case HS_PART_BY_SCOPE:
        return part->scope;
    case HS_PART_BY_LABEL:
        return find_label(grouping->selection->profile, part->scope, grouping->groups->label_key);
    case HS_PART_BY_AGE:
        return part->is_others ? KEY_OTHERS : part->age_class;
    case HS_PART_BY_STACK:
        return node;
    default:
        return 0;
    }
}

static enum hs_part_view view_of(enum hs_quantity quantity)
{
    return quantity == HS_QUANTITY_PEAK    ? HS_PARTS_PEAK
           : quantity == HS_QUANTITY_ALLOC ? HS_PARTS_ALLOC
                                           : HS_PARTS_LIVE;
}

static const struct hs_amount *whole_of(const struct hs_profile_sample *sample,
                                        enum hs_part_view view)
{
    return view == HS_PARTS_PEAK    ? &sample->peak
           : view == HS_PARTS_ALLOC ? &sample->alloc
                                    : &sample->live;
}

struct hs_amount hs_part_amount(const struct hs_profile_part *part, const struct hs_amount *whole)
{
    struct hs_amount amount = part->amount;
    float share =
        whole->sampled_bytes > 0 ? (float)(amount.sampled_bytes / whole->sampled_bytes) : 0;
    amount.interval_bytes = whole->interval_bytes;
    amount.has_sample_counts = whole->has_sample_counts;
    amount.peak_excess_bytes = whole->peak_excess_bytes * share;
    amount.peak_lean_bytes = whole->peak_lean_bytes * share;
    amount.peak_common_bytes = whole->peak_common_bytes * share;
    amount.peak_short_bytes =
        whole->bytes > 0 ? whole->peak_short_bytes * (float)(amount.bytes / whole->bytes) : 0;
    return amount;
}

struct hs_inherited_var hs_part_inherited(const struct hs_profile_part *part,
                                          const struct hs_profile_sample *sample,
                                          enum hs_part_view view)
{
    double whole_var = whole_of(sample, view)->bytes_var;
    float share = whole_var > 0 ? (float)(part->amount.bytes_var / whole_var) : 0;
    return (struct hs_inherited_var){ sample->inherited.bytes * share,
                                      sample->inherited.count * share };
}

static int add_row(struct grouping *grouping, uint32_t d, const struct hs_profile_sample *sample,
                   uint32_t node, const struct hs_profile_part *part)
{
    const struct hs_profile *p = grouping->selection->profile;
    const struct hs_profile_dump *dump = &p->dumps[grouping->selection->dumps[d]];
    int r = hs_array_reserve(&grouping->rows, &grouping->row_capacity, grouping->row_count + 1,
                             sizeof(grouping->rows[0]));
    if (r < 0) {
        return r;
    }
    const struct hs_inherited_var inherited =
        hs_part_inherited(part, sample, view_of(grouping->quantity));
    const struct hs_amount amount =
        hs_part_amount(part, whole_of(sample, view_of(grouping->quantity)));
    struct row *row = &grouping->rows[grouping->row_count++];
    *row = (struct row){ .amount = hs_selection_part(grouping->selection, d, &amount, &inherited) };
    for (uint32_t i = 0; i < grouping->groups->by_count; i++) {
        row->keys[i] = key_of(grouping, dump, part, node, grouping->groups->by[i]);
    }
    return 0;
}

/* Both are in the order of nodes and heaps; samples of heaps that are not counted are not among
 * the dump's first ones. */
static int add_dump(struct grouping *grouping, uint32_t d, size_t sample_before)
{
    const struct hs_profile *p = grouping->selection->profile;
    const struct hs_profile_dump *dump = &p->dumps[grouping->selection->dumps[d]];
    enum hs_part_view view = view_of(grouping->quantity);
    uint64_t at = dump->part_first[view], end = at + dump->parts_n[view];
    int r = 0;
    for (uint32_t i = 0; i < dump->samples_n && r == 0; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        uint32_t node = grouping->agg->sample_nodes[sample_before + i];
        bool has_part = false;
        for (; at < end && hs_sample_order(p->parts[at].node, p->parts[at].heap, sample->node,
                                           sample->heap) < 0;
             at++) {
        }
        for (; at < end && p->parts[at].node == sample->node && p->parts[at].heap == sample->heap &&
               r == 0;
             at++) {
            has_part = true;
            r = add_row(grouping, d, sample, node, &p->parts[at]);
        }
        if (view == HS_PARTS_ALLOC && !has_part && r == 0) {
            /* Nothing was allocated in a scope. */
            const struct hs_profile_part all = { .heap = sample->heap, .amount = sample->alloc };
            r = add_row(grouping, d, sample, node, &all);
        }
    }
    return r;
}

static bool needs_any(const struct hs_part_groups *groups, uint32_t kinds)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < groups->by_count; i++) {
        asked |= 1U << groups->by[i];
    }
    return (asked & kinds) != 0;
}

static bool lacks_parts(const struct hs_profile_dump *dump, enum hs_quantity quantity,
                        const struct hs_part_groups *groups)
{
    const struct hs_amount *whole = quantity == HS_QUANTITY_PEAK    ? &dump->peak
                                    : quantity == HS_QUANTITY_ALLOC ? &dump->alloc
                                                                    : &dump->live;
    bool has_parts = dump->has_parts && !(dump->has_only_types && needs_any(groups, OF_THREADS));
    if (quantity == HS_QUANTITY_ALLOC) {
        has_parts = dump->has_alloc_scopes && !needs_any(groups, ~OF_ALLOCATED);
    }
    return !has_parts && whole->bytes > 0;
}

bool hs_part_groups_are_of_allocated(const struct hs_part_groups *groups)
{
    return !needs_any(groups, ~OF_ALLOCATED);
}

int hs_part_groups_check(const struct hs_profile *profile, const struct hs_select_spec *spec,
                         enum hs_quantity quantity, const struct hs_part_groups *groups)
{
    bool has_types = !needs_any(groups, 1U << HS_PART_BY_TYPE);
    struct hs_selection selection;
    int r = hs_select_dumps(profile, spec, &selection);
    if (r != 0) {
        return r;
    }
    for (uint32_t d = 0; d < selection.dump_count && r == 0; d++) {
        r = lacks_parts(&profile->dumps[selection.dumps[d]], quantity, groups) ? -ENODATA : 0;
        has_types |= profile->dumps[selection.dumps[d]].has_types;
    }
    hs_selection_deinit(&selection);
    return r == 0 && !has_types ? -ENOENT : r;
}

bool hs_part_groups_are_without_types(const struct hs_profile *profile,
                                      const struct hs_select_spec *spec)
{
    struct hs_selection selection;
    if (hs_select_dumps(profile, spec, &selection) != 0) {
        return false;
    }
    bool are_without = selection.dump_count > 0;
    for (uint32_t d = 0; d < selection.dump_count; d++) {
        are_without &= profile->dumps[selection.dumps[d]].is_without_types;
    }
    hs_selection_deinit(&selection);
    return are_without;
}

static int add_rows(struct grouping *grouping)
{
    const struct hs_selection *selection = grouping->selection;
    size_t sample_before = 0;
    int r = 0;
    for (uint32_t d = 0; d < selection->dump_count && r == 0; d++) {
        const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[d]];
        r = lacks_parts(dump, grouping->quantity, grouping->groups)
                ? -ENODATA
                : add_dump(grouping, d, sample_before);
        sample_before += dump->samples_n;
    }
    return r;
}

static int compare_keys(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    for (size_t i = 0; i < HS_COUNT_OF(left->keys); i++) {
        if (left->keys[i] != right->keys[i]) {
            return left->keys[i] < right->keys[i] ? -1 : 1;
        }
    }
    return 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Rows of one group: [first, end). */
struct range {
    size_t first, end;
    struct hs_amount amount;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    return left->amount.bytes != right->amount.bytes
               ? (left->amount.bytes > right->amount.bytes ? -1 : 1)
               : (left->first > right->first) - (left->first < right->first);
}

/* Divides rows by their key number `depth`. The caller frees the ranges. */
static int divide(const struct grouping *grouping, size_t first, size_t end, uint32_t depth,
                  struct range **ret_ranges, size_t *ret_count)
{
    size_t capacity = 0;
    *ret_ranges = NULL;
    *ret_count = 0;
    for (size_t i = first; i < end; i++) {
        const struct row *row = &grouping->rows[i];
        if (i == first || row->keys[depth] != row[-1].keys[depth]) {
            int r = hs_array_reserve(ret_ranges, &capacity, *ret_count + 1, sizeof(struct range));
            if (r < 0) {
                return r;
            }
            (*ret_ranges)[(*ret_count)++] = (struct range){ .first = i };
        }
        struct range *range = &(*ret_ranges)[*ret_count - 1];
        hs_amount_add(&range->amount, &row->amount);
        range->end = i + 1;
    }
    if (*ret_count > 0) {
        qsort(*ret_ranges, *ret_count, sizeof(struct range), compare_ranges);
    }
    return 0;
}

/* Adds the groups of these rows, and what is below them. At most HS_PART_BY_N deep. */
static int add_groups(struct grouping *grouping, size_t first, size_t end, uint32_t depth)
{
    struct hs_part_groups *groups = grouping->groups;
    struct range *ranges;
    size_t count;
    int r = divide(grouping, first, end, depth, &ranges, &count);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = hs_array_reserve(&groups->groups, &grouping->group_capacity, (size_t)groups->count + 1,
                             sizeof(groups->groups[0]));
        if (r < 0) {
            break;
        }
        groups->groups[groups->count++] =
            (struct hs_part_group){ .depth = depth,
                                    .key = grouping->rows[ranges[i].first].keys[depth],
                                    .amount = ranges[i].amount };
        if (depth + 1 < groups->by_count) {
            r = add_groups(grouping, ranges[i].first, ranges[i].end, depth + 1);
        }
    }
    free(ranges);
    return r;
}

int hs_part_groups_build(const struct hs_selection *selection, const struct hs_agg *agg,
                         enum hs_quantity quantity, struct hs_part_groups *groups)
{
    struct grouping grouping = {
        .selection = selection, .agg = agg, .quantity = quantity, .groups = groups
    };
    int r = add_rows(&grouping);
    if (r == 0 && grouping.row_count > 0) {
        qsort(grouping.rows, grouping.row_count, sizeof(grouping.rows[0]), compare_keys);
        r = add_groups(&grouping, 0, grouping.row_count, 0);
    }
    free(grouping.rows);
    if (r < 0) {
        hs_part_groups_deinit(groups);
    }
    return r;
}

void hs_part_groups_deinit(struct hs_part_groups *groups)
{
    free(groups->groups);
    groups->groups = NULL;
    groups->count = 0;
}

/* --- words ------------------------------------------------------------------------------------ */

static void write_age(uint64_t age_class, struct hs_buf *buf)
{
    static const char *const words[] = {
        "under 1 s", "1 to 10 s",  "10 s to 1 min", "1 to 10 min",  "10 min to 1 h",
        "1 to 6 h",  "6 h to 1 d", "1 to 7 d",      "7 d and more",
    };
    _Static_assert(HS_COUNT_OF(words) == HS_AGE_CLASSES, "a word for each class");
    hs_buf_str(buf, words[age_class < HS_AGE_CLASSES ? age_class : HS_AGE_CLASSES - 1]);
}

static void write_thread(const struct hs_profile *p, uint64_t key, struct hs_buf *buf)
{
    const char *name = hs_profile_string(p, (uint32_t)(key >> 32));
    uint32_t tid = (uint32_t)key;
    if (tid == 0) {
        hs_buf_str(buf, name[0] ? name : "(unknown threads)");
    } else {
        hs_buf_printf(buf, "%s%s%" PRIu32 "%s", name, name[0] ? " (tid " : "tid ", tid,
                      name[0] ? ")" : "");
    }
}

void hs_part_group_write_thread(const struct hs_profile *p, const struct hs_part_group *group,
                                struct hs_buf *buf)
{
    if (group->key == KEY_OTHERS) {
        hs_buf_str(buf, "(others)");
    } else {
        write_thread(p, group->key & ~(uint64_t)UINT32_MAX, buf); /* as of a thread without id */
    }
}

bool hs_part_group_is_unknown(const struct hs_part_group *group)
{
    return group->key == 0;
}

bool hs_part_group_is_unread(const struct hs_profile *p, const struct hs_part_group *group)
{
    return group->key != KEY_OTHERS && group->key != 0 &&
           strcmp(hs_profile_string(p, (uint32_t)group->key), HS_PART_NOT_READ_NAME) == 0;
}

void hs_part_group_write(const struct hs_profile *p, enum hs_part_by by,
                         const struct hs_part_group *group, struct hs_buf *buf)
{
    if (group->key == KEY_OTHERS) {
        hs_buf_str(buf, "(others)");
    } else if (by == HS_PART_BY_PROCESS) {
        hs_describe_process(p, (uint32_t)group->key, buf);
        hs_buf_printf(buf, " (pid %" PRIu32 ")", p->processes[group->key].pid);
    } else if (by == HS_PART_BY_HEAP) {
        hs_buf_str(buf, hs_profile_string(p, p->heaps[group->key]));
    } else if (by == HS_PART_BY_THREAD) {
        write_thread(p, group->key, buf);
    } else if (by == HS_PART_BY_TYPE) {
        hs_buf_str(buf, group->key ? hs_profile_string(p, (uint32_t)group->key) : "(unknown)");
    } else if (by == HS_PART_BY_SCOPE) {
        hs_describe_scope(p, (uint32_t)group->key, buf);
    } else if (by == HS_PART_BY_LABEL) {
        hs_buf_str(buf, group->key ? hs_profile_string(p, (uint32_t)group->key) : "(none)");
    } else if (by == HS_PART_BY_AGE) {
        write_age(group->key, buf);
    }
}
