/*
 * Reads resident words: see memory_scan.h.
 */
#include "collect/ledger/memory_scan.h"

#include "collect/ledger/residency.h"

#define PIECE_BYTES UINT64_C(16384)

static int take_run(struct hs_memory_scan *scan, uint64_t va, uint64_t end_va)
{
    uint64_t words[PIECE_BYTES / sizeof(uint64_t)];
    int r = 0;
    while (va < end_va && r == 0 && scan->bytes_left >= PIECE_BYTES) {
        uint64_t bytes = end_va - va < PIECE_BYTES ? end_va - va : PIECE_BYTES;
        scan->bytes_left -= bytes;
        scan->piece_va = va;
        if (hs_remote_window_peek(scan->window, va, words, bytes)) {
            r = scan->take(scan->ctx, words, bytes / sizeof(words[0]));
        }
        va += bytes;
    }
    return r;
}

int hs_memory_scan(struct hs_memory_scan *scan, uint64_t start_va, uint64_t end_va)
{
    struct hs_residency residency;
    int r = hs_residency_read(scan->pagemap_fd, start_va, end_va, &residency);
    if (r < 0) {
        return r;
    }
    uint64_t va = hs_residency_next(&residency, start_va);
    while (va < end_va && r == 0 && scan->bytes_left >= PIECE_BYTES) {
        uint64_t run_end_va = hs_residency_run_end(&residency, va, end_va);
        r = take_run(scan, va, run_end_va);
        va = run_end_va > va ? hs_residency_next(&residency, run_end_va) : end_va;
    }
    hs_residency_deinit(&residency);
    return r;
}
