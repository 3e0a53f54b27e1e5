/*
 * Reads /proc/PID/pagemap: see residency.h.
 */
#include "collect/ledger/residency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rt/check.h"

#define PAGE_BYTES  UINT64_C(4096)
#define WORD_PAGES  64U
#define PIECE_PAGES 8192U
/* See the kernel's Documentation/admin-guide/mm/pagemap.rst. */
#define IS_PRESENT (UINT64_C(1) << 63)
#define IS_SWAPPED (UINT64_C(1) << 62)

static int reserve(struct hs_residency *residency)
{
    size_t word_count = residency->page_count / WORD_PAGES + 1;
    residency->present = calloc(word_count, sizeof(residency->present[0]));
    residency->swapped = calloc(word_count, sizeof(residency->swapped[0]));
    residency->present_before = calloc(word_count, sizeof(residency->present_before[0]));
    residency->swapped_before = calloc(word_count, sizeof(residency->swapped_before[0]));
    return residency->present && residency->swapped && residency->present_before &&
                   residency->swapped_before
               ? 0
               : -ENOMEM;
}

static bool is_set(const uint64_t *words, uint64_t page)
{
    return (words[page / WORD_PAGES] >> page % WORD_PAGES & 1) != 0;
}

/* --- the scan of Linux 6.7 and newer ---------------------------------------------------------- */

/* struct pm_scan_arg and struct page_region of the kernel: older headers do not have them. */
struct scan_region {
    uint64_t start_va, end_va;
    uint64_t categories;
};

struct scan {
    uint64_t size_bytes;
    uint64_t flags;
    uint64_t start_va, end_va;
    uint64_t walk_end_va; /* where the scan stopped, because the regions were full */
    uint64_t regions_va, region_count;
    uint64_t max_pages;
    uint64_t inverted_mask, all_of_mask, any_of_mask, return_mask;
};

#define SCAN_CALL     _IOWR('f', 16, struct scan)
#define SCAN_PRESENT  (UINT64_C(1) << 3)
#define SCAN_SWAPPED  (UINT64_C(1) << 4)
#define SCAN_ZERO     (UINT64_C(1) << 5) /* the kernel's page of zeros, which is not in the RSS */
#define REGIONS_COUNT 512U

static void set_pages(uint64_t *words, uint64_t page, uint64_t end)
{
    while (page < end) {
        uint64_t word_end = (page / WORD_PAGES + 1) * WORD_PAGES;
        uint64_t last = end < word_end ? end : word_end;
        uint64_t count = last - page;
        uint64_t mask = count == WORD_PAGES ? UINT64_MAX : (UINT64_C(1) << count) - 1;
        words[page / WORD_PAGES] |= mask << page % WORD_PAGES;
        page = last;
    }
}

static void take_region(struct hs_residency *residency, const struct scan_region *region)
{
    uint64_t page = (region->start_va - residency->start_va) / PAGE_BYTES;
    uint64_t end = (region->end_va - residency->start_va) / PAGE_BYTES;
    if (region->start_va < residency->start_va || end > residency->page_count || page > end) {
        return;
    }
    if ((region->categories & SCAN_SWAPPED) != 0) {
        set_pages(residency->swapped, page, end);
    } else if ((region->categories & SCAN_ZERO) == 0) {
        set_pages(residency->present, page, end);
    }
}

/* Returns 0, or -errno: -ENOTTY where the kernel is older. */
static int scan_pages(int pagemap_fd, struct hs_residency *residency)
{
    struct scan_region regions[REGIONS_COUNT];
    struct scan scan = {
        .size_bytes = sizeof(scan),
        .start_va = residency->start_va,
        .end_va = residency->start_va + residency->page_count * PAGE_BYTES,
        .regions_va = (uintptr_t)regions,
        .region_count = REGIONS_COUNT,
        .any_of_mask = SCAN_PRESENT | SCAN_SWAPPED,
        .return_mask = SCAN_PRESENT | SCAN_SWAPPED | SCAN_ZERO,
    };
    while (scan.start_va < scan.end_va) {
        int count = ioctl(pagemap_fd, SCAN_CALL, &scan);
        if (count < 0) {
            return errno == EINVAL ? -ENOTTY : -errno;
        }
        for (int i = 0; i < count; i++) {
            take_region(residency, &regions[i]);
        }
        if (scan.walk_end_va <= scan.start_va) {
            break;
        }
        scan.start_va = scan.walk_end_va;
    }
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int read_pages(int pagemap_fd, struct hs_residency *residency)
{
    uint64_t piece[PIECE_PAGES];
    for (uint64_t page = 0; page < residency->page_count;) {
        uint64_t left = residency->page_count - page;
        size_t wanted = (size_t)(left < PIECE_PAGES ? left : PIECE_PAGES) * sizeof(piece[0]);
        off_t off = (off_t)((residency->start_va / PAGE_BYTES + page) * sizeof(piece[0]));
        ssize_t got = pread(pagemap_fd, piece, wanted, off);
        if (got < (ssize_t)sizeof(piece[0])) {
            return got < 0 ? -errno : 0; /* the process is gone: its pages are not resident */
        }
        for (size_t i = 0; i < (size_t)got / sizeof(piece[0]); i++, page++) {
            uint64_t bit = UINT64_C(1) << page % WORD_PAGES;
            residency->present[page / WORD_PAGES] |= piece[i] & IS_PRESENT ? bit : 0;
            residency->swapped[page / WORD_PAGES] |= piece[i] & IS_SWAPPED ? bit : 0;
        }
    }
    return 0;
}

static void sum(struct hs_residency *residency)
{
    uint64_t word_count = residency->page_count / WORD_PAGES + 1;
    for (uint64_t i = 1; i < word_count; i++) {
        residency->present_before[i] = residency->present_before[i - 1] +
                                       (uint32_t)__builtin_popcountll(residency->present[i - 1]);
        residency->swapped_before[i] = residency->swapped_before[i - 1] +
                                       (uint32_t)__builtin_popcountll(residency->swapped[i - 1]);
    }
    for (uint64_t i = 0; i < word_count; i++) {
        residency->has_swapped |= residency->swapped[i] != 0;
    }
}

int hs_residency_open(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int hs_residency_read(int pagemap_fd, uint64_t start_va, uint64_t end_va,
                      struct hs_residency *ret_residency)
{
    struct hs_residency residency = { .start_va = start_va & ~(PAGE_BYTES - 1) };
    HS_ASSERT(start_va <= end_va);
    residency.page_count = (end_va - residency.start_va + PAGE_BYTES - 1) / PAGE_BYTES;
    if (residency.page_count > HS_RESIDENCY_PAGES_MAX) {
        return -EFBIG;
    }
    int r = reserve(&residency);
    r = r == 0 ? scan_pages(pagemap_fd, &residency) : r;
    r = r == -ENOTTY ? read_pages(pagemap_fd, &residency) : r;
    if (r < 0) {
        hs_residency_deinit(&residency);
        return r;
    }
    sum(&residency);
    *ret_residency = residency;
    return 0;
}

void hs_residency_deinit(struct hs_residency *residency)
{
    free(residency->present);
    free(residency->swapped);
    free(residency->present_before);
    free(residency->swapped_before);
    *residency = (struct hs_residency){ 0 };
}

/* The number of set bits before `page`. */
static uint64_t rank(const uint64_t *words, const uint32_t *before, uint64_t page)
{
    uint64_t mask = (UINT64_C(1) << page % WORD_PAGES) - 1;
    return before[page / WORD_PAGES] +
           (uint64_t)__builtin_popcountll(words[page / WORD_PAGES] & mask);
}

bool hs_residency_is_resident(int pagemap_fd, uint64_t va)
{
    struct hs_residency residency;
    uint64_t start_va = va & ~(PAGE_BYTES - 1);
    if (hs_residency_read(pagemap_fd, start_va, start_va + PAGE_BYTES, &residency) < 0) {
        return false;
    }
    bool is_resident = is_set(residency.present, 0);
    hs_residency_deinit(&residency);
    return is_resident;
}

uint64_t hs_residency_next(const struct hs_residency *residency, uint64_t va)
{
    uint64_t page =
        va > residency->start_va ? (va - residency->start_va + PAGE_BYTES - 1) / PAGE_BYTES : 0;
    while (page < residency->page_count) {
        uint64_t left = residency->present[page / WORD_PAGES] >> page % WORD_PAGES;
        if (left != 0) {
            page += (uint64_t)__builtin_ctzll(left);
            return page < residency->page_count ? residency->start_va + page * PAGE_BYTES
                                                : UINT64_MAX;
        }
        page = (page / WORD_PAGES + 1) * WORD_PAGES;
    }
    return UINT64_MAX;
}

uint64_t hs_residency_run_end(const struct hs_residency *residency, uint64_t start_va,
                              uint64_t end_va)
{
    uint64_t va = start_va;
    while (va >= residency->start_va && va < end_va) {
        uint64_t page = (va - residency->start_va) / PAGE_BYTES;
        if (page >= residency->page_count || !is_set(residency->present, page)) {
            break;
        }
        va = residency->start_va + (page + 1) * PAGE_BYTES;
    }
    return va < end_va ? va : end_va;
}

static uint64_t sum_bytes(const struct hs_residency *residency, const uint64_t *words,
                          const uint32_t *before, uint64_t start_va, uint64_t end_va)
{
    uint64_t first_va = residency->start_va;
    uint64_t last_va = first_va + residency->page_count * PAGE_BYTES;
    start_va = start_va < first_va ? first_va : start_va;
    end_va = end_va > last_va ? last_va : end_va;
    if (start_va >= end_va) {
        return 0;
    }
    uint64_t first = (start_va - first_va) / PAGE_BYTES;
    uint64_t last = (end_va - 1 - first_va) / PAGE_BYTES;
    if (first == last) {
        return is_set(words, first) ? end_va - start_va : 0;
    }
    uint64_t pages = rank(words, before, last) - rank(words, before, first) + is_set(words, last);
    uint64_t bytes = pages * PAGE_BYTES;
    bytes -= is_set(words, first) ? (start_va - first_va) % PAGE_BYTES : 0;
    bytes -= is_set(words, last) ? (last + 1) * PAGE_BYTES - (end_va - first_va) : 0;
    return bytes;
}

uint64_t hs_residency_bytes(const struct hs_residency *residency, uint64_t start_va,
                            uint64_t end_va)
{
    return sum_bytes(residency, residency->present, residency->present_before, start_va, end_va);
}

uint64_t hs_residency_swap_bytes(const struct hs_residency *residency, uint64_t start_va,
                                 uint64_t end_va)
{
    return residency->has_swapped ? sum_bytes(residency, residency->swapped,
                                              residency->swapped_before, start_va, end_va)
                                  : 0;
}
