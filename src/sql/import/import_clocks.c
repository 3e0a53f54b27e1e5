/*
 * Clock snapshots: a row for each clock whose time can be converted to the trace's clock.
 *
 * See       import_state.h, trace/clocks.h
 */
#include "sql/import/import_state.h"

static int64_t clock_name(struct hs_import *import, uint32_t id)
{
    static const char *const names[] = { NULL,
                                         "REALTIME",
                                         "REALTIME_COARSE",
                                         "MONOTONIC",
                                         "MONOTONIC_COARSE",
                                         "MONOTONIC_RAW",
                                         "BOOTTIME",
                                         NULL,
                                         NULL,
                                         "TSC",
                                         "PERF",
                                         "TRACE_FILE" };
    return hs_sql_store_str(import->store,
                            id < sizeof(names) / sizeof(names[0]) ? names[id] : NULL);
}

void hs_import_clock_snapshot(struct hs_import *import, uint32_t sequence,
                              const Hs__Pb__ClockSnapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_clocks; i++) {
        const Hs__Pb__ClockSnapshot__Clock *clock = snapshot->clocks[i];
        int64_t ns;
        if (hs_clocks_convert(import->clocks, sequence, clock->clock_id, clock->timestamp, &ns)) {
            HS_SQL_ADD(import->store, HS_SQL_CLOCK, ns, clock->clock_id,
                       clock_name(import, clock->clock_id), (int64_t)clock->timestamp,
                       import->snapshot_count, HS_ROWS_NULL);
        }
    }
    import->snapshot_count++;
}
