/* The writer's output, packet by packet: the rules that a trace must follow. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heaps_fixture.h"
#include "trace/trace_counters.h"
#include "trace_bytes.h"

#define PACKETS_MAX 4096

/* Every packet of a trace, decoded separately, and the tables that all of them make together. */
struct trace {
    Hs__Pb__TracePacket *packets[PACKETS_MAX];
    size_t count;
    size_t frames, callstacks, mappings;
};

static void decode_trace(const struct hs_buf *buf, struct trace *trace)
{
    Hs__Pb__Trace *whole = hs__pb__trace__unpack(NULL, buf->bytes, (const uint8_t *)buf->data);
    assert_non_null(whole);
    assert_true(whole->n_packet < PACKETS_MAX);
    *trace = (struct trace){ .count = whole->n_packet };
    for (size_t i = 0; i < whole->n_packet; i++) {
        Hs__Pb__TracePacket *packet = trace->packets[i] = whole->packet[i];
        assert_int_equal(packet->base.n_unknown_fields, 0);
        if (packet->interned_data) {
            trace->frames += packet->interned_data->n_frames;
            trace->callstacks += packet->interned_data->n_callstacks;
            trace->mappings += packet->interned_data->n_mappings;
        }
    }
    free(whole->packet);
    free(whole);
}

static void free_trace(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        hs__pb__trace_packet__free_unpacked(trace->packets[i], NULL);
    }
}

/* Two modules, one stack main -> f, and one that is cut: ERROR -> f. */
static struct hs_snapshot *small(uint32_t pid, uint64_t start_ns, uint64_t time_ns, uint64_t bias)
{
    struct hs_snapshot *snap = fixture_snapshot(pid, start_ns, time_ns);
    uint32_t exe = fixture_module(snap, "/usr/bin/prog", 1, bias);
    uint32_t lib = fixture_module(snap, "/usr//lib/libx.so", 2, bias + 0x100000);
    uint32_t main_frame = fixture_frame(snap, exe, 0x2100, 0);
    uint32_t f = fixture_frame(snap, lib, 0x2200, 0);
    uint32_t cut = fixture_frame(snap, 0, HS_FRAME_PC_END + HS_STACK_END_NO_INFO, HS_FRAME_MARKER);
    struct hs_snap_stack *stack = fixture_stack(snap, 0, (uint32_t[]){ f, main_frame }, 2);
    stack->alloc = fixture_amount(1000, 10);
    stack->live = fixture_amount(400, 4);
    stack = fixture_stack(snap, 0, (uint32_t[]){ f, cut }, 2);
    stack->alloc = fixture_amount(50, 1.5);
    return snap;
}

static void test_start(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    finish_writer(writer_to(&buf, 7));
    assert_int_equal(buf.data[0], 0x0A);
    struct trace trace;
    decode_trace(&buf, &trace);
    assert_int_equal(trace.count, 2);
    const Hs__Pb__ClockSnapshot *clocks = trace.packets[0]->clock_snapshot;
    assert_non_null(clocks);
    assert_int_equal(clocks->n_clocks, 4);
    uint64_t by_id[8] = { 0 };
    for (size_t i = 0; i < 4; i++) {
        by_id[clocks->clocks[i]->clock_id] = clocks->clocks[i]->timestamp;
    }
    assert_int_equal(by_id[6], 1000 + TEST_BOOT_AHEAD_NS);
    assert_int_equal(by_id[3], 1000);
    assert_int_equal(by_id[4], 1000);
    assert_int_equal(by_id[1], 1000 + TEST_REAL_NS);
    const Hs__Pb__TracePacket *first = trace.packets[1];
    assert_int_equal(first->trusted_packet_sequence_id, 7);
    assert_int_equal(first->sequence_flags, 1);
    assert_int_equal(first->previous_packet_dropped, 1);
    const Hs__Pb__InternedData *data = first->interned_data;
    Hs__Pb__InternedString *const *tables[] = { data->function_names, data->build_ids,
                                                data->mapping_paths };
    for (size_t i = 0; i < 3; i++) {
        assert_true(tables[i][0]->has_iid && tables[i][0]->iid == 0);
        assert_true(tables[i][0]->has_str && tables[i][0]->str.len == 0);
    }
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* A sequence id that the writer chooses is never 0, and differs each time. */
static void test_sequence_ids(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer_config config = { .sink = keep_bytes, .sink_ctx = &buf };
    struct hs_trace_writer *writer;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
        assert_int_equal(hs_trace_writer_begin(writer), 0);
        assert_int_equal(hs_trace_writer_begin(writer), -EINVAL);
        finish_writer(writer);
    }
    struct trace trace;
    decode_trace(&buf, &trace);
    uint32_t a = trace.packets[1]->trusted_packet_sequence_id;
    uint32_t b = trace.packets[3]->trusted_packet_sequence_id;
    uint32_t c = trace.packets[5]->trusted_packet_sequence_id;
    assert_true(a != 0 && b != 0 && c != 0 && a != b && b != c && a != c);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

static void check_sample(const Hs__Pb__ProfilePacket__HeapSample *sample, uint64_t alloc_bytes,
                         uint64_t freed_bytes, uint64_t alloc_count, uint64_t freed_count)
{
    assert_int_equal(sample->self_allocated, alloc_bytes);
    assert_int_equal(sample->self_freed, freed_bytes);
    assert_int_equal(sample->alloc_count, alloc_count);
    assert_int_equal(sample->free_count, freed_count);
    assert_false(sample->has_self_max);
    assert_false(sample->has_self_max_count);
}

/* The only ProfilePacket after packet `from`. */
static const Hs__Pb__ProfilePacket *profile_after(const struct trace *trace, size_t from,
                                                  size_t *ret_at)
{
    for (size_t i = from; i < trace->count; i++) {
        if (trace->packets[i]->profile_packet) {
            *ret_at = i;
            return trace->packets[i]->profile_packet;
        }
    }
    fail();
    return NULL;
}

static void test_dumps(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    dump_and_free(writer, small(42, 2000, 5000, 0x10000));
    struct hs_snapshot *snap = small(42, 2000, 9000, 0x10000);
    snap->stacks[0].live = fixture_amount(150.4, 1.4); /* some blocks freed; the second stack
                                                        * unchanged */
    dump_and_free(writer, snap);
    snap = small(42, 2000, 9000, 0x10000); /* the same instant, and figures that are lower */
    snap->stacks[0].alloc = fixture_amount(999, 9);
    snap->stacks[0].live = fixture_amount(400, 4);
    snap->stacks[1].alloc = fixture_amount(60, 2);
    snap->is_final = true;
    snap->exit_kind = HS_EXIT_CODE;
    dump_and_free(writer, snap);
    finish_writer(writer);

    struct trace trace;
    decode_trace(&buf, &trace);
    assert_int_equal(trace.mappings, 3); /* including that of the marker */
    assert_int_equal(trace.frames, 3);
    assert_int_equal(trace.callstacks, 2);
    size_t at = 0;
    const Hs__Pb__ProfilePacket *profile = profile_after(&trace, 0, &at);
    assert_true(profile->index == 0 && !profile->continued);
    const Hs__Pb__ProfilePacket__ProcessHeapSamples *heap = profile->process_dumps[0];
    assert_int_equal(trace.packets[at]->timestamp, 5000 + TEST_BOOT_AHEAD_NS);
    assert_int_equal(heap->pid, 42);
    assert_string_equal(heap->heap_name, "libc.malloc");
    assert_true(heap->timestamp == 5000 && heap->start_timestamp == 2000);
    assert_true(heap->sampling_interval_bytes == 4096 && heap->from_startup);
    assert_true(heap->orig_sampling_interval_bytes == 4096 && !heap->disconnected);
    assert_int_equal(heap->n_samples, 2);
    check_sample(heap->samples[0], 1000, 600, 10, 6);
    check_sample(heap->samples[1], 50, 50, 2, 2);

    profile = profile_after(&trace, at + 1, &at);
    heap = profile->process_dumps[0];
    assert_int_equal(profile->index, 1);
    assert_true(heap->timestamp == 9000 && heap->start_timestamp > 5000);
    assert_int_equal(heap->n_samples, 1); /* only the stack that changed */
    check_sample(heap->samples[0], 1000, 850, 10, 9);

    profile = profile_after(&trace, at + 1, &at);
    heap = profile->process_dumps[0];
    assert_true(heap->timestamp > 9000 && heap->disconnected);
    assert_int_equal(heap->n_samples, 1); /* the stack with lower figures stays as it was */
    check_sample(heap->samples[0], 60, 60, 2, 2);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* Two processes that run the same program at other addresses: the second adds only figures. */
static void test_sharing(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    dump_and_free(writer, small(42, 2000, 5000, 0x10000));
    dump_and_free(writer, small(43, 2000, 5000, 0x7770000));
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    assert_int_equal(trace.mappings, 3);
    assert_int_equal(trace.frames, 3);
    assert_int_equal(trace.callstacks, 2);
    const Hs__Pb__HsModules *modules[2] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const Hs__Pb__HeapscopePacket *ours = trace.packets[i]->heapscope;
        if (ours && ours->dump) {
            assert_int_equal(ours->dump->process_idx, count);
            modules[count++] = ours->dump->modules;
        }
        const Hs__Pb__InternedData *data = trace.packets[i]->interned_data;
        for (size_t m = 0; data && m < data->n_mappings; m++) {
            const Hs__Pb__Mapping *mapping = data->mappings[m];
            assert_int_equal(mapping->start % 4096, 0);
            if (mapping->build_id == 1) {
                assert_int_equal(mapping->start, 0x12000);
                assert_int_equal(mapping->end, 0x12000 + 0x6000);
                assert_int_equal(mapping->exact_offset, 0x1000);
                assert_int_equal(mapping->load_bias, 0x1000);
            }
        }
    }
    assert_int_equal(count, 2);
    assert_int_equal(modules[0]->bias_va[0], 0x10000);
    assert_int_equal(modules[1]->bias_va[0], 0x7770000);
    assert_int_equal(modules[0]->mapping_iid[0], modules[1]->mapping_iid[0]);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/*
 * More stacks than fit in a packet: packets continue each other, none is much larger than intended,
 * and each stack occurs once.
 */
static void test_splitting(void **state)
{
    (void)state;
    enum { STACKS = 20000 };
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    dump_and_free(writer, fixture_typical(42, STACKS, 12, 5000000000));
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    size_t samples = 0, profiles = 0, rows = 0;
    bool was_last = false;
    for (size_t i = 0; i < trace.count; i++) {
        assert_true(hs__pb__trace_packet__get_packed_size(trace.packets[i]) < 600000);
        const Hs__Pb__ProfilePacket *profile = trace.packets[i]->profile_packet;
        if (profile) {
            assert_false(was_last);
            assert_int_equal(profile->index, profiles++);
            assert_int_equal(profile->n_process_dumps, 1);
            samples += profile->process_dumps[0]->n_samples;
            /* Counters of the process occur once, because readers add them up. */
            assert_int_equal(profile->process_dumps[0]->stats != NULL, profiles == 1);
            was_last = !profile->continued;
        }
        if (trace.packets[i]->heapscope && trace.packets[i]->heapscope->rows) {
            rows += trace.packets[i]->heapscope->rows->n_callstack_iid_delta;
        }
        if (trace.packets[i]->heapscope && trace.packets[i]->heapscope->dump_end) {
            assert_int_equal(trace.packets[i]->heapscope->dump_end->row_count, rows);
        }
    }
    assert_true(was_last && profiles >= 3);
    assert_int_equal(samples, trace.callstacks);
    assert_int_equal(rows, trace.callstacks);
    assert_true(samples > STACKS * 9 / 10); /* the fixture has a few stacks twice */
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* Name of the outermost frame of a callstack, found by plain search. */
static const char *outermost(const struct trace *trace, uint64_t callstack_iid, char *ret_name)
{
    uint64_t frame_iid = 0, function_iid = 0;
    ret_name[0] = '\0';
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < trace->count; i++) {
            const Hs__Pb__InternedData *data = trace->packets[i]->interned_data;
            for (size_t k = 0; data && pass == 0 && k < data->n_callstacks; k++) {
                if (data->callstacks[k]->iid == callstack_iid) {
                    frame_iid = data->callstacks[k]->frame_ids[0];
                }
            }
            for (size_t k = 0; data && pass == 1 && k < data->n_frames; k++) {
                if (data->frames[k]->iid == frame_iid) {
                    function_iid = data->frames[k]->function_name_id;
                }
            }
            for (size_t k = 0; data && pass == 2 && k < data->n_function_names; k++) {
                const Hs__Pb__InternedString *string = data->function_names[k];
                if (string->iid == function_iid && string->str.len > 0) {
                    memcpy(ret_name, string->str.data, string->str.len);
                    ret_name[string->str.len] = '\0';
                }
            }
        }
    }
    return ret_name;
}

/* The same stack in two heaps: two callstacks that differ in their outermost frame. */
static void test_heaps(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    struct hs_snapshot *snap = small(42, 2000, 5000, 0x10000);
    snap->heap_count = 2;
    strcpy(snap->heaps[1].name, "mmap");
    struct hs_snap_stack *stack = fixture_stack(snap, 1, (uint32_t[]){ 1, 0 }, 2);
    stack->alloc = stack->live = fixture_amount(8192, 2);
    /* A stack without frames, and one of a heap that does not exist. */
    stack = fixture_stack(snap, 1, NULL, 0);
    stack->alloc = fixture_amount(10, 1);
    fixture_stack(snap, 2, (uint32_t[]){ 1, 0 }, 2)->alloc = fixture_amount(1, 1);
    dump_and_free(writer, snap);
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    size_t at = 0;
    char name[128];
    const Hs__Pb__ProfilePacket *malloc_part = profile_after(&trace, 0, &at);
    const Hs__Pb__ProfilePacket *mmap_part = profile_after(&trace, at + 1, &at);
    assert_true(malloc_part->continued && !mmap_part->continued);
    const Hs__Pb__ProfilePacket__ProcessHeapSamples *heap = mmap_part->process_dumps[0];
    assert_string_equal(heap->heap_name, "mmap");
    assert_int_equal(heap->timestamp, 5001);
    assert_int_equal(heap->n_samples, 2);
    assert_null(heap->stats);
    check_sample(heap->samples[0], 8192, 0, 2, 0);
    assert_string_equal(outermost(&trace, heap->samples[0]->callstack_id, name), "[heap mmap]");
    assert_string_equal(outermost(&trace, heap->samples[1]->callstack_id, name), "[heap mmap]");
    heap = malloc_part->process_dumps[0];
    assert_int_equal(heap->n_samples, 2);
    assert_string_equal(outermost(&trace, heap->samples[0]->callstack_id, name), "");
    assert_string_equal(outermost(&trace, heap->samples[1]->callstack_id, name), "ERROR NO_INFO");
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* Each heap has its own interval, as heapprofd writes it. A carved heap has its own peak. */
static void test_heap_headers(void **state)
{
    (void)state;
    for (int is_at_max = 0; is_at_max < 2; is_at_max++) {
        struct hs_buf buf = HS_BUF_INIT;
        struct hs_trace_writer *writer = writer_with(&buf, 7, is_at_max != 0);
        struct hs_snapshot *snap = fixture_heaps(42, 5000000);
        snap->interval_bytes = 4096;
        snap->is_final = true;
        dump_and_free(writer, snap);
        finish_writer(writer);
        struct trace trace;
        decode_trace(&buf, &trace);
        uint32_t count = 0;
        for (size_t i = 0; i < trace.count; i++) {
            const Hs__Pb__ProfilePacket *profile = trace.packets[i]->profile_packet;
            for (size_t k = 0; profile && k < profile->n_process_dumps; k++) {
                const Hs__Pb__ProfilePacket__ProcessHeapSamples *heap = profile->process_dumps[k];
                bool is_gpu = strcmp(heap->heap_name, "gpu") == 0;
                bool is_pool = strcmp(heap->heap_name, "pool") == 0;
                assert_int_equal(heap->sampling_interval_bytes, is_gpu ? 65536 : 4096);
                assert_int_equal(heap->orig_sampling_interval_bytes, is_gpu ? 65536 : 1);
                if (!is_at_max) {
                    assert_int_equal(heap->timestamp, 5000000 + count);
                } else if (is_pool) {
                    assert_int_equal(heap->timestamp, 5000000 - 1100 + count);
                    assert_int_equal(heap->samples[0]->self_max, 50000);
                }
                count++;
            }
        }
        assert_int_equal(count, 6);
        free_trace(&trace);
        hs_buf_deinit(&buf);
    }
}

/* exec: the pid stays, but its memory is new. */
static void test_exec(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    struct hs_snapshot *snap = small(42, 2000, 5000, 0x10000);
    snap->is_final = true;
    dump_and_free(writer, snap);
    dump_and_free(writer, small(42, 6000, 8000, 0x20000));
    dump_and_free(writer, small(42, 8500, 9000, 0x20000)); /* and again, without a last dump */
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    size_t at = 0;
    const Hs__Pb__ProfilePacket__ProcessHeapSamples *heap;
    heap = profile_after(&trace, 0, &at)->process_dumps[0];
    uint64_t first_iid = heap->samples[0]->callstack_id;
    heap = profile_after(&trace, at + 1, &at)->process_dumps[0];
    /*
     * Blocks that the first image left are freed when the second starts; the others already were.
     */
    assert_true(heap->timestamp == 6000 && heap->start_timestamp > 5000);
    assert_int_equal(heap->n_samples, 1);
    assert_int_equal(heap->samples[0]->callstack_id, first_iid);
    check_sample(heap->samples[0], 1000, 1000, 10, 10);
    heap = profile_after(&trace, at + 1, &at)->process_dumps[0];
    assert_true(heap->timestamp == 8000 && heap->start_timestamp == 6000);
    assert_int_equal(heap->n_samples, 2);
    /* The stack has a new id, because its figures count from zero. */
    uint64_t second_iid = heap->samples[0]->callstack_id;
    assert_int_not_equal(second_iid, first_iid);
    check_sample(heap->samples[0], 1000, 600, 10, 6);
    heap = profile_after(&trace, at + 1, &at)->process_dumps[0];
    assert_int_equal(heap->timestamp, 8500);
    assert_int_equal(heap->samples[0]->callstack_id, second_iid);
    check_sample(heap->samples[0], 1000, 1000, 10, 10);
    heap = profile_after(&trace, at + 1, &at)->process_dumps[0];
    assert_true(heap->samples[0]->callstack_id != first_iid &&
                heap->samples[0]->callstack_id != second_iid);
    assert_int_equal(trace.callstacks, 6);
    assert_int_equal(trace.frames, 3);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

struct naming {
    unsigned calls;
    size_t frames;
    const char *name; /* name of frames of libx.so; others have none */
};

static void name_frames(void *ctx, const struct hs_snapshot *snap, const uint32_t *frame_ids,
                        size_t count, struct hs_trace_frame_name *ret_names)
{
    struct naming *naming = ctx;
    naming->calls++;
    naming->frames += count;
    for (size_t i = 0; i < count; i++) {
        const struct hs_snap_frame *frame = &snap->frames[frame_ids[i]];
        assert_null(ret_names[i].function);
        assert_int_equal(frame->flags & HS_FRAME_MARKER, 0);
        ret_names[i].function = frame->rel_pc == 0x2200 ? naming->name : NULL;
    }
}

/*
 * A frame keeps the name with which it was written, and the callstacks through it keep their
 * numbers, whatever name a later dump has.
 */
static void test_names_of_frames(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct naming naming = { .name = "_Z1fv" };
    struct hs_trace_writer_config config = { .sink = keep_bytes,
                                             .sink_ctx = &buf,
                                             .read_clocks = still_clocks,
                                             .name_frames = name_frames,
                                             .name_frames_ctx = &naming };
    struct hs_trace_writer *writer;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    dump_and_free(writer, small(42, 2000, 5000, 0));
    assert_int_equal(naming.calls, 1);
    assert_int_equal(naming.frames, 2);
    naming.name = NULL;
    dump_and_free(writer, small(42, 2000, 6000, 0));
    dump_and_free(writer, small(43, 2000, 7000, 0x10000)); /* other addresses, the same code */
    assert_int_equal(naming.calls, 1);
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    uint64_t name_iid = 0;
    unsigned frame_count = 0, named_count = 0, callstack_count = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const Hs__Pb__InternedData *data = trace.packets[i]->interned_data;
        for (size_t k = 0; data && k < data->n_function_names; k++) {
            const ProtobufCBinaryData *str = &data->function_names[k]->str;
            if (str->len == 5 && memcmp(str->data, "_Z1fv", 5) == 0) {
                assert_int_equal(name_iid, 0);
                name_iid = data->function_names[k]->iid;
            }
        }
        for (size_t k = 0; data && k < data->n_frames; k++) {
            const Hs__Pb__Frame *frame = data->frames[k];
            frame_count++;
            named_count += frame->rel_pc == 0x2200 && frame->function_name_id == name_iid;
            assert_true(frame->rel_pc != 0x2100 || !frame->has_function_name_id);
        }
        callstack_count += data ? (unsigned)data->n_callstacks : 0;
    }
    assert_true(name_iid != 0);
    assert_int_equal(frame_count, 3); /* two frames of code, and a marker */
    assert_int_equal(named_count, 1);
    assert_int_equal(callstack_count, 2);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

static void test_symbols(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer_config config = { .sink = keep_bytes, .sink_ctx = &buf };
    struct hs_trace_writer *writer;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    const struct hs_trace_line lines[] = {
        { .function = "inner(int)", .system_name = "_Z5inneri", .file = "/src/x.c", .line = 12 },
        { .function = "main", .system_name = "main" },
    };
    struct hs_trace_address *addresses = calloc(5000, sizeof(*addresses));
    for (size_t i = 0; i < 5000; i++) {
        addresses[i] = (struct hs_trace_address){ .rel_pc = i, .lines = lines, .line_count = 2 };
    }
    const uint8_t id[4] = { 0, 1, 2, 3 };
    struct hs_trace_module_symbols symbols = {
        .path = "/usr//lib/libx.so",
        .build_id = id,
        .build_id_bytes = 4,
        .addresses = addresses,
        .address_count = 5000,
    };
    assert_int_equal(hs_trace_writer_module_symbols(writer, &symbols), 0);
    finish_writer(writer);
    free(addresses);
    struct trace trace;
    decode_trace(&buf, &trace);
    uint64_t next = 0;
    assert_true(trace.count >= 2);
    for (size_t i = 0; i < trace.count; i++) {
        const Hs__Pb__ModuleSymbols *module = trace.packets[i]->module_symbols;
        assert_string_equal(module->path, "/usr/lib/libx.so");
        assert_int_equal(module->build_id.len, 4);
        assert_memory_equal(module->build_id.data, id, 4);
        for (size_t k = 0; k < module->n_address_symbols; k++) {
            const Hs__Pb__AddressSymbols *address = module->address_symbols[k];
            assert_int_equal(address->address, next++);
            assert_int_equal(address->n_lines, 2);
            assert_string_equal(address->lines[0]->function_name, "inner(int)");
            assert_string_equal(address->lines[0]->heapscope_system_name, "_Z5inneri");
            assert_int_equal(address->lines[0]->line_number, 12);
            assert_null(address->lines[1]->heapscope_system_name);
            assert_null(address->lines[1]->source_file_name);
        }
    }
    assert_int_equal(next, 5000);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* If the parent's pid changed when the parent ends, Perfetto would make two processes of one. */
static void test_parent_stays_the_same(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    const struct hs_proc_identity identity = { .pid = 10, .ppid = 1, .uid = -1 };
    char name[] = "prog";
    const struct hs_trace_tree tree = {
        .pid = 10, .process = &identity, .cmdline = name, .cmdline_bytes = sizeof(name)
    };
    assert_int_equal(hs_trace_writer_tree(writer, 1000, &tree), 0);
    struct hs_snapshot *snap = small(10, 100, 2000, 0);
    snap->ppid = 9;
    dump_and_free(writer, snap);
    snap = small(11, 100, 2000, 0);
    snap->ppid = 9;
    dump_and_free(writer, snap);
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    unsigned count = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const Hs__Pb__ProcessTree *it = trace.packets[i]->process_tree;
        if (it) {
            assert_int_equal(it->processes[0]->ppid, it->processes[0]->pid == 10 ? 1 : 9);
            count++;
        }
    }
    assert_int_equal(count, 3);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

/* Perfetto's statistics count each stack that ended early, for any reason, and no other. */
static void test_statistics_of_a_dump(void **state)
{
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 7);
    struct hs_snapshot *snap = small(42, 2000, 5000, 0);
    uint64_t expected = 0;
    for (unsigned i = 0; i < HS_STACK_END_N; i++) {
        snap->stack_end_count[i] = UINT64_C(1) << i;
        expected += i == HS_STACK_END ? 0 : UINT64_C(1) << i;
    }
    snap->sample_count = 4711;
    dump_and_free(writer, snap);
    finish_writer(writer);
    struct trace trace;
    decode_trace(&buf, &trace);
    const Hs__Pb__ProfilePacket__ProcessStats *stats = NULL;
    for (size_t i = 0; i < trace.count; i++) {
        const Hs__Pb__ProfilePacket *packet = trace.packets[i]->profile_packet;
        stats = packet ? packet->process_dumps[0]->stats : stats;
    }
    assert_non_null(stats);
    assert_int_equal(stats->unwinding_errors, expected);
    assert_int_equal(stats->heap_samples, 4711);
    free_trace(&trace);
    hs_buf_deinit(&buf);
}

static void moving_clocks(void *ctx, struct hs_trace_clocks *ret_clocks)
{
    still_clocks(NULL, ret_clocks);
    ret_clocks->boottime_ns += (uint64_t) * (const int64_t *)ctx;
}

/*
 * While the machine sleeps, only BOOTTIME goes on. A new pair of clocks is written when they have
 * moved apart, or together, by more than a millisecond.
 */
static void test_clocks_that_move_apart(void **state)
{
    static const struct {
        int64_t shift_ns; /* of BOOTTIME against MONOTONIC, since the start */
        int64_t used_ns;  /* by what the dump's time is shifted */
        bool is_written;
    } steps[] = {
        { 0, 0, false },
        { 1000000, 0, false }, /* just not more than a millisecond */
        { -1000000, 0, false },
        { 1000001, 1000001, true },
        { 2000001, 1000001, false }, /* compared with the pair written last */
        { 0, 0, true },
        { -1000001, -1000001, true },
        { -1, -1000001, false },
        { 3600000000000, 3600000000000, true },
    };
    (void)state;
    struct hs_buf buf = HS_BUF_INIT;
    int64_t shift_ns = 0;
    struct hs_trace_writer_config config = {
        .sink = keep_bytes, .sink_ctx = &buf, .read_clocks = moving_clocks, .clocks_ctx = &shift_ns
    };
    struct hs_trace_writer *writer;
    assert_int_equal(hs_trace_writer_new(&config, &writer), 0);
    assert_int_equal(hs_trace_writer_begin(writer), 0);
    assert_int_equal(hs_trace_writer_flush(writer, NULL), 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        size_t before = buf.bytes;
        shift_ns = steps[i].shift_ns;
        dump_and_free(writer, small(42, 2000, 5000 + 1000 * i, 0));
        assert_int_equal(hs_trace_writer_flush(writer, NULL), 0);
        struct hs_buf added = { .data = buf.data + before, .bytes = buf.bytes - before };
        struct trace trace;
        decode_trace(&added, &trace);
        const Hs__Pb__ClockSnapshot *clocks = NULL;
        uint64_t time_ns = 0;
        for (size_t k = 0; k < trace.count; k++) {
            clocks = trace.packets[k]->clock_snapshot ? trace.packets[k]->clock_snapshot : clocks;
            time_ns = trace.packets[k]->profile_packet ? trace.packets[k]->timestamp : time_ns;
        }
        print_message("  step %zu\n", i);
        assert_int_equal(clocks != NULL, steps[i].is_written);
        if (clocks) {
            assert_int_equal(clocks->clocks[0]->timestamp,
                             1000 + TEST_BOOT_AHEAD_NS + (uint64_t)steps[i].used_ns);
            assert_int_equal(clocks->clocks[1]->timestamp, 1000);
        }
        assert_int_equal(time_ns,
                         5000 + 1000 * i + TEST_BOOT_AHEAD_NS + (uint64_t)steps[i].used_ns);
        free_trace(&trace);
    }
    finish_writer(writer);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parent_stays_the_same),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_sequence_ids),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_splitting),
        cmocka_unit_test(test_heaps),
        cmocka_unit_test(test_heap_headers),
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_names_of_frames),
        cmocka_unit_test(test_symbols),
        cmocka_unit_test(test_statistics_of_a_dump),
        cmocka_unit_test(test_clocks_that_move_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
