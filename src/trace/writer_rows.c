/*
 * Our own packets of a dump: the rows that changed, and its end. writer_head.c has the head.
 *
 * Rows are written as columns of packed numbers, which takes about 25 bytes a callstack instead of
 * 100. Bytes are whole numbers. Counts keep the ten binary places that they have in the region.
 * Variances keep twelve significant bits, because three digits of an uncertainty are enough.
 *
 * See       writer_state.h, proto/heapscope.proto
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "trace/writer_state.h"

/* The numbers of a row, in the order of the columns. */
enum column {
    ALLOC_BYTES,
    ALLOC_COUNT,
    LIVE_BYTES,
    LIVE_COUNT,
    PEAK_BYTES,
    PEAK_COUNT,
    COLUMN_N,
};

struct columns {
    int64_t iid_delta[HS_ROWS_PER_PACKET];
    uint32_t heap[HS_ROWS_PER_PACKET];
    uint64_t value[COLUMN_N][HS_ROWS_PER_PACKET];
    uint32_t var[COLUMN_N][HS_ROWS_PER_PACKET];
    uint32_t inherited[2][HS_ROWS_PER_PACKET]; /* variances of bytes, of counts */
    bool has_heap, has_value[COLUMN_N], has_var[COLUMN_N], has_inherited;
    size_t count;
    uint32_t last_iid;
};

void hs_writer_ours(struct hs_trace_writer *writer, uint64_t time_ns,
                    Hs__Pb__HeapscopePacket *heapscope)
{
    Hs__Pb__TracePacket packet;
    hs_writer_packet_init(writer, &packet, time_ns);
    packet.heapscope = heapscope;
    hs_writer_packet(writer, &packet);
}

int hs_trace_writer_unlisted(struct hs_trace_writer *writer, const uint64_t counts[HS_REFUSAL_N])
{
    if (writer->err == 0 && writer->has_begun) {
        Hs__Pb__HsUnlisted unlisted = HS__PB__HS_UNLISTED__INIT;
        unlisted.n_refused_count = HS_REFUSAL_N;
        unlisted.refused_count = (uint64_t *)(uintptr_t)counts;
        Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
        heapscope.unlisted = &unlisted;
        hs_writer_refresh_clocks(writer);
        hs_writer_ours(writer, writer->clocks.monotonic_ns, &heapscope);
    }
    return writer->err;
}

int hs_trace_writer_cost(struct hs_trace_writer *writer, const struct hs_trace_cost *cost)
{
    if (writer->err == 0 && writer->has_begun) {
        Hs__Pb__HsCost message = HS__PB__HS_COST__INIT, *out = &message;
        Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
        HS_SET_FIELD(out, recording_cpu_ns, cost->recording_cpu_ns);
        HS_SET_FIELD(out, names_cpu_ns, cost->names_cpu_ns);
        if (cost->collector_cpu_ns != 0) {
            HS_SET_FIELD(out, collector_cpu_ns, cost->collector_cpu_ns);
        }
        if (cost->collector_rss_peak_bytes != 0) {
            HS_SET_FIELD(out, collector_rss_peak_bytes, cost->collector_rss_peak_bytes);
        }
        heapscope.cost = out;
        hs_writer_refresh_clocks(writer);
        hs_writer_ours(writer, writer->clocks.monotonic_ns, &heapscope);
    }
    return writer->err;
}

/* --- rows --- */

static void flush_rows(struct hs_trace_writer *writer, const struct hs_writer_dump *dump,
                       struct columns *columns)
{
    if (columns->count == 0) {
        return;
    }
    Hs__Pb__HsRows rows = HS__PB__HS_ROWS__INIT;
    rows.has_process_idx = true;
    rows.process_idx = dump->process->process_idx;
#define COLUMN(name, array, is_there)                                                              \
    rows.n_##name = (is_there) ? columns->count : 0;                                               \
    rows.name = (array)
    COLUMN(callstack_iid_delta, columns->iid_delta, true);
    COLUMN(heap, columns->heap, columns->has_heap);
    COLUMN(alloc_bytes, columns->value[ALLOC_BYTES], columns->has_value[ALLOC_BYTES]);
    COLUMN(alloc_count_fx, columns->value[ALLOC_COUNT], columns->has_value[ALLOC_COUNT]);
    COLUMN(live_bytes, columns->value[LIVE_BYTES], columns->has_value[LIVE_BYTES]);
    COLUMN(live_count_fx, columns->value[LIVE_COUNT], columns->has_value[LIVE_COUNT]);
    COLUMN(peak_bytes, columns->value[PEAK_BYTES], columns->has_value[PEAK_BYTES]);
    COLUMN(peak_count_fx, columns->value[PEAK_COUNT], columns->has_value[PEAK_COUNT]);
    COLUMN(alloc_bytes_var, columns->var[ALLOC_BYTES], columns->has_var[ALLOC_BYTES]);
    COLUMN(alloc_count_var, columns->var[ALLOC_COUNT], columns->has_var[ALLOC_COUNT]);
    COLUMN(live_bytes_var, columns->var[LIVE_BYTES], columns->has_var[LIVE_BYTES]);
    COLUMN(live_count_var, columns->var[LIVE_COUNT], columns->has_var[LIVE_COUNT]);
    COLUMN(peak_bytes_var, columns->var[PEAK_BYTES], columns->has_var[PEAK_BYTES]);
    COLUMN(peak_count_var, columns->var[PEAK_COUNT], columns->has_var[PEAK_COUNT]);
    COLUMN(inherited_bytes_var, columns->inherited[0], columns->has_inherited);
    COLUMN(inherited_count_var, columns->inherited[1], columns->has_inherited);
#undef COLUMN
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.rows = &rows;
    hs_writer_ours(writer, dump->time_ns, &heapscope);
    columns->count = 0;
    columns->last_iid = 0;
    columns->has_heap = columns->has_inherited = false;
    memset(columns->has_value, 0, sizeof(columns->has_value));
    memset(columns->has_var, 0, sizeof(columns->has_var));
}

static void put(struct columns *columns, enum column bytes_column, const struct hs_estimate *from)
{
    const double count_scale = 1U << HS_COUNT_SHIFT;
    size_t at = columns->count;
    for (int i = 0; i < 2; i++) {
        unsigned c = (unsigned)bytes_column + (unsigned)i;
        double var = i == 0 ? from->bytes_var : from->count_var;
        columns->value[c][at] = hs_writer_round(i == 0 ? from->bytes : from->count * count_scale);
        columns->var[c][at] = hs_writer_pack_var(var);
        columns->has_value[c] |= columns->value[c][at] != 0;
        columns->has_var[c] |= columns->var[c][at] != 0;
    }
}

static void put_row(struct columns *columns, uint32_t iid, uint32_t heap,
                    const struct hs_dump_row *row)
{
    columns->iid_delta[columns->count] = (int64_t)iid - columns->last_iid;
    columns->last_iid = iid;
    columns->heap[columns->count] = heap;
    columns->has_heap |= heap != 0;
    put(columns, ALLOC_BYTES, &row->alloc);
    put(columns, LIVE_BYTES, &row->live);
    put(columns, PEAK_BYTES, &row->peak);
    uint32_t bytes_var = columns->inherited[0][columns->count] =
        hs_writer_pack_var(row->inherited.bytes_var);
    uint32_t count_var = columns->inherited[1][columns->count] =
        hs_writer_pack_var(row->inherited.count_var);
    columns->has_inherited |= (bytes_var | count_var) != 0;
    columns->count++;
}

int hs_writer_rows(struct hs_trace_writer *writer, const struct hs_writer_dump *dump)
{
    struct hs_written_process *process = dump->process;
    int err = hs_writer_head(writer, dump);
    struct columns *columns = calloc(1, sizeof(*columns));
    if (err < 0 || !columns) {
        free(columns);
        return err < 0 ? err : -ENOMEM;
    }
    const uint64_t zeros_hash =
        hs_intern_hash(&(struct hs_dump_row){ 0 }, sizeof(struct hs_dump_row)).lo;
    uint64_t row_count = 0;
    for (uint32_t i = 0; i < process->stacks.count; i++) {
        const struct hs_dump_row *row = &dump->rows[i];
        uint64_t hash = hs_intern_hash(row, sizeof(*row)).lo;
        if (process->written[i].row_hash == 0) {
            process->written[i].row_hash = zeros_hash;
        }
        if (hash == process->written[i].row_hash) {
            continue;
        }
        process->written[i].row_hash = hash;
        put_row(columns, (uint32_t)process->stacks.keys[i].lo, process->written[i].heap, row);
        row_count++;
        if (columns->count == HS_ROWS_PER_PACKET) {
            flush_rows(writer, dump, columns);
        }
    }
    flush_rows(writer, dump, columns);
    free(columns);
    err = hs_writer_parts(writer, dump);
    err = err == 0 ? hs_writer_births(writer, dump) : err;
    err = err ? err : hs_writer_lifetimes(writer, dump);
    err = err < 0 ? err : hs_writer_blocks(writer, dump);
    if (err < 0) {
        return err;
    }

    Hs__Pb__HsDumpEnd end = HS__PB__HS_DUMP_END__INIT;
    end.has_process_idx = end.has_dump_idx = end.has_row_count = true;
    end.process_idx = process->process_idx;
    end.dump_idx = process->dump_count;
    end.row_count = row_count;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.dump_end = &end;
    hs_writer_ours(writer, dump->time_ns, &heapscope);
    return 0;
}
