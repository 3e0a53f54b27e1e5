/*
 * Writes the parts of the resident memory: see page_ledger.h.
 */
#include "cli/top/page_ledger.h"

#include <math.h>
#include <stdlib.h>

#include "profile/analyse/ledger_parts.h"
#include "profile/analyse/ledger_sums.h"
#include "util/human.h"

/* Parts with a smaller share are left out. */
#define SHARE_MIN 0.002

static const char *const words[HS_LEDGER_PARTS] = {
    [HS_LEDGER_PART_HELD] = "malloc blocks",   [HS_LEDGER_PART_FREE] = "malloc free",
    [HS_LEDGER_PART_MMAP] = "mapped",          [HS_LEDGER_PART_ALLOCATOR] = "allocators",
    [HS_LEDGER_PART_RUNTIME] = "runtimes",     [HS_LEDGER_PART_ANONYMOUS] = "anonymous",
    [HS_LEDGER_PART_SHARED] = "shared memory", [HS_LEDGER_PART_STACKS] = "stacks",
    [HS_LEDGER_PART_MODULES] = "modules",      [HS_LEDGER_PART_FILES] = "files",
    [HS_LEDGER_PART_RECORDER] = "heapscope",   [HS_LEDGER_PART_OTHER] = "other",
};

struct part {
    enum hs_ledger_part_kind kind;
    uint64_t bytes;
};

static int compare(const void *a, const void *b)
{
    uint64_t x = ((const struct part *)a)->bytes, y = ((const struct part *)b)->bytes;
    return (x < y) - (x > y);
}

/* Writes the parts, the largest first, as far as there is room for what stands behind them. */
static void write_parts(const struct hs_ledger_sums *sums, size_t columns, struct hs_buf *line)
{
    struct hs_ledger_part found[HS_LEDGER_PARTS];
    struct part parts[HS_LEDGER_PARTS];
    char share[HS_HUMAN_BYTES];
    struct hs_buf end = HS_BUF_INIT;
    double whole = (double)sums->all.rss_bytes;
    hs_ledger_parts_of(sums, found);
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        parts[i] = (struct part){ (enum hs_ledger_part_kind)i, found[i].rss_bytes };
    }
    qsort(parts, HS_LEDGER_PARTS, sizeof(parts[0]), compare);
    hs_buf_printf(&end, "; not explained %s",
                  hs_human_share(share, (double)sums->unexplained.rss_bytes, whole));
    const char *between = ": ";
    for (unsigned i = 0; i < HS_LEDGER_PARTS && (double)parts[i].bytes >= SHARE_MIN * whole; i++) {
        struct hs_buf part = HS_BUF_INIT;
        hs_buf_printf(&part, "%s%s %s", between, words[parts[i].kind],
                      hs_human_share(share, (double)parts[i].bytes, whole));
        bool has_room = line->bytes + part.bytes + end.bytes <= columns;
        if (has_room) {
            hs_buf_str(line, hs_buf_text(&part));
        }
        hs_buf_deinit(&part);
        if (!has_room) {
            break;
        }
        between = ", ";
    }
    hs_buf_str(line, hs_buf_text(&end));
    hs_buf_deinit(&end);
}

static bool write_ledger(const struct hs_top_source *source, size_t columns, struct hs_buf *line)
{
    struct hs_ledger_sums sums;
    if (!source->profile || hs_ledger_sums_of(&source->rows.selection, false, &sums) < 0) {
        return false;
    }
    bool is_there = sums.process_count > 0 && sums.missing_count == 0 && sums.all.rss_bytes > 0;
    if (is_there) {
        write_parts(&sums, columns, line);
    }
    hs_ledger_sums_deinit(&sums);
    return is_there;
}

/* What the kernel tells. */
static void write_kinds(const struct hs_top_source *source, struct hs_buf *line)
{
    char share[HS_HUMAN_BYTES], part[HS_HUMAN_BYTES];
    double rss_bytes = (double)source->rss_bytes, anon_bytes = (double)source->anon_bytes;
    hs_buf_printf(line, " (live heap %s)", hs_human_share(share, source->live_bytes, rss_bytes));
    if (source->anon_bytes > 0) {
        hs_buf_printf(line, " = %s anonymous", hs_human_bytes(part, anon_bytes));
        hs_buf_printf(line, " + %s files", hs_human_bytes(part, fmax(rss_bytes - anon_bytes, 0)));
    }
}

void hs_text_page_add_ledger(struct hs_text_page *page, const struct hs_top_source *source)
{
    char rss[HS_HUMAN_BYTES], part[HS_HUMAN_BYTES];
    struct hs_buf line = HS_BUF_INIT, swap = HS_BUF_INIT;
    if (source->rss_bytes == 0 && source->rss_peak_bytes > 0) {
        hs_text_page_addf(page, HS_TEXT_PAGE_PLAIN, "RSS not known then; %s at its highest",
                          hs_human_bytes(rss, (double)source->rss_peak_bytes));
        return;
    }
    if (source->rss_bytes == 0) {
        hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, "RSS not known");
        return;
    }
    if (source->swap_bytes > 0) {
        hs_buf_printf(&swap, "; swapped out %s", hs_human_bytes(part, (double)source->swap_bytes));
    }
    hs_buf_printf(&line, "RSS %s", hs_human_bytes(rss, (double)source->rss_bytes));
    size_t columns = page->columns > swap.bytes ? page->columns - swap.bytes : 0;
    if (!write_ledger(source, columns, &line)) {
        write_kinds(source, &line);
    }
    hs_buf_str(&line, hs_buf_text(&swap));
    hs_text_page_add(page, HS_TEXT_PAGE_PLAIN, hs_buf_text(&line));
    hs_buf_deinit(&line);
    hs_buf_deinit(&swap);
}
