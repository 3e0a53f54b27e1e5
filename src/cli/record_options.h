/*
 * The command line of `record`: heap_profile's flags, as a TraceConfig.
 *
 * With a config, Perfetto's own command line is understood too: -c - --txt -o FILE writes one trace.
 *
 * Fails     the exit status, after saying why: 2 for what is no flag, 1 for what heap_profile refuses.
 * See       record_config.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/trace_config.h"

struct hs_record_options {
    Hs__Pb__TraceConfig *config; /* owned */
    const char *folder_path;     /* for the folder of files; NULL: a new one */
    const char *trace_path; /* the trace alone, no folder; "-": standard output; NULL: a folder */
    bool is_annotated;
    char **program; /* NULL: none, running processes */
    bool has_forks; /* nobody named processes: the program's forked children are meant, too */
};

/* HS_ARGS_GO_ON, or the exit status. To be deinitialised in any case. */
int hs_record_options_parse(int argc, char **argv, struct hs_record_options *ret_options);
void hs_record_options_deinit(struct hs_record_options *options);
