/*
 * /proc/PID/smaps, added up by name: how much of each file, of the heap, of anonymous memory is resident.
 *
 *     struct hs_proc_smaps_reader reader;
 *     hs_proc_smaps_open(&reader, "/proc", pid);
 *     while (hs_proc_smaps_step(&reader, 2000000) == HS_PROC_SMAPS_E_MORE) { do something else }
 *     reader.sums.rows ...
 *     hs_proc_smaps_close(&reader);
 *
 * A process with many mappings has a long file, which the kernel makes while it is read: so it can be read in steps. What
 * the process maps meanwhile may be in it or not, as with one read.
 *
 * Holds     row 0 is that of mappings without a name. At most HS_PROC_SMAPS_ROWS_MAX rows: what has a name of its own
 *           beyond that is in a row "(others)", so that sums are those of the file.
 * Threads   one user.
 * Fails     -errno; -ENOMEM. Lines of another form are passed over.
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

/* 1: there is more of the file. */
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
    size_t name_off; /* in names; NUL-terminated */
    uint64_t mapping_count;
    uint64_t kb[HS_SMAPS_COLUMN_N];
};

struct hs_proc_smaps_sums {
    struct hs_proc_smaps_row *rows;
    uint32_t row_count;
    size_t row_capacity;
    struct hs_buf names;
    struct hs_intern ids;  /* hash of the name -> row */
    uint32_t row;          /* of the mapping whose lines come now; UINT32_MAX: none yet */
    struct hs_buf line;    /* the beginning of one that is not whole yet */
    bool is_line_too_long; /* its rest is passed over */
    int err;
};

/* Zero-initialised is empty. Any piece of the file, in order; -ENOMEM. */
int hs_proc_smaps_add(struct hs_proc_smaps_sums *sums, const char *text, size_t text_bytes);
void hs_proc_smaps_deinit(struct hs_proc_smaps_sums *sums);

static inline const char *hs_proc_smaps_name(const struct hs_proc_smaps_sums *sums, uint32_t row)
{
    return (const char *)sums->names.data + sums->rows[row].name_off;
}

struct hs_proc_smaps_reader {
    int fd;
    struct hs_proc_smaps_sums sums;
};

int hs_proc_smaps_open(struct hs_proc_smaps_reader *reader, const char *folder, pid_t pid);
/* Reads for about so long: 0 the file has ended, HS_PROC_SMAPS_E_MORE, -errno. */
int hs_proc_smaps_step(struct hs_proc_smaps_reader *reader, uint64_t max_ns);
void hs_proc_smaps_close(struct hs_proc_smaps_reader *reader);
