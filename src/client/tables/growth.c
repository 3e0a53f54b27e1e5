/*
 * How sections grow: elements are handed out one by one, pages are populated in batches, and a
 * limit may end the growth.
 *
 * If pages came one at a time, every 128th record would cause a page fault. So a section gets its
 * pages in batches: of 16 KiB once it has 64 KiB, of 64 KiB once it has 256 KiB. The memory of a
 * region can therefore be computed from its counts, and be compared with the limit before anything
 * grows. Elements that take no new pages are always handed out.
 *
 * Under a limit only the tables of samples (records, stacks, their frames and scopes) stop growing.
 * Threads and modules may always grow: they are few, and without them all later samples would be
 * lost.
 *
 * Holds     the pages of the tables of samples, together with those of everything else at that
 *           moment, stay within the limit, except for a batch or two if several tables grow at the
 *           very moment when the limit is reached.
 * Threads   any.
 * Fails     hs_region_take returns UINT64_MAX; the sample is lost and counted under its reason.
 * See       region.h
 */
#include "client/host/pages.h"
#include "client/tables/region.h"
#include "rt/check.h"

/* Sections in use get their pages this many bytes at a time. */
#define SMALL_BATCH UINT64_C(16384)
#define LARGE_BATCH UINT64_C(65536)
/* A section shorter than this gets each page when it is touched. */
#define BATCHED_FROM (4 * SMALL_BATCH)

#define SAMPLE_SECTIONS                                                                            \
    (1U << HS_SECTION_FRAMES | 1U << HS_SECTION_FRAME_IDS | 1U << HS_SECTION_STACKS |              \
     1U << HS_SECTION_RECORDS | 1U << HS_SECTION_SCOPES | 1U << HS_SECTION_TYPES |                 \
     1U << HS_SECTION_CODE_NAMES)

/* How many bytes a section that ends at `end_off` grows at once: at most a quarter of what it
 * has. */
static uint64_t batch_bytes(uint64_t end_off)
{
    return end_off >= 4 * LARGE_BATCH ? LARGE_BATCH : SMALL_BATCH;
}

/* Bytes of the pages of a section that ends at `end_off`, as grow() populates them. */
static uint64_t pages_bytes(uint64_t end_off)
{
    uint64_t batch = batch_bytes(end_off);
    return end_off < BATCHED_FROM ? hs_align_up(end_off, 4096) : (end_off & ~(batch - 1)) + batch;
}

/* May this section get this new end? */
static bool is_within_limit(enum hs_section_id section, uint64_t from_off, uint64_t end_off,
                            uint64_t limit_bytes)
{
    uint64_t bytes = HS_REGION_HEADER_OFF + HS_REGION_HEADER_PAGES_BYTES +
                     hs_load_relaxed(&hs_control_page.control.unwind_tables_bytes);
    if (pages_bytes(from_off) == pages_bytes(end_off)) {
        return true;
    }
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        uint64_t count = hs_load_relaxed(&hs_region_section(hs_region.header, i)->count);
        bytes += pages_bytes(i == section ? end_off : count * hs_section_elem_bytes(i));
    }
    return bytes <= limit_bytes;
}

/* Handed-out elements are not taken back, and the collector believes the count: it is raised only
 * when there is memory for the elements, and when the limit allows them. */
static uint64_t take(enum hs_section_id section, uint64_t count, uint64_t limit_bytes)
{
    struct hs_section_v1 *info = hs_region_section(hs_region.header, section);
    uint32_t elem_bytes = hs_section_elem_bytes(section);
    uint64_t first = hs_load_relaxed(&info->count);
    do {
        if (first + count > info->max_count) {
            return UINT64_MAX;
        }
        if (hs_unlikely(limit_bytes != 0) &&
            !is_within_limit(section, first * elem_bytes, (first + count) * elem_bytes,
                             limit_bytes)) {
            hs_store_relaxed(&hs_region.is_at_limit, true);
            return UINT64_MAX;
        }
        if (!hs_region_at(section, first + count - 1)) {
            return UINT64_MAX; /* no address space; there may be some at a later call */
        }
    } while (!hs_cas_relaxed(&info->count, &first, first + count));
    HS_ASSERT(
        is_within_limit(section, first * elem_bytes, (first + count) * elem_bytes, UINT64_MAX));
    HS_ASSERT(first + count <= info->max_count);
    return first;
}

/* A new view has no pages yet where the previous view had them. Populating them all at once would
 * be a pause of some milliseconds. So each new batch, at `start`, also populates one old batch. (In
 * a region that was renewed while its views were long there may be nothing old yet.) */
static void carry_over(enum hs_section_id section, uint64_t start, uint64_t batch)
{
    const struct hs_region_view *view = hs_load_relaxed(&hs_region.current[section]);
    uint64_t view_no = (uint64_t)(view - hs_region.views[section]);
    uint64_t off = hs_load_relaxed(&hs_region.carried_bytes[section]);
    if (view_no > 0 && off + batch <= start &&
        off < hs_region_view_bytes(section, (unsigned)view_no - 1)) {
        off = hs_add_relaxed(&hs_region.carried_bytes[section], batch);
        if (off + batch <= start) {
            hs_pages_populate(hs_load_relaxed(&view->base) + off, batch);
        }
    }
}

/* Elements from from_off to end_off were taken: if they begin a new batch, populates all of it. */
static void grow(enum hs_section_id section, uint64_t from_off, uint64_t end_off)
{
    uint64_t batch = batch_bytes(end_off), start = end_off & ~(batch - 1);
    uint32_t elem_bytes = hs_section_elem_bytes(section);
    uint64_t last = (start + batch - 1) / elem_bytes;
    if (end_off < BATCHED_FROM || from_off >= start ||
        last >= hs_region.layout[section].max_count) {
        return;
    }
    uint8_t *elem = hs_region_at(section, last);
    if (elem) {
        hs_pages_populate(elem - last * elem_bytes + start, batch);
        carry_over(section, start, batch);
    }
}

bool hs_region_reach_lifetimes(uint32_t stack_id)
{
    struct hs_section_v1 *info = hs_region_section(hs_region.header, HS_SECTION_LIFETIMES);
    uint64_t limit_bytes = hs_load_relaxed(&hs_control_page.control.region_limit_bytes);
    uint64_t elem_bytes = sizeof(struct hs_lifetimes_v2), count = hs_load_relaxed(&info->count);
    while (stack_id >= count) {
        if (stack_id >= info->max_count) {
            return false;
        }
        if (limit_bytes != 0 &&
            !is_within_limit(HS_SECTION_LIFETIMES, count * elem_bytes,
                             (stack_id + UINT64_C(1)) * elem_bytes, limit_bytes)) {
            hs_store_relaxed(&hs_region.is_at_limit, true);
            return false;
        }
        if (hs_cas_relaxed(&info->count, &count, stack_id + UINT64_C(1))) {
            return true;
        }
    }
    return true;
}

uint64_t hs_region_take(enum hs_section_id section, uint64_t count)
{
    uint64_t limit_bytes = hs_load_relaxed(&hs_control_page.control.region_limit_bytes);
    uint32_t elem_bytes = hs_section_elem_bytes(section);
    bool is_limited = (SAMPLE_SECTIONS >> section & 1U) != 0;
    uint64_t first = take(section, count, is_limited ? limit_bytes : 0);
    if (first != UINT64_MAX) {
        grow(section, first * elem_bytes, (first + count) * elem_bytes);
    }
    return first;
}
