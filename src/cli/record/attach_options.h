/*
 * The options of `heapscope attach`.
 *
 * Threads   main thread only.
 * Fails     with the exit status, after a message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"

struct hs_attach_options {
    struct hs_session_settings settings; /* owned; without a user: the kernel decides */
    const char *output;                  /* NULL: the command makes a name */
    const char *allocator;               /* prefix of its functions, or "none"; NULL: not given */
    bool is_quiet, is_following;
    uint64_t stack_count;
};

/* Parses the command line: HS_ARGS_GO_ON, or the exit status. The caller frees the settings in
 * either case. */
int hs_attach_options_parse(int argc, char **argv, struct hs_attach_options *ret_options);
