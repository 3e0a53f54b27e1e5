/*
 * Copies pieces of another process's memory: see remote_window.h.
 *
 * process_vm_readv copies about twice as fast as reads of /proc/PID/mem do, with pieces of this
 * size.
 */
#include "collect/ledger/remote_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "rt/base.h"
#include "rt/check.h"

#define PAGE_BYTES  UINT64_C(4096)
#define PIECE_BYTES (UINT64_C(1) << 20)

/* Reads as much as there is. Returns the number of bytes, or -errno. */
static ssize_t copy(pid_t pid, uint64_t va, void *ret_bytes, size_t size_bytes)
{
    struct iovec here = { ret_bytes, size_bytes };
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process */
    struct iovec there = { (void *)(uintptr_t)va, size_bytes };
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got < 0 ? -errno : got;
}

int hs_remote_window_open(pid_t pid, struct hs_remote_window *ret_window)
{
    struct hs_remote_window window = { .pid = pid, .bytes = malloc(PIECE_BYTES) };
    if (!window.bytes) {
        return -ENOMEM;
    }
    /* Nothing is mapped at address 0: with permission, the error is EFAULT. */
    ssize_t r = copy(pid, 0, window.bytes, 1);
    if (r < 0 && r != -EFAULT) {
        free(window.bytes);
        return (int)r;
    }
    *ret_window = window;
    return 0;
}

void hs_remote_window_close(struct hs_remote_window *window)
{
    free(window->bytes);
    *window = (struct hs_remote_window){ 0 };
}

void hs_remote_window_forget(struct hs_remote_window *window)
{
    window->byte_count = 0;
}

HS_COLD static bool move_to(struct hs_remote_window *window, uint64_t va)
{
    if (window->copied_bytes >= HS_REMOTE_COPY_BYTES_MAX) {
        window->byte_count = 0;
        return false;
    }
    window->start_va = va & ~(PAGE_BYTES - 1);
    uint64_t end_va = window->start_va + PIECE_BYTES;
    if (window->residency) {
        end_va = hs_residency_run_end(window->residency, window->start_va, end_va);
    }
    /* A piece that crosses the end of a mapping is copied up to there. */
    ssize_t got = end_va > window->start_va ? copy(window->pid, window->start_va, window->bytes,
                                                   end_va - window->start_va)
                                            : 0;
    window->byte_count = got > 0 ? (uint64_t)got : 0;
    window->copied_bytes += window->byte_count;
    return window->byte_count > 0;
}

const uint8_t *hs_remote_window_at(struct hs_remote_window *window, uint64_t va,
                                   uint64_t *ret_end_va)
{
    if (va - window->start_va >= window->byte_count && !move_to(window, va)) {
        return NULL;
    }
    *ret_end_va = window->start_va + window->byte_count;
    return va < *ret_end_va ? window->bytes + (va - window->start_va) : NULL;
}

bool hs_remote_window_read(struct hs_remote_window *window, uint64_t va, void *ret_bytes,
                           size_t size_bytes)
{
    uint8_t *to = ret_bytes;
    while (size_bytes > 0) {
        uint64_t end_va;
        const uint8_t *from = hs_remote_window_at(window, va, &end_va);
        if (!from) {
            return false;
        }
        size_t part_bytes = end_va - va < size_bytes ? (size_t)(end_va - va) : size_bytes;
        memcpy(to, from, part_bytes);
        to += part_bytes;
        va += part_bytes;
        size_bytes -= part_bytes;
    }
    return true;
}

bool hs_remote_window_peek(const struct hs_remote_window *window, uint64_t va, void *ret_bytes,
                           size_t size_bytes)
{
    if (va - window->start_va < window->byte_count &&
        window->byte_count - (va - window->start_va) >= size_bytes) {
        memcpy(ret_bytes, window->bytes + (va - window->start_va), size_bytes);
        return true;
    }
    return copy(window->pid, va, ret_bytes, size_bytes) == (ssize_t)size_bytes;
}

size_t hs_remote_window_peek_pages(const struct hs_remote_window *window, const uint64_t *page_va,
                                   size_t page_count, uint64_t (*ret_heads)[2])
{
    struct iovec there[HS_REMOTE_PAGES_MAX];
    struct iovec here = { ret_heads, page_count * sizeof(ret_heads[0]) };
    HS_ASSERT(page_count <= HS_REMOTE_PAGES_MAX);
    for (size_t i = 0; i < page_count; i++) {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process */
        there[i] = (struct iovec){ (void *)(uintptr_t)page_va[i], sizeof(ret_heads[0]) };
    }
    ssize_t got = process_vm_readv(window->pid, &here, 1, there, page_count, 0);
    return got > 0 ? (size_t)got / sizeof(ret_heads[0]) : 0;
}

bool hs_remote_window_word(struct hs_remote_window *window, uint64_t va, uint64_t *ret_word)
{
    return hs_remote_window_read(window, va, ret_word, sizeof(*ret_word));
}
