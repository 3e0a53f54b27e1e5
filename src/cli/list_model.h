/*
 * What everybody who records answered to `list`: twice, a moment apart, so that it can be said what it costs now.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/endpoints.h"
#include "ctl/ctl.pb-c.h"
#include "util/buf.h"

/* One that answered. */
struct hs_list_model {
    struct hs_endpoint place;
    Hs__Ctl__Listed *before, *now; /* the first answer and the second one, or twice the same */
};

struct hs_lists {
    struct hs_list_model *items; /* daemons first */
    size_t count, daemon_count;
};

/* What a process costs now, and whoever records it. */
struct hs_cost {
    bool is_known; /* there was time between two answers */
    double samples_a_second;
    double cpu_share; /* of one processor */
    double
        overhead_share; /* estimated: of the CPU time that the process takes; 0 when it takes none */
};

/* Of whoever answered: its own CPU. */
void hs_cost_of_endpoint(const struct hs_list_model *listed, struct hs_cost *ret_cost);
/* Of its process number `idx`. */
void hs_cost_of_client(const struct hs_list_model *listed, size_t idx, struct hs_cost *ret_cost);

void hs_list_text(const struct hs_lists *lists, unsigned columns, struct hs_buf *out);
void hs_list_json(const struct hs_lists *lists, struct hs_buf *out);
