/*
 * A database, written as an SQLite file that appears under its name only when it is whole.
 *
 * SQLite writes the file itself, which therefore has a temporary name from the start (util/outfile.h); a signal that
 * ends us removes it.
 *
 * Threads   one writes at a time.
 * Fails     -errno.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/* path "-": standard output, as all that is no regular file, by way of memory. */
int hs_database_file_write(sqlite3 *db, const char *path, uint64_t *ret_bytes);
