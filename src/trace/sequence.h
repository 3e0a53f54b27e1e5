/*
 * Packet sequences and their incremental state.
 *
 * Each writer of a trace writes a sequence of packets. A packet may refer to what earlier packets
 * of its sequence interned, which is the sequence's state. A writer clears the state when it
 * starts. A sequence of a file can contain several starts, for instance when files were
 * concatenated, or because the writer clears the state from time to time for readers of a ring
 * buffer. After each start iids mean something else, so each clearing makes a new hs_trace_state.
 *
 * The state is valid from its clearing until a packet of the sequence was lost. Packets that need
 * state say so; the reader decides what to do with them in an invalid state (enum
 * hs_interned_rule). Packets without a sequence id cannot make a state valid.
 *
 * Holds     a state lives until the sequence has a new one and all holders of the old one have
 *           released it.
 * Threads   one user.
 * Fails     -ENOMEM, -EOVERFLOW.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/interned.h"

struct hs_trace_state {
    uint32_t sequence_id;
    bool is_valid;
    uint32_t clock_id; /* of packets that do not name a clock; 0: the trace's clock */
    uint32_t hold_count;
    struct hs_interned interned;
};

struct hs_sequences {
    struct hs_intern_array ids;     /* sequence id -> index */
    struct hs_trace_state **states; /* the current ones */
    uint32_t last;                  /* most packets follow one of the same sequence */
};

/* Releases the current states. All zeros are no sequences. */
void hs_sequences_deinit(struct hs_sequences *sequences);

/* Does the packet clear the state of its sequence? */
bool hs_trace_clears_state(const Hs__Pb__TracePacket *packet);
/* Does the packet mean nothing without a valid state? */
bool hs_trace_needs_state(const Hs__Pb__TracePacket *packet);

/*
 * Takes a packet in: clears the state of its sequence, makes it invalid, sets its defaults, adds
 * what the packet interned. *ret_state is the state in which the packet is to be read.
 */
int hs_sequences_take(struct hs_sequences *sequences, const Hs__Pb__TracePacket *packet,
                      struct hs_trace_state **ret_state);

/* Keeps a state that the sequence will replace. */
void hs_trace_state_hold(struct hs_trace_state *state);
/* NULL is allowed. */
void hs_trace_state_release(struct hs_trace_state *state);
