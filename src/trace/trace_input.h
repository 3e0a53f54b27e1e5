/*
 * The expanded bytes of a trace file, as a sequence of runs.
 *
 * A run is either a stretch of plain bytes, or a chain of gzip and zstd members that continue each
 * other (tools that compress in blocks cut at any byte). Plain bytes may follow at the end of a
 * chain, and a compressed member may follow at the end of a plain packet: this is what `cat` makes
 * of two files.
 *
 * Plain runs are not copied, because the file is mapped. Expanded bytes are delivered through a
 * window that grows to the size that the caller asks for.
 *
 * Ensures   at[0 .. avail) is readable until the next call of a function here. An input expands to
 *           at most HS_TRACE_EXPANDED_MIN bytes or 2000 times the file's size, whichever is larger.
 * Threads   one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_expand.h"

#define HS_TRACE_EXPANDED_MIN (UINT64_C(256) << 20)

struct hs_trace_input {
    const uint8_t *file;
    size_t file_bytes;
    size_t file_at; /* first byte that does not belong to a run yet */
    bool is_mapped, is_owned;
    size_t lead_bytes, tail_bytes; /* of a bundle: what lies in memory around `file` */

    const uint8_t *at; /* current position in the run */
    size_t avail;
    bool is_whole; /* avail is all that is left of this run */

    enum hs_trace_coding coding; /* of the member that is being expanded */
    size_t member_at;            /* where it starts in the file */
    void *decoder;               /* z_stream or ZSTD_DStream; NULL: none */
    uint8_t *window;
    size_t window_bytes;
    uint64_t expanded_bytes, expanded_max_bytes;

    bool is_truncated, has_bad_compression, is_too_big;
};

/* Opens a file, a pipe, or standard input ("-"). A bundle (tar.h) is the trace that its members are
 * together. Returns 0 or -errno; -EFBIG if a stream is larger
 * than half of the machine's memory. */
int hs_trace_input_open(struct hs_trace_input *input, const char *path);
/* Reads from memory, which must stay valid. */
void hs_trace_input_init(struct hs_trace_input *input, const void *data, size_t bytes);
/* Closes the input and frees its memory. */
void hs_trace_input_deinit(struct hs_trace_input *input);

/* Starts the next run. Returns false at the end of the file. */
bool hs_trace_input_next_run(struct hs_trace_input *input);
/* Tries to make at least `bytes` available in avail; fewer are available only at the end of the
 * run. Returns 0 or -ENOMEM. */
int hs_trace_input_want(struct hs_trace_input *input, size_t bytes);
/* Advances the position by `bytes`, which must be available. */
void hs_trace_input_skip(struct hs_trace_input *input, size_t bytes);
/* Ends a plain run early, because a compressed member starts at `at`. */
void hs_trace_input_cut(struct hs_trace_input *input);

/* The format whose magic number the data begins with; HS_TRACE_PLAIN if there is none. */
enum hs_trace_coding hs_trace_coding_of(const uint8_t *data, size_t bytes);

/* Expands zlib, gzip or zstd data of at most max_bytes expanded bytes in one piece. The result is
 * malloc'ed. Returns 0, -ENOMEM, or -EBADMSG if the data is damaged or too big; then *ret_data has
 * what could be expanded. */
int hs_trace_expand(enum hs_trace_coding coding, const uint8_t *data, size_t bytes,
                    size_t max_bytes, uint8_t **ret_data, size_t *ret_bytes);
