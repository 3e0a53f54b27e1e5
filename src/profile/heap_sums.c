/*
 * See heap_sums.h.
 */
#include "profile/heap_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "util/buf.h"
#include "util/human.h"

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
            sums[count++] = sums[i];
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
        hs_buf_printf(buf, "%s%s (%s%s)", i > 0 ? ", " : "", name[0] ? name : "unknown",
                      hs_human_bytes(size, sums[i].alloc.bytes), i == 0 ? " allocated" : "");
    }
    free(sums);
    return count;
}
