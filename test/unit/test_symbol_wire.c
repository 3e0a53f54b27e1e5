/* symbol_wire.c: a received table equals the one that was sent, and any changed byte is handled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbol_builder.h"
#include "symbol/symbol_wire.h"

static const uint64_t pcs[] = { 16, 32 };

static void make_table(struct hs_symbol_table *table)
{
    struct hs_symbol_builder builder;
    assert_int_equal(hs_symbol_builder_init(&builder, pcs, 2), 0);
    uint32_t file = hs_symbol_builder_string(&builder, "/src/a.c");
    hs_symbol_builder_line(&builder, 1, hs_symbol_builder_name(&builder, "_Z1fv"), file, 3);
    hs_symbol_builder_line(&builder, 1, hs_symbol_builder_name(&builder, "main"), file, 8);
    hs_symbol_builder_source(&builder, HS_SYMBOL_SOURCE_DWARF);
    assert_int_equal(hs_symbol_builder_finish(&builder, pcs, 2, table), 0);
    hs_symbol_builder_deinit(&builder);
}

/* Sends through a pipe; the message is small enough to fit. */
static size_t send_table(const struct hs_symbol_table *table, char *out, size_t out_bytes)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(hs_symbol_wire_send_begin(fds[1], 7), 0);
    assert_int_equal(hs_symbol_wire_send_table(fds[1], 7, table), 0);
    close(fds[1]);
    ssize_t got, bytes = 0;
    while ((got = read(fds[0], out + bytes, out_bytes - (size_t)bytes)) > 0) {
        bytes += got;
    }
    close(fds[0]);
    return (size_t)bytes;
}

static void there_and_back(void **state)
{
    (void)state;
    struct hs_symbol_table table, back;
    char data[4096];
    make_table(&table);
    size_t bytes = send_table(&table, data, sizeof(data));

    int64_t first = hs_symbol_wire_message_bytes(data, bytes);
    assert_int_equal(first, sizeof(struct hs_symbol_wire_head));
    assert_int_equal(hs_symbol_wire_take_table(data, (size_t)first, &back), -EBADMSG);
    const char *second = data + first;
    size_t second_bytes = bytes - (size_t)first;
    assert_int_equal(hs_symbol_wire_message_bytes(second, 3), 0);
    assert_int_equal(hs_symbol_wire_message_bytes(second, second_bytes), second_bytes);
    assert_int_equal(hs_symbol_wire_take_table(second, second_bytes - 1, &back), -EBADMSG);
    assert_int_equal(hs_symbol_wire_take_table(second, second_bytes, &back), 0);

    assert_int_equal(back.span_count, table.span_count);
    assert_int_equal(back.string_bytes, table.string_bytes);
    assert_memory_equal(back.spans, table.spans, 2 * sizeof(*table.spans));
    assert_memory_equal(back.lines, table.lines, table.line_count * sizeof(*table.lines));
    assert_memory_equal(back.strings, table.strings, table.string_bytes);
    assert_int_equal(back.source, HS_SYMBOL_SOURCE_DWARF);
    assert_int_equal(back.named_count, 1);
    hs_symbol_table_deinit(&back);
    hs_symbol_table_deinit(&table);
}

static void every_changed_byte(void **state)
{
    (void)state;
    struct hs_symbol_table table, back;
    char data[4096];
    make_table(&table);
    size_t bytes = send_table(&table, data, sizeof(data));
    char *message = data + sizeof(struct hs_symbol_wire_head);
    size_t message_bytes = bytes - sizeof(struct hs_symbol_wire_head);
    unsigned refused = 0;
    for (size_t i = 0; i < message_bytes; i++) {
        for (int bit = 0; bit < 8; bit++) {
            message[i] ^= (char)(1 << bit);
            if (hs_symbol_wire_take_table(message, message_bytes, &back) == 0) {
                assert_true(hs_symbol_table_is_valid(&back));
                hs_symbol_table_deinit(&back);
            } else {
                refused++;
            }
            message[i] ^= (char)(1 << bit);
        }
    }
    assert_true(refused > 200);
    hs_symbol_table_deinit(&table);
}

static void absurd_sizes(void **state)
{
    (void)state;
    struct hs_symbol_wire_head head = { .kind = HS_SYMBOL_WIRE_TABLE, .span_count = UINT32_MAX };
    assert_int_equal(hs_symbol_wire_message_bytes(&head, sizeof(head)), -EBADMSG);
    head = (struct hs_symbol_wire_head){ .kind = HS_SYMBOL_WIRE_TABLE, .string_bytes = UINT32_MAX };
    assert_int_equal(hs_symbol_wire_message_bytes(&head, sizeof(head)), -EBADMSG);
    head = (struct hs_symbol_wire_head){ .kind = 99 };
    assert_int_equal(hs_symbol_wire_message_bytes(&head, sizeof(head)), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(every_changed_byte),
        cmocka_unit_test(absurd_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
