/*
 * What Go's runtime keeps beside its heap: the tables of arenas, the summaries of free pages, and
 * memory that is never given back, in which it keeps its descriptions of spans.
 *
 * The executable's data points to them. They are recognized by their form, without symbols:
 *
 *     summaries    five slices that follow each other, of 2^14, 2^17, ... 2^26 elements; behind
 *                  them the pointers to bitmaps of pages, of 1 MiB each
 *     arenas       a table of 32 MiB, which has a pointer to an arena's description at the index of
 *                  the heap's first address; in that is a table whose entries point to
 *                  descriptions of spans, which have the addresses of the heap that they are for
 *     persistent   pieces of 256 KiB, each of which begins with the address of the one before;
 *                  descriptions of spans are in one of them
 *     bitmaps      of spans: pieces of 64 KiB, in lists; spans point into one of them
 *
 * Tried with Go 1.19. Other releases from 1.14 on have the same forms, as far as is known.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user. A limited number of
 *           places is looked at.
 * Fails     -ENOMEM, or -errno of reading the pagemap.
 */
#pragma once

#include <stdint.h>

#include "collect/ledger/mapping_rows.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

struct hs_go_program {
    const struct hs_remote_window *window;
    int pagemap_fd;
    const struct hs_mapping_rows *rows;
    uint64_t heap_start_va, heap_end_va;
    uint64_t data_start_va, data_end_va; /* of the executable, with its zeroed data */
};

/* Adds what is found to `owned`. */
int hs_go_tables_find(const struct hs_go_program *program, struct hs_owned_ranges *owned);
