/*
 * See table_names.h.
 */
#include "sql/store/table_names.h"

#include <strings.h>

#include "rt/base.h"

/* A table whose name begins with __intrinsic_ also has a view without that prefix. */
static const struct hs_sql_view views[] = {
    { "stack_profile_mapping", HS_SQL_MAPPING },
    { "stack_profile_frame", HS_SQL_FRAME },
    { "stack_profile_callsite", HS_SQL_CALLSITE },
    { "stack_profile_symbol", HS_SQL_SYMBOL },
    { "heap_profile_allocation", HS_SQL_ALLOCATION },
    { "heap_profile", HS_SQL_HEAP_PROFILE },
    { "profiler_smaps", HS_SQL_SMAPS },
    { "process_memory_mappings", HS_SQL_SMAPS },
    { "stack_sample", HS_SQL_STACK_SAMPLE },
    { "process", HS_SQL_PROCESS },
    { "thread", HS_SQL_THREAD },
    { "counter", HS_SQL_COUNTER },
    { "counter_track", HS_SQL_TRACK },
    { "process_counter_track", HS_SQL_PROCESS_TRACK },
    { "clock_snapshot", HS_SQL_CLOCK },
    { "stats", HS_SQL_STATS },
    { "metadata", HS_SQL_METADATA },
    { "args", HS_SQL_ARGS },
};

/* Views that SQL defines; see database.c. */
static const char *const other_views[] = { "trace_bounds", "perf_sample", "perf_session" };

const struct hs_sql_view *hs_sql_view(size_t idx)
{
    return idx < HS_COUNT_OF(views) ? &views[idx] : NULL;
}

unsigned hs_sql_source_of(const char *name)
{
    for (size_t i = 0; i < HS_COUNT_OF(views); i++) {
        if (strcasecmp(name, views[i].name) == 0) {
            return HS_SQL_PACKETS;
        }
    }
    for (size_t i = 0; i < HS_COUNT_OF(other_views); i++) {
        if (strcasecmp(name, other_views[i]) == 0) {
            return HS_SQL_PACKETS;
        }
    }
    for (int i = 0; i < HS_SQL_TABLES_N; i++) {
        if (strcasecmp(name, hs_sql_table_name((enum hs_sql_table)i)) == 0) {
            return i < HS_SQL_OWN_FIRST ? HS_SQL_PACKETS : HS_SQL_PROFILE;
        }
    }
    return 0;
}
