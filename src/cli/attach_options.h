/*
 * What `heapscope attach` is asked for.
 *
 * Threads   main thread only.
 * Fails     in words; then the exit status.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/session.h"

struct hs_attach_options {
    struct hs_session_settings settings; /* owned; its user is nobody's: the kernel decides */
    const char *output;                  /* NULL: a name is to be found */
    const char *allocator;               /* prefix of its functions, or "none"; NULL: not given */
    bool is_quiet, is_following;
    uint64_t stack_count;
};

/* HS_ARGS_GO_ON, or the exit status. The settings are to be freed in any case. */
int hs_attach_options_parse(int argc, char **argv, struct hs_attach_options *ret_options);
