/*
 * Reads the memory of another process in large pieces, for walks over long tables in it.
 *
 *     struct hs_remote_window window;
 *     hs_remote_window_open(pid, &window);
 *     if (hs_remote_window_word(&window, va, &word)) { ... }
 *     hs_remote_window_close(&window);
 *
 * A window holds one piece of the process's memory. A read outside of it moves it there. So a walk
 * in the order of addresses makes one system call for each piece, and what it sees of one piece is
 * of about one moment; the process runs on. A piece is small at first, grows while reads follow
 * closely on each other, and shrinks when they leap: a system call takes as long as to copy two
 * pages.
 *
 * A window copies at most about HS_REMOTE_COPY_BYTES_MAX in its life, because a process can make
 * tables that take hours to walk over.
 *
 * Reading must not change what the process has in memory. Where the window knows what is resident,
 * it copies only that. Of pages that a forked process has in common with its parent,
 * process_vm_readv makes the kernel give the process copies of its own; /proc/PID/mem does not.
 *
 * Trust     the bytes come from another process: nothing here interprets them.
 * Threads   one.
 * Fails     false where there is no memory, and when the window has copied enough; -errno from
 *           opening: -EPERM when heapscope may not, -ESRCH when the process is gone, -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/residency.h"

#define HS_REMOTE_PAGES_MAX      256U
#define HS_REMOTE_COPY_BYTES_MAX (UINT64_C(4) << 30)

struct hs_remote_window {
    pid_t pid;
    int mem_fd; /* /proc/PID/mem; -1: it cannot be opened */
    uint8_t *bytes;
    uint64_t start_va;   /* of bytes[0] */
    uint64_t byte_count; /* that are there; less than the capacity where the memory ends */
    uint64_t piece_bytes_min;
    uint64_t piece_bytes;    /* that the next move will copy, if the reads go on as before */
    uint64_t expected_bytes; /* that the next move copies; 0: as the reads go on */
    uint64_t look_count;     /* at what the window holds */
    uint64_t copied_bytes;   /* so far */
    uint64_t call_count;
    bool has_shared_pages; /* with other processes, since a fork: the caller says so */
    /* Where the window may read; NULL: everywhere. Reading a page that is in swap would bring it
     * back, and reading one that was never written would map a page of zeros. */
    const struct hs_residency *residency;
};

/* Checks that heapscope may read the process's memory. Returns 0, or see Fails. */
int hs_remote_window_open(pid_t pid, struct hs_remote_window *ret_window);
/* Frees the memory. */
void hs_remote_window_close(struct hs_remote_window *window);

/* The bytes at `va`, if the window holds `size_bytes` of them. NULL: it does not. */
static inline const uint8_t *hs_remote_window_held(struct hs_remote_window *window, uint64_t va,
                                                   size_t size_bytes)
{
    uint64_t off = va - window->start_va;
    window->look_count++;
    return off < window->byte_count && window->byte_count - off >= size_bytes ? window->bytes + off
                                                                              : NULL;
}

/* The next read copies anew, instead of using what the window holds. */
void hs_remote_window_forget(struct hs_remote_window *window);

/* The next pieces are as large as they can be, for a search through all of a range. `false`: they
 * are small again. */
void hs_remote_window_search(struct hs_remote_window *window, bool is_search);

/* The next reads are close to each other and of `size_bytes` in all, if those before were close. */
void hs_remote_window_expect(struct hs_remote_window *window, uint64_t size_bytes);

/* Moves the window so that it contains `va`. `ret_end_va`: the first address behind it. Returns the
 * byte at `va`, or NULL where there is no memory. */
const uint8_t *hs_remote_window_at(struct hs_remote_window *window, uint64_t va,
                                   uint64_t *ret_end_va);

/* Reads `size_bytes` at `va`, which may be in several pieces. */
bool hs_remote_window_read(struct hs_remote_window *window, uint64_t va, void *ret_bytes,
                           size_t size_bytes);
/* The same for a few bytes somewhere: does not move the window. */
bool hs_remote_window_peek(const struct hs_remote_window *window, uint64_t va, void *ret_bytes,
                           size_t size_bytes);
/* Reads the first two words of each page in `page_va`, at most HS_REMOTE_PAGES_MAX. Returns of how
 * many pages it could, up to the first that has no memory. */
size_t hs_remote_window_peek_pages(const struct hs_remote_window *window, const uint64_t *page_va,
                                   size_t page_count, uint64_t (*ret_heads)[2]);
/* Reads one word of 64 bits. */
bool hs_remote_window_word(struct hs_remote_window *window, uint64_t va, uint64_t *ret_word);
