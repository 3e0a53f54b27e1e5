/*
 * What our own packets of a dump say about the process's resident memory: HsLedger.
 *
 * Threads   as trace_writer.h.
 * Fails     -ENOMEM
 * See       docs/FORMAT.md, trace/ledger.h
 */
#pragma once

#include "trace/writer_pins.h"
#include "trace/writer_state.h"

/* What an encoded HsDump points to: the ledger of the dump, and that of the largest RSS. */
struct hs_ledger_packets {
    Hs__Pb__HsLedger ledgers[2];
    Hs__Pb__HsLedger *pointers[2];
    uint64_t *numbers[2]; /* columns, one behind the other */
    char **names[2];
    uint64_t *stack_numbers[2]; /* as numbers */
    double *block_numbers[2];   /* as numbers */
    struct hs_pin_packet pins;
};

/* Puts the ledgers of the dump, and what was read with them, into `out`, unless the process's dump
 * before it has the same. They point into `packets` and the snapshot. The caller deinits
 * `packets`. */
int hs_writer_ledgers_fill(const struct hs_writer_dump *dump, struct hs_ledger_packets *packets,
                           Hs__Pb__HsDump *out);
void hs_ledger_packets_deinit(struct hs_ledger_packets *packets);
