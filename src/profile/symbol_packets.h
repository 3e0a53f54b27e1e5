/*
 * Symbols for a trace: from what snapshots contain to packets that say what it is called.
 *
 * For whoever writes a trace. While it is written, each snapshot is shown to
 * hs_symbol_packets_add_snapshot(), which remembers code addresses; at the end the names are looked
 * up and appended:
 *
 *     struct hs_symbol_wanted wanted = { 0 };
 *     hs_symbol_packets_add_snapshot(&wanted, snap, &skipped);           for each
 *     hs_symbol_wanted_requests(&wanted, &requests, &count);
 *     hs_symbolizer_run(&options, requests, count, &tables);
 *     hs_symbol_packets_write(writer, requests, tables, count);
 *     tables[i].reason ...                                               what to tell the user
 *     hs_symbol_tables_free(tables, count);
 *     hs_symbol_wanted_deinit(&wanted);
 *
 * Threads   one user.
 * Fails     -ENOMEM; the writer's errors.
 */
#pragma once

#include <stddef.h>

#include "symbol/symbol_wanted.h"
#include "symbol/symbolizer.h"
#include "trace/snapshot.h"
#include "trace/trace_writer.h"

/* Frames of stacks that hold something; markers, modules without a name and skipped files are left out. */
int hs_symbol_packets_add_snapshot(struct hs_symbol_wanted *wanted, const struct hs_snapshot *snap,
                                   const struct hs_skipped_files *skipped);

/* One packet for each module that has any names. */
int hs_symbol_packets_write(struct hs_trace_writer *writer,
                            const struct hs_symbol_request *requests,
                            const struct hs_symbol_table *tables, size_t count);
