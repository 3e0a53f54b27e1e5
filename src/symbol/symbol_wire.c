/*
 * Sends and checks tables. See symbol_wire.h.
 */
#include "symbol/symbol_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/write_all.h"

/* No module has more than 1 GiB of text and a quarter of that of other data. */
#define COUNT_MAX (UINT32_C(1) << 26)
#define BYTES_MAX (UINT32_C(1) << 30)

int hs_symbol_wire_send_begin(int fd, uint32_t request_idx)
{
    struct hs_symbol_wire_head head = { .kind = HS_SYMBOL_WIRE_BEGIN, .request_idx = request_idx };
    return hs_write_all(fd, &head, sizeof(head));
}

int hs_symbol_wire_send_table(int fd, uint32_t request_idx, const struct hs_symbol_table *table)
{
    struct hs_symbol_wire_head head = {
        .kind = HS_SYMBOL_WIRE_TABLE,
        .request_idx = request_idx,
        .reason = table->reason,
        .source = table->source,
        .detail_off = table->detail_off,
        .span_count = table->span_count,
        .line_count = table->line_count,
        .string_bytes = table->string_bytes,
        .named_count = table->named_count,
        .lined_count = table->lined_count,
    };
    int err = hs_write_all(fd, &head, sizeof(head));
    if (err == 0) {
        err = hs_write_all(fd, table->spans, table->span_count * sizeof(*table->spans));
    }
    if (err == 0) {
        err = hs_write_all(fd, table->lines, table->line_count * sizeof(*table->lines));
    }
    if (err == 0) {
        err = hs_write_all(fd, table->strings, table->string_bytes);
    }
    return err;
}

int64_t hs_symbol_wire_message_bytes(const void *data, size_t bytes)
{
    struct hs_symbol_wire_head head;
    if (bytes < sizeof(head)) {
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    if (head.kind == HS_SYMBOL_WIRE_BEGIN) {
        return (int64_t)sizeof(head);
    }
    if (head.kind != HS_SYMBOL_WIRE_TABLE || head.span_count > COUNT_MAX ||
        head.line_count > COUNT_MAX || head.string_bytes > BYTES_MAX) {
        return -EBADMSG;
    }
    return (int64_t)(sizeof(head) + head.span_count * sizeof(struct hs_symbol_span) +
                     head.line_count * sizeof(struct hs_symbol_line) + head.string_bytes);
}

static void *copy_of(const char **at, size_t bytes)
{
    void *copy = malloc(bytes + 1);
    if (copy) {
        memcpy(copy, *at, bytes);
        *at += bytes;
    }
    return copy;
}

int hs_symbol_wire_take_table(const void *data, size_t bytes, struct hs_symbol_table *ret_table)
{
    struct hs_symbol_wire_head head;
    if (hs_symbol_wire_message_bytes(data, bytes) != (int64_t)bytes) {
        return -EBADMSG;
    }
    memcpy(&head, data, sizeof(head));
    if (head.kind != HS_SYMBOL_WIRE_TABLE) {
        return -EBADMSG;
    }
    struct hs_symbol_table table = {
        .reason = head.reason,
        .source = head.source,
        .detail_off = head.detail_off,
        .span_count = head.span_count,
        .line_count = head.line_count,
        .string_bytes = head.string_bytes,
        .named_count = head.named_count,
        .lined_count = head.lined_count,
    };
    const char *at = (const char *)data + sizeof(head);
    table.spans = copy_of(&at, head.span_count * sizeof(*table.spans));
    table.lines = table.spans ? copy_of(&at, head.line_count * sizeof(*table.lines)) : NULL;
    table.strings = table.lines ? copy_of(&at, head.string_bytes) : NULL;
    int err = table.strings ? 0 : -ENOMEM;
    if (err == 0 && !hs_symbol_table_is_valid(&table)) {
        err = -EBADMSG;
    }
    if (err != 0) {
        hs_symbol_table_deinit(&table);
        return err;
    }
    *ret_table = table;
    return 0;
}
