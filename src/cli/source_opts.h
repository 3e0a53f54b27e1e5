/*
 * The options that say what a trace contains besides heaps: the same for run, attach and start.
 *
 *     struct hs_source_opts sources = { 0 };
 *     const struct hs_opt options[] = { ..., HS_SOURCE_OPTIONS(&sources) };
 *     status = hs_source_opts_take(&spec, &sources, &settings);
 *
 * Threads   main thread only.
 */
#pragma once

#include "cli/args.h"
#include "sources/sources_settings.h"

struct hs_source_opts {
    const char *counters; /* as written: "1s", "off"; NULL: not given */
    bool with_smaps;
    bool is_without_types;
    uint64_t system_ns; /* 0: not given */
};

#define HS_NO_TYPES_HELP       "do not read the types of blocks in the memory of the processes"

#define HS_SOURCE_OPTION_COUNT 4
#define HS_SOURCE_OPTIONS(o)                                                                       \
    HS_OPT_STRING(0, "counters", "INTERVAL", &(o)->counters,                                       \
                  "how often to read memory, CPU time and other counters of each process,\n"       \
                  "or 'off' (default: once a second, and more often at first; after an hour,\n"    \
                  "not every value is written)"),                                                  \
        HS_OPT_FLAG(0, "smaps", &(o)->with_smaps,                                                  \
                    "at each snapshot, also record the memory mappings of the process\n"           \
                    "(/proc/PID/smaps), and how much of each is resident"),                        \
        HS_OPT_FLAG(0, "no-types", &(o)->is_without_types, HS_NO_TYPES_HELP),                      \
        HS_OPT_DURATION(                                                                           \
            0, "system-stats", "INTERVAL", &(o)->system_ns,                                        \
            HS_SOURCES_POLL_MS_MIN *UINT64_C(1000000), HS_SOURCES_POLL_MS_MAX *UINT64_C(1000000),  \
            "how often to read memory and pressure (PSI) of the machine (default: never)")

/* HS_ARGS_GO_ON and the settings, or the exit status after an error was printed. */
int hs_source_opts_take(const struct hs_opts_spec *spec, const struct hs_source_opts *opts,
                        struct hs_sources_settings *ret_settings);
