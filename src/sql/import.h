/*
 * From the packets of a trace to the rows of a store.
 *
 * Rows are the packets' own content, by the rules of Perfetto's trace_processor: deltas of every dump, one mapping for
 * each that a process had, statistics. The profile (profile/load.h) is another reading of the same packets.
 *
 * Threads   one call is one user.
 * Fails     -errno; HS_TRACE_E_FOREIGN of trace_reader.h. What was damaged is in the report. A file without a byte is
 *           a trace without packets.
 * See       docs/SQL.md, docs/adr/0019-tables-from-packets.md
 */
#pragma once

#include <stddef.h>

#include "profile/load.h"
#include "sql/sql_store.h"

/* The tables were made, and have no rows of packets: the file is a trace without packets, unless it is something else. */
#define HS_SQL_E_BLANK 16

int hs_sql_import(struct hs_sql_store *store, const void *data, size_t bytes,
                  struct hs_load_report *ret_report);
