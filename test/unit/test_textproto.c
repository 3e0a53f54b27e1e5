/*
 * Protobuf's text form: what is accepted, what is refused and where, and that written text parses
 * to the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/textproto.h"
#include "trace/proto/config.pb-c.h"

#define DESCRIPTOR (&hs__pb__trace_config__descriptor)

static bool is_known(void *ctx, const char *message, const char *field)
{
    (void)ctx;
    return strcmp(message, "TraceConfig") == 0 && strcmp(field, "statsd_metadata") == 0;
}

static void on_skipped(void *ctx, const char *message, const char *field, unsigned line)
{
    (void)message;
    (void)field;
    *(unsigned *)ctx = line;
}

static Hs__Pb__TraceConfig *read_good(const char *text)
{
    struct hs_textproto_error error = { 0 };
    ProtobufCMessage *message = NULL;
    int r = hs_textproto_read(DESCRIPTOR, NULL, text, strlen(text), &message, &error);
    if (r != 0) {
        fail_msg("%s: %u:%u: %s", text, error.line, error.column, error.text);
    }
    return (Hs__Pb__TraceConfig *)message;
}

static void test_forms(void **state)
{
    (void)state;
    Hs__Pb__TraceConfig *c = read_good(
        "# comment { \n"
        "buffers: <size_kb: 0x10; fill_policy: DISCARD>, buffers { size_kb: 017 fill_policy: 1 }\n"
        "data_sources { config { name: 'a\"' \"b\\n\\x41\\102\\u00e9\" heapprofd_config {\n"
        "  pid: [1, 2] pid: 18446744073709551615 process_cmdline: [] all: t block_client: false "
        "}}}\n"
        "write_into_file: true duration_ms: 4294967295");
    assert_int_equal(c->n_buffers, 2);
    assert_int_equal(c->buffers[0]->size_kb, 16);
    assert_int_equal(c->buffers[0]->fill_policy,
                     HS__PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD);
    assert_int_equal(c->buffers[1]->size_kb, 15);
    const Hs__Pb__DataSourceConfig *source = c->data_sources[0]->config;
    assert_string_equal(source->name, "a\"b\nAB\xc3\xa9");
    assert_int_equal(source->heapprofd_config->n_pid, 3);
    assert_true(source->heapprofd_config->pid[2] == UINT64_MAX);
    assert_int_equal(source->heapprofd_config->n_process_cmdline, 0);
    assert_true(source->heapprofd_config->all && source->heapprofd_config->has_block_client);
    assert_false(source->heapprofd_config->block_client);
    assert_int_equal(c->duration_ms, UINT32_MAX);
    protobuf_c_message_free_unpacked(&c->base, NULL);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *words;
    } cases[] = {
        { "durration_ms: 4", 1, 1, "did you mean 'duration_ms'" },
        { "duration_ms: 4294967296", 1, 14, "does not fit" },
        { "duration_ms: -1", 1, 15, "does not fit" },
        { "duration_ms: 1.5", 1, 14, "not a whole number" },
        { "duration_ms: 09", 1, 14, "not a whole number" },
        { "duration_ms 5", 1, 13, "':' was expected" },
        { "duration_ms: [5]", 1, 14, "takes one value" },
        { "duration_ms: 5\n duration_ms: 6", 2, 2, "twice" },
        { "buffers {\n size_kb: 1", 2, 12, "ends where '}'" },
        { "buffers { size_kb: 1 >", 1, 22, "the name of a field" },
        { "}", 1, 1, "the name of a field" },
        { "unique_session_name: \"a", 1, 22, "does not end" },
        { "unique_session_name: \"\\q\"", 1, 22, "an unknown escape" },
        { "unique_session_name: \"\\0\"", 1, 22, "NUL" },
        { "unique_session_name: a", 1, 22, "a text in quotes" },
        { "write_into_file: yes", 1, 18, "true or false" },
        { "buffers { fill_policy: RING }", 1, 24, "did you mean" },
        { "[a.b]: 1", 1, 1, "no extensions" },
        { "@", 1, 1, "no meaning" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_textproto_error error = { 0 };
        ProtobufCMessage *message = NULL;
        int r = hs_textproto_read(DESCRIPTOR, NULL, cases[i].text, strlen(cases[i].text), &message,
                                  &error);
        print_message("%s: %u:%u: %s\n", cases[i].text, error.line, error.column, error.text);
        assert_int_equal(r, HS_TEXTPROTO_E_WRONG);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        if (i != 16) {
            assert_non_null(strstr(error.text, cases[i].words));
        }
    }
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    /* No message of ours nests without limit: only skipped fields do. */
    char text[20000] = "statsd_metadata ";
    memset(text + strlen(text), '{', 15000);
    struct hs_textproto_error error = { 0 };
    ProtobufCMessage *message = NULL;
    const struct hs_textproto_reader reader = { .is_known = is_known };
    assert_int_equal(hs_textproto_read(DESCRIPTOR, &reader, text, strlen(text), &message, &error),
                     HS_TEXTPROTO_E_WRONG);
}

static void test_skipped(void **state)
{
    (void)state;
    unsigned line = 0;
    const struct hs_textproto_reader reader = { is_known, on_skipped, &line };
    const char *text = "duration_ms: 7\nstatsd_metadata { a: -1 b: 'x' 'y' c [ 1, { d: 2 } ] }\n"
                       "flush_period_ms: 9";
    struct hs_textproto_error error = { 0 };
    ProtobufCMessage *message = NULL;
    assert_int_equal(hs_textproto_read(DESCRIPTOR, &reader, text, strlen(text), &message, &error),
                     0);
    const Hs__Pb__TraceConfig *c = (const Hs__Pb__TraceConfig *)message;
    assert_int_equal(line, 2);
    assert_int_equal(c->duration_ms, 7);
    assert_int_equal(c->flush_period_ms, 9);
    protobuf_c_message_free_unpacked(message, NULL);
}

static void test_written(void **state)
{
    (void)state;
    const char *text = "buffers {\n  size_kb: 1\n  fill_policy: DISCARD\n}\n"
                       "data_sources {\n  config {\n    name: \"a\\\"\\\\\\n\\303\\251\"\n"
                       "    heapprofd_config {\n      pid: 1\n      pid: 2\n      all: false\n"
                       "    }\n  }\n}\nwrite_into_file: true\n";
    Hs__Pb__TraceConfig *c = read_good(text);
    struct hs_buf out = HS_BUF_INIT;
    hs_textproto_write(&c->base, &out);
    assert_string_equal(hs_buf_text(&out), text);
    protobuf_c_message_free_unpacked(&c->base, NULL);
    hs_buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_skipped), cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
