/*
 * Writes a database as an SQLite file that appears under its name only when it is complete.
 *
 * SQLite writes the file itself, so the file has a temporary name from the start (util/outfile.h);
 * a signal that ends heapscope removes it.
 *
 * Threads   writes one file at a time.
 * Fails     -errno.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

/* Writes the database to `path`, "-": standard output. What is no regular file gets its bytes from
 * memory, at the end. 0 with the size in *ret_bytes, or -errno. */
int hs_database_file_write(sqlite3 *db, const char *path, uint64_t *ret_bytes);
