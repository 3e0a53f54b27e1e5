/*
 * The file that `run` writes: opened before the program starts, whole or not there at the end.
 *
 * What is no regular file (a pipe, /dev/full, standard output) gets its bytes at the end, from
 * memory: names are appended to the trace, and the summary is read back from it, so it must be
 * readable until then.
 *
 * Holds     after finish or abort nothing is left but the file under its final name.
 * Threads   one.
 * Fails     -errno.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/outfile.h"

struct hs_run_file {
    struct hs_outfile out;
    int spool_fd; /* memory; -1: written to `out` itself */
    uint64_t bytes;
};

int hs_run_file_open(struct hs_run_file *file, const char *path);
/* A sink for the trace writer; ctx is the struct hs_run_file. */
int hs_run_file_write(void *ctx, const void *data, size_t bytes);
/* A path under which what was written can be read. */
void hs_run_file_path(const struct hs_run_file *file, char *ret_path, size_t path_bytes);
/* Makes it appear. */
int hs_run_file_finish(struct hs_run_file *file);
/* Fine after finish. */
void hs_run_file_abort(struct hs_run_file *file);
