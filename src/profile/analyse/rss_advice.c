/*
 * Chooses remedies: see rss_advice.h.
 */
#include "profile/analyse/rss_advice.h"

#include <string.h>

#include "profile/model/margin.h"
#include "rt/base.h"

/* A line is large when it is this part of the resident memory, and not less than so much. */
#define LARGE_PART  10U
#define LARGE_BYTES (UINT64_C(4) << 20)
/* Of each process; with fewer, a limit of two changes little. */
#define ARENAS_MIN 5U
/* What M_TRIM_THRESHOLD and M_MMAP_THRESHOLD are until malloc raises them. */
#define THRESHOLD_BYTES (UINT64_C(128) << 10)

static bool is_large(const struct hs_ledger_sums *sums, uint64_t bytes)
{
    return bytes >= LARGE_BYTES && bytes >= sums->all.rss_bytes / LARGE_PART;
}

bool hs_rss_are_arenas_many(uint64_t arena_count, uint32_t process_count)
{
    return process_count > 0 && arena_count >= (uint64_t)ARENAS_MIN * process_count;
}

/* More than free() leaves at the end of each arena, unless its threshold has been raised: by the
 * program, or by malloc when a large block was freed. */
static bool are_ends_long(const struct hs_ledger_sums *sums)
{
    const struct hs_ledger_sum *top = &sums->kinds[HS_LEDGER_MALLOC_TOP];
    return is_large(sums, top->rss_bytes) &&
           top->rss_bytes > sums->arena_count * 2 * THRESHOLD_BYTES;
}

static bool are_pieces_large(const struct hs_ledger_sums *sums)
{
    const struct hs_ledger_sum *binned = &sums->kinds[HS_LEDGER_MALLOC_BINNED];
    return is_large(sums, binned->rss_bytes) && binned->rss_bytes / THRESHOLD_BYTES > binned->count;
}

static bool are_from_startup(const struct hs_selection *selection)
{
    const struct hs_profile *p = selection->profile;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        if (!p->processes[p->dumps[selection->dumps[i]].process].is_from_startup) {
            return false;
        }
    }
    return true;
}

/* What jemalloc has resident beyond the live blocks, if all of these are known. */
static uint64_t jemalloc_free_bytes(const struct hs_selection *selection,
                                    const struct hs_ledger_sums *sums)
{
    for (uint32_t i = 0; i < sums->line_count && are_from_startup(selection); i++) {
        const struct hs_ledger_sum *line = &sums->lines[i];
        const char *name = hs_profile_string(selection->profile, line->name);
        if (line->kind == HS_LEDGER_ALLOCATOR && strcmp(name, "jemalloc") == 0 &&
            line->blocks.bytes > 0) {
            return line->rss_bytes -
                   (uint64_t)hs_ledger_blocks_figure(&line->blocks, line->rss_bytes).value;
        }
    }
    return 0;
}

uint32_t hs_rss_advice_of(const struct hs_selection *selection, const struct hs_ledger_sums *sums,
                          struct hs_rss_advice ret_advice[HS_RSS_ADVICE_MAX])
{
    uint64_t top_bytes = sums->kinds[HS_LEDGER_MALLOC_TOP].rss_bytes;
    uint64_t binned_bytes = sums->kinds[HS_LEDGER_MALLOC_BINNED].rss_bytes;
    uint64_t free_bytes = binned_bytes + sums->kinds[HS_LEDGER_MALLOC_FAST].rss_bytes + top_bytes;
    uint64_t jemalloc_bytes = jemalloc_free_bytes(selection, sums);
    const struct {
        struct hs_rss_advice advice;
        bool applies;
    } all[] = {
        { { HS_RSS_TRIM, sums->trim_bytes, 0 }, is_large(sums, sums->trim_bytes) },
        { { HS_RSS_MANY, free_bytes, sums->arena_count },
          is_large(sums, free_bytes) &&
              hs_rss_are_arenas_many(sums->arena_count, sums->process_count) },
        { { HS_RSS_ENDS, top_bytes, 0 }, are_ends_long(sums) },
        { { HS_RSS_PIECES, binned_bytes, 0 }, are_pieces_large(sums) },
        { { HS_RSS_DECAY, jemalloc_bytes, 0 }, is_large(sums, jemalloc_bytes) },
    };
    uint32_t count = 0;
    for (unsigned i = 0; i < HS_COUNT_OF(all); i++) {
        if (all[i].applies) {
            ret_advice[count++] = all[i].advice;
        }
    }
    return count;
}

const char *hs_rss_remedy_key(enum hs_rss_remedy remedy)
{
    static const char *const keys[HS_RSS_REMEDY_N] = {
        [HS_RSS_TRIM] = "malloc_trim",           [HS_RSS_MANY] = "malloc_arena_max",
        [HS_RSS_ENDS] = "malloc_trim_threshold", [HS_RSS_PIECES] = "malloc_mmap_threshold",
        [HS_RSS_DECAY] = "jemalloc_decay",
    };
    return keys[remedy];
}
