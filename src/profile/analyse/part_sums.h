/*
 * Groups what the selected dumps contain by process, heap, thread, type, scope, label, age and
 * stack, in any order.
 *
 *     by thread, stack                      by stack, age
 *       worker    30 MiB                      parse   40 MiB
 *         parse     25 MiB                      1 h to 6 h   38 MiB
 *         load       5 MiB                      under 1 s     2 MiB
 *       main      15 MiB                      load     5 MiB
 *         parse     15 MiB
 *
 * Of what was allocated since the start, scopes are known, if the recorder wrote them, and neither
 * threads, types nor ages.
 *
 * Holds     groups are in the order in which they are shown: behind a group come those below it,
 *           depth + 1, the largest first. Those below a group add up to it, and the outermost ones
 *           to all parts of the selection.
 * Threads   immutable once built.
 * Fails     -ENOMEM; -ENODATA: a selected dump with figures has no parts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"

enum hs_part_by {
    HS_PART_BY_PROCESS,
    HS_PART_BY_HEAP,
    HS_PART_BY_THREAD,
    HS_PART_BY_TYPE,
    HS_PART_BY_SCOPE,
    HS_PART_BY_LABEL,
    HS_PART_BY_AGE,
    HS_PART_BY_STACK,
    HS_PART_BY_N,
};

/* As in --by. */
extern const char *const hs_part_by_names[HS_PART_BY_N];

struct hs_part_group {
    uint32_t depth; /* 0: grouped by the first of the keys */
    uint64_t key;   /* what it is of, by kind: see hs_part_group_write() */
    struct hs_amount amount;
};

struct hs_part_groups {
    enum hs_part_by by[HS_PART_BY_N];
    uint32_t by_count;
    /* Of HS_PART_BY_LABEL: the key, up to a comma or the end of the text. */
    const char *label_key;
    struct hs_part_group *groups;
    uint32_t count;
};

/*
 * Reads a list such as "thread,stack" or "label:tenant,type"; the text must outlive the groups. 0;
 * -EINVAL: a name is unknown, or occurs twice, and *ret_bad begins there.
 */
int hs_part_by_parse(const char *text, struct hs_part_groups *ret_groups, const char **ret_bad);

/* Whether all that these groups tell is known of what was allocated and freed, too. */
bool hs_part_groups_are_of_allocated(const struct hs_part_groups *groups);
/* Whether parts are known of the quantity, and types if the groups need them, in the dumps that the
 * specification selects: 0; -ENODATA: no parts; -ENOENT: no dump has types; or as
 * hs_select_dumps(). */
int hs_part_groups_check(const struct hs_profile *profile, const struct hs_select_spec *spec,
                         enum hs_quantity quantity, const struct hs_part_groups *groups);

/* Groups the parts of the view's quantity by groups->by. Returns 0, or see Fails. */
int hs_part_groups_build(const struct hs_selection *selection, const struct hs_agg *agg,
                         enum hs_quantity quantity, struct hs_part_groups *groups);
/* Frees the groups. */
void hs_part_groups_deinit(struct hs_part_groups *groups);

/* The amount of a part, with its share of the errors of its sample's amount, `whole`. */
struct hs_amount hs_part_amount(const struct hs_profile_part *part, const struct hs_amount *whole);
/* The share of a sample's inherited variances that a part has. */
struct hs_inherited_var hs_part_inherited(const struct hs_profile_part *part,
                                          const struct hs_profile_sample *sample,
                                          enum hs_part_view view);

/* The node of agg where the stack of a group by stack ends. */
static inline uint32_t hs_part_group_node(const struct hs_part_group *group)
{
    return (uint32_t)group->key;
}

/* Were types left out because the user asked for it, in all of the selected dumps? */
bool hs_part_groups_are_without_types(const struct hs_profile *profile,
                                      const struct hs_select_spec *spec);

/* Of a group by type: is it of blocks without a type, or of blocks whose memory was not read? */
bool hs_part_group_is_unknown(const struct hs_part_group *group);
bool hs_part_group_is_unread(const struct hs_profile *p, const struct hs_part_group *group);

/* Writes what a group is of, except for a group by stack: "worker (tid 4711)", "1 s to 10 s". */
void hs_part_group_write(const struct hs_profile *p, enum hs_part_by by,
                         const struct hs_part_group *group, struct hs_buf *buf);
/* The same of a group by thread, without the id of the thread: "worker". */
void hs_part_group_write_thread(const struct hs_profile *p, const struct hs_part_group *group,
                                struct hs_buf *buf);
