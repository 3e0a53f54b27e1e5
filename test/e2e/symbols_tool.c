/*
 * The symbolizer as a program, for tests: a module and addresses in, names out, like addr2line.
 *
 *     hs-symbols [-d FOLDER]... [-b BUILD_ID] [-p PID] [-m MAP_FOLDER]
 *                [-c CACHE_FOLDER] [-t MS] [-w] MODULE < addresses
 *
 * For each address it prints a line with the address, and for each inlined call and the function
 * itself a line `function TAB name in the file TAB path:line`. Then follows a line that begins with
 * `#`: reason, source, where the names came from, and the time it took. -w uses a worker process,
 * as the profiler does; otherwise this process does the work.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbol/module_symbols.h"
#include "symbol/symbolizer.h"

static const char *const source_names[HS_SYMBOL_SOURCE_N] = {
    "none", "dynsym", "minidebug", "symtab", "dwarf", "perf_map", "jitdump",
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static size_t read_build_id(const char *hex, uint8_t *out, size_t out_bytes)
{
    size_t bytes = 0;
    unsigned byte;
    while (bytes < out_bytes && sscanf(hex + 2 * bytes, "%2x", &byte) == 1) {
        out[bytes++] = (uint8_t)byte;
    }
    return bytes;
}

static size_t read_addresses(uint64_t **ret_pcs)
{
    size_t count = 0, capacity = 0;
    uint64_t *pcs = NULL;
    uint64_t pc;
    while (scanf("%" SCNx64, &pc) == 1) {
        if (count == capacity) {
            capacity = capacity * 2 + 1024;
            pcs = realloc(pcs, capacity * sizeof(*pcs));
            if (!pcs) {
                abort();
            }
        }
        pcs[count++] = pc;
    }
    *ret_pcs = pcs;
    return count;
}

static void print_table(const struct hs_symbol_request *request,
                        const struct hs_symbol_table *table, double seconds)
{
    for (uint32_t i = 0; i < table->span_count; i++) {
        printf("0x%" PRIx64 "\n", request->rel_pcs[i]);
        const struct hs_symbol_span *span = &table->spans[i];
        for (uint32_t k = 0; k < span->line_count; k++) {
            const struct hs_symbol_line *line = &table->lines[span->line_first + k];
            printf("%s\t%s\t%s:%u\n", hs_symbol_string(table, line->function_off),
                   hs_symbol_string(table, line->system_name_off),
                   hs_symbol_string(table, line->file_off), line->line);
        }
    }
    printf("# %s; %s; %s; %u named, %u with lines; %.3f s\n", hs_symbol_reason_text(table->reason),
           source_names[table->source], hs_symbol_string(table, table->detail_off),
           table->named_count, table->lined_count, seconds);
}

int main(int argc, char **argv)
{
    const char *folders[16];
    uint8_t build_id[64];
    bool is_by_worker = false;
    struct hs_symbol_options options = { .search_paths = folders };
    struct hs_symbol_request request = { .build_id = build_id };
    int option;
    while ((option = getopt(argc, argv, "d:b:p:m:c:t:w")) != -1) {
        switch (option) {
        case 'd':
            folders[options.search_path_count++ % 16] = optarg;
            break;
        case 'b':
            request.build_id_bytes = read_build_id(optarg, build_id, sizeof(build_id));
            break;
        case 'p':
            request.pid = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'm':
            options.perf_map_folder = optarg;
            break;
        case 'c':
            options.cache_folder = optarg;
            break;
        case 't':
            options.module_timeout_ms = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'w':
            is_by_worker = true;
            break;
        default:
            return 2;
        }
    }
    uint64_t *pcs;
    const char *module = optind < argc ? argv[optind] : "";
    char *absolute = realpath(module, NULL);
    request.path = absolute ? absolute : module;
    request.rel_pc_count = read_addresses(&pcs);
    request.rel_pcs = pcs;
    double start = now_s();
    struct hs_symbol_table *tables = calloc(1, sizeof(*tables));
    int err;
    if (is_by_worker) {
        free(tables);
        err = hs_symbolizer_run(&options, &request, 1, &tables);
    } else {
        err = tables ? hs_module_symbols_find(&options, &request, tables) : -ENOMEM;
    }
    if (err != 0) {
        fprintf(stderr, "hs-symbols: %s\n", strerror(-err));
        return 1;
    }
    print_table(&request, tables, now_s() - start);
    hs_symbol_tables_free(tables, 1);
    free(absolute);
    free(pcs);
    return 0;
}
