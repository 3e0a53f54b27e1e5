/*
 * Which pages of a range of another process's memory are resident.
 *
 * The kernel tells it in /proc/PID/pagemap, one word for each page, without any permission beyond
 * that of reading the process's memory. A page that two processes share counts in both. Memory that
 * was read and never written is the kernel's page of zeros, which is in no resident set. Linux
 * before 6.7 does not say which pages are that one, so they count as resident here.
 *
 * Ensures   sums over parts of the range that do not overlap add up to the sum over their union.
 * Threads   none.
 * Fails     -errno of reading; -ENOMEM; -EFBIG for a range of more than HS_RESIDENCY_PAGES_MAX
 *           pages.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* One terabyte. */
#define HS_RESIDENCY_PAGES_MAX (UINT64_C(1) << 28)

struct hs_residency {
    uint64_t start_va; /* of a page */
    uint64_t page_count;
    /* Words of 64 pages each; before each, the number of resident and of swapped pages in those
     * before it. */
    uint64_t *present;
    uint64_t *swapped;
    uint32_t *present_before;
    uint32_t *swapped_before;
    bool has_swapped; /* any page at all */
};

/* Opens /proc/PID/pagemap. Returns the descriptor, or -errno. */
int hs_residency_open(pid_t pid);
/* Reads the pages of [start_va, end_va) from `pagemap_fd`, an open /proc/PID/pagemap. Returns 0, or
 * see Fails. */
int hs_residency_read(int pagemap_fd, uint64_t start_va, uint64_t end_va,
                      struct hs_residency *ret_residency);
/* Frees the arrays. */
void hs_residency_deinit(struct hs_residency *residency);

/* Is the page at `va` resident, so that reading it changes nothing? */
bool hs_residency_is_resident(int pagemap_fd, uint64_t va);

/* The first resident page at or behind `va`; UINT64_MAX: there is none in the range. */
uint64_t hs_residency_next(const struct hs_residency *residency, uint64_t va);

/* Where the resident pages from `start_va` on end, at most `end_va`; `start_va`: it is not in a
 * resident page of the range. */
uint64_t hs_residency_run_end(const struct hs_residency *residency, uint64_t start_va,
                              uint64_t end_va);

/* Bytes of [start_va, end_va) that lie in resident pages; 0 outside of the range that was read. */
uint64_t hs_residency_bytes(const struct hs_residency *residency, uint64_t start_va,
                            uint64_t end_va);
/* The same for pages in swap. */
uint64_t hs_residency_swap_bytes(const struct hs_residency *residency, uint64_t start_va,
                                 uint64_t end_va);
