/*
 * The folder that `record` leaves: raw-trace, symbols, symbolized-trace, and a pprof file for each dump.
 *
 * Threads   main thread only.
 * Fails     after saying why. A folder that was made here and got nothing is gone again.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "profile/profile.h"

struct hs_record_folder {
    char path[PATH_MAX / 2];
    bool is_ours; /* made here */
};

/* NULL: a new one with a name of six hexadecimal digits; else it must be there, and empty. Exit status. */
int hs_record_folder_open(struct hs_record_folder *folder, const char *path);
void hs_record_folder_file(const struct hs_record_folder *folder, const char *name,
                           char *ret_path /* PATH_MAX */);
/* Does PERFETTO_BINARY_PATH say where to look for names? */
bool hs_record_folder_wants_symbols(void);
/* symbols and symbolized-trace, if PERFETTO_BINARY_PATH says where to look. False: there are none. */
bool hs_record_folder_symbolize(const struct hs_record_folder *folder);
/* The dumps' files, the link, and what heap_profile prints. Exit status. */
int hs_record_folder_finish(const struct hs_record_folder *folder, bool is_annotated);
void hs_record_folder_drop(const struct hs_record_folder *folder);
/* Says that a trace, the folder's or one by itself, holds no heap. Exit status. */
int hs_record_fail_empty(const struct hs_profile *profile, const char *trace);
