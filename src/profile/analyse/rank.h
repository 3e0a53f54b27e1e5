/*
 * Sorts things by how much they matter: by weight, then by size, the largest first, then in their
 * original order.
 *
 * Threads   pure.
 */
#pragma once

#include <stdint.h>

struct hs_rank {
    double weight, size;
    uint32_t id;
};

/* Sorts the ranks and writes their ids in the new order. */
void hs_rank_sort(struct hs_rank *ranks, uint32_t count, uint32_t *ret_ids);
