/*
 * From snapshots through a file to a profile: everything arrives; so does what other tools see in
 * the file; damaged files are handled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "profile/model/builder.h"
#include "profile/read/load.h"
#include "trace_bytes.h"

static struct hs_profile *load(const struct hs_buf *buf, struct hs_load_report *ret_report)
{
    struct hs_profile *profile = NULL;
    assert_int_equal(hs_profile_load_memory(buf->data, buf->bytes, &profile, ret_report), 0);
    return profile;
}

/* "main;f" of a node, outermost first; modules' basenames and addresses where there is no name. */
static const char *path_of(const struct hs_profile *p, uint32_t node, char *out, size_t bytes)
{
    char rest[512] = "";
    for (; node != HS_NODE_NONE; node = p->nodes[node].parent) {
        const struct hs_profile_frame *frame = &p->frames[p->nodes[node].frame];
        const char *name = hs_profile_string(p, frame->name);
        const char *module = hs_profile_string(p, p->modules[frame->module].path);
        const char *slash = strrchr(module, '/');
        char text[128];
        if (frame->line_count > 0) {
            name = hs_profile_string(p, p->lines[frame->line_first].function);
        }
        if (name[0]) {
            snprintf(text, sizeof(text), "%s", name);
        } else {
            snprintf(text, sizeof(text), "%s+%lx", slash ? slash + 1 : module,
                     (unsigned long)frame->rel_pc);
        }
        snprintf(out, bytes, "%s%s%s", text, rest[0] ? ";" : "", rest);
        snprintf(rest, sizeof(rest), "%s", out);
    }
    return out;
}

static const struct hs_profile_sample *find_sample(const struct hs_profile *p, uint32_t dump,
                                                   const char *heap, const char *path)
{
    char text[512];
    for (uint32_t i = 0; i < p->dumps[dump].samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[p->dumps[dump].sample_first + i];
        if (strcmp(hs_profile_string(p, p->heaps[sample->heap]), heap) == 0 &&
            strcmp(path_of(p, sample->node, text, sizeof(text)), path) == 0) {
            return sample;
        }
    }
    return NULL;
}

static void check_amount(struct hs_amount got, struct hs_estimate expected)
{
    assert_true(fabs(got.bytes - expected.bytes) <= 0.5);
    assert_true(fabs(got.count - expected.count) <= 1.0 / 2048);
    /* The file keeps twelve bits of the variance. */
    assert_true(fabs(got.bytes_var - expected.bytes_var) <= expected.bytes_var / 4000);
    assert_true(fabs(got.count_var - expected.count_var) <= expected.count_var / 4000);
}

static const struct hs_profile_loss *find_loss(const struct hs_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->loss_count; i++) {
        if (strcmp(hs_profile_string(p, p->losses[i].name), name) == 0) {
            return &p->losses[i];
        }
    }
    return NULL;
}

/* A snapshot with everything that it can hold. Stacks: main;f main;jit [cut in the middle] */
static struct hs_snapshot *full(uint64_t time_ns)
{
    struct hs_snapshot *snap = fixture_snapshot(42, 2000000, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, 0x550000000000);
    uint32_t lib = fixture_module(snap, "/usr/lib/libx.so", 2, 0x7f0000000000);
    uint32_t jit = fixture_module(snap, "[anon]", 0, 0);
    uint32_t main_frame = fixture_frame(snap, exe, 0x2100, 0);
    uint32_t f = fixture_frame(snap, lib, 0x2200, 0);
    uint32_t jitted = fixture_frame(snap, jit, 0x7e0000001234, 0);
    uint32_t cut = fixture_frame(snap, 0, HS_FRAME_PC_CUT, HS_FRAME_MARKER);
    uint32_t end =
        fixture_frame(snap, 0, HS_FRAME_PC_END + HS_STACK_END_UNREADABLE, HS_FRAME_MARKER);
    snap->heap_count = 3;
    strcpy(snap->heaps[2].name, "mmap"); /* heap 1 has no name: unused */
    struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ f, main_frame }, 2);
    stack->alloc = fixture_amount(123456, 1234.125);
    stack->live = fixture_amount(4096, 40.0009765625);
    stack->peak = fixture_amount(65536, 321.5);
    stack = fixture_stack(snap, 2, (uint32_t[]){ f, main_frame }, 2);
    stack->alloc = stack->live = (struct hs_estimate){ 1048576, 1, 0, 0 };
    stack = fixture_stack(snap, 0, (uint32_t[]){ jitted, main_frame }, 2);
    stack->alloc = stack->peak = fixture_amount(777, 7);
    stack = fixture_stack(snap, 0, (uint32_t[]){ f, f, cut, f, end }, 5);
    stack->alloc = fixture_amount(5, 1);
    snap->stack_end_count[HS_STACK_END_UNREADABLE] = 12;
    snap->stack_end_count[HS_STACK_END] = 1000;
    snap->lost_count[HS_LOSS_NO_MEMORY] = 3;
    snap->bad_count = 2;
    snap->peak_time_mono_ns = time_ns - 77;
    snap->rss_bytes = 10 << 20;
    snap->rss_peak_bytes = 20 << 20;
    snap->region_bytes = 1 << 20;
    snap->sample_count = 1012;
    snap->free_count = 900;
    snap->replay_count = 800;
    snap->walk_count = 212;
    snap->interval_bytes = 8192;
    snap->threads = calloc(2, sizeof(snap->threads[0]));
    snap->thread_count = 2;
    snap->threads[0] = (struct hs_snap_thread){ .tid = 42, .name = "main" };
    snap->threads[1] = (struct hs_snap_thread){
        .tid = 43, .name = "worker", .start_ms = 5, .live = { 100, 2, 3, 4 }
    };
    return snap;
}

static void check_full_head(const struct hs_profile *p, const struct hs_snapshot *snap)
{
    const struct hs_profile_dump *dump = &p->dumps[0];
    assert_true(dump->start_ns == snap->start_mono_ns && dump->time_ns == snap->time_mono_ns);
    assert_true(dump->peak_time_ns == snap->peak_time_mono_ns && dump->has_peak);
    assert_true(dump->interval_bytes == 8192 && dump->orig_interval_bytes == 4096);
    assert_true(dump->rss_bytes == snap->rss_bytes && dump->rss_peak_bytes == snap->rss_peak_bytes);
    assert_true(dump->has_scaled_counts && dump->has_samples && !dump->is_incomplete);
    assert_true(dump->sample_count == 1012 && dump->free_count == 900);
    assert_true(dump->replay_count == 800 && dump->walk_count == 212);
    assert_true(dump->region_bytes == 1 << 20);
    /* Totals are stored as doubles. */
    assert_true(dump->live.bytes == snap->live.bytes && dump->live.count == snap->live.count);
    assert_true(dump->alloc.bytes_var == snap->alloc.bytes_var);
    assert_true(dump->peak.count_var == snap->peak.count_var);
    const struct hs_profile_process *process = &p->processes[0];
    assert_true(process->pid == 42 && process->ppid == 41 && process->is_from_startup);
    assert_string_equal(hs_profile_string(p, process->name), "prog42");
    assert_string_equal(hs_profile_string(p, process->exe), "/usr/bin/prog");
    assert_string_equal(hs_profile_string(p, process->cmdline), "prog -x a b");
    assert_string_equal(hs_profile_string(p, process->malloc_path), "/lib/libc.so.6");
    assert_true(p->real_minus_mono_ns == TEST_REAL_NS);
}

static void test_everything_arrives(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    struct hs_snapshot *snap = full(5000000);
    fixture_totals(snap);
    assert_int_equal(hs_trace_writer_dump(writer, snap), 0);
    struct hs_snapshot *last = full(6000000);
    last->is_final = last->has_own_malloc = true;
    last->exit_kind = HS_EXIT_SIGNAL;
    last->exit_value = 9;
    strcpy(last->malloc_path, "/usr/lib/libjemalloc.so.2"); /* found only later */
    dump_and_free(writer, last);
    finish_writer(writer);

    struct hs_load_report report;
    struct hs_profile *p = load(&buf, &report);
    assert_true(report.has_our_packets && report.format_version == 1);
    assert_true(p->dump_count == 2 && p->process_count == 1 && p->heap_count == 2);
    const struct hs_profile_process *process = &p->processes[0];
    assert_string_equal(hs_profile_string(p, process->malloc_path), "/usr/lib/libjemalloc.so.2");
    assert_true(process->exit_kind == HS_EXIT_SIGNAL && process->exit_value == 9);
    assert_true(process->has_own_malloc && process->end_ns == 6000000 && process->last_dump == 1);
    assert_true(p->dumps[1].is_final && !p->dumps[0].is_final && p->dumps[1].index == 1);
    hs_profile_free(p);

    /*
     * The second dump changed nothing, so both have the same contents. The header of the first one:
     */
    buf.bytes = 0;
    writer = writer_to(&buf, 9);
    assert_int_equal(hs_trace_writer_dump(writer, snap), 0);
    finish_writer(writer);
    p = load(&buf, &report);
    check_full_head(p, snap);
    assert_int_equal(p->dumps[0].samples_n, 4);
    const struct hs_profile_sample *s = find_sample(p, 0, "libc.malloc", "prog+2100;libx.so+2200");
    assert_non_null(s);
    check_amount(s->alloc, snap->stacks[0].alloc);
    check_amount(s->live, snap->stacks[0].live);
    check_amount(s->peak, snap->stacks[0].peak);
    s = find_sample(p, 0, "mmap", "prog+2100;libx.so+2200");
    assert_non_null(s);
    check_amount(s->live, snap->stacks[1].live);
    assert_true(s->live.bytes_var == 0);
    s = find_sample(p, 0, "libc.malloc", "prog+2100;[anon]+7e0000001234");
    assert_non_null(s);
    assert_int_equal(p->frames[p->nodes[s->node].frame].kind, HS_FRAME_KIND_JIT);
    s = find_sample(p, 0, "libc.malloc",
                    "ERROR UNREADABLE;libx.so+2200;[stack cut];libx.so+2200;libx.so+2200");
    assert_non_null(s);
    uint32_t outer = s->node;
    while (p->nodes[outer].parent != HS_NODE_NONE) {
        outer = p->nodes[outer].parent;
    }
    assert_int_equal(p->frames[p->nodes[outer].frame].kind, HS_FRAME_KIND_MARKER);

    for (uint32_t i = 0; i < p->module_count; i++) {
        const struct hs_profile_module *module = &p->modules[i];
        if (strcmp(hs_profile_string(p, module->path), "/usr/lib/libx.so") == 0) {
            assert_true(module->bias_va == 0x7f0000000000 && module->exec_off == 0x1000);
            assert_true(module->start_va == 0x7f0000002000 && module->end_va == 0x7f0000008000);
            assert_int_equal(module->build_id_bytes, 20);
            assert_memory_equal(module->build_id, snap->modules[2].build_id, 20);
            assert_string_equal(hs_profile_string(p, module->build_id_hex),
                                "0002020202020202020202020202020202020202");
        }
    }
    assert_int_equal(p->thread_count, 2);
    assert_string_equal(hs_profile_string(p, p->threads[1].name), "worker");
    assert_true(p->threads[1].tid == 43 && p->threads[1].start_ns == 7000000);
    assert_true(p->threads[1].live.bytes == 100 && p->threads[1].live.count_var == 4);
    assert_int_equal(p->loss_count, 4);
    assert_true(find_loss(p, "stack_cut_middle")->count ==
                1); /* the marker of one stack of the fixture */
    assert_int_equal(find_loss(p, "stack_cut_unreadable")->count, 12);
    assert_false(find_loss(p, "stack_cut_unreadable")->is_serious);
    assert_int_equal(find_loss(p, "no_memory")->count, 3);
    assert_true(find_loss(p, "no_memory")->is_serious);
    assert_int_equal(find_loss(p, "bad_elements")->process, 0);
    hs_profile_free(p);
    hs_snapshot_free(snap);
    hs_buf_deinit(&buf);
}

/* Later dumps also contain unchanged stacks, and stacks may return to zero. */
static void test_dumps_are_absolute(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    dump_and_free(writer, full(5000000));
    struct hs_snapshot *snap = full(6000000);
    snap->stacks[0].live = fixture_amount(0, 0);
    snap->stacks[2].alloc = fixture_amount(1000, 9);
    uint32_t extra = fixture_frame(snap, 1, 0x3333, 0);
    fixture_stack(snap, 0, (uint32_t[]){ extra }, 1)->alloc = fixture_amount(11, 1);
    dump_and_free(writer, snap);
    dump_and_free(writer, fixture_typical(77, 50, 6, 7000000));
    finish_writer(writer);
    struct hs_profile *p = load(&buf, NULL);
    assert_int_equal(p->dump_count, 3);
    assert_int_equal(p->dumps[0].samples_n, 4);
    assert_int_equal(p->dumps[1].samples_n, 5);
    assert_true(p->dumps[1].start_ns >= 5000000 && p->dumps[1].start_ns < 5000100);
    const char *path = "prog+2100;libx.so+2200";
    assert_true(find_sample(p, 0, "libc.malloc", path)->live.bytes == 4096);
    assert_true(find_sample(p, 1, "libc.malloc", path)->live.bytes == 0);
    assert_true(find_sample(p, 1, "libc.malloc", path)->alloc.bytes == 123456);
    assert_true(find_sample(p, 1, "mmap", path)->live.bytes == 1048576);
    path = "prog+2100;[anon]+7e0000001234";
    assert_true(find_sample(p, 0, "libc.malloc", path)->alloc.bytes == 777);
    assert_true(find_sample(p, 1, "libc.malloc", path)->alloc.bytes == 1000);
    assert_null(find_sample(p, 0, "libc.malloc", "prog+3333"));
    assert_non_null(find_sample(p, 1, "libc.malloc", "prog+3333"));
    assert_int_equal(p->dumps[2].process, 1);
    assert_int_equal(p->dumps[2].index, 0);
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

/* Removes our own packets from a trace, which leaves what other tools see. */
static void without_ours(const struct hs_buf *from, struct hs_buf *to)
{
    Hs__Pb__Trace *trace = hs__pb__trace__unpack(NULL, from->bytes, (const uint8_t *)from->data);
    assert_non_null(trace);
    for (size_t i = 0; i < trace->n_packet; i++) {
        if (trace->packet[i]->heapscope) {
            hs__pb__heapscope_packet__free_unpacked(trace->packet[i]->heapscope, NULL);
            trace->packet[i]->heapscope = NULL;
        }
    }
    size_t bytes = hs__pb__trace__get_packed_size(trace);
    uint8_t *packed = malloc(bytes);
    hs__pb__trace__pack(trace, packed);
    hs_buf_add(to, packed, bytes);
    free(packed);
    hs__pb__trace__free_unpacked(trace, NULL);
}

static void test_as_others_see_it(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT, bare = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    dump_and_free(writer, full(5000000));
    struct hs_snapshot *snap = full(6000000);
    snap->stacks[0].live = fixture_amount(96, 1);
    snap->is_final = true;
    snap->exit_kind = HS_EXIT_CODE;
    dump_and_free(writer, snap);
    snap = full(8000000); /* exec: the same stacks count from zero again */
    snap->start_mono_ns = 7000000;
    dump_and_free(writer, snap);
    finish_writer(writer);
    without_ours(&buf, &bare);

    struct hs_load_report report;
    struct hs_profile *p = load(&bare, &report);
    assert_true(!report.has_our_packets && report.missing_packet_count == 0);
    assert_true(report.falling_sample_count == 0 && report.unresolved_stack_count == 0);
    assert_int_equal(p->process_count, 1);
    assert_int_equal(p->dump_count, 4); /* including the dump that frees what was left */
    assert_string_equal(hs_profile_string(p, p->processes[0].name), "prog");
    assert_true(p->dumps[0].start_ns == 2000000 && p->dumps[0].time_ns == 5000002);
    assert_true(!p->dumps[0].has_scaled_counts && p->dumps[0].interval_bytes == 8192);
    assert_int_equal(p->dumps[0].sample_count, 1012);
    const char *path = "prog+2100;libx.so+2200";
    const struct hs_profile_sample *s = find_sample(p, 0, "libc.malloc", path);
    assert_true(s->alloc.bytes == 123456 && s->live.bytes == 4096);
    assert_true(s->alloc.count == 1234 && s->live.count == 40);
    assert_true(s->alloc.bytes_var == 8192.0 * 123456);
    assert_true(find_sample(p, 0, "mmap", path)->live.bytes == 1048576);
    s = find_sample(p, 1, "libc.malloc", path);
    assert_true(s->alloc.bytes == 123456 && s->live.bytes == 96);
    assert_true(p->dumps[1].is_final && p->dumps[1].live.bytes == 1048576 + 96);
    assert_true(p->dumps[2].live.bytes == 0 && p->dumps[2].time_ns >= 7000000);
    s = find_sample(p, 3, "libc.malloc", path);
    assert_true(s->alloc.bytes == 2 * 123456 && s->live.bytes == 4096);
    hs_profile_free(p);
    hs_buf_deinit(&buf);
    hs_buf_deinit(&bare);
}

/* Symbols behind the profile, from a writer of their own, as in files joined by `cat`. */
static void test_symbols(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    struct hs_snapshot *snap = full(5000000);
    fixture_totals(snap);
    assert_int_equal(hs_trace_writer_dump(writer, snap), 0);
    finish_writer(writer);
    struct hs_trace_writer_config config = { .sink = keep_bytes, .sink_ctx = &buf };
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    const struct hs_trace_line lines[] = {
        { .function = "inner(int)", .system_name = "_Z5inneri", .file = "/src/x.c", .line = 12 },
        { .function = "f", .file = "/src/y.c", .line = 34 },
    };
    const struct hs_trace_address address = { .rel_pc = 0x2200, .lines = lines, .line_count = 2 };
    struct hs_trace_module_symbols symbols = {
        .path = snap->modules[2].path,
        .build_id = snap->modules[2].build_id,
        .build_id_bytes = 20,
        .addresses = &address,
        .address_count = 1,
    };
    assert_int_equal(hs_trace_writer_module_symbols(writer, &symbols), 0);
    finish_writer(writer);
    struct hs_profile *p = load(&buf, NULL);
    const struct hs_profile_sample *s = find_sample(p, 0, "libc.malloc", "prog+2100;inner(int)");
    assert_non_null(s);
    const struct hs_profile_frame *frame = &p->frames[p->nodes[s->node].frame];
    assert_int_equal(frame->line_count, 2);
    const struct hs_profile_line *line = &p->lines[frame->line_first];
    assert_string_equal(hs_profile_string(p, line[0].system_name), "_Z5inneri");
    assert_string_equal(hs_profile_string(p, line[0].file), "/src/x.c");
    assert_int_equal(line[0].line, 12);
    assert_string_equal(hs_profile_string(p, line[1].function), "f");
    assert_string_equal(hs_profile_string(p, line[1].system_name), "f");
    assert_true(p->modules[frame->module].is_symbolized);
    hs_profile_free(p);
    hs_snapshot_free(snap);
    hs_buf_deinit(&buf);
}

/* Two files joined, also with the same sequence id in both, as in `cat a a`. */
static void test_concatenated(void **state)
{
    (void)state;
    for (uint32_t second_id = 9; second_id <= 10; second_id++) {
        struct hs_buf buf = HS_BUF_INIT;
        struct hs_trace_writer *writer = writer_to(&buf, 9);
        dump_and_free(writer, full(5000000));
        finish_writer(writer);
        writer = writer_to(&buf, second_id);
        dump_and_free(writer, fixture_typical(77, 50, 6, 7000000));
        dump_and_free(writer, full(5000000));
        finish_writer(writer);
        struct hs_profile *p = load(&buf, NULL);
        assert_true(p->process_count == 3 && p->dump_count == 3 && p->loss_count == 8);
        const char *path = "prog+2100;libx.so+2200";
        assert_true(find_sample(p, 0, "mmap", path)->live.bytes == 1048576);
        assert_true(find_sample(p, 2, "mmap", path)->live.bytes == 1048576);
        assert_true(p->dumps[1].live.bytes > 0);
        hs_profile_free(p);
        hs_buf_deinit(&buf);
    }
}

/*
 * A writer that was killed, and another that continues: each process is one, in our reader and in
 * others.
 */
static void test_continued(void **state)
{
    const bool *is_compressing = *state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_place place;
    struct hs_trace_writer_config config = { .sink = keep_bytes,
                                             .sink_ctx = &buf,
                                             .is_compressing = *is_compressing,
                                             .sequence_id = 9,
                                             .read_clocks = still_clocks };
    struct hs_trace_writer *writer = NULL;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    dump_and_free(writer, full(5000000));
    dump_and_free(writer, fixture_typical(77, 50, 6, 5000000));
    assert_int_equal(hs_trace_writer_flush(writer, &place), 0);
    size_t good_bytes = buf.bytes;
    dump_and_free(writer, full(5500000));
    hs_trace_writer_free(writer);
    assert_true(is_compressing[0] || buf.bytes == good_bytes);
    buf.bytes = good_bytes;

    assert_true(place.sequence_id == 9 && place.profile_packet_count > 0);
    config.continued = place;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    struct hs_snapshot *snap = full(6000000);
    snap->stacks[2].alloc = fixture_amount(1000, 9);
    snap->lost_count[HS_LOSS_NO_MEMORY] = 4;
    dump_and_free(writer, snap);
    dump_and_free(writer, fixture_typical(78, 50, 6, 6000000));
    finish_writer(writer);

    struct hs_load_report report;
    struct hs_profile *p = load(&buf, &report);
    assert_int_equal(p->process_count, 3);
    assert_int_equal(p->dump_count, 4);
    assert_true(p->dumps[2].process == p->dumps[0].process && p->dumps[2].index == 1);
    assert_true(p->dumps[2].start_ns == 5000000);
    const char *path = "prog+2100;[anon]+7e0000001234";
    assert_true(find_sample(p, 0, "libc.malloc", path)->alloc.bytes == 777);
    assert_true(find_sample(p, 2, "libc.malloc", path)->alloc.bytes == 1000);
    assert_true(find_sample(p, 2, "mmap", "prog+2100;libx.so+2200")->live.bytes == 1048576);
    assert_int_equal(find_loss(p, "no_memory")->count, 4);
    assert_int_equal(p->thread_count, 2);
    assert_true(report.missing_packet_count == 0 && report.lost_dump_count == 0);
    hs_profile_free(p);

    if (!*is_compressing) {
        struct hs_buf others = HS_BUF_INIT;
        without_ours(&buf, &others);
        p = load(&others, &report);
        assert_int_equal(p->process_count, 3);
        assert_int_equal(report.missing_packet_count, 0);
        hs_profile_free(p);
        hs_buf_deinit(&others);
    }
    hs_buf_deinit(&buf);
}

/*
 * A daemon has written a snapshot with a name, and was killed before it could forget the
 * snapshot's cut: the next daemon writes it again.
 */
static void test_written_twice(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_place place;
    struct hs_trace_writer_config config = {
        .sink = keep_bytes, .sink_ctx = &buf, .sequence_id = 9, .read_clocks = still_clocks
    };
    struct hs_trace_writer *writer = NULL;
    struct hs_snapshot *snap = full(5000000);
    strcpy(snap->name, "after load");
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    dump_and_free(writer, snap);
    assert_int_equal(hs_trace_writer_flush(writer, &place), 0);
    hs_trace_writer_free(writer);

    config.continued = place;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    for (int i = 0; i < 3; i++) {
        snap = full(i == 0 ? 5000000 : 6000000);
        strcpy(snap->name, i < 2 ? "after load" : "at the end");
        dump_and_free(writer, snap);
    }
    finish_writer(writer);
    struct hs_profile *p = load(&buf, NULL);
    assert_int_equal(p->dump_count, 3);
    assert_true(p->dumps[0].time_ns == 5000000 && p->dumps[1].time_ns == 6000000);
    assert_string_equal(hs_profile_string(p, p->dumps[2].name), "at the end");
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

/*
 * Cut at any place: packets that were complete before the cut are there, and the loss is reported.
 */
static void test_truncated(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    dump_and_free(writer, full(5000000));
    size_t first_bytes = buf.bytes;
    assert_int_equal(hs_trace_writer_finish(writer), 0);
    first_bytes = buf.bytes;
    struct hs_snapshot *snap = full(6000000);
    snap->stacks[0].live = fixture_amount(0, 0);
    dump_and_free(writer, snap);
    finish_writer(writer);
    uint32_t incomplete = 0, complete = 0, lost = 0;
    for (size_t bytes = 200; bytes < buf.bytes; bytes++) {
        struct hs_load_report report;
        struct hs_profile *p = NULL;
        int err = hs_profile_load_memory(buf.data, bytes, &p, &report);
        assert_int_equal(err, 0);
        if (bytes >= first_bytes) {
            assert_true(p->dump_count >= 1 && !p->dumps[0].is_incomplete);
            assert_int_equal(p->dumps[0].samples_n, 4);
        }
        if (p->dump_count == 1 && p->dumps[0].is_incomplete) {
            incomplete++;
            assert_non_null(find_loss(p, "dumps_incomplete"));
        }
        if (p->dump_count == 2) {
            complete++;
            assert_false(p->dumps[1].is_incomplete);
        }
        lost += report.lost_dump_count > 0;
        hs_profile_free(p);
    }
    assert_true(incomplete > 0 && complete > 0 && lost > 0);
    hs_buf_deinit(&buf);
}

/*
 * Each byte flipped in turn: no crash, and no invariant broken (the address sanitizer checks
 * accesses).
 */
static void test_damaged(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    dump_and_free(writer, full(5000000));
    dump_and_free(writer, full(6000000));
    finish_writer(writer);
    uint32_t told = 0;
    for (size_t at = 0; at < buf.bytes; at++) {
        buf.data[at] = (char)(buf.data[at] ^ 0x55);
        struct hs_profile *p = load(&buf, NULL);
        buf.data[at] = (char)(buf.data[at] ^ 0x55);
        for (uint32_t i = 0; i < p->sample_count; i++) {
            assert_true(p->samples[i].node < p->node_count && p->samples[i].heap < p->heap_count);
            assert_true(p->samples[i].live.bytes >= 0 && p->samples[i].alloc.bytes_var >= 0);
        }
        told += find_loss(p, "file_bad_packets") || find_loss(p, "file_skipped_bytes");
        hs_profile_free(p);
    }
    assert_true(told > buf.bytes / 20);
    hs_buf_deinit(&buf);
}

static void put_trace(struct hs_buf *buf, Hs__Pb__TracePacket **packets, size_t count)
{
    Hs__Pb__Trace trace = HS__PB__TRACE__INIT;
    trace.n_packet = count;
    trace.packet = packets;
    size_t bytes = hs__pb__trace__get_packed_size(&trace);
    uint8_t *packed = malloc(bytes);
    hs__pb__trace__pack(&trace, packed);
    hs_buf_add(buf, packed, bytes);
    free(packed);
}

/* Figures that are not numbers, columns of different lengths, references to missing entries. */
static void test_hostile_values(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    Hs__Pb__TracePacket packet[3], *packets[3] = { &packet[0], &packet[1], &packet[2] };
    Hs__Pb__HeapscopePacket ours[3];
    for (int i = 0; i < 3; i++) {
        hs__pb__trace_packet__init(&packet[i]);
        hs__pb__heapscope_packet__init(&ours[i]);
        packet[i].has_trusted_packet_sequence_id = true;
        packet[i].trusted_packet_sequence_id = 5;
        packet[i].heapscope = &ours[i];
    }
    Hs__Pb__HsAmount amount = HS__PB__HS_AMOUNT__INIT;
    amount.has_bytes = amount.has_count = amount.has_bytes_var = amount.has_count_var = true;
    amount.bytes = -5;
    amount.count = NAN;
    amount.bytes_var = INFINITY;
    amount.count_var = 1e308;
    Hs__Pb__HsDump dump = HS__PB__HS_DUMP__INIT;
    dump.live = dump.alloc = dump.peak = &amount;
    dump.has_exit_kind = dump.has_process_idx = true;
    dump.exit_kind = 99;
    dump.process_idx = UINT32_MAX;
    uint64_t losses[40];
    for (int i = 0; i < 40; i++) {
        losses[i] = UINT64_MAX;
    }
    dump.n_lost_count = dump.n_stack_end_count = 40;
    dump.lost_count = dump.stack_end_count = losses;
    ours[0].dump = &dump;
    int64_t deltas[3] = { INT64_MAX, INT64_MAX, INT64_MIN };
    uint32_t heaps[1] = { UINT32_MAX };
    uint32_t vars[2] = { UINT32_MAX, 0x7f8ff };
    uint64_t bytes[3] = { UINT64_MAX, 1, 2 };
    Hs__Pb__HsRows rows = HS__PB__HS_ROWS__INIT;
    rows.has_process_idx = true;
    rows.process_idx = UINT32_MAX;
    rows.n_callstack_iid_delta = rows.n_alloc_bytes = 3;
    rows.callstack_iid_delta = deltas;
    rows.n_heap = 1;
    rows.heap = heaps;
    rows.n_live_bytes_var = 2;
    rows.live_bytes_var = vars;
    rows.alloc_bytes = bytes;
    ours[1].rows = &rows;
    Hs__Pb__HsDumpEnd end = HS__PB__HS_DUMP_END__INIT;
    end.has_process_idx = end.has_row_count = true;
    end.process_idx = UINT32_MAX;
    end.row_count = 3;
    ours[2].dump_end = &end;
    put_trace(&buf, packets, 3);
    struct hs_load_report report;
    struct hs_profile *p = load(&buf, &report);
    assert_true(p->dump_count == 1 && p->dumps[0].samples_n >= 1);
    assert_true(p->dumps[0].live.bytes == 0 && p->dumps[0].live.count == 0);
    assert_true(p->dumps[0].live.bytes_var == 0 && p->dumps[0].live.count_var == 0);
    assert_int_equal(p->processes[0].exit_kind, HS_EXIT_RUNNING);
    for (uint32_t i = 0; i < p->sample_count; i++) {
        assert_true(p->samples[i].live.bytes_var == 0);
        assert_true(isfinite(p->samples[i].alloc.bytes));
    }
    assert_true(report.unresolved_stack_count > 0);
    assert_non_null(find_loss(p, "lost_other"));
    assert_non_null(find_loss(p, "stack_cut_other"));
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

/*
 * A dump of many stacks, followed by thousands of headers of further dumps: each takes a few bytes
 * in the file, but all the stacks in a profile.
 */
static void test_many_dumps(void **state)
{
    (void)state;
    enum { STACKS = 5000, DUMPS = 3000 };
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 9);
    dump_and_free(writer, fixture_typical(42, STACKS, 6, 5000000000));
    finish_writer(writer);
    Hs__Pb__HsAmount live = HS__PB__HS_AMOUNT__INIT;
    Hs__Pb__HsDump dump = HS__PB__HS_DUMP__INIT;
    Hs__Pb__HsDumpEnd end = HS__PB__HS_DUMP_END__INIT;
    Hs__Pb__HeapscopePacket ours = HS__PB__HEAPSCOPE_PACKET__INIT;
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT, *packets[1] = { &packet };
    dump.live = &live;
    live.has_bytes = true;
    ours.dump = &dump;
    ours.dump_end = &end;
    packet.has_trusted_packet_sequence_id = true;
    packet.trusted_packet_sequence_id = 9;
    packet.heapscope = &ours;
    for (uint64_t i = 1; i < DUMPS; i++) {
        live.bytes = (double)i;
        put_trace(&buf, packets, 1);
    }
    assert_true(buf.bytes < 1 << 20);
    struct hs_profile *p = load(&buf, NULL);
    /* And not 15 million samples, which would take 1.6 GB. */
    assert_true(p->sample_count <= HS_BUILDER_SAMPLES_MAX + STACKS);
    assert_int_equal(p->dump_count, DUMPS);
    assert_true(p->dumps[0].has_samples && !p->dumps[DUMPS - 2].has_samples);
    assert_true(p->dumps[DUMPS - 1].has_samples);
    assert_true(p->dumps[DUMPS - 1].samples_n == p->dumps[0].samples_n);
    assert_true(p->dumps[DUMPS - 2].live.bytes == DUMPS - 2);
    assert_true(find_loss(p, "dumps_thinned")->count > DUMPS / 2);
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

/* A kilobyte that could expand to gigabytes: paths that repeat one long part. */
static void test_amplification(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    enum { PART = 60000, PARTS = 3000, MAPPINGS = 100 };
    char *part = calloc(1, PART);
    memset(part, 'x', PART);
    Hs__Pb__InternedString string = HS__PB__INTERNED_STRING__INIT, *strings[1] = { &string };
    string.has_iid = string.has_str = true;
    string.iid = 1;
    string.str = (ProtobufCBinaryData){ .len = PART, .data = (uint8_t *)part };
    uint64_t ones[PARTS];
    for (int i = 0; i < PARTS; i++) {
        ones[i] = 1;
    }
    Hs__Pb__Mapping mappings[MAPPINGS], *mapping_pointers[MAPPINGS];
    Hs__Pb__Frame frames[MAPPINGS], *frame_pointers[MAPPINGS];
    uint64_t frame_ids[MAPPINGS];
    for (uint64_t i = 0; i < MAPPINGS; i++) {
        mapping_pointers[i] = &mappings[i];
        hs__pb__mapping__init(&mappings[i]);
        mappings[i].has_iid = mappings[i].has_exact_offset = true;
        mappings[i].iid = mappings[i].exact_offset = i + 1;
        mappings[i].n_path_string_ids = PARTS;
        mappings[i].path_string_ids = ones;
        frame_pointers[i] = &frames[i];
        hs__pb__frame__init(&frames[i]);
        frames[i].has_iid = frames[i].has_mapping_id = true;
        frames[i].iid = frames[i].mapping_id = frame_ids[i] = i + 1;
    }
    Hs__Pb__Callstack stack = HS__PB__CALLSTACK__INIT, *stacks[1] = { &stack };
    stack.has_iid = true;
    stack.iid = 1;
    stack.n_frame_ids = MAPPINGS;
    stack.frame_ids = frame_ids;
    Hs__Pb__InternedData data = HS__PB__INTERNED_DATA__INIT;
    data.n_mapping_paths = data.n_callstacks = 1;
    data.mapping_paths = strings;
    data.n_mappings = data.n_frames = MAPPINGS;
    data.mappings = mapping_pointers;
    data.frames = frame_pointers;
    data.callstacks = stacks;
    Hs__Pb__ProfilePacket__HeapSample sample = HS__PB__PROFILE_PACKET__HEAP_SAMPLE__INIT;
    Hs__Pb__ProfilePacket__HeapSample *samples[1] = { &sample };
    sample.has_callstack_id = sample.has_self_allocated = true;
    sample.callstack_id = sample.self_allocated = 1;
    Hs__Pb__ProfilePacket__ProcessHeapSamples heap =
        HS__PB__PROFILE_PACKET__PROCESS_HEAP_SAMPLES__INIT;
    Hs__Pb__ProfilePacket__ProcessHeapSamples *heaps[1] = { &heap };
    heap.n_samples = 1;
    heap.samples = samples;
    Hs__Pb__ProfilePacket profile = HS__PB__PROFILE_PACKET__INIT;
    profile.n_process_dumps = 1;
    profile.process_dumps = heaps;
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT, *packets[1] = { &packet };
    packet.has_trusted_packet_sequence_id = true;
    packet.trusted_packet_sequence_id = 5;
    packet.interned_data = &data;
    packet.profile_packet = &profile;
    put_trace(&buf, packets, 1);
    free(part);
    struct hs_profile *p = load(&buf, NULL);
    assert_int_equal(p->frame_count, MAPPINGS);
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < p->string_count; i++) {
        text_bytes += strlen(p->strings[i]);
    }
    assert_true(text_bytes < 2 << 20); /* and not 18 GB */
    hs_profile_free(p);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_arrives),
        cmocka_unit_test(test_dumps_are_absolute),
        cmocka_unit_test(test_as_others_see_it),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_concatenated),
        cmocka_unit_test_prestate(test_continued, &(bool){ false }),
        cmocka_unit_test_prestate(test_continued, &(bool){ true }),
        cmocka_unit_test(test_written_twice),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_hostile_values),
        cmocka_unit_test(test_many_dumps),
        cmocka_unit_test(test_amplification),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
