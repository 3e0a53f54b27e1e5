/*
 * JSON lines: one object per line, for jq, scripts, and imports into other tools.
 *
 *     {"type":"profile","format":1,"producer":"heapscope 0.1.0"}
 *     {"type":"process","process":0,"pid":4242,"name":"prog",...}
 *     {"type":"dump","dump":0,"process":0,"live_bytes":4096,...}
 *     {"type":"stack","dump":0,"heap":"libc.malloc","live_bytes":4096,...,"frames":[...]}
 *     {"type":"loss","process":0,"name":"reentrant","count":3,...}
 *
 * All processes and dumps are listed with their totals; stacks are those of the selected dumps.
 * Each line is complete in itself, so that a reader, and this writer, needs memory for one line
 * only.
 *
 * Ensures   figures are not rounded. Fields are only ever added.
 * Threads   each call has one user.
 * Fails     -ENOMEM, the error of the buffer, HS_SELECT_E_*.
 * See       docs/FORMAT.md, "JSON lines"
 */
#pragma once

#include "profile/analyse/select.h"
#include "profile/model/profile.h"

struct hs_buf;

/* Writes the selected dumps. Returns 0, -errno or HS_SELECT_E_*. */
int hs_json_lines_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                        struct hs_buf *buf);
