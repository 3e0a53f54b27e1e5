/*
 * Writes traces of known content, and prints what the loader makes of a trace: for
 * test_trace_protoc.py.
 *
 *     trace_tool write session FILE    two processes, two heaps, three dumps, an exec, symbols
 *     trace_tool write large FILE      one process of 20000 stacks
 *     trace_tool write heaps FILE      one process with heaps of all kinds: heaps_fixture.h
 *     ... SCENARIO-compressed FILE     the same in compressed packets
 *     trace_tool read FILE             JSON on standard output; status 3: empty, 4: no trace
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "../unit/heaps_fixture.h"
#include "profile/read/load.h"
#include "trace/trace_writer.h"

/* --- write --- */

static struct hs_snapshot *session_snapshot(uint32_t pid, uint64_t start_ns, uint64_t time_ns,
                                            double alloc_bytes, double live_bytes)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, start_ns, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, UINT64_C(0x550000000000) + pid * 4096U);
    uint32_t lib = fixture_module(snap, "/usr/lib/libx.so", 2, UINT64_C(0x7f0000000000));
    uint32_t jit = fixture_module(snap, "[anon]", 0, 0);
    uint32_t main_frame = fixture_frame(snap, exe, 0x2100, 0);
    uint32_t f = fixture_frame(snap, lib, 0x2200, 0);
    uint32_t jitted = fixture_frame(snap, jit, 0x7e0000001234, 0);
    uint32_t cut = fixture_frame(snap, 0, HS_FRAME_PC_CUT, HS_FRAME_MARKER);
    uint32_t end = fixture_frame(snap, 0, HS_FRAME_PC_END + HS_STACK_END_NO_INFO, HS_FRAME_MARKER);
    strcpy(snap->heaps[1].name, "mmap");
    snap->heap_count = 2;
    struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ f, main_frame }, 2);
    stack->alloc = fixture_amount(alloc_bytes, alloc_bytes / 100 + 0.5);
    stack->live = fixture_amount(live_bytes, live_bytes / 100);
    stack->peak = fixture_amount(60000, 600);
    stack = fixture_stack(snap, 1, (uint32_t[]){ f, main_frame }, 2);
    stack->alloc = (struct hs_estimate){ 1 << 20, 1, 0, 0 };
    stack->live = live_bytes > 5000 ? stack->alloc : (struct hs_estimate){ 0 };
    stack = fixture_stack(snap, 0, (uint32_t[]){ jitted, f, cut, main_frame, end }, 5);
    stack->alloc = fixture_amount(777.4, 7);
    snap->sample_count = 40;
    snap->stack_end_count[HS_STACK_END_NO_INFO] = 2;
    snap->peak_time_mono_ns = time_ns - 10;
    fixture_totals(snap);
    return snap;
}

static int dump(struct hs_trace_writer *writer, struct hs_snapshot *snap, bool is_final)
{
    snap->is_final = is_final;
    snap->exit_kind = is_final ? HS_EXIT_CODE : HS_EXIT_RUNNING;
    int err = hs_trace_writer_dump(writer, snap);
    hs_snapshot_free(snap);
    return err;
}

static int write_session(struct hs_trace_writer *writer)
{
    const uint64_t s = 1000000000;
    const uint8_t build_id[20] = { 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };
    const struct hs_trace_line lines[] = {
        { .function = "inner(int)", .system_name = "_Z5inneri", .file = "x.cc", .line = 12 },
        { .function = "outer", .file = "x.cc", .line = 90 },
    };
    const struct hs_trace_address address = { .rel_pc = 0x2200, .lines = lines, .line_count = 2 };
    const struct hs_trace_module_symbols symbols = {
        .path = "/usr/lib/libx.so",
        .build_id = build_id,
        .build_id_bytes = sizeof(build_id),
        .addresses = &address,
        .address_count = 1,
    };
    int err = dump(writer, session_snapshot(100, 10 * s, 12 * s, 1e5, 6000), false);
    err |= dump(writer, session_snapshot(101, 11 * s, 12 * s, 1e5, 500), true);
    err |= dump(writer, session_snapshot(100, 10 * s, 13 * s, 2e5, 90000), false);
    err |= dump(writer, session_snapshot(100, 10 * s, 14 * s, 2e5, 2000), true);
    /* Another program under the same pid. */
    err |= dump(writer, session_snapshot(100, 15 * s, 16 * s, 1e5, 300), true);
    err |= hs_trace_writer_module_symbols(writer, &symbols);
    return err;
}

/* Fixed clocks: the same input makes the same file. */
static void read_clocks(void *ctx, struct hs_trace_clocks *ret_clocks)
{
    (void)ctx;
    *ret_clocks = (struct hs_trace_clocks){ .boottime_ns = UINT64_C(9000000000),
                                            .monotonic_ns = UINT64_C(9000000000),
                                            .realtime_ns = UINT64_C(1700000000000000000) };
}

/* A scenario whose name ends in "-compressed" is written in compressed packets. */
static int write_trace(const char *scenario, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct hs_trace_writer_config config = {
        .sink = hs_trace_write_fd,
        .sink_ctx = (void *)(intptr_t)fd,
        .is_compressing = strstr(scenario, "-compressed") != NULL,
        .sequence_id = 77,
        .read_clocks = read_clocks,
    };
    struct hs_trace_writer *writer;
    if (fd < 0 || hs_trace_writer_new(&config, &writer) < 0) {
        return 1;
    }
    int err = hs_trace_writer_begin(writer);
    if (strncmp(scenario, "session", 7) == 0) {
        err |= write_session(writer);
    } else if (strncmp(scenario, "heaps", 5) == 0) {
        err |= dump(writer, fixture_heaps(100, UINT64_C(12000000000)), true);
    } else {
        err |= dump(writer, fixture_typical(100, 20000, 20, UINT64_C(12000000000)), true);
    }
    err |= hs_trace_writer_finish(writer);
    hs_trace_writer_free(writer);
    close(fd);
    return err == 0 ? 0 : 1;
}

/* --- read --- */

static const struct hs_profile *p;

static void put_string(const char *key, uint32_t id, const char *end)
{
    printf("\"%s\": \"", key);
    for (const char *c = hs_profile_string(p, id); *c; c++) {
        printf(*c == '"' || *c == '\\' || (unsigned char)*c < ' ' ? "\\u%04x" : "%c",
               (unsigned char)*c);
    }
    printf("\"%s", end);
}

static void put_amount(const char *key, const struct hs_amount *amount, const char *end)
{
    printf("\"%s\": [%.17g, %.17g, %.17g, %.17g]%s", key, amount->bytes, amount->count,
           amount->bytes_var, amount->count_var, end);
}

static void put_stack(uint32_t node)
{
    printf("\"stack\": [");
    for (; node != HS_NODE_NONE; node = p->nodes[node].parent) {
        const struct hs_profile_frame *frame = &p->frames[p->nodes[node].frame];
        const struct hs_profile_module *module = &p->modules[frame->module];
        printf("{");
        put_string("module", module->path, ", ");
        put_string("build_id", module->build_id_hex, ", ");
        put_string("name", frame->name, ", ");
        printf("\"rel_pc\": %" PRIu64 ", \"kind\": %u, \"lines\": [", frame->rel_pc, frame->kind);
        for (uint32_t i = 0; i < frame->line_count; i++) {
            const struct hs_profile_line *line = &p->lines[frame->line_first + i];
            printf("{");
            put_string("function", line->function, ", ");
            put_string("system_name", line->system_name, ", ");
            put_string("file", line->file, ", ");
            printf("\"line\": %u}%s", line->line, i + 1 < frame->line_count ? ", " : "");
        }
        printf("]}%s", p->nodes[node].parent == HS_NODE_NONE ? "" : ", ");
    }
    printf("]");
}

static void put_dump(const struct hs_profile_dump *d)
{
    const struct hs_profile_process *process = &p->processes[d->process];
    printf("{\"pid\": %u, ", process->pid);
    put_string("name", process->name, ", ");
    put_string("cmdline", process->cmdline, ", ");
    printf("\"process\": %u, \"index\": %u, \"start_ns\": %" PRIu64 ", \"time_ns\": %" PRIu64
           ", \"interval\": %" PRIu64 ", \"sample_count\": %" PRIu64
           ", \"has_peak\": %d, \"is_final\": %d, ",
           d->process, d->index, d->start_ns, d->time_ns, d->interval_bytes, d->sample_count,
           d->has_peak, d->is_final);
    put_amount("live", &d->live, ", ");
    put_amount("alloc", &d->alloc, ", ");
    put_amount("peak", &d->peak, ", \"samples\": [");
    for (uint32_t i = 0; i < d->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[d->sample_first + i];
        printf("%s{", i ? ", " : "");
        put_string("heap", p->heaps[sample->heap], ", ");
        put_amount("alloc", &sample->alloc, ", ");
        put_amount("live", &sample->live, ", ");
        put_amount("peak", &sample->peak, ", ");
        put_stack(sample->node);
        printf("}");
    }
    printf("]}");
}

static int read_trace(const char *path)
{
    struct hs_profile *profile;
    int err = hs_profile_load(path, &profile, NULL);
    if (err != 0) {
        return err == HS_TRACE_E_EMPTY ? 3 : err == HS_TRACE_E_FOREIGN ? 4 : 1;
    }
    p = profile;
    printf("{\"dumps\": [");
    for (uint32_t i = 0; i < p->dump_count; i++) {
        printf("%s", i ? ", " : "");
        put_dump(&p->dumps[i]);
    }
    printf("], \"losses\": [");
    for (uint32_t i = 0; i < p->loss_count; i++) {
        printf("%s[\"%s\", %" PRIu64 "]", i ? ", " : "", hs_profile_string(p, p->losses[i].name),
               p->losses[i].count);
    }
    printf("], \"real_minus_mono_ns\": %" PRIu64 "}\n", p->real_minus_mono_ns);
    hs_profile_free(profile);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        return write_trace(argv[2], argv[3]);
    }
    return argc == 3 && strcmp(argv[1], "read") == 0 ? read_trace(argv[2]) : 2;
}
