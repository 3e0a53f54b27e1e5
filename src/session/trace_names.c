/*
 * Looks up names and appends them to a trace: see trace_names.h.
 */
#include "session/trace_names.h"

#include <limits.h>

#include "profile/model/symbol_packets.h"
#include "symbol/cache_folder.h"
#include "symbol/symbolizer.h"

int hs_trace_names_append(struct hs_trace_writer *writer, struct hs_symbol_wanted *wanted,
                          const struct hs_target_files *files, bool (*is_cancelled)(void),
                          bool *ret_is_interrupted)
{
    char cache[PATH_MAX];
    const struct hs_symbol_request *requests;
    struct hs_symbol_table *tables = NULL;
    size_t count;
    int r = hs_symbol_wanted_requests(wanted, &requests, &count);
    if (r < 0 || count == 0) {
        return r;
    }
    const struct hs_symbol_options options = {
        .cache_folder = hs_cache_folder_find(cache, sizeof(cache)) ? cache : NULL,
        .target_files = files,
        .is_cancelled = is_cancelled,
    };
    r = hs_symbolizer_run(&options, requests, count, &tables);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < count; i++) {
        *ret_is_interrupted |= tables[i].reason == HS_SYMBOL_REASON_INTERRUPTED;
    }
    r = hs_symbol_packets_write(writer, requests, tables, count);
    r = r < 0 ? r : hs_symbol_packets_write_nameless(writer, requests, tables, count);
    hs_symbol_tables_free(tables, count);
    return r;
}
