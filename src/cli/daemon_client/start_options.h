/*
 * The options of `start`, as the settings of a session.
 *
 *     struct hs_start_options options;
 *     hs_start_options_init(&options);
 *     int status = hs_start_options_parse(&options, argc, argv);
 *     ...
 *     hs_start_options_deinit(&options);
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include <stdbool.h>

#include "cli/budget_opts.h"
#include "cli/heap_opts.h"
#include "cli/source_opts.h"
#include "session/session.h"

struct hs_start_options {
    struct hs_opt_list names, pid_texts;
    struct hs_session_settings settings;
    const char *output;  /* NULL: not given */
    const char *session; /* its name; NULL: not given */
    bool is_quiet;
    struct hs_budget_opts budget;
    struct hs_source_opts source_opts;
    struct hs_heap_opts heap_opts;
};

/* The settings of a command line without options. */
void hs_start_options_init(struct hs_start_options *options);
/* HS_ARGS_GO_ON, or the exit status: also after --help. Texts belong to argv. */
int hs_start_options_parse(struct hs_start_options *options, int argc, char **argv);
/* Frees the lists and the settings. */
void hs_start_options_deinit(struct hs_start_options *options);
