/*
 * Chooses the dumps whose rows are in the page.
 *
 * A recording may have thousands of dumps, each with all stacks. The page has those that are shown
 * first, whatever their size. As long as the number of rows allows it, it also has the first and
 * the last dump of each process, those with a name, the one with the most live memory, and then
 * others at even distances: every 64th, every 32nd, and so on.
 *
 * See       page_parts.h
 */
#include <errno.h>
#include <stdlib.h>

#include "page/page_parts.h"

/* A document each, so not too many of them. */
#define KEPT_MAX 300U

struct chooser {
    struct hs_page_source *source;
    uint64_t budget, used;
    uint32_t kept_count;
};

static uint64_t row_count(const struct hs_profile_dump *dump)
{
    return (uint64_t)dump->samples_n + dump->aside_n;
}

static void keep(struct chooser *chooser, uint32_t dump, bool is_needed)
{
    const struct hs_profile_dump *it = &chooser->source->profile->dumps[dump];
    bool *is_kept = &chooser->source->is_kept[dump];
    bool fits = chooser->used + row_count(it) <= chooser->budget && chooser->kept_count < KEPT_MAX;
    if (!*is_kept && it->has_samples && (fits || is_needed)) {
        *is_kept = true;
        chooser->used += row_count(it);
        chooser->kept_count++;
    }
}

/* For each process, the dump with the most live memory; UINT32_MAX: it has none. */
static uint32_t *find_largest(const struct hs_profile *p)
{
    uint32_t *largest = malloc((p->process_count + 1u) * sizeof(*largest));
    for (uint32_t i = 0; largest && i < p->process_count; i++) {
        largest[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; largest && i < p->dump_count; i++) {
        uint32_t *most = &largest[p->dumps[i].process];
        if (*most == UINT32_MAX || p->dumps[i].live.bytes > p->dumps[*most].live.bytes) {
            *most = i;
        }
    }
    return largest;
}

static void keep_special(struct chooser *chooser, const uint32_t *largest)
{
    const struct hs_profile *p = chooser->source->profile;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[i];
        uint32_t process = dump->process;
        if (dump->index == 0 || i == p->processes[process].last_dump || i == largest[process] ||
            dump->name != 0) {
            keep(chooser, i, false);
        }
    }
}

static void keep_even(struct chooser *chooser)
{
    const struct hs_profile *p = chooser->source->profile;
    uint32_t most = hs_select_dump_count_max(p);
    uint32_t stride = 1;
    while (stride <= most / 2) {
        stride *= 2;
    }
    for (; stride > 0; stride /= 2) {
        for (uint32_t i = 0; i < p->dump_count; i++) {
            if (p->dumps[i].index % stride == 0) {
                keep(chooser, i, false);
            }
        }
    }
}

int hs_page_choose(struct hs_page_source *source, uint64_t row_budget)
{
    const struct hs_profile *p = source->profile;
    struct chooser chooser = { .source = source, .budget = row_budget };
    source->is_kept = calloc(p->dump_count + 1u, sizeof(*source->is_kept));
    uint32_t *largest = find_largest(p);
    if (!source->is_kept || !largest) {
        free(largest);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < source->selection.dump_count; i++) {
        keep(&chooser, source->selection.dumps[i], true);
    }
    keep_special(&chooser, largest);
    keep_even(&chooser);
    source->left_out_count = 0;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        source->left_out_count += !source->is_kept[i];
    }
    free(largest);
    return 0;
}
