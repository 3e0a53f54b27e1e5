/*
 * A trace in memory, for tests: a sink that keeps everything, clocks that stand still, a reader
 * that collects packets of one kind.
 */
#pragma once

#include "snapshot_fixture.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"
#include "util/buf.h"

/* BOOTTIME is 1000 s ahead of MONOTONIC, as after a long sleep. */
#define TEST_BOOT_AHEAD_NS UINT64_C(1000000000000)
#define TEST_REAL_NS       UINT64_C(1700000000000000000)

static inline int keep_bytes(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *buf = ctx;
    hs_buf_add(buf, data, bytes);
    return buf->err;
}

static inline void still_clocks(void *ctx, struct hs_trace_clocks *ret_clocks)
{
    (void)ctx;
    ret_clocks->monotonic_ns = 1000;
    ret_clocks->boottime_ns = 1000 + TEST_BOOT_AHEAD_NS;
    ret_clocks->realtime_ns = 1000 + TEST_REAL_NS;
}

/* Returns a writer that has begun. */
static inline struct hs_trace_writer *writer_with(struct hs_buf *buf, uint32_t sequence_id,
                                                  bool is_at_max)
{
    struct hs_trace_writer_config config = {
        .sink = keep_bytes,
        .sink_ctx = buf,
        .sequence_id = sequence_id,
        .read_clocks = still_clocks,
        .is_at_max = is_at_max,
    };
    struct hs_trace_writer *writer = NULL;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    return writer;
}

static inline struct hs_trace_writer *writer_to(struct hs_buf *buf, uint32_t sequence_id)
{
    return writer_with(buf, sequence_id, false);
}

/* Writes a dump and frees the snapshot. */
static inline void dump_and_free(struct hs_trace_writer *writer, struct hs_snapshot *snap)
{
    fixture_totals(snap);
    assert_int_equal(hs_trace_writer_dump(writer, snap), 0);
    hs_snapshot_free(snap);
}

static inline void finish_writer(struct hs_trace_writer *writer)
{
    assert_int_equal(hs_trace_writer_finish(writer), 0);
    hs_trace_writer_free(writer);
}
