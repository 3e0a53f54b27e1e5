/*
 * Reads the packets of a trace into the rows of a store.
 *
 * Rows have the content of the packets, by the rules of Perfetto's trace_processor: the differences
 * of every dump, one mapping for each mapping of a process, statistics. The profile
 * (profile/read/load.h) interprets the same packets differently.
 *
 * Threads   each call has one user.
 * Fails     -errno; HS_TRACE_E_FOREIGN of trace_reader.h. The report describes damage. A file of 0
 *           bytes is a trace without packets.
 * See       docs/SQL.md, docs/adr/0028-one-decoder-two-sinks.md
 */
#pragma once

#include <stddef.h>

#include "profile/model/heap_patterns.h"
#include "profile/read/load.h"
#include "sql/store/sql_store.h"

/* The tables were made and contain no rows of packets: the file is either a trace without packets
 * or not a trace. */
#define HS_SQL_E_BLANK 16

/* Reads a file of `bytes` bytes. Dumps of heaps that `heaps` does not match get no rows (NULL: all
 * get theirs). Returns 0, HS_SQL_E_BLANK, HS_TRACE_E_FOREIGN or -errno. ret_report may be NULL. */
int hs_sql_import(struct hs_sql_store *store, const void *data, size_t bytes,
                  const struct hs_heap_patterns *heaps, struct hs_load_report *ret_report);
/* The same, and makes the profile of the file, with all heaps, in the same pass
 * (profile/read/load_trace.h).
 * *ret_profile stays as it is if the file is damaged: then the profile, which reads damaged packets
 * by its own rules, needs a pass of its own. ret_profile may be NULL. */
int hs_sql_import_both(struct hs_sql_store *store, const void *data, size_t bytes,
                       const struct hs_heap_patterns *heaps, struct hs_profile **ret_profile,
                       struct hs_load_report *ret_report);
