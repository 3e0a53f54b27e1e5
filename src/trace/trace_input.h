/*
 * The bytes of a trace file, expanded: a row of runs.
 *
 * A run is a stretch of plain bytes, or a chain of gzip and zstd members, which continue each other
 * (tools that compress in blocks cut anywhere). Where a chain ends, plain bytes may follow, and
 * where a plain packet ends, a compressed member may: that is what `cat` makes of two files.
 *
 * Plain runs are not copied; the file is mapped. Expanded bytes come through a window that grows
 * to what is asked for.
 *
 * Holds     at[0 .. avail) is readable until the next call of a function here.
 *           Expands to at most HS_TRACE_EXPANDED_MIN, or 2000 times the file.
 * Threads   one user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_TRACE_EXPANDED_MIN (UINT64_C(256) << 20)

enum hs_trace_coding {
    HS_TRACE_PLAIN,
    HS_TRACE_GZIP,
    HS_TRACE_ZSTD,
};

struct hs_trace_input {
    const uint8_t *file;
    size_t file_bytes;
    size_t file_at; /* first byte that is not in a run yet */
    bool is_mapped, is_owned;

    const uint8_t *at; /* of the run */
    size_t avail;
    bool is_whole; /* avail is all there is of this run */

    enum hs_trace_coding coding; /* of the member being expanded */
    size_t member_at;            /* where it starts in the file */
    void *decoder;               /* z_stream or ZSTD_DStream; NULL: none */
    uint8_t *window;
    size_t window_bytes;
    uint64_t expanded_bytes, expanded_max_bytes;

    bool is_truncated, has_bad_compression, is_too_big;
};

int hs_trace_input_open(struct hs_trace_input *input, const char *path);
void hs_trace_input_init(struct hs_trace_input *input, const void *data, size_t bytes);
void hs_trace_input_deinit(struct hs_trace_input *input);

/* Starts the next run. False at the end of the file. */
bool hs_trace_input_next_run(struct hs_trace_input *input);
/* Tries to have `bytes` in avail; fewer only at the end of the run. 0 or -ENOMEM. */
int hs_trace_input_want(struct hs_trace_input *input, size_t bytes);
void hs_trace_input_skip(struct hs_trace_input *input, size_t bytes);
/* Ends a plain run early: a compressed member starts at `at`. */
void hs_trace_input_cut(struct hs_trace_input *input);

enum hs_trace_coding hs_trace_coding_of(const uint8_t *data, size_t bytes);

/* Expands zlib (or gzip) or zstd data in one piece of at most max_bytes. The result is malloc'ed.
 * 0, -ENOMEM, or -EBADMSG: damaged or too big; then what could be expanded is there. */
int hs_trace_expand(enum hs_trace_coding coding, const uint8_t *data, size_t bytes,
                    size_t max_bytes, uint8_t **ret_data, size_t *ret_bytes);
