/*
 * The rows of a dump in a MemoryInfra trace: figures by heap, stack and type.
 *
 * The stack is given by the id of its innermost frame. Types are those of the parts of what lives,
 * or lived at the peak; of what was allocated since the start, they are not known.
 *
 * Ensures   sums: the rows of a heap add up to its figures, up to rounding. Rows are
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

/* The figures that the view shows. */
const struct hs_amount *hs_infra_amount(const struct hs_profile_sample *sample, enum hs_view view);

/* The name of a part's type. That of a block whose memory was not read is unknown. */
const char *hs_infra_part_type(const struct hs_profile *p, const struct hs_profile_part *part);

/* Collects the rows of a dump in place of those that were there. */
void hs_infra_rows_collect(struct hs_infra_rows *rows, struct hs_infra_maps *maps,
                           const struct hs_profile_dump *dump, enum hs_view view);
