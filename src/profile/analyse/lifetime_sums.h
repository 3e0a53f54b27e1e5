/*
 * What is known of the freed blocks of the selected dumps, by stack: how many were temporary, how
 * long they lived on average, and which share of all blocks survived for how long.
 *
 * Holds     rows are in the order of what was freed, in objects, the largest first; `total` is
 *           their sum.
 * Threads   immutable once built.
 * Fails     -ENOMEM; -ENODATA: no selected dump has lifetimes.
 * See       survival.h, fmt/lifetime_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/survival.h"

/* The times at which survival is told. */
enum hs_survival_time {
    HS_SURVIVAL_1_S,
    HS_SURVIVAL_1_MIN,
    HS_SURVIVAL_1_H,
    HS_SURVIVAL_TIMES,
};
extern const char *const hs_survival_time_names[HS_SURVIVAL_TIMES];

/* A lifetime is the difference of two readings of a clock that moves every 1 to 10 ms, by the
 * kernel's build: no reading, and so no mean, is off by more than this. */
#define HS_LIFETIME_RESOLUTION_MS 10

/* In ms; without a known lifetime, is_known is false. */
struct hs_mean_lifetime {
    bool is_known;
    double mean_ms;
    /* the ends of its 95 % interval, and in addition the resolution of the clock */
    double low_ms, high_ms;
};

struct hs_lifetime_row {
    uint32_t node; /* of the aggregate; HS_NODE_NONE: of all stacks */
    struct hs_amount alloc, freed;
    struct hs_amount temporary; /* of those freed: with at most so many allocations in between */
    struct hs_amount unknown;   /* of those freed: their lifetimes are unknown */
    struct hs_life_table table;
    double count_ms, count_ms_cov, count_ms_var, byte_ms; /* of those with known lifetimes */
};

struct hs_lifetime_sums {
    struct hs_lifetime_row total;
    struct hs_lifetime_row *rows;
    uint32_t count;
};

/* The largest number of allocations in between that can be asked for. */
#define HS_BETWEEN_MAX 127U

/* Can temporary blocks with at most this number of allocations in between be told? 0, or 1, 3, 7,
 * ... HS_BETWEEN_MAX. */
bool hs_between_is_known(uint64_t between_count);
/* Were all allocations of the selected dumps recorded, so that more than 0 allocations in between
 * are known? */
bool hs_lifetimes_are_exact(const struct hs_selection *selection);
/* Has a selected dump lifetimes? */
bool hs_lifetimes_are_there(const struct hs_selection *selection);

/* Adds up. The caller frees *ret_sums. 0, or see Fails. */
int hs_lifetime_sums_build(const struct hs_selection *selection, const struct hs_agg *agg,
                           uint32_t between_count, struct hs_lifetime_sums *ret_sums);
/* Frees what they have. */
void hs_lifetime_sums_deinit(struct hs_lifetime_sums *sums);

/* The mean lifetime of the freed blocks of a row. */
struct hs_mean_lifetime hs_lifetime_mean(const struct hs_lifetime_row *row);
/* The share of the blocks of a row that lived longer. */
struct hs_survival hs_lifetime_survival(const struct hs_lifetime_row *row,
                                        enum hs_survival_time time);
