/*
 * The text files that `check` reads beside profiles: limits and suppressions, which lie in users'
 * repositories.
 *
 * Threads   main thread only.
 */
#pragma once

#include "check/limits.h"
#include "check/suppressions.h"

/* A file could not be read or written: CI can tell that from a broken limit. */
#define HS_EXIT_STATUS_NO_FILE 3

/* Reads a file of limits: 0, or the exit status, after a message. */
int hs_check_files_limits(const char *path, struct hs_limits *limits);

/* Reads a file of suppressions: 0, or the exit status, after a message. */
int hs_check_files_suppressions(const char *path, struct hs_suppressions *suppressions);
