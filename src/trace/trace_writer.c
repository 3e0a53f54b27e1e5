/*
 * The writer's life cycle, and the packets that stand alone: clocks, processes, symbols.
 *
 * A packet is first encoded into a scratch buffer, because its length precedes it in the file. From
 * there it is copied into the window of the output buffer, which remembers the first error.
 *
 * See       trace_writer.h, writer_state.h
 */
#include "trace/trace_writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt/bits.h"
#include "rt/clock.h"
#include "trace/mapping_path.h"
#include "trace/writer_batch.h"
#include "trace/writer_compress.h"
#include "trace/writer_state.h"
#include "util/array.h"
#include "util/write_all.h"

#define FORMAT_VERSION     1U
#define FLAG_STATE_CLEARED 1U
#define CLOCK_DRIFT_MAX_NS UINT64_C(1000000)
#define CLOCK_NOISE_NS     UINT64_C(100000)
#define CMDLINE_BYTES_MAX  (128U * 1024U)
#define CMDLINE_ARGS_MAX   1024U

static void read_clocks(void *ctx, struct hs_trace_clocks *ret_clocks)
{
    (void)ctx;
    /* The value in the middle of the two others, because time passes between two readings. */
    uint64_t before_ns = hs_clock_ns(CLOCK_BOOTTIME);
    ret_clocks->monotonic_ns = hs_clock_ns(CLOCK_MONOTONIC);
    ret_clocks->boottime_ns = before_ns + (hs_clock_ns(CLOCK_BOOTTIME) - before_ns) / 2;
    if (ret_clocks->boottime_ns - ret_clocks->monotonic_ns + CLOCK_NOISE_NS < 2 * CLOCK_NOISE_NS) {
        ret_clocks->boottime_ns = ret_clocks->monotonic_ns; /* if the machine was never suspended */
    }
    ret_clocks->realtime_ns = hs_clock_ns(CLOCK_REALTIME);
}

int hs_trace_writer_new(const struct hs_trace_writer_config *config,
                        struct hs_trace_writer **ret_writer)
{
    struct hs_trace_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        return -ENOMEM;
    }
    writer->config = *config;
    if (!writer->config.read_clocks) {
        writer->config.read_clocks = read_clocks;
    }
    hs_buf_init(&writer->out, config->sink, config->sink_ctx);
    writer->batch = hs_batch_new();
    writer->press = config->is_compressing ? hs_writer_compress_new() : NULL;
    if (!writer->batch || (config->is_compressing && !writer->press)) {
        hs_trace_writer_free(writer);
        return -ENOMEM;
    }
    *ret_writer = writer;
    return 0;
}

struct hs_trace_writer *hs_trace_writer_free(struct hs_trace_writer *writer)
{
    if (writer) {
        hs_writer_dump_deinit(writer);
        hs_batch_free(writer->batch);
        hs_writer_compress_free(writer->press);
        hs_intern_deinit(&writer->functions);
        hs_intern_deinit(&writer->paths);
        hs_intern_deinit(&writer->build_ids);
        hs_intern_deinit(&writer->sources);
        hs_intern_deinit(&writer->mappings);
        hs_intern_deinit(&writer->frames);
        hs_intern_deinit(&writer->callstacks);
        hs_buf_deinit(&writer->out);
        free(writer->scratch);
        free(writer);
    }
    return NULL;
}

int hs_trace_write_fd(void *ctx, const void *data, size_t bytes)
{
    return hs_write_all((int)(intptr_t)ctx, data, bytes);
}

void hs_writer_fail(struct hs_trace_writer *writer, int err)
{
    if (writer->err == 0) {
        writer->err = err;
    }
}

uint32_t hs_writer_pack_var(double var)
{
    if (!(var > 0)) {
        return 0;
    }
    float value = (float)(var < 1e38 ? var : 1e38);
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (bits + (1U << (HS_VAR_SHIFT - 1))) >> HS_VAR_SHIFT;
}

uint64_t hs_writer_round(double value)
{
    if (!(value > 0)) {
        return 0;
    }
    return value < 9.2e18 ? (uint64_t)llround(value) : UINT64_C(9200000000000000000);
}

/* --- packets --- */

static void add_bytes(struct hs_trace_writer *writer, const void *data, size_t bytes)
{
    hs_buf_add(writer->press ? hs_writer_compress_in(writer->press) : &writer->out, data, bytes);
}

static void end_packet(struct hs_trace_writer *writer)
{
    hs_writer_fail(writer, writer->press ? hs_writer_compress(writer->press, false, &writer->out)
                                         : writer->out.err);
}

void hs_writer_packet(struct hs_trace_writer *writer, const Hs__Pb__TracePacket *packet)
{
    if (writer->err != 0) {
        return;
    }
    size_t bytes = hs__pb__trace_packet__get_packed_size(packet);
    int err = hs_array_reserve(&writer->scratch, &writer->scratch_bytes, bytes, 1);
    if (err < 0) {
        hs_writer_fail(writer, err);
        return;
    }
    uint8_t head[HS_PACKET_HEAD_BYTES];
    size_t head_bytes = hs_put_packet_head(head, bytes);
    hs__pb__trace_packet__pack(packet, writer->scratch);
    add_bytes(writer, head, head_bytes);
    add_bytes(writer, writer->scratch, bytes);
    end_packet(writer);
}

int hs_trace_writer_packets(struct hs_trace_writer *writer, const void *data, size_t bytes)
{
    if (writer->err == 0) {
        add_bytes(writer, data, bytes);
        end_packet(writer);
    }
    return writer->err;
}

/* Converts a time of CLOCK_MONOTONIC to CLOCK_BOOTTIME. */
static uint64_t boottime_of(const struct hs_trace_writer *writer, uint64_t mono_ns)
{
    return mono_ns + (writer->clocks.boottime_ns - writer->clocks.monotonic_ns);
}

void hs_writer_packet_init(const struct hs_trace_writer *writer, Hs__Pb__TracePacket *packet,
                           uint64_t mono_ns)
{
    hs__pb__trace_packet__init(packet);
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = writer->sequence_id;
    packet->has_timestamp = true;
    packet->timestamp = boottime_of(writer, mono_ns);
}

static void write_clocks(struct hs_trace_writer *writer)
{
    /* CLOCK_MONOTONIC_COARSE counts from the same origin and is only updated less often. With the
     * same value for both clocks, no instant shifts when a reader converts it. */
    const struct {
        uint32_t id;
        uint64_t time_ns;
    } values[] = {
        { HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_BOOTTIME, writer->clocks.boottime_ns },
        { HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_MONOTONIC, writer->clocks.monotonic_ns },
        { HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_MONOTONIC_COARSE, writer->clocks.monotonic_ns },
        { HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_REALTIME, writer->clocks.realtime_ns },
    };
    Hs__Pb__ClockSnapshot__Clock clocks[4], *pointers[4];
    for (size_t i = 0; i < 4; i++) {
        hs__pb__clock_snapshot__clock__init(&clocks[i]);
        clocks[i].has_clock_id = clocks[i].has_timestamp = true;
        clocks[i].clock_id = values[i].id;
        clocks[i].timestamp = values[i].time_ns;
        pointers[i] = &clocks[i];
    }
    Hs__Pb__ClockSnapshot snapshot = HS__PB__CLOCK_SNAPSHOT__INIT;
    snapshot.n_clocks = 4;
    snapshot.clocks = pointers;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = HS__PB__CLOCK_SNAPSHOT__CLOCK_ID__CLOCK_BOOTTIME;
    Hs__Pb__TracePacket packet;
    hs_writer_packet_init(writer, &packet, writer->clocks.monotonic_ns);
    packet.has_trusted_packet_sequence_id = false;
    packet.clock_snapshot = &snapshot;
    hs_writer_packet(writer, &packet);
}

void hs_writer_refresh_clocks(struct hs_trace_writer *writer)
{
    struct hs_trace_clocks now;
    writer->config.read_clocks(writer->config.clocks_ctx, &now);
    uint64_t offset_ns = now.boottime_ns - now.monotonic_ns;
    uint64_t old_ns = writer->clocks.boottime_ns - writer->clocks.monotonic_ns;
    uint64_t drift_ns = offset_ns > old_ns ? offset_ns - old_ns : old_ns - offset_ns;
    if (drift_ns > CLOCK_DRIFT_MAX_NS) {
        writer->clocks = now;
        write_clocks(writer);
    }
}

/* Clears the state of our sequence, once. Defines iid 0 as "" in the tables that have one. */
static void write_start(struct hs_trace_writer *writer)
{
    Hs__Pb__InternedString empty = HS__PB__INTERNED_STRING__INIT, *empties[1] = { &empty };
    empty.has_iid = empty.has_str = true;
    empty.str.data = (uint8_t *)"";
    Hs__Pb__InternedData data = HS__PB__INTERNED_DATA__INIT;
    data.n_function_names = data.n_build_ids = data.n_mapping_paths = 1;
    data.function_names = data.build_ids = data.mapping_paths = empties;

    Hs__Pb__HsFile file = HS__PB__HS_FILE__INIT;
    file.has_format_version = true;
    file.format_version = FORMAT_VERSION;
    file.writer_version = (char *)(uintptr_t)HS_VERSION;
    file.has_is_continuation = file.is_continuation = writer->config.continued.sequence_id != 0;
    Hs__Pb__HeapscopePacket heapscope = HS__PB__HEAPSCOPE_PACKET__INIT;
    heapscope.file = &file;

    Hs__Pb__TracePacket packet;
    hs_writer_packet_init(writer, &packet, writer->clocks.monotonic_ns);
    packet.has_sequence_flags = packet.has_previous_packet_dropped =
        packet.has_first_packet_on_sequence = true;
    packet.sequence_flags = FLAG_STATE_CLEARED;
    packet.previous_packet_dropped = 1;
    packet.first_packet_on_sequence = true;
    packet.interned_data = &data;
    packet.heapscope = &heapscope;
    hs_writer_packet(writer, &packet);
}

int hs_trace_writer_begin(struct hs_trace_writer *writer)
{
    if (writer->err != 0 || writer->has_begun) {
        return writer->err != 0 ? writer->err : -EINVAL;
    }
    writer->config.read_clocks(writer->config.clocks_ctx, &writer->clocks);
    const struct hs_trace_place *continued = &writer->config.continued;
    writer->sequence_id =
        continued->sequence_id ? continued->sequence_id : writer->config.sequence_id;
    writer->profile_packet_idx = continued->profile_packet_count;
    if (writer->sequence_id == 0) {
        /* Users concatenate files. The sequences of different files must have different ids. */
        uint64_t mixed = hs_mix64(writer->clocks.realtime_ns ^ (uint64_t)getpid() << 40);
        writer->sequence_id = (uint32_t)(mixed >> 33) | 1U;
    }
    writer->has_begun = true;
    write_clocks(writer);
    write_start(writer);
    return writer->err;
}

struct hs_pid_state *hs_writer_pid(struct hs_trace_writer *writer, uint32_t pid)
{
    uint32_t idx;
    bool is_new;
    /* The room is reserved first, so that every id has its element. */
    int err = hs_array_reserve(&writer->pid_states, &writer->pid_capacity,
                               (size_t)writer->pids.count + 1, sizeof(writer->pid_states[0]));
    if (err == 0) {
        err = hs_intern_put(&writer->pids, (struct hs_intern_key){ .lo = pid }, &idx, &is_new);
    }
    if (err != 0) {
        hs_writer_fail(writer, err);
        return NULL;
    }
    if (is_new) {
        writer->pid_states[idx] = (struct hs_pid_state){ 0 };
    }
    return &writer->pid_states[idx];
}

/* Splits at NULs. Arguments beyond the limit are left out. */
static size_t split_cmdline(char *text, size_t bytes, char **args)
{
    size_t count = 0;
    for (size_t at = 0; at < bytes && count < CMDLINE_ARGS_MAX; at += strlen(text + at) + 1) {
        args[count++] = text + at;
    }
    return count;
}

static void write_process(struct hs_trace_writer *writer, const struct hs_trace_process *process,
                          uint32_t ppid, char *cmdline, size_t cmdline_bytes)
{
    char *args[CMDLINE_ARGS_MAX];
    Hs__Pb__ProcessTree__Process out = HS__PB__PROCESS_TREE__PROCESS__INIT, *list[1] = { &out };
    out.has_pid = out.has_ppid = true;
    out.pid = (int32_t)process->pid;
    out.ppid = (int32_t)ppid;
    out.n_cmdline = split_cmdline(cmdline, cmdline_bytes, args);
    out.cmdline = args;
    out.has_uid = process->uid >= 0;
    out.uid = (int32_t)process->uid;
    out.has_process_start_from_boot = process->start_mono_ns != 0;
    out.process_start_from_boot = boottime_of(writer, process->start_mono_ns);
    Hs__Pb__ProcessTree tree = HS__PB__PROCESS_TREE__INIT;
    tree.n_processes = 1;
    tree.processes = list;
    Hs__Pb__TracePacket packet;
    hs_writer_packet_init(writer, &packet,
                          process->start_mono_ns ? process->start_mono_ns
                                                 : writer->clocks.monotonic_ns);
    packet.process_tree = &tree;
    hs_writer_packet(writer, &packet);
}

int hs_trace_writer_process(struct hs_trace_writer *writer, const struct hs_trace_process *process)
{
    if (writer->err != 0 || !writer->has_begun) {
        return writer->err != 0 ? writer->err : -EINVAL;
    }
    size_t bytes = process->cmdline ? process->cmdline_bytes : 0;
    bytes = bytes < CMDLINE_BYTES_MAX ? bytes : CMDLINE_BYTES_MAX;
    char *cmdline = calloc(1, bytes + 1);
    struct hs_pid_state *state = hs_writer_pid(writer, process->pid);
    if (!cmdline) {
        hs_writer_fail(writer, -ENOMEM);
    } else if (state) {
        memcpy(cmdline, bytes ? process->cmdline : "", bytes);
        /* must come before the text is split */
        state->cmdline_hash = hs_intern_hash(cmdline, bytes).lo;
        write_process(writer, process, state->tree_ppid ? state->tree_ppid : process->ppid, cmdline,
                      bytes);
        state->is_announced = true;
        state->uid = process->uid;
    }
    free(cmdline);
    return writer->err;
}

int hs_trace_writer_flush(struct hs_trace_writer *writer, struct hs_trace_place *ret_place)
{
    if (writer->err == 0 && writer->press) {
        writer->err = hs_writer_compress(writer->press, true, &writer->out);
    }
    if (writer->err == 0) {
        writer->err = hs_buf_finish(&writer->out);
    }
    if (ret_place) {
        *ret_place = (struct hs_trace_place){ writer->sequence_id, writer->profile_packet_idx };
    }
    return writer->err;
}

int hs_trace_writer_finish(struct hs_trace_writer *writer)
{
    return hs_trace_writer_flush(writer, NULL);
}
