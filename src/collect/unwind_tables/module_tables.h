/*
 * Hands the client of one process the unwind tables that its modules need.
 *
 *     hs_module_tables_scan(&tables, pid);                looks at modules that are new
 *     if (hs_module_tables_has_needs(&tables)) ...        some of them need a table
 *     hs_module_tables_start(&tables, &region, pid);      a worker makes the tables
 *     hs_module_tables_poll(&tables, &region);            publishes those that are ready
 *
 * or, for a process that is recorded, hs_module_tables_look() from time to time, which does all of
 * that. Modules that have an .eh_frame for their code cost a look at the headers of their file and
 * at that section, once. Tables that the region already has, from an earlier collector or for an
 * attach, are not made again; nor are those that a forked child has inherited from its parent.
 *
 * Threads   one user.
 * Fails     never as a whole: a module without a table has a reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/region/region_reader.h"
#include "collect/unwind_tables/table_worker.h"
#include "trace/snapshot.h"

/* A module that was looked at. */
struct hs_looked_module {
    uint64_t start_va; /* of its code in memory */
    uint64_t inode;
    uint64_t bias_va, exec_sva, exec_bytes;
    uint8_t build_id[HS_UNWIND_TABLE_BUILD_ID_BYTES];
    uint8_t build_id_bytes;
    bool needs_table; /* and has none yet; `path` is set */
    uint8_t reason;   /* enum hs_unwind_reason: why it has none */
    uint8_t source;   /* enum hs_unwind_table_source: of the table that it has */
    char *path;       /* as the process sees it; owned */
};

/* The state for one process. Zeroed: nothing was looked at. */
struct hs_module_tables {
    struct hs_looked_module *modules;
    size_t count, capacity;
    struct hs_table_worker worker;
    struct hs_table_request *requests; /* the worker's; NULL: none is running */
    uint32_t *request_modules;         /* for each request, the index of its module */
    bool has_scanned;
    uint64_t seen_count; /* modules in the region at the last scan */
};

void hs_module_tables_deinit(struct hs_module_tables *tables);

/* Looks at the modules that the process has mapped since the last scan. */
void hs_module_tables_scan(struct hs_module_tables *tables, pid_t pid);

/* Does a module need a table that nobody has looked for? */
bool hs_module_tables_has_needs(const struct hs_module_tables *tables);

/* Starts making the tables that are needed, if there are any. */
void hs_module_tables_start(struct hs_module_tables *tables, const struct hs_region *region,
                            pid_t pid);

/* Publishes what is ready. True: the worker is still running. */
bool hs_module_tables_poll(struct hs_module_tables *tables, struct hs_region *region);

/* Waits for all of that, for at most `max_ns` nanoseconds. */
void hs_module_tables_wait(struct hs_module_tables *tables, struct hs_region *region,
                           uint64_t max_ns);

/* Looks for new modules when the region has more of them than before, and so on. True: look again
 * soon, tables are being made. */
bool hs_module_tables_look(struct hs_module_tables *tables, struct hs_region *region, pid_t pid);

/* Says of each module of a snapshot of the process why stacks end in it. If tables are being made,
 * waits a moment for the result. */
void hs_module_tables_describe(struct hs_module_tables *tables, struct hs_region *region,
                               struct hs_snapshot *snap);
