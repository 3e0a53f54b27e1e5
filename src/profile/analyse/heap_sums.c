/*
 * See heap_sums.h.
 */
#include "profile/analyse/heap_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/human.h"
#include "util/utf8.h"

#define HEAP_OF_MALLOC "libc.malloc"

static void add_dump(const struct hs_selection *s, uint32_t i, struct hs_heap_sum *sums)
{
    const struct hs_profile *p = s->profile;
    const struct hs_profile_dump *dump = &p->dumps[s->dumps[i]];
    for (uint32_t k = 0; k < dump->samples_n; k++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + k];
        struct hs_heap_sum *sum = &sums[sample->heap];
        struct hs_amount live = hs_selection_part(s, i, &sample->live, &sample->inherited);
        struct hs_amount alloc = hs_selection_part(s, i, &sample->alloc, &sample->inherited);
        struct hs_amount peak = hs_selection_part(s, i, &sample->peak, &sample->inherited);
        hs_amount_add(&sum->live, &live);
        hs_amount_add(&sum->alloc, &alloc);
        hs_amount_add(&sum->peak, &peak);
    }
}

int hs_heap_sums_of(const struct hs_selection *selection, struct hs_heap_sum **ret_sums,
                    uint32_t *ret_count)
{
    const struct hs_profile *p = selection->profile;
    struct hs_heap_sum *sums = calloc((size_t)p->heap_count + 1, sizeof(*sums));
    uint32_t count = 0;
    if (!sums) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        add_dump(selection, i, sums);
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        sums[i].name = p->heaps[i];
        if (sums[i].alloc.bytes + sums[i].live.bytes + sums[i].peak.bytes > 0) {
            struct hs_heap_sum *sum = &sums[count];
            *sum = sums[i];
            /* Behind a figure of 0 there may be blocks that no sample hit. */
            hs_amount_widen(&sum->live, (float)selection->sample_most_bytes);
            hs_amount_widen(&sum->alloc, (float)selection->sample_most_bytes);
            hs_amount_widen(&sum->peak, (float)selection->sample_most_bytes);
            count++;
        }
    }
    *ret_sums = sums;
    *ret_count = count;
    return 0;
}

uint32_t hs_heap_sums_describe(const struct hs_selection *selection, struct hs_buf *buf)
{
    struct hs_heap_sum *sums;
    uint32_t count;
    char size[HS_HUMAN_BYTES];
    int err = hs_heap_sums_of(selection, &sums, &count);
    if (err < 0) {
        buf->err = buf->err ? buf->err : err;
        return 0;
    }
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        const char *name = hs_profile_string(selection->profile, sums[i].name);
        if (i == 0) {
            hs_buf_printf(buf, "%u heaps are added up: ", count);
        }
        hs_buf_str(buf, i > 0 ? ", " : "");
        name = name[0] ? name : "unknown";
        hs_utf8_write(buf, name, strlen(name));
        hs_buf_printf(buf, " (%s%s)", hs_human_bytes(size, sums[i].alloc.bytes),
                      i == 0 ? " allocated" : "");
    }
    free(sums);
    return count;
}

void hs_heap_sums_group(const struct hs_selection *selection, uint32_t *group_of,
                        uint32_t names[HS_HEAPS_APART_MAX + 1], uint32_t *ret_group_count)
{
    const struct hs_profile *p = selection->profile;
    uint32_t count = 1;
    memset(group_of, 0, p->heap_count * sizeof(*group_of));
    names[0] = 0;
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &p->dumps[selection->dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            /* marks a heap with samples */
            group_of[p->samples[dump->sample_first + i].heap] = UINT32_MAX;
        }
    }
    for (uint32_t i = 0; i < p->heap_count; i++) {
        bool is_apart =
            group_of[i] != 0 && strcmp(hs_profile_string(p, p->heaps[i]), HEAP_OF_MALLOC) != 0;
        if (!is_apart) {
            group_of[i] = 0;
        } else if (count < HS_HEAPS_APART_MAX) {
            group_of[i] = count;
            names[count++] = p->heaps[i];
        } else {
            group_of[i] = HS_HEAPS_APART_MAX;
            names[HS_HEAPS_APART_MAX] = HS_HEAP_NAME_OTHERS;
            count = HS_HEAPS_APART_MAX + 1;
        }
    }
    *ret_group_count = count;
}

void hs_heap_sums_write_frame(const struct hs_profile *profile, uint32_t name, struct hs_buf *buf)
{
    if (name == HS_HEAP_NAME_OTHERS) {
        hs_buf_str(buf, "[other heaps]");
    } else {
        hs_buf_printf(buf, "[heap %s]", hs_profile_string(profile, name));
    }
}
