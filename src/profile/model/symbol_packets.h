/*
 * Symbols for a trace: collects the code addresses in snapshots, and writes packets with their
 * names.
 *
 * This is for programs that write a trace. While a trace is written, the writer passes each
 * snapshot to hs_symbol_packets_add_snapshot(), which remembers its code addresses. At the end the
 * names are looked up and appended:
 *
 *     struct hs_symbol_wanted wanted = { 0 };
 *     hs_symbol_packets_add_snapshot(&wanted, snap, &skipped, NULL);     for each
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

#include <stdbool.h>
#include <stddef.h>

#include "symbol/symbol_wanted.h"
#include "symbol/symbolizer.h"
#include "trace/snapshot.h"
#include "trace/trace_writer.h"

/* Frames that have their names already; a NULL has none. */
struct hs_symbol_named {
    bool (*has)(void *ctx, const struct hs_snapshot *snap, uint32_t frame_id);
    void *ctx;
};

/*
 * Adds the frames of all stacks with a figure above 0. Markers, modules without a name, skipped
 * files and named frames (`named` may be NULL) are left out. 0 or -ENOMEM.
 */
int hs_symbol_packets_add_snapshot(struct hs_symbol_wanted *wanted, const struct hs_snapshot *snap,
                                   const struct hs_skipped_files *skipped,
                                   const struct hs_symbol_named *named);

/*
 * Writes at the end of a recording that names were looked up, and for each module of which
 * addresses have no name, why. 0 or an error of the writer.
 */
int hs_symbol_packets_write_nameless(struct hs_trace_writer *writer,
                                     const struct hs_symbol_request *requests,
                                     const struct hs_symbol_table *tables, size_t count);

/* Writes one packet for each module that has any names. 0 or an error of the writer. */
int hs_symbol_packets_write(struct hs_trace_writer *writer,
                            const struct hs_symbol_request *requests,
                            const struct hs_symbol_table *tables, size_t count);
