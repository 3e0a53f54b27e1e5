/*
 * Writes a recording as the text of a TraceConfig: the opposite of trace_config.h.
 *
 * `heapscope record -c` and Perfetto's own tools read such a text. Some settings of heapscope have
 * no field in it; a comment names each of them.
 *
 * Ensures   reading the text gives the same recording, except for what its comments name.
 * Threads   no state.
 * Fails     as the buffer does.
 */
#pragma once

#include "config/trace_config.h"

struct hs_buf;

/* Writes a comment about a setting without a field, in one line. */
void hs_trace_config_write_missing(struct hs_buf *buf, const char *setting);

/* Writes the config. `sources` is what is recorded besides heaps. */
void hs_trace_config_write(const struct hs_trace_wishes *wishes,
                           const struct hs_sources_settings *sources, struct hs_buf *buf);
