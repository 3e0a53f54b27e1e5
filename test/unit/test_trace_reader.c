/*
 * The reader on all kinds of files: compressed, concatenated, cut off, damaged, and files that are
 * not traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "trace/trace_input.h"
#include "trace_bytes.h"

/* A trace of one process with `stack_count` stacks. */
static void make_trace(struct hs_buf *buf, uint32_t stack_count)
{
    struct hs_trace_writer *writer = writer_to(buf, 7);
    struct hs_snapshot *snap = fixture_typical(42, stack_count, 8, 5000000000);
    dump_and_free(writer, snap);
    finish_writer(writer);
}

static void compress_gzip(struct hs_buf *out, const void *data, size_t bytes)
{
    z_stream z = { 0 };
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
    size_t room = deflateBound(&z, bytes);
    uint8_t *packed = malloc(room);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (unsigned)bytes;
    z.next_out = packed;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    hs_buf_add(out, packed, z.total_out);
    deflateEnd(&z);
    free(packed);
}

static void compress_zstd(struct hs_buf *out, const void *data, size_t bytes)
{
    size_t room = ZSTD_compressBound(bytes);
    uint8_t *packed = malloc(room);
    size_t packed_bytes = ZSTD_compress(packed, room, data, bytes, 3);
    assert_false(ZSTD_isError(packed_bytes));
    hs_buf_add(out, packed, packed_bytes);
    free(packed);
}

struct outcome {
    struct hs_trace_damage damage;
    int verdict;
    uint64_t given; /* number of packets returned */
    uint64_t hash;  /* hash of their contents, in order */
};

static struct outcome drain(struct hs_trace_reader *reader)
{
    struct outcome outcome = { 0 };
    const Hs__Pb__TracePacket *packet;
    int found;
    while ((found = hs_trace_reader_next(reader, &packet)) > 0) {
        size_t bytes = hs__pb__trace_packet__get_packed_size(packet);
        uint8_t *packed = malloc(bytes + 1);
        hs__pb__trace_packet__pack(packet, packed);
        for (size_t i = 0; i < bytes; i++) {
            outcome.hash = (outcome.hash ^ packed[i]) * UINT64_C(1099511628211);
        }
        free(packed);
        outcome.given++;
    }
    assert_int_equal(found, 0);
    outcome.verdict = hs_trace_reader_verdict(reader);
    outcome.damage = *hs_trace_reader_damage(reader);
    hs_trace_reader_free(reader);
    return outcome;
}

static struct hs_trace_reader *open_reader(const char *path)
{
    struct hs_trace_input input;
    struct hs_trace_reader *reader = NULL;
    assert_int_equal(hs_trace_input_open(&input, path), 0);
    assert_int_equal(hs_trace_reader_take(&input, &reader), 0);
    return reader;
}

static struct outcome read_bytes(const void *data, size_t bytes)
{
    struct hs_trace_reader *reader;
    /* A copy of exact size, so that reads behind its end are detected. */
    uint8_t *copy = calloc(1, bytes ? bytes : 1);
    memcpy(copy, data, bytes);
    assert_int_equal(hs_trace_reader_new(copy, bytes, &reader), 0);
    struct outcome outcome = drain(reader);
    free(copy);
    return outcome;
}

static bool is_clean(const struct outcome *outcome)
{
    const struct hs_trace_damage *damage = &outcome->damage;
    return outcome->verdict == 0 && damage->bad_packet_count == 0 && damage->skipped_bytes == 0 &&
           !damage->is_truncated && !damage->has_bad_compression && !damage->is_too_big;
}

static void test_codings(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT, gzip = HS_BUF_INIT, zstd = HS_BUF_INIT;
    struct hs_buf blocks = HS_BUF_INIT;
    make_trace(&plain, 3000);
    compress_gzip(&gzip, plain.data, plain.bytes);
    compress_zstd(&zstd, plain.data, plain.bytes);
    /* Split into gzip members in the middle of packets, as by tools that compress in blocks. */
    for (size_t at = 0; at < plain.bytes; at += 10000) {
        size_t bytes = plain.bytes - at < 10000 ? plain.bytes - at : 10000;
        compress_gzip(&blocks, plain.data + at, bytes);
    }
    struct outcome expected = read_bytes(plain.data, plain.bytes);
    assert_true(is_clean(&expected) && expected.given > 5);
    const struct hs_buf *forms[] = { &gzip, &zstd, &blocks };
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome = read_bytes(forms[i]->data, forms[i]->bytes);
        assert_true(is_clean(&outcome));
        assert_int_equal(outcome.given, expected.given);
        assert_true(outcome.hash == expected.hash);
        hs_buf_deinit((struct hs_buf *)(uintptr_t)forms[i]);
    }
    hs_buf_deinit(&plain);
}

/* Every pair of codings, one after the other. */
static void test_concatenated(void **state)
{
    (void)state;
    struct hs_buf forms[3] = { HS_BUF_INIT, HS_BUF_INIT, HS_BUF_INIT };
    make_trace(&forms[0], 50);
    compress_gzip(&forms[1], forms[0].data, forms[0].bytes);
    compress_zstd(&forms[2], forms[0].data, forms[0].bytes);
    struct outcome one = read_bytes(forms[0].data, forms[0].bytes);
    for (size_t i = 0; i < 9; i++) {
        struct hs_buf both = HS_BUF_INIT;
        hs_buf_add(&both, forms[i / 3].data, forms[i / 3].bytes);
        hs_buf_add(&both, forms[i % 3].data, forms[i % 3].bytes);
        hs_buf_add(&both, forms[0].data, forms[0].bytes);
        struct outcome outcome = read_bytes(both.data, both.bytes);
        assert_true(is_clean(&outcome));
        assert_int_equal(outcome.given, 3 * one.given);
        hs_buf_deinit(&both);
    }
    for (size_t i = 0; i < 3; i++) {
        hs_buf_deinit(&forms[i]);
    }
}

static void put_packet(struct hs_buf *out, const Hs__Pb__TracePacket *packet)
{
    Hs__Pb__TracePacket *list[1] = { (Hs__Pb__TracePacket *)(uintptr_t)packet };
    Hs__Pb__Trace trace = HS__PB__TRACE__INIT;
    trace.n_packet = 1;
    trace.packet = list;
    size_t bytes = hs__pb__trace__get_packed_size(&trace);
    uint8_t *packed = malloc(bytes);
    hs__pb__trace__pack(&trace, packed);
    hs_buf_add(out, packed, bytes);
    free(packed);
}

static void put_compressed(struct hs_buf *out, bool is_zstd, const struct hs_buf *inner)
{
    struct hs_buf packed = HS_BUF_INIT;
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT;
    if (is_zstd) {
        compress_zstd(&packed, inner->data, inner->bytes);
        packet.has_zstd_compressed_packets = true;
        packet.zstd_compressed_packets.data = (uint8_t *)packed.data;
        packet.zstd_compressed_packets.len = packed.bytes;
    } else {
        uLongf bytes = compressBound(inner->bytes);
        hs_buf_repeat(&packed, '\0', bytes);
        assert_int_equal(
            compress((Bytef *)packed.data, &bytes, (const Bytef *)inner->data, inner->bytes), Z_OK);
        packet.has_compressed_packets = true;
        packet.compressed_packets.data = (uint8_t *)packed.data;
        packet.compressed_packets.len = bytes;
    }
    put_packet(out, &packet);
    hs_buf_deinit(&packed);
}

/* Packets inside packets, in both forms, nested in each other, and deeper than any writer does. */
static void test_compressed_packets(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT, once = HS_BUF_INIT, twice = HS_BUF_INIT;
    struct hs_buf thrice = HS_BUF_INIT;
    make_trace(&plain, 300);
    struct outcome expected = read_bytes(plain.data, plain.bytes);
    put_compressed(&once, false, &plain);
    struct outcome outcome = read_bytes(once.data, once.bytes);
    assert_true(is_clean(&outcome) && outcome.hash == expected.hash);
    put_compressed(&twice, true, &once);
    outcome = read_bytes(twice.data, twice.bytes);
    assert_true(is_clean(&outcome) && outcome.hash == expected.hash);
    put_compressed(&thrice, true, &twice);
    outcome = read_bytes(thrice.data, thrice.bytes);
    assert_true(outcome.given == 0 && outcome.damage.bad_packet_count == 1);
    /* Half of the compressed bytes: the part that they give is used. */
    struct hs_buf damaged = HS_BUF_INIT;
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT;
    struct hs_buf packed = HS_BUF_INIT;
    compress_zstd(&packed, plain.data, plain.bytes);
    packet.has_zstd_compressed_packets = true;
    packet.zstd_compressed_packets.data = (uint8_t *)packed.data;
    packet.zstd_compressed_packets.len = packed.bytes / 2;
    put_packet(&damaged, &packet);
    hs_buf_add(&damaged, plain.data, plain.bytes);
    outcome = read_bytes(damaged.data, damaged.bytes);
    assert_true(outcome.given >= expected.given && outcome.damage.has_bad_compression);
    hs_buf_deinit(&packed);
    hs_buf_deinit(&damaged);
    hs_buf_deinit(&plain);
    hs_buf_deinit(&once);
    hs_buf_deinit(&twice);
    hs_buf_deinit(&thrice);
}

/* Cut off after each byte: everything before the cut is read, and the loss is reported. */
static void test_truncated(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT;
    make_trace(&plain, 20);
    struct outcome whole = read_bytes(plain.data, plain.bytes);
    uint64_t before = 0;
    for (size_t bytes = 0; bytes < plain.bytes; bytes++) {
        struct outcome outcome = read_bytes(plain.data, bytes);
        assert_true(outcome.given == before || outcome.given == before + 1);
        assert_int_equal(outcome.damage.bad_packet_count, 0);
        bool is_at_end = outcome.given == before + 1;
        before = outcome.given;
        assert_int_equal(outcome.verdict,
                         bytes == 0 ? HS_TRACE_E_EMPTY : (before ? 0 : HS_TRACE_E_FOREIGN));
        if (is_at_end) {
            assert_true(is_clean(&outcome));
        } else if (before > 0) {
            assert_true(outcome.damage.is_truncated && outcome.damage.skipped_bytes == 0);
        }
    }
    assert_int_equal(before, whole.given - 1);
    hs_buf_deinit(&plain);
}

static void test_truncated_compressed(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT, packed[2] = { HS_BUF_INIT, HS_BUF_INIT };
    make_trace(&plain, 5000);
    compress_gzip(&packed[0], plain.data, plain.bytes);
    compress_zstd(&packed[1], plain.data, plain.bytes);
    struct outcome whole = read_bytes(plain.data, plain.bytes);
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = read_bytes(packed[i].data, packed[i].bytes / 2);
        assert_int_equal(outcome.verdict, 0);
        assert_true(outcome.given > 0 && outcome.given < whole.given);
        assert_true(outcome.damage.is_truncated && !outcome.damage.has_bad_compression);
        hs_buf_deinit(&packed[i]);
    }
    hs_buf_deinit(&plain);
}

/* Where packet number `idx` starts, and its length with its header. */
static size_t packet_at(const struct hs_buf *buf, size_t idx, size_t *ret_bytes)
{
    size_t at = 0;
    for (size_t i = 0;; i++) {
        size_t bytes = 0, head = 1;
        for (unsigned shift = 0;; shift += 7) {
            uint8_t byte = (uint8_t)buf->data[at + head++];
            bytes |= (size_t)(byte & 0x7F) << shift;
            if (byte < 0x80) {
                break;
            }
        }
        if (i == idx) {
            *ret_bytes = head + bytes;
            return at;
        }
        at += head + bytes;
    }
}

/* Bytes flipped anywhere: one or two packets are lost, not the rest of the file. */
static void test_damaged(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT;
    for (int i = 0; i < 2; i++) {
        make_trace(&plain, 10);
    }
    struct outcome whole = read_bytes(plain.data, plain.bytes);
    size_t lengths_hit = 0;
    for (size_t at = 0; at < plain.bytes; at++) {
        for (unsigned flip = 1; flip < 256; flip = flip * 64 + 3) {
            plain.data[at] = (char)(plain.data[at] ^ (int)flip);
            struct outcome outcome = read_bytes(plain.data, plain.bytes);
            plain.data[at] = (char)(plain.data[at] ^ (int)flip);
            assert_int_equal(outcome.verdict, 0);
            assert_true(outcome.given + 3 >= whole.given);
            lengths_hit += outcome.damage.skipped_bytes > 0;
        }
    }
    assert_true(lengths_hit > 20);
    hs_buf_deinit(&plain);
}

/* Holes of zeros, garbage between packets and at the start, a packet lost in the middle. */
static void test_garbage_between(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT, both = HS_BUF_INIT;
    make_trace(&plain, 20);
    struct outcome one = read_bytes(plain.data, plain.bytes);
    hs_buf_add(&both, plain.data, plain.bytes);
    hs_buf_repeat(&both, '\0', 5000);
    hs_buf_str(&both, "garbage \x0a\x03 \x1f\x8b\x08\x00 \x28\xb5\x2f\xfd more");
    hs_buf_add(&both, plain.data, plain.bytes);
    hs_buf_repeat(&both, '\0', 4096); /* zeros that a file system leaves after a crash */
    struct outcome outcome = read_bytes(both.data, both.bytes);
    assert_int_equal(outcome.given, 2 * one.given);
    assert_true(outcome.damage.skipped_bytes >= 5000 + 4096);
    size_t bytes;
    size_t at = packet_at(&plain, 3, &bytes);
    memset(plain.data + at, 0xff, bytes);
    outcome = read_bytes(plain.data, plain.bytes);
    assert_int_equal(outcome.given, one.given - 1);
    assert_int_equal(outcome.damage.skipped_bytes, bytes);
    hs_buf_deinit(&plain);
    hs_buf_deinit(&both);
}

static void test_foreign(void **state)
{
    (void)state;
    static const char pprof[] = "\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05";
    static const char text[] = "\nsome text\nof several lines\n{\"json\": true}\n";
    assert_int_equal(read_bytes("", 0).verdict, HS_TRACE_E_EMPTY);
    assert_int_equal(read_bytes("\x0a", 1).verdict, HS_TRACE_E_FOREIGN);
    assert_int_equal(read_bytes("\x0a\x00", 2).verdict, HS_TRACE_E_FOREIGN);
    assert_int_equal(read_bytes(text, sizeof(text) - 1).verdict, HS_TRACE_E_FOREIGN);
    assert_int_equal(read_bytes(pprof, sizeof(pprof) - 1).verdict, HS_TRACE_E_FOREIGN);
    struct hs_buf gzip = HS_BUF_INIT;
    compress_gzip(&gzip, text, sizeof(text));
    assert_int_equal(read_bytes(gzip.data, gzip.bytes).verdict, HS_TRACE_E_FOREIGN);
    hs_buf_deinit(&gzip);
    /* An executable file. */
    assert_int_equal(drain(open_reader("/proc/self/exe")).verdict, HS_TRACE_E_FOREIGN);
    struct hs_trace_input input;
    assert_int_equal(hs_trace_input_open(&input, "/nonexistent"), -ENOENT);
    assert_int_equal(hs_trace_input_open(&input, "/"), -EISDIR);
}

/* Packets of other tools are skipped, even those with invalid contents. */
static void test_other_packets(void **state)
{
    (void)state;
    /* timestamp 5, field 11 (a track event) of 3 bytes that are no message */
    static const char event[] = "\x0a\x07\x40\x05\x5a\x03\xff\xff\xff";
    struct hs_buf buf = HS_BUF_INIT;
    for (int i = 0; i < 1000; i++) {
        hs_buf_add(&buf, event, sizeof(event) - 1);
    }
    struct outcome outcome = read_bytes(buf.data, buf.bytes);
    assert_true(is_clean(&outcome));
    assert_int_equal(outcome.given, 0);
    assert_int_equal(outcome.damage.packet_count, 1000);
    hs_buf_deinit(&buf);
}

/* A pipe is not a regular file, so it cannot be mapped. */
static void test_pipe(void **state)
{
    (void)state;
    struct hs_buf plain = HS_BUF_INIT;
    make_trace(&plain, 20);
    struct outcome expected = read_bytes(plain.data, plain.bytes);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_true(plain.bytes < 60000); /* fits into the pipe */
    assert_int_equal(write(fds[1], plain.data, plain.bytes), (ssize_t)plain.bytes);
    close(fds[1]);
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    struct outcome outcome = drain(open_reader(path));
    assert_true(outcome.hash == expected.hash && is_clean(&outcome));
    close(fds[0]);
    hs_buf_deinit(&plain);
}

/* A few kilobytes that expand to gigabytes of nothing, or announce them. */
static void test_bombs(void **state)
{
    (void)state;
    struct hs_buf bomb = HS_BUF_INIT, plain = HS_BUF_INIT;
    enum { ZEROS = 64 << 20 };
    void *zeros = calloc(1, ZEROS);
    for (int i = 0; i < 8; i++) {
        compress_zstd(&bomb, zeros, ZEROS);
    }
    free(zeros);
    assert_true(bomb.bytes < 64 * 1024);
    struct outcome outcome = read_bytes(bomb.data, bomb.bytes);
    assert_true(outcome.damage.is_too_big);
    assert_int_equal(outcome.verdict, HS_TRACE_E_FOREIGN);
    /* A length of 100 MB, 4 GB, 2^63 in front of a few bytes. */
    static const char *const heads[] = { "\x0a\x80\x80\x80\x30", "\x0a\xff\xff\xff\xff\x0f",
                                         "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f" };
    make_trace(&plain, 5);
    struct outcome expected = read_bytes(plain.data, plain.bytes);
    for (size_t i = 0; i < 3; i++) {
        struct hs_buf both = HS_BUF_INIT;
        hs_buf_str(&both, heads[i]);
        hs_buf_add(&both, plain.data, plain.bytes);
        outcome = read_bytes(both.data, both.bytes);
        assert_int_equal(outcome.given, expected.given);
        assert_int_equal(outcome.damage.skipped_bytes, strlen(heads[i]));
        hs_buf_deinit(&both);
    }
    hs_buf_deinit(&bomb);
    hs_buf_deinit(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codings),
        cmocka_unit_test(test_concatenated),
        cmocka_unit_test(test_compressed_packets),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_truncated_compressed),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_garbage_between),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_other_packets),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
