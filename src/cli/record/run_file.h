/*
 * The file that `run` writes: opened before the program starts; at the end it is complete, or does
 * not exist.
 *
 * An output that is not a regular file (a pipe, /dev/full, standard output) gets its bytes at the
 * end, from memory: names are appended to the trace, and the summary is read back from it, so it
 * must be readable until then.
 *
 * Ensures   after finish or abort nothing is left but the file under its final name.
 * Threads   one.
 * Fails     -errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/outfile.h"

struct hs_run_file {
    struct hs_outfile out;
    int spool_fd; /* the bytes in memory; -1: they go to `out` directly */
    uint64_t bytes;
};

/* Opens the file that `path` names; "-": standard output. 0 or -errno. */
int hs_run_file_open(struct hs_run_file *file, const char *path);
/* A sink for the trace writer; `ctx` is the struct hs_run_file. 0 or -errno. */
int hs_run_file_write(void *ctx, const void *data, size_t bytes);
/* A path at which the bytes that were written can be read. */
void hs_run_file_path(const struct hs_run_file *file, char *ret_path, size_t path_bytes);
/* Gives the file its final name, or writes the bytes in memory to the output. 0 or -errno. */
int hs_run_file_finish(struct hs_run_file *file);
/* Drops the file; without effect after hs_run_file_finish(). */
void hs_run_file_abort(struct hs_run_file *file);
