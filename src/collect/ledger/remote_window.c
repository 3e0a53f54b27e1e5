/*
 * Copies pieces of another process's memory: see remote_window.h.
 *
 * process_vm_readv copies large pieces faster than reads of /proc/PID/mem do, which takes less time
 * for a few bytes: it has checked the permission when it was opened. But process_vm_readv pins the
 * pages, and the kernel (5.19 and newer) makes a private copy of each page that is pinned and
 * shared.
 */
#include "collect/ledger/remote_window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rt/base.h"
#include "rt/check.h"

#define PAGE_BYTES UINT64_C(4096)
/* What was copied is still in the processor's cache when it is looked at. */
#define PIECE_BYTES_MAX (UINT64_C(256) << 10)
#define PIECE_BYTES_MIN UINT64_C(512)
#define PIECE_ALIGN     UINT64_C(64)
/* A call takes as long as to copy so much. */
#define CALL_BYTES UINT64_C(8192)
#define VA_MAX     (UINT64_C(1) << 62)

static ssize_t copy_large(pid_t pid, uint64_t va, void *ret_bytes, size_t size_bytes)
{
    struct iovec here = { ret_bytes, size_bytes };
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process */
    struct iovec there = { (void *)(uintptr_t)va, size_bytes };
    ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return got < 0 ? -errno : got;
}

/* Reads as much as there is. Returns the number of bytes, or -errno. */
static ssize_t copy(const struct hs_remote_window *window, uint64_t va, void *ret_bytes,
                    size_t size_bytes)
{
    bool is_file = window->has_shared_pages || (window->mem_fd >= 0 && size_bytes <= PAGE_BYTES);
    if (!is_file || va > VA_MAX) {
        return copy_large(window->pid, va, ret_bytes, size_bytes);
    }
    ssize_t got = pread(window->mem_fd, ret_bytes, size_bytes, (off_t)va);
    return got < 0 ? -errno : got;
}

int hs_remote_window_open(pid_t pid, struct hs_remote_window *ret_window)
{
    struct hs_remote_window window = {
        .pid = pid,
        .bytes = malloc(PIECE_BYTES_MAX),
        .piece_bytes_min = PIECE_BYTES_MIN,
    };
    if (!window.bytes) {
        return -ENOMEM;
    }
    /* Nothing is mapped at address 0: with permission, the error is EFAULT. */
    ssize_t r = copy_large(pid, 0, window.bytes, 1);
    if (r < 0 && r != -EFAULT) {
        free(window.bytes);
        return (int)r;
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    window.mem_fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_window = window;
    return 0;
}

void hs_remote_window_close(struct hs_remote_window *window)
{
    free(window->bytes);
    if (window->mem_fd >= 0) {
        close(window->mem_fd);
    }
    *window = (struct hs_remote_window){ .mem_fd = -1 };
}

void hs_remote_window_forget(struct hs_remote_window *window)
{
    window->byte_count = 0;
}

/* How much to copy at `va`, after what the window holds now. */
static uint64_t next_piece_bytes(const struct hs_remote_window *window, uint64_t va)
{
    if (window->expected_bytes > 0) {
        return window->expected_bytes;
    }
    uint64_t gap_bytes = va - (window->start_va + window->byte_count);
    bool is_dense = gap_bytes < window->piece_bytes / 2 &&
                    window->look_count * CALL_BYTES >= window->byte_count;
    uint64_t bytes =
        window->byte_count > 0 && is_dense ? window->piece_bytes * 4 : window->piece_bytes / 4;
    bytes = bytes < PIECE_BYTES_MAX ? bytes : PIECE_BYTES_MAX;
    return bytes > window->piece_bytes_min ? bytes : window->piece_bytes_min;
}

void hs_remote_window_expect(struct hs_remote_window *window, uint64_t size_bytes)
{
    bool is_dense = window->byte_count > 0 && window->look_count * CALL_BYTES >= window->byte_count;
    size_bytes += PIECE_ALIGN;
    window->expected_bytes = !is_dense                      ? 0
                             : size_bytes < PIECE_BYTES_MAX ? size_bytes
                                                            : PIECE_BYTES_MAX;
}

void hs_remote_window_search(struct hs_remote_window *window, bool is_search)
{
    window->piece_bytes_min = is_search ? PIECE_BYTES_MAX : PIECE_BYTES_MIN;
    window->piece_bytes = window->piece_bytes_min;
    hs_remote_window_forget(window);
}

HS_COLD static bool move_to(struct hs_remote_window *window, uint64_t va)
{
    if (window->copied_bytes + window->call_count * CALL_BYTES >= HS_REMOTE_COPY_BYTES_MAX) {
        window->byte_count = 0;
        return false;
    }
    window->piece_bytes = next_piece_bytes(window, va);
    window->start_va = va & ~(PIECE_ALIGN - 1);
    uint64_t end_va = window->start_va + window->piece_bytes;
    if (window->expected_bytes > 0) {
        window->expected_bytes = 0;
        window->piece_bytes = window->piece_bytes_min;
    }
    if (window->residency) {
        end_va = hs_residency_run_end(window->residency, window->start_va, end_va);
    }
    /* A piece that crosses the end of a mapping is copied up to there. */
    ssize_t got = end_va > window->start_va
                      ? copy(window, window->start_va, window->bytes, end_va - window->start_va)
                      : 0;
    window->byte_count = got > 0 ? (uint64_t)got : 0;
    window->copied_bytes += window->byte_count;
    window->call_count++;
    window->look_count = 0;
    return window->byte_count > 0;
}

const uint8_t *hs_remote_window_at(struct hs_remote_window *window, uint64_t va,
                                   uint64_t *ret_end_va)
{
    if (va - window->start_va >= window->byte_count && !move_to(window, va)) {
        return NULL;
    }
    window->look_count++;
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
    uint64_t off = va - window->start_va;
    if (off < window->byte_count && window->byte_count - off >= size_bytes) {
        memcpy(ret_bytes, window->bytes + off, size_bytes);
        return true;
    }
    return copy(window, va, ret_bytes, size_bytes) == (ssize_t)size_bytes;
}

static size_t peek_pages_alone(const struct hs_remote_window *window, const uint64_t *page_va,
                               size_t page_count, uint64_t (*ret_heads)[2])
{
    size_t i = 0;
    while (i < page_count &&
           hs_remote_window_peek(window, page_va[i], ret_heads[i], sizeof(ret_heads[i]))) {
        i++;
    }
    return i;
}

size_t hs_remote_window_peek_pages(const struct hs_remote_window *window, const uint64_t *page_va,
                                   size_t page_count, uint64_t (*ret_heads)[2])
{
    struct iovec there[HS_REMOTE_PAGES_MAX];
    if (window->has_shared_pages) {
        return peek_pages_alone(window, page_va, page_count, ret_heads);
    }
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
