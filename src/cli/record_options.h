/*
 * The command line of `record`: heap_profile's flags, as a TraceConfig.
 *
 * Flags become the text of a config, as heap_profile makes it, and that is read like any other: so what --print-config
 * shows is what is done.
 *
 * Fails     the exit status, after saying why: 2 for what is no flag, 1 for what heap_profile refuses.
 * See       session/trace_config.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/trace_config.h"

struct hs_record_options {
    Hs__Pb__TraceConfig *config; /* owned */
    const char *output_folder;   /* NULL: a new one */
    bool is_annotated;
    char **program; /* NULL: none, running processes */
};

/* HS_ARGS_GO_ON, or the exit status. */
int hs_record_options_parse(int argc, char **argv, struct hs_record_options *ret_options);
void hs_record_options_deinit(struct hs_record_options *options);

/* A note about the config, as hs_trace_config_take() wants it. */
extern const struct hs_trace_config_notes hs_record_notes;
