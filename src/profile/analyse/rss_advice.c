/*
 * Chooses remedies: see rss_advice.h.
 */
#include "profile/analyse/rss_advice.h"

/* A line is large when it is this part of the resident memory, and not less than so much. */
#define LARGE_PART  10U
#define LARGE_BYTES (UINT64_C(4) << 20)
/* Of each process; with fewer, a limit of two changes little. */
#define ARENAS_MIN 5U

static bool is_large(const struct hs_ledger_sums *sums, uint64_t bytes)
{
    return bytes >= LARGE_BYTES && bytes >= sums->all.rss_bytes / LARGE_PART;
}

uint32_t hs_rss_advice_of(const struct hs_ledger_sums *sums,
                          struct hs_rss_advice ret_advice[HS_RSS_ADVICE_MAX])
{
    uint32_t count = 0;
    uint64_t free_bytes = sums->kinds[HS_LEDGER_MALLOC_BINNED].rss_bytes +
                          sums->kinds[HS_LEDGER_MALLOC_FAST].rss_bytes +
                          sums->kinds[HS_LEDGER_MALLOC_TOP].rss_bytes;
    if (is_large(sums, sums->trim_bytes)) {
        ret_advice[count++] = (struct hs_rss_advice){ HS_RSS_TRIM, sums->trim_bytes, 0 };
    }
    if (is_large(sums, free_bytes) &&
        sums->arena_count >= (uint64_t)ARENAS_MIN * sums->process_count) {
        ret_advice[count++] =
            (struct hs_rss_advice){ HS_RSS_ARENAS, free_bytes, sums->arena_count };
    }
    return count;
}

const char *hs_rss_remedy_key(enum hs_rss_remedy remedy)
{
    return remedy == HS_RSS_TRIM ? "malloc_trim" : "malloc_arena_max";
}
