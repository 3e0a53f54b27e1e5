/*
 * What our own packets of a dump say about pages that live blocks keep: HsPinnedPages.
 *
 * Threads   as trace_writer.h.
 * Fails     never: a stack that the snapshot does not have is left out.
 * See       docs/FORMAT.md, trace/pinned_pages.h
 */
#pragma once

#include "trace/writer_state.h"

#define HS_PIN_COLUMNS 12U

/* What an encoded HsDump points to. */
struct hs_pin_packet {
    Hs__Pb__HsPinnedPages message;
    uint64_t columns[HS_PIN_COLUMNS][HS_PIN_STACKS_MAX];
};

/* Puts the pinned pages of the dump into `out`. They point into `packet` and the snapshot. */
void hs_writer_pins_fill(const struct hs_writer_dump *dump, struct hs_pin_packet *packet,
                         Hs__Pb__HsDump *out);
