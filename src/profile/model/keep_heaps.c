/*
 * Removes the heaps that a user does not want to see: hs_profile_keep_heaps() of dump_heaps.h.
 */
#include "profile/model/dump_heaps.h"

static void keep_samples(const struct hs_profile *p, struct hs_profile_dump *dump,
                         const bool *is_chosen)
{
    uint32_t count = dump->samples_n + dump->aside_n, kept = 0, kept_counted = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct hs_profile_sample *samples = p->samples + dump->sample_first;
        if (is_chosen[samples[i].heap]) {
            kept_counted += i < dump->samples_n;
            samples[kept++] = samples[i];
        }
    }
    dump->samples_n = kept_counted;
    dump->aside_n = kept - kept_counted;
}

static void keep_parts(const struct hs_profile *p, struct hs_profile_dump *dump,
                       const bool *is_chosen)
{
    for (unsigned view = 0; view < HS_PART_VIEWS_ALL && dump->has_parts; view++) {
        struct hs_profile_part *parts = p->parts + dump->part_first[view];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < dump->parts_n[view]; i++) {
            if (is_chosen[parts[i].heap]) {
                parts[kept++] = parts[i];
            }
        }
        dump->parts_n[view] = kept;
    }
}

static void keep_births(const struct hs_profile *p, struct hs_profile_dump *dump,
                        const bool *is_chosen)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dump->births_n; i++) {
        struct hs_profile_birth *births = p->births + dump->birth_first;
        if (is_chosen[births[i].heap]) {
            births[kept++] = births[i];
        }
    }
    dump->births_n = kept;
}

static void keep_lifetimes(const struct hs_profile *p, struct hs_profile_dump *dump,
                           const bool *is_chosen)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dump->lifetimes_n && dump->has_lifetimes; i++) {
        struct hs_profile_lifetime *lifetimes = p->lifetimes + dump->lifetime_first;
        if (is_chosen[lifetimes[i].heap]) {
            lifetimes[kept++] = lifetimes[i];
        }
    }
    dump->lifetimes_n = kept;
}

static void keep_blocks(const struct hs_profile *p, struct hs_profile_dump *dump,
                        const bool *is_chosen)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; dump->has_blocks && i < dump->blocks_n; i++) {
        struct hs_profile_block *blocks = p->blocks + dump->block_first;
        if (is_chosen[blocks[i].heap]) {
            blocks[kept++] = blocks[i];
        }
    }
    dump->blocks_n = kept;
}

void hs_profile_keep_heaps(struct hs_profile *p, const bool *is_chosen)
{
    for (uint32_t i = 0; i < p->dump_count; i++) {
        struct hs_profile_dump *dump = &p->dumps[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < dump->heaps_n; k++) {
            struct hs_profile_dump_heap *heaps = p->dump_heaps + dump->heap_first;
            p->has_removed_heaps |= !is_chosen[heaps[k].heap] && heaps[k].alloc.bytes > 0;
            if (is_chosen[heaps[k].heap]) {
                heaps[kept++] = heaps[k];
            }
        }
        keep_samples(p, dump, is_chosen);
        keep_parts(p, dump, is_chosen);
        keep_births(p, dump, is_chosen);
        keep_lifetimes(p, dump, is_chosen);
        keep_blocks(p, dump, is_chosen);
        dump->heaps_n = kept;
    }
}
