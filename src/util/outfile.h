/*
 * An output file that appears under its name only when it is complete.
 *
 * The file is written without any name (O_TMPFILE) in the folder of its final place, and is linked
 * and renamed at the end. A reader therefore never sees half a file, an old file stays until the
 * new one is complete, and neither a full disk nor a process that is killed leaves anything behind.
 * Where the file system has no files without a name, or where another process must find the file,
 * the file has a hidden temporary name until then. Standard output ("-") and targets that are not
 * regular files (a pipe, /dev/null) are written directly, because rename() cannot replace them.
 *
 * Ensures   after hs_outfile_commit() or hs_outfile_abort() no temporary file is left.
 * Threads   one writer.
 * Fails     -errno of open, write, close or rename.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_outfile {
    int fd;           /* -1: closed */
    bool is_direct;   /* no temporary file */
    bool is_nameless; /* it has no name until hs_outfile_commit() */
    char *path;       /* final name, symlinks resolved */
    char *temp_path;
};

/* Opens a file that will be called `path`; "-" is standard output. -EISDIR: `path` is a folder. */
int hs_outfile_open(struct hs_outfile *file, const char *path);
/*
 * The same with a temporary name from the start, for a caller that passes that name to another
 * process.
 */
int hs_outfile_open_named(struct hs_outfile *file, const char *path);

/* A sink for struct hs_buf; ctx is the struct hs_outfile. */
int hs_outfile_write(void *ctx, const void *data, size_t bytes);

/*
 * Gives the file its final name. If that fails, the temporary file is deleted and the old file
 * untouched.
 */
int hs_outfile_commit(struct hs_outfile *file);
/* Deletes the unfinished file. Allowed after commit, and on a zeroed struct with fd -1. */
void hs_outfile_abort(struct hs_outfile *file);
