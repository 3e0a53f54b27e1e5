/*
 * The answers of all endpoints to `list`: two of each, a moment apart, from which the cost follows.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/daemon_client/endpoints.h"
#include "ctl/ctl.pb-c.h"
#include "util/buf.h"

/* An endpoint that answered. */
struct hs_list_model {
    struct hs_endpoint place;
    Hs__Ctl__Listed *before, *now; /* the first answer and the second one, or twice the same */
};

struct hs_json;

struct hs_lists {
    struct hs_list_model *items; /* daemons first */
    size_t count, daemon_count;
};

/* The cost of a process, or of the command or daemon that records it. */
struct hs_cost {
    bool is_known; /* time passed between the two answers */
    double samples_a_second;
    double cpu_share;      /* of one processor */
    double overhead_share; /* estimated share of the process's CPU time; 0 when it uses none */
};

/* The cost of the endpoint itself: its own CPU. */
void hs_cost_of_endpoint(const struct hs_list_model *listed, struct hs_cost *ret_cost);
/* The cost of recording its process number `idx`. */
void hs_cost_of_client(const struct hs_list_model *listed, size_t idx, struct hs_cost *ret_cost);

/* Writes the lists as text for a terminal of `columns`. */
void hs_list_text(const struct hs_lists *lists, unsigned columns, struct hs_buf *out);
/* Writes the watches; nothing if there is none. */
void hs_list_watches_text(const struct hs_lists *lists, unsigned columns, struct hs_buf *out);
/* Writes the watches of an endpoint, or of none, as a member "watches". */
void hs_list_watches_json(struct hs_json *json, const struct hs_list_model *listed);
/* Writes the lists as JSON. */
void hs_list_json(const struct hs_lists *lists, struct hs_buf *out);
