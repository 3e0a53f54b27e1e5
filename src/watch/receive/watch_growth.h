/*
 * How fast things grow: their bytes now, compared with those of some seconds ago. A thing is a
 * stack, a function, a process: whatever the viewer shows in a row, and knows again by a key.
 *
 * Two earlier moments are kept. The older one is what is compared with, so that the time between is
 * one to three windows, and a figure does not jump when a moment is replaced.
 *
 *     struct hs_watch_growth growth = { 0 };
 *     hs_watch_growth_note(&growth, now_ns, figures, count);       each time figures are there
 *     rate = hs_watch_growth_of(&growth, now_ns, key, bytes);
 *
 * Threads   one.
 * Fails     -ENOMEM; there is then no growth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_WATCH_WINDOW_NS UINT64_C(5000000000)

struct hs_watch_figure {
    uint64_t key;
    double bytes;
};

/* A moment: its figures, in the order of their keys. */
struct hs_watch_past {
    struct hs_watch_figure *figures; /* owned */
    size_t count, capacity;
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: none */
};

/* Zeroed: nothing is known of the past. */
struct hs_watch_growth {
    struct hs_watch_past older, newer;
};

/* Notes the figures of a moment, in any order; those with one key are added up. 0 or -ENOMEM. */
int hs_watch_growth_note(struct hs_watch_growth *growth, uint64_t time_ns,
                         const struct hs_watch_figure *figures, size_t count);
/* The growth of a thing in bytes a second; 0 also as long as it is not known. A thing that the
 * older moment did not have has grown from nothing. */
double hs_watch_growth_of(const struct hs_watch_growth *growth, uint64_t time_ns, uint64_t key,
                          double bytes);
/* Did the older moment have it? */
bool hs_watch_growth_knows(const struct hs_watch_growth *growth, uint64_t key);
/* Frees everything. */
void hs_watch_growth_deinit(struct hs_watch_growth *growth);
