/* Fuzz target: the parsers of /proc files, each on the same bytes in a buffer of exact size. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/proc.h"
#include "util/proc_counters.h"
#include "util/proc_maps.h"
#include "util/proc_smaps.h"
#include "util/proc_system.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_maps(const char *text, size_t size)
{
    const char *at = text;
    struct hs_proc_map map;
    char path[32];
    while (hs_proc_maps_next(&at, text + size, &map)) {
        bool is_whole = hs_proc_map_path(&map, path, sizeof(path));
        if (map.start_va >= map.end_va || strlen(path) >= sizeof(path) ||
            (!is_whole && path[0] != '\0')) {
            abort();
        }
    }
}

static void read_counters(const char *text, size_t size)
{
    struct hs_counters counters = { 0 };
    struct hs_proc_identity identity = { 0 };
    struct hs_meminfo meminfo;
    struct hs_pressures pressures = { 0 };
    hs_counters_parse_status(text, size, &counters, &identity);
    hs_counters_parse_stat(text, size, 10000000, &counters, &identity);
    hs_counters_parse_oom_score_adj(text, size, &counters);
    hs_counters_parse_rollup(text, size, &counters);
    hs_meminfo_parse(text, size, &meminfo);
    hs_pressure_parse(text, size, HS_PRESSURE_MEMORY_SOME, &pressures);
    if (identity.nspid_count > HS_NSPIDS_MAX || counters.has_mask >> HS_COUNTER_N != 0) {
        abort();
    }
}

/* Reading it in pieces must give the same result as reading it at once. */
static void read_smaps(const char *text, size_t size)
{
    struct hs_proc_smaps_sums one = { 0 }, pieces = { 0 };
    size_t step = size > 0 ? (uint8_t)text[0] % 7 + 1U : 1;
    hs_proc_smaps_add(&one, text, size);
    for (size_t at = 0; at < size; at += step) {
        hs_proc_smaps_add(&pieces, text + at, size - at < step ? size - at : step);
    }
    if (one.row_count != pieces.row_count || one.row_count > HS_PROC_SMAPS_ROWS_MAX) {
        abort();
    }
    for (uint32_t i = 0; i < one.row_count; i++) {
        if (memcmp(one.rows[i].kb, pieces.rows[i].kb, sizeof(one.rows[i].kb)) != 0 ||
            strcmp(hs_proc_smaps_name(&one, i), hs_proc_smaps_name(&pieces, i)) != 0) {
            abort();
        }
    }
    hs_proc_smaps_deinit(&one);
    hs_proc_smaps_deinit(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    char comm[16], line[64];
    struct hs_proc_stat stat;
    struct hs_proc_status status;
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    hs_proc_parse_stat(text, size, &stat);
    hs_proc_parse_status(text, size, &status);
    hs_proc_parse_comm(text, size, comm, sizeof(comm));
    hs_proc_join_cmdline(text, size, line, sizeof(line));
    read_maps(text, size);
    read_counters(text, size);
    read_smaps(text, size);
    hs_proc_find_env(text, size, "A", comm, sizeof(comm));
    if (strlen(comm) >= sizeof(comm) || strlen(line) >= sizeof(line)) {
        abort();
    }
    free(text);
    return 0;
}
