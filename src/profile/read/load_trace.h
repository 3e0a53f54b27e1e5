/*
 * Reads traces into a profile: a sink of the trace decoder, and the pass that has no other sink.
 *
 *     struct hs_load *load;
 *     if (hs_load_new(&load) == 0) {
 *         const struct hs_trace_sink sink = hs_load_sink(load);
 *         ... a pass of the decoder with this sink ...
 *         err = hs_load_finish(load, &damage, &profile);
 *         hs_load_free(load);
 *     }
 *
 * Threads   one user for each load.
 * Fails     -ENOMEM, -EOVERFLOW.
 * See       trace/trace_decoder.h; load_state.h, which lists the files
 */
#pragma once

#include "profile/read/load.h"
#include "trace/trace_decoder.h"

struct hs_load;

int hs_load_new(struct hs_load **ret_load);
/* NULL is allowed. */
void hs_load_free(struct hs_load *load);
/* The sink that fills the profile. It may be copied, and is valid until hs_load_free(). */
struct hs_trace_sink hs_load_sink(struct hs_load *load);
/* Makes the profile of what the sink got. The decoder must still be there. */
int hs_load_finish(struct hs_load *load, const struct hs_trace_damage *damage,
                   struct hs_profile **ret_profile);

struct hs_trace_input;
/* Reads a trace by itself. Takes over the input. Returns what hs_profile_load() returns. */
int hs_load_trace(struct hs_trace_input *input, struct hs_profile **ret_profile,
                  struct hs_load_report *ret_report);
