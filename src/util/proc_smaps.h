/*
 * Sums of /proc/PID/smaps by name: how much of each file, of the heap, and of anonymous memory is
 * resident.
 *
 *     struct hs_proc_smaps_reader reader;
 *     hs_proc_smaps_open(&reader, "/proc", pid);
 *     while (hs_proc_smaps_step(&reader, 2000000) == HS_PROC_SMAPS_E_MORE) { do something else }
 *     reader.sums.rows ...
 *     hs_proc_smaps_close(&reader);
 *
 * The file of a process with many mappings is long, and the kernel produces it while it is read. It
 * can therefore be read in steps. Mappings that the process makes in the meantime may or may not be
 * included, just as with a single read.
 *
 * Holds     row 0 holds the mappings without a name. There are at most HS_PROC_SMAPS_ROWS_MAX rows:
 *           further names share a row "(others)", so that the sums are still those of the whole
 *           file.
 * Threads   one user.
 * Fails     -errno; -ENOMEM. Lines of another form are skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"
#include "util/intern.h"

#define HS_PROC_SMAPS_ROWS_MAX 4096U
#define HS_PROC_SMAPS_OTHERS   "(others)"

/* hs_proc_smaps_step() returns this when it has not reached the end of the file. */
#define HS_PROC_SMAPS_E_MORE 1

enum hs_smaps_column {
    HS_SMAPS_SIZE,
    HS_SMAPS_RSS,
    HS_SMAPS_ANONYMOUS,
    HS_SMAPS_SWAP,
    HS_SMAPS_SHARED_CLEAN,
    HS_SMAPS_SHARED_DIRTY,
    HS_SMAPS_PRIVATE_CLEAN,
    HS_SMAPS_PRIVATE_DIRTY,
    HS_SMAPS_LOCKED,
    HS_SMAPS_PSS,
    HS_SMAPS_PSS_DIRTY,
    HS_SMAPS_SWAP_PSS,
    HS_SMAPS_COLUMN_N,
};

struct hs_proc_smaps_row {
    size_t name_off; /* offset in names; NUL-terminated */
    uint64_t mapping_count;
    uint64_t kb[HS_SMAPS_COLUMN_N];
};

struct hs_proc_smaps_sums {
    struct hs_proc_smaps_row *rows;
    uint32_t row_count;
    size_t row_capacity;
    struct hs_buf names;
    struct hs_intern ids;  /* maps the hash of a name to its row */
    uint32_t row;          /* row of the current mapping, whose lines follow; UINT32_MAX: none
                            * yet */
    struct hs_buf line;    /* beginning of a line whose rest has not been read yet */
    bool is_line_too_long; /* the rest of the line is skipped */
    int err;
};

/*
 * Adds the next piece of the file, of any size. A zero-initialized `sums` is empty. Returns 0 or
 * -ENOMEM.
 */
int hs_proc_smaps_add(struct hs_proc_smaps_sums *sums, const char *text, size_t text_bytes);
/* Frees the memory; the sums are then empty. */
void hs_proc_smaps_deinit(struct hs_proc_smaps_sums *sums);

/* The name of a row; "" for row 0. */
static inline const char *hs_proc_smaps_name(const struct hs_proc_smaps_sums *sums, uint32_t row)
{
    return (const char *)sums->names.data + sums->rows[row].name_off;
}

struct hs_proc_smaps_reader {
    int fd;
    struct hs_proc_smaps_sums sums;
};

/* Opens FOLDER/PID/smaps. Returns 0 or -errno. */
int hs_proc_smaps_open(struct hs_proc_smaps_reader *reader, const char *folder, pid_t pid);
/*
 * Reads for about `max_ns` nanoseconds. Returns 0 at the end of the file, HS_PROC_SMAPS_E_MORE, or
 * -errno.
 */
int hs_proc_smaps_step(struct hs_proc_smaps_reader *reader, uint64_t max_ns);
/* Closes the file and frees the sums. */
void hs_proc_smaps_close(struct hs_proc_smaps_reader *reader);
