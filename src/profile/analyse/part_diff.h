/*
 * Compares the parts of two selections, grouped by type, thread and so on: diff --by.
 *
 * Groups of both sides are the same if they have the same name: threads by their names (their ids
 * differ from run to run), processes by theirs, stacks by the names of their functions, as diff.h
 * compares these. What has one name on a side is added up.
 *
 * Holds     parent < own index. Groups are in the order of print: behind a group come those below
 *           it, depth + 1, the largest change first.
 * Threads   immutable once built.
 * Fails     -ENOMEM; -ENODATA: a selected dump with figures has no parts.
 */
#pragma once

#include "profile/analyse/diff.h"
#include "profile/analyse/part_sums.h"

#define HS_PART_DIFF_NONE UINT32_MAX

struct hs_part_diff_group {
    uint32_t depth;  /* 0: grouped by the first of the keys */
    uint32_t parent; /* index; HS_PART_DIFF_NONE */
    /* offset in `text`; of a group by stack, its functions from the one that names it outwards, not
     * all of them and shortened: "parse < load < main" */
    size_t name_off;
    /* of a group by stack: all of its functions, the innermost first, ended by '\n' each */
    size_t frames_off;
    struct hs_diff_amounts amounts;
};

struct hs_part_diff {
    enum hs_part_by by[HS_PART_BY_N];
    uint32_t by_count;
    struct hs_buf text; /* names, each ended by NUL */
    struct hs_part_diff_group *groups;
    uint32_t count;
};

/* Groups by groups->by, which must outlive the comparison. `diff` compares the same selections, and
 * has the view. Returns 0, or see Fails. */
int hs_part_diff_build(const struct hs_selection *before, const struct hs_selection *after,
                       const struct hs_diff *diff, const struct hs_part_groups *groups,
                       struct hs_part_diff *ret_parts);
/* Frees what the comparison owns. */
void hs_part_diff_deinit(struct hs_part_diff *parts);

/* The text at an offset. */
static inline const char *hs_part_diff_text(const struct hs_part_diff *parts, size_t text_off)
{
    return parts->text.data + text_off;
}
