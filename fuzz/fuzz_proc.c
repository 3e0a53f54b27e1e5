/*
 * Fuzz target: the /proc text parsers, each on the same bytes in a buffer without spare room.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/proc.h"
#include "util/proc_maps.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    char comm[16], line[64];
    struct hs_proc_stat stat;
    struct hs_proc_status status;
    struct hs_proc_smaps smaps;
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    hs_proc_parse_stat(text, size, &stat);
    hs_proc_parse_status(text, size, &status);
    hs_proc_parse_smaps_rollup(text, size, &smaps);
    hs_proc_parse_comm(text, size, comm, sizeof(comm));
    hs_proc_join_cmdline(text, size, line, sizeof(line));
    read_maps(text, size);
    hs_proc_find_env(text, size, "A", comm, sizeof(comm));
    if (strlen(comm) >= sizeof(comm) || strlen(line) >= sizeof(line)) {
        abort();
    }
    free(text);
    return 0;
}
