/*
 * Reading memory of the program that may not be there: the structures of an interpreter or a
 * virtual machine, to which words of the running thread lead.
 *
 * No pointer is followed before the kernel has said that its page can be read. What it said is
 * believed for HS_READABLE_WALKS walks of the thread, because a system call takes longer than all
 * else that a walk does with a page.
 *
 * Why a page may be believed
 * - Where a word is what it seems to be, it leads to what the running thread uses: its frames, and
 *   the functions in them. The thread keeps these alive, and it is inside our code. So the page is
 *   there, whether the kernel was asked or not.
 * - Where a word is something else (the interpreter is just changing its structures, or its version
 *   is another one), it may lead to a page that has gone since. So all answers are forgotten as
 *   soon as one of our hooks has seen the program unmap or close memory. The number of walks bounds
 *   the time for what no hook sees: memory that the C library itself gives back.
 * Another thread may unmap a page between the question and the reading. Nothing helps against that,
 * with one system call for each read neither.
 *
 * Content is never believed: each walk reads it again.
 *
 * Threads   any; async-signal-safe. A set of pages is used by one thread. All bytes zero: an empty
 *           set.
 * Fails     false or NULL: the kernel says that not all of these bytes can be read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"

#define HS_READABLE_PAGE_BYTES UINT64_C(4096)

/* Walks for which the kernel's answer counts. */
#define HS_READABLE_WALKS 256U
/* Pages in a set. A stack of twenty frames lies in about ten. The number of a page selects a group
 * of HS_READABLE_WAYS, in which the page that was asked for last is the first: two pages of one
 * stack that replaced each other would be asked about at each frame. */
#define HS_READABLE_PAGES 512U
#define HS_READABLE_WAYS  4U

struct hs_readable_pages {
    uint64_t page[HS_READABLE_PAGES]; /* the page's number and the set's era; 0: none */
    uint64_t era;                     /* pages that were entered in another one are forgotten */
    /* Two that were asked for last, in this era; 0: none. Reading frames goes to and fro between
     * frames and what they lead to. */
    uint64_t last_page[2];
    uint32_t walk_count;   /* that began in this era */
    uint32_t closed_count; /* hs_readable_closed_count when it began */
};

/* How often a hook has seen the program unmap memory, or forbid that it is read. */
extern HS_HIDDEN uint32_t hs_readable_closed_count;

/* Forgets all pages: for a new region, which may be that of a child process. */
void hs_readable_pages_forget(struct hs_readable_pages *pages);

/* A walk begins. Forgets pages that may have gone. */
void hs_readable_pages_begin(struct hs_readable_pages *pages);

/* hs_readable_pages_at for bytes that lie in no page that was asked for last. */
const void *hs_readable_pages_at_slow(struct hs_readable_pages *pages, uint64_t va,
                                      size_t byte_count);

/* Copies the bytes at `va`. `pages` is a struct hs_readable_pages. False: not all can be read. */
bool hs_readable_pages_copy(void *pages, uint64_t va, void *ret_bytes, size_t byte_count);

/* --- hot -------------------------------------------------------------------------------------- */

/* Where the bytes at `va` can be read, which is at their address. NULL: nowhere. */
static inline const void *hs_readable_pages_at(struct hs_readable_pages *pages, uint64_t va,
                                               size_t byte_count)
{
    uint64_t page = va / HS_READABLE_PAGE_BYTES, page_off = va % HS_READABLE_PAGE_BYTES;
    bool is_last = (page == pages->last_page[0] || page == pages->last_page[1]) && page != 0 &&
                   byte_count - 1 < HS_READABLE_PAGE_BYTES - page_off;
    return hs_likely(is_last) ? (const void *)(uintptr_t)va
                              : hs_readable_pages_at_slow(pages, va, byte_count);
}

/* To be called after the program has unmapped memory, or has forbidden that it is read. */
static inline void hs_readable_note_closed(void)
{
    hs_add_relaxed(&hs_readable_closed_count, 1);
}
