/*
 * The texts that `check` reads beside profiles: limits and suppressions, which lie in people's repositories.
 *
 * Threads   main thread only.
 */
#pragma once

#include "check/limits.h"
#include "check/suppressions.h"

/* A file could not be read or written: for CI another answer than that of a broken limit. */
#define HS_EXIT_STATUS_NO_FILE 3

/* Each: 0, or the exit status to return after having said why. */
int hs_check_files_limits(const char *path, struct hs_limits *limits);
int hs_check_files_suppressions(const char *path, struct hs_suppressions *suppressions);
