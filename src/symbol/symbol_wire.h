/*
 * Sends symbol tables through a pipe, from a worker to the symbolizer.
 *
 * A message is a head and, for a result, the arrays of the table one after the other. Both ends run
 * the same program, but the sender has read hostile files; the receiver therefore checks every
 * number.
 *
 *   begin    "I start with request 7", so that the receiver knows at which request a worker died
 *   table    the result of request 7: head, spans, lines, strings
 *
 * Threads   none.
 * Fails     -errno of write, -EPIPE; -EBADMSG for a message that no worker would send.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_table.h"

enum hs_symbol_wire_kind {
    HS_SYMBOL_WIRE_BEGIN = 1,
    HS_SYMBOL_WIRE_TABLE = 2,
};

struct hs_symbol_wire_head {
    uint32_t kind;
    uint32_t request_idx;
    /* The rest is 0 for `begin`. */
    uint32_t reason;
    uint32_t source;
    uint32_t detail_off;
    uint32_t span_count;
    uint32_t line_count;
    uint32_t string_bytes;
    uint32_t named_count;
    uint32_t lined_count;
};

/* Sends a `begin` message. */
int hs_symbol_wire_send_begin(int fd, uint32_t request_idx);
/* Sends a `table` message. */
int hs_symbol_wire_send_table(int fd, uint32_t request_idx, const struct hs_symbol_table *table);

/*
 * Returns the total size of the first message in `data`, in bytes; 0 when not even its head is
 * complete; -EBADMSG.
 */
int64_t hs_symbol_wire_message_bytes(const void *data, size_t bytes);

/* Copies the table out of a complete table message. -EBADMSG, -ENOMEM. */
int hs_symbol_wire_take_table(const void *data, size_t bytes, struct hs_symbol_table *ret_table);
