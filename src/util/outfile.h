/*
 * A file that appears under its name only when it is whole.
 *
 * Written beside its final place without any name, and linked and renamed at the end; so a reader
 * never sees half a file, an old one stays until the new one is complete, and neither a full disk nor
 * a process that is killed leaves anything behind. Where the file system has no files without a name, or somebody else is
 * to find the file, it has a hidden temporary one meanwhile. Standard output ("-") and things that are no regular files (a pipe, /dev/null) are
 * written to directly: they cannot be renamed to.
 *
 * Holds     after hs_outfile_commit() or _abort() no temporary file is left.
 * Threads   one writer.
 * Fails     -errno of open, write, close or rename.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_outfile {
    int fd;           /* -1: closed */
    bool is_direct;   /* no temporary file */
    bool is_nameless; /* it gets its temporary name at the end only */
    char *path;       /* final name, symlinks followed */
    char *temp_path;
};

int hs_outfile_open(struct hs_outfile *file, const char *path);
/* With a temporary name from the start, for who passes it on. */
int hs_outfile_open_named(struct hs_outfile *file, const char *path);

/* A sink for struct hs_buf; ctx is the struct hs_outfile. */
int hs_outfile_write(void *ctx, const void *data, size_t bytes);

/* Makes it appear. On failure the temporary file is gone and the old file untouched. */
int hs_outfile_commit(struct hs_outfile *file);
/* Fine after commit, and on a zeroed struct with fd -1. */
void hs_outfile_abort(struct hs_outfile *file);
