/*
 * The folder that `record` writes: raw-trace, symbols, symbolized-trace, and a pprof file for each
 * dump.
 *
 * Threads   main thread only.
 * Fails     after a message. A folder that was made here and stayed empty is removed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "profile/model/profile.h"

struct hs_record_folder {
    char path[PATH_MAX / 2];
    bool is_ours; /* this command made it */
};

/* Opens the folder `path`, which must exist and be empty; NULL: makes a new one, whose name is six
 * hexadecimal digits. Returns the exit status. */
int hs_record_folder_open(struct hs_record_folder *folder, const char *path);
/* The path of the file `name` in the folder. */
void hs_record_folder_file(const struct hs_record_folder *folder, const char *name,
                           char *ret_path /* PATH_MAX */);
/* True: the environment says where to look for names. */
bool hs_record_folder_wants_symbols(void);
/* Writes the dumps' files, makes the link, and prints what heap_profile prints. Returns the exit
 * status. */
int hs_record_folder_finish(const struct hs_record_folder *folder, bool is_annotated);
/* Removes the folder, if this command made it and it is empty. */
void hs_record_folder_drop(const struct hs_record_folder *folder);
/* Prints that a trace, in the folder or a single file, contains no heap. Returns the exit
 * status. */
int hs_record_fail_empty(const struct hs_profile *profile, const char *trace);
