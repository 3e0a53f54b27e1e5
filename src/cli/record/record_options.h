/*
 * The command line of `record`: heap_profile's flags, as a TraceConfig.
 *
 * With a config, it also accepts Perfetto's own command line: -c - --txt -o FILE writes one trace.
 *
 * Fails     with the exit status, after a message: 2 for an unknown flag, 1 for what heap_profile
 *           refuses.
 * See       record_config.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/trace_config.h"

struct hs_record_options {
    Hs__Pb__TraceConfig *config; /* owned */
    const char *folder_path;     /* for the folder of files; NULL: a new one */
    const char *trace_path; /* the trace alone, no folder; "-": standard output; NULL: a folder */
    bool is_annotated;
    char **program; /* NULL: none, running processes */
    bool has_lifetimes;
    bool is_native_only;
    bool with_blocks;      /* snapshots list the live blocks */
    bool is_without_types; /* types of blocks are not read */
    bool has_forks;        /* no process was named: the program's forked children are meant, too */
};

/* Parses the command line: HS_ARGS_GO_ON, or the exit status. The caller deinitializes the options
 * in either case. */
int hs_record_options_parse(int argc, char **argv, struct hs_record_options *ret_options);
/* Frees the config. */
void hs_record_options_deinit(struct hs_record_options *options);
