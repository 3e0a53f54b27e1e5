/*
 * An order of things by how much they matter: by weight, then by size, the largest first, then as they were.
 *
 * Threads   pure.
 */
#pragma once

#include <stdint.h>

struct hs_rank {
    double weight, size;
    uint32_t id;
};

/* Sorts, and writes the ids of the sorted ones. */
void hs_rank_sort(struct hs_rank *ranks, uint32_t count, uint32_t *ret_ids);
