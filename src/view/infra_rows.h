/*
 * The rows of a dump in a MemoryInfra trace: figures by heap, stack and type.
 *
 * The stack is given by the id of its innermost frame. The type is always the unknown one, because
 * a profile does not have types.
 *
 * Ensures   sums: the rows of a heap add up to its figures, also with small ones merged. Rows are
 *           sorted by heap, and each (heap, node, type) occurs once.
 * Threads   one user.
 * Fails     by setting maps->err.
 * See       memory_infra.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "view/infra_maps.h"

#define HS_INFRA_TYPE_UNKNOWN      0
#define HS_INFRA_TYPE_UNKNOWN_NAME "[unknown]"

struct hs_infra_row {
    uint32_t heap; /* index in profile->heaps */
    uint64_t type, node;
    double bytes, count;
};

struct hs_infra_rows {
    struct hs_infra_row *rows;
    size_t count, capacity;
    bool *has_heap; /* by heap: the dump has it, maybe without rows */
};

/* Rows with less than both are added up as "<other>", one for each heap. 0: none is. */
struct hs_infra_limits {
    double bytes, count;
};

/* The figures that the view shows. */
const struct hs_amount *hs_infra_amount(const struct hs_profile_sample *sample, enum hs_view view);

/* Collects the rows of a dump in place of those that were there. */
void hs_infra_rows_collect(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                           const struct hs_profile_dump *dump, enum hs_view view,
                           const struct hs_infra_limits *limits);
