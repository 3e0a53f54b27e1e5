/*
 * Symbol tables through a pipe: from a worker to the symbolizer.
 *
 * A message is a head and, for a result, the table's arrays one after the other. Both ends are the
 * same program, but the sender has read hostile files: the receiver checks every number.
 *
 *   begin    "I start with request 7", so that the receiver knows what a dead worker died of
 *   table    the result of request 7: head, spans, lines, strings
 *
 * Threads   none.
 * Fails     -errno of write, -EPIPE; -EBADMSG for what no worker of ours would send.
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

int hs_symbol_wire_send_begin(int fd, uint32_t request_idx);
int hs_symbol_wire_send_table(int fd, uint32_t request_idx, const struct hs_symbol_table *table);

/*
 * Looks at what has arrived. Returns how many bytes the first message takes in all, 0 when not even
 * its head is there yet, -EBADMSG.
 */
int64_t hs_symbol_wire_message_bytes(const void *data, size_t bytes);

/* Takes a table message apart, copying. `data` holds all of it. -EBADMSG, -ENOMEM. */
int hs_symbol_wire_take_table(const void *data, size_t bytes, struct hs_symbol_table *ret_table);
