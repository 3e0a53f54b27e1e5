/*
 * How fast each stack grows: its live bytes now, compared with those of some seconds ago.
 *
 * Two earlier states are kept. The older one is what is compared with, so that the time between is
 * one to two windows, and a figure does not jump when a state is replaced.
 *
 * Threads   one.
 * Fails     -ENOMEM; there is then no growth.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "watch/receive/watch_state.h"

#define HS_WATCH_WINDOW_NS UINT64_C(5000000000)

struct hs_watch_past {
    double *live_bytes; /* by stack id; those beyond `count` had none */
    size_t count, capacity;
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: none */
    double all_bytes; /* the total */
};

/* Zeroed: nothing is known of the past. */
struct hs_watch_growth {
    struct hs_watch_past older, newer;
};

/* Notes a state that has all rows of a look. 0 or -ENOMEM. */
int hs_watch_growth_note(struct hs_watch_growth *growth, const struct hs_watch_state *state);
/* The growth of a stack in bytes a second; 0 also as long as it is not known. */
double hs_watch_growth_of(const struct hs_watch_growth *growth, const struct hs_watch_state *state,
                          uint32_t stack_id);
/* The same of the total. */
double hs_watch_growth_of_all(const struct hs_watch_growth *growth,
                              const struct hs_watch_state *state);
void hs_watch_growth_deinit(struct hs_watch_growth *growth);
