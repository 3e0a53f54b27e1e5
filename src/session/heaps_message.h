/*
 * Which heaps a session records, as a message of ctl.proto.
 *
 *     struct hs_heaps_message heaps;
 *     request.heaps = hs_heaps_message_fill(&heaps, &settings->heaps);
 *
 * Requires  the message is used while the selection is there: it refers to the names in it.
 * Threads   none.
 * See       collect/region/heap_selection.h
 */
#pragma once

#include "collect/region/heap_selection.h"
#include "ctl/ctl.pb-c.h"

/* A message with all that it points to. */
struct hs_heaps_message {
    Hs__Ctl__Heaps message;
    char *patterns[HS_REGION_HEAP_RULES];
    uint64_t interval_bytes[HS_REGION_HEAP_RULES];
};

/* Fills in the message of a settled selection. NULL: all heaps are recorded alike, which needs no
 * message. */
Hs__Ctl__Heaps *hs_heaps_message_fill(struct hs_heaps_message *out,
                                      const struct hs_heap_selection *selection);
