/*
 * See other_below.h. The nodes that stand for small stacks are appended to the profile, which keeps
 * parents in front of their children.
 */
#include "profile/analyse/other_below.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/append.h"
#include "profile/model/builder_state.h"
#include "profile/model/dump_parts.h"
#include "util/parse.h"

struct merger {
    struct hs_profile *p;
    struct hs_other_below limits;
    enum hs_view view;
    struct hs_append append;
    uint32_t *small_counts; /* by heap, of the current dump */
    uint32_t *part_nodes;   /* by index in p->parts: the node that the part gets */
};

bool hs_other_below_parse(const char *text, struct hs_other_below *ret_limits)
{
    char size[32];
    uint64_t bytes, count;
    const char *comma = strchr(text, ',');
    size_t size_bytes = comma ? (size_t)(comma - text) : sizeof(size);
    if (size_bytes >= sizeof(size)) {
        return false;
    }
    memcpy(size, text, size_bytes);
    size[size_bytes] = '\0';
    if (hs_parse_size(size, &bytes) != 0 || hs_parse_number(comma + 1, &count) != 0 || bytes == 0 ||
        count == 0) {
        return false;
    }
    *ret_limits = (struct hs_other_below){ (double)bytes, (double)count };
    return true;
}

/* --- nodes --- */

/* The node that stands for so many stacks. */
static uint32_t node_of(struct merger *m, uint32_t stack_count)
{
    char name[40];
    snprintf(name, sizeof(name), "[%u small stack%s]", stack_count, stack_count == 1 ? "" : "s");
    uint32_t frame = hs_append_frame(&m->append, HS_OTHER_NAME, HS_FRAME_KIND_MARKER);
    uint32_t root = hs_append_node(&m->append, HS_NODE_NONE, frame);
    frame = hs_append_frame(&m->append, name, HS_FRAME_KIND_MARKER);
    return hs_append_node(&m->append, root, frame);
}

/* --- samples --- */

static bool is_small_amount(const struct merger *m, const struct hs_amount *amount)
{
    return fabs(amount->bytes) < m->limits.bytes && fabs(amount->count) < m->limits.count;
}

static const struct hs_amount *amount_of(const struct merger *m,
                                         const struct hs_profile_sample *sample)
{
    enum hs_quantity quantity = hs_views[m->view].quantity;
    return quantity == HS_QUANTITY_LIVE    ? &sample->live
           : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                           : &sample->peak;
}

static bool is_small(const struct merger *m, const struct hs_profile_sample *sample)
{
    if (m->view == HS_VIEW_AUTO) {
        return is_small_amount(m, &sample->live) && is_small_amount(m, &sample->alloc) &&
               is_small_amount(m, &sample->peak);
    }
    return is_small_amount(m, amount_of(m, sample));
}

/* True when the view shows something of the sample; others are no stacks of the view. */
static bool has_figure(const struct merger *m, const struct hs_profile_sample *sample)
{
    return m->view == HS_VIEW_AUTO || amount_of(m, sample)->bytes != 0 ||
           amount_of(m, sample)->count != 0;
}

/* Notes the new node of a sample's parts. */
static void note_parts(struct merger *m, const struct hs_profile_dump *dump,
                       const struct hs_profile_sample *sample, uint32_t node)
{
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL; view++) {
        const struct hs_part_range range = hs_dump_parts_of(m->p, dump, view, sample);
        for (uint64_t i = range.first; i < range.end; i++) {
            m->part_nodes[i] = node;
        }
    }
}

static void merge_dump(struct merger *m, struct hs_profile_dump *dump)
{
    struct hs_profile *p = m->p;
    struct hs_profile_sample *samples = p->samples + dump->sample_first;
    memset(m->small_counts, 0, p->heap_count * sizeof(m->small_counts[0]));
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        m->small_counts[samples[i].heap] += is_small(m, &samples[i]) && has_figure(m, &samples[i]);
    }
    for (uint32_t i = 0; i < dump->samples_n && m->append.err == 0; i++) {
        uint32_t count = m->small_counts[samples[i].heap];
        if (count > 0 && is_small(m, &samples[i])) {
            uint32_t node = node_of(m, count);
            note_parts(m, dump, &samples[i], node);
            samples[i].node = m->append.err ? samples[i].node : node;
        }
    }
    /* The samples of heaps that are not counted stand behind the others. */
    uint32_t kept = (uint32_t)hs_builder_tidy_samples(p, samples, dump->samples_n);
    memmove(samples + kept, samples + dump->samples_n, dump->aside_n * sizeof(samples[0]));
    dump->samples_n = kept;
    if (m->append.err == 0) {
        hs_dump_parts_move(p, dump, m->part_nodes);
    }
}

int hs_other_below_apply(struct hs_profile *profile, const struct hs_other_below *limits,
                         enum hs_view view)
{
    struct merger m = {
        .p = profile,
        .limits = *limits,
        .view = view,
        .small_counts = calloc(profile->heap_count + 1u, sizeof(uint32_t)),
        .part_nodes = calloc(profile->part_count + 1, sizeof(uint32_t)),
    };
    hs_append_init(&m.append, profile);
    m.append.err = m.small_counts && m.part_nodes ? 0 : -ENOMEM;
    for (uint64_t i = 0; i < profile->part_count && m.part_nodes; i++) {
        m.part_nodes[i] = profile->parts[i].node;
    }
    for (uint32_t i = 0; i < profile->dump_count && m.append.err == 0; i++) {
        hs_dump_forget_others(&profile->dumps[i]);
        if (profile->dumps[i].has_samples && profile->dumps[i].samples_n > 0) {
            merge_dump(&m, &profile->dumps[i]);
        }
    }
    hs_append_deinit(&m.append);
    free(m.small_counts);
    free(m.part_nodes);
    return m.append.err;
}
