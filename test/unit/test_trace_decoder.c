/* Sequences, interned tables and clocks of a trace, and the pass that feeds one or two sinks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/check.h"
#include "trace/trace_decoder.h"
#include "trace_bytes.h"

#define CLEARED 1U

struct packet {
    Hs__Pb__TracePacket packet;
    Hs__Pb__InternedData data;
    Hs__Pb__InternedString string, *strings[1];
    Hs__Pb__Callstack callstack, *callstacks[1];
};

/* A packet that interns a function and a callstack of two frames. */
static void intern(struct packet *p, uint32_t sequence_id, uint32_t flags, uint64_t iid,
                   const char *text, uint64_t *frame_iids)
{
    hs__pb__trace_packet__init(&p->packet);
    hs__pb__interned_data__init(&p->data);
    hs__pb__interned_string__init(&p->string);
    hs__pb__callstack__init(&p->callstack);
    p->string.iid = p->callstack.iid = iid;
    p->string.str = (ProtobufCBinaryData){ strlen(text), (uint8_t *)(uintptr_t)text };
    p->callstack.frame_ids = frame_iids;
    p->callstack.n_frame_ids = 2;
    p->strings[0] = &p->string;
    p->callstacks[0] = &p->callstack;
    p->data.function_names = p->strings;
    p->data.callstacks = p->callstacks;
    p->data.n_function_names = p->data.n_callstacks = 1;
    p->packet.trusted_packet_sequence_id = sequence_id;
    p->packet.sequence_flags = flags;
    p->packet.interned_data = &p->data;
}

static struct hs_trace_state *take(struct hs_sequences *sequences, struct packet *p)
{
    struct hs_trace_state *state = NULL;
    assert_int_equal(hs_sequences_take(sequences, &p->packet, &state), 0);
    assert_non_null(state);
#if HS_HAS_CHECKS
    assert_true(hs_interned_is_valid(&state->interned));
#endif
    return state;
}

static const char *function(const struct hs_trace_state *state, enum hs_interned_rule rule,
                            uint64_t iid)
{
    const struct hs_interned_text *text =
        hs_interned_find_text(&state->interned, rule, HS_INTERNED_FUNCTION, iid);
    return text ? text->text : NULL;
}

/* What came before a clearing or after a loss counts only by the lenient rule. */
static void test_validity(void **state_)
{
    (void)state_;
    struct hs_sequences sequences = { 0 };
    struct packet p;
    uint64_t frames[2] = { 1, UINT64_C(1) << 40 };
    intern(&p, 7, 0, 1, "early", frames);
    struct hs_trace_state *state = take(&sequences, &p);
    assert_false(state->is_valid);
    assert_string_equal(function(state, HS_INTERNED_LENIENT, 1), "early");
    assert_null(function(state, HS_INTERNED_STRICT, 1));

    intern(&p, 7, CLEARED, 1, "first", frames);
    state = take(&sequences, &p);
    assert_true(state->is_valid);
    assert_string_equal(function(state, HS_INTERNED_STRICT, 1), "first");
    intern(&p, 7, 0, 1, "second", frames); /* the first with an iid counts */
    assert_ptr_equal(take(&sequences, &p), state);
    assert_string_equal(function(state, HS_INTERNED_LENIENT, 1), "first");
    const struct hs_interned_callstack *callstack =
        hs_interned_find_callstack(&state->interned, HS_INTERNED_STRICT, 1);
    assert_int_equal(callstack->frames.count, 2);
    assert_int_equal(hs_interned_iid(&callstack->frames, 0), 1);
    assert_true(hs_interned_iid(&callstack->frames, 1) == UINT64_C(1) << 40);

    intern(&p, 7, 0, 2, "late", frames);
    p.packet.previous_packet_dropped = 1;
    assert_ptr_equal(take(&sequences, &p), state);
    assert_false(state->is_valid);
    assert_string_equal(function(state, HS_INTERNED_LENIENT, 2), "late");
    assert_null(function(state, HS_INTERNED_STRICT, 2));
    assert_string_equal(function(state, HS_INTERNED_STRICT, 1), "first");
    assert_null(function(state, HS_INTERNED_LENIENT, 0));
    hs_sequences_deinit(&sequences);
}

/* Sequences do not mix; a held state outlives its clearing; id 0 is no sequence. */
static void test_sequences(void **state_)
{
    (void)state_;
    struct hs_sequences sequences = { 0 };
    struct packet p;
    uint64_t frames[2] = { 1, 2 };
    intern(&p, 1, CLEARED, 1, "one", frames);
    struct hs_trace_state *one = take(&sequences, &p);
    intern(&p, 2, CLEARED, 1, "two", frames);
    assert_string_equal(function(take(&sequences, &p), HS_INTERNED_STRICT, 1), "two");
    assert_string_equal(function(one, HS_INTERNED_STRICT, 1), "one");
    hs_trace_state_hold(one);
    intern(&p, 1, CLEARED, 1, "one again", frames);
    struct hs_trace_state *again = take(&sequences, &p);
    assert_ptr_not_equal(again, one);
    assert_string_equal(function(one, HS_INTERNED_STRICT, 1), "one");
    assert_string_equal(function(again, HS_INTERNED_STRICT, 1), "one again");
    hs_trace_state_release(one);
    intern(&p, 0, CLEARED, 1, "none", frames);
    struct hs_trace_state *none = take(&sequences, &p);
    assert_false(none->is_valid);
    assert_string_equal(function(none, HS_INTERNED_LENIENT, 1), "none");
    hs_sequences_deinit(&sequences);
}

/* The tables of a dump are searched before those behind them, and serve for all kinds of text. */
static void test_legacy(void **state_)
{
    (void)state_;
    struct hs_interned behind = { 0 }, legacy = { 0 };
    struct packet p;
    uint64_t frames[2] = { 1, 2 }, path[3] = { 5, 6, 9 };
    intern(&p, 1, CLEARED, 5, "behind", frames);
    assert_int_equal(hs_interned_add(&behind, &p.data, true), 0);
    Hs__Pb__ProfilePacket packet = HS__PB__PROFILE_PACKET__INIT;
    Hs__Pb__Mapping mapping = HS__PB__MAPPING__INIT, *mappings[1] = { &mapping };
    Hs__Pb__InternedString usr = p.string, lib = p.string, *strings[2] = { &usr, &lib };
    usr.str = (ProtobufCBinaryData){ 3, (uint8_t *)(uintptr_t) "usr" };
    lib.str = (ProtobufCBinaryData){ 3, (uint8_t *)(uintptr_t) "lib" };
    lib.iid = 6;
    mapping.iid = 1;
    mapping.path_string_ids = path;
    mapping.n_path_string_ids = 2;
    packet.strings = strings;
    packet.n_strings = 2;
    packet.mappings = mappings;
    packet.n_mappings = 1;
    assert_int_equal(hs_interned_add_legacy(&legacy, &packet), 0);
    legacy.behind = &behind;
    const struct hs_interned_text *text =
        hs_interned_find_text(&legacy, HS_INTERNED_STRICT, HS_INTERNED_FUNCTION, 5);
    assert_string_equal(text->text, "usr");
    assert_non_null(hs_interned_find_callstack(&legacy, HS_INTERNED_STRICT, 5));
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_interned_mapping *found = hs_interned_find_mapping(&legacy, HS_INTERNED_STRICT, 1);
    assert_true(hs_interned_path(&legacy, HS_INTERNED_STRICT, found, &buf));
    assert_string_equal(hs_buf_text(&buf), "/usr/lib");
    hs_interned_deinit(&legacy);
    mapping.n_path_string_ids = 3; /* the last component is missing */
    assert_int_equal(hs_interned_add_legacy(&legacy, &packet), 0);
    found = hs_interned_find_mapping(&legacy, HS_INTERNED_STRICT, 1);
    assert_false(hs_interned_path(&legacy, HS_INTERNED_STRICT, found, &buf));
    assert_true(hs_interned_path(&legacy, HS_INTERNED_LENIENT, found, &buf));
    assert_string_equal(hs_buf_text(&buf), "/usr/lib/");
    hs_buf_clear(&buf);
    hs_interned_write_build_id(&(struct hs_interned_text){ "\x01\xfe", 2 }, 64, &buf);
    assert_string_equal(hs_buf_text(&buf), "01fe");
    hs_buf_deinit(&buf);
    hs_interned_deinit(&legacy);
    hs_interned_deinit(&behind);
}

static void snapshot(struct hs_clocks *clocks, uint64_t boot_ns, uint64_t mono_ns, uint64_t real_ns)
{
    Hs__Pb__ClockSnapshot message = HS__PB__CLOCK_SNAPSHOT__INIT;
    Hs__Pb__ClockSnapshot__Clock list[3], *pointers[3];
    const uint64_t times[3] = { boot_ns, mono_ns, real_ns };
    const uint32_t ids[3] = { HS_CLOCK_BOOTTIME, HS_CLOCK_MONOTONIC, HS_CLOCK_REALTIME };
    for (int i = 0; i < 3; i++) {
        hs__pb__clock_snapshot__clock__init(&list[i]);
        list[i].clock_id = ids[i];
        list[i].timestamp = times[i];
        pointers[i] = &list[i];
    }
    message.clocks = pointers;
    message.n_clocks = 3;
    assert_int_equal(hs_clocks_take(clocks, 1, &message), 0);
}

static void test_clocks(void **state_)
{
    (void)state_;
    struct hs_clocks *clocks;
    int64_t ns;
    uint64_t shift_ns;
    assert_int_equal(hs_clocks_new(&clocks), 0);
    assert_true(hs_clocks_convert(clocks, 1, HS_CLOCK_BOOTTIME, 5, &ns) && ns == 5);
    assert_false(hs_clocks_convert(clocks, 1, HS_CLOCK_MONOTONIC, 5, &ns));
    assert_false(hs_clocks_last_shift(clocks, HS_CLOCK_BOOTTIME, &shift_ns));
    snapshot(clocks, 1000, 100, 50000);
    snapshot(clocks, 3000, 1100, 52000); /* it slept for 1000 ns */
    assert_true(hs_clocks_convert(clocks, 1, HS_CLOCK_MONOTONIC, 90, &ns) && ns == 990);
    assert_true(hs_clocks_convert(clocks, 1, HS_CLOCK_MONOTONIC, 1099, &ns) && ns == 1999);
    assert_true(hs_clocks_convert(clocks, 1, HS_CLOCK_MONOTONIC, 1200, &ns) && ns == 3100);
    assert_true(hs_clocks_last_shift(clocks, HS_CLOCK_BOOTTIME, &shift_ns) && shift_ns == 1900);
    assert_true(hs_clocks_last_shift(clocks, HS_CLOCK_REALTIME, &shift_ns) && shift_ns == 50900);
    assert_true(hs_clocks_back_count(clocks) == 0);
    snapshot(clocks, 2000, 200, 51000);
    assert_true(hs_clocks_back_count(clocks) == 6);
    hs_clocks_free(clocks);
}

/* --- the pass --- */

struct counts {
    uint32_t packet_count, dump_count, part_count;
};

static int count(void *ctx, const struct hs_trace_decoder *decoder,
                 const Hs__Pb__TracePacket *packet, struct hs_trace_state *state)
{
    struct counts *counts = ctx;
    uint32_t part_count;
    hs_trace_reader_parts(decoder->reader, &part_count);
    assert_int_equal(packet->trusted_packet_sequence_id, state->sequence_id);
    counts->packet_count++;
    counts->dump_count += packet->heapscope && packet->heapscope->dump;
    counts->part_count += part_count;
    return 0;
}

static bool run(const struct hs_buf *buf, size_t bytes, struct counts *sink_counts,
                struct counts *guest_counts)
{
    struct hs_trace_reader *reader;
    struct hs_trace_decoder decoder;
    bool has_guest;
    *sink_counts = *guest_counts = (struct counts){ 0 };
    const struct hs_trace_sink sink = { sink_counts, count }, guest = { guest_counts, count };
    assert_int_equal(hs_trace_reader_new(buf->data, bytes, &reader), 0);
    hs_trace_reader_want_all(reader);
    hs_trace_reader_split(reader, true);
    assert_int_equal(hs_trace_decoder_init(&decoder, reader), 0);
    assert_int_equal(hs_trace_decoder_run(&decoder, &sink, &guest, &has_guest), 0);
    hs_trace_decoder_deinit(&decoder);
    return has_guest;
}

static void test_two_sinks(void **state_)
{
    (void)state_;
    struct hs_buf buf = HS_BUF_INIT;
    struct hs_trace_writer *writer = writer_to(&buf, 5);
    dump_and_free(writer, fixture_typical(100, 10, 4, 1));
    finish_writer(writer);
    struct counts sink, guest;
    assert_true(run(&buf, buf.bytes, &sink, &guest));
    assert_int_equal(sink.packet_count, guest.packet_count);
    assert_int_equal(sink.dump_count, 1);
    assert_int_equal(guest.dump_count, 1);
    assert_true(sink.part_count > 0);
    /* Of a damaged file only the first sink has all that is left. */
    assert_false(run(&buf, buf.bytes - 1, &sink, &guest));
    assert_true(sink.packet_count > 0);
    hs_buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validity),  cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_legacy),    cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_two_sinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
