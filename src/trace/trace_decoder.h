/*
 * The decoder of traces: reads a file once, packet by packet, and hands each packet to one or two
 * sinks, together with what is needed to interpret it: the interned data of its sequence
 * (sequence.h) and the clocks seen so far.
 *
 * There are two sinks. The profile (profile/read/load.h) takes packets in the order of the file and
 * keeps all that can be read of a damaged file. The tables (sql/import/import.h) follow Perfetto's
 * trace_processor: dumps and counters come in the order of their times, and what refers to a lost
 * packet is left out. The decoder decides none of this. It keeps the sequences, their interned
 * tables and the clocks, and each sink uses them by its own rule (enum hs_interned_rule).
 *
 * The sinks treat a damaged packet differently: the tables take a packet whole or not at all, the
 * profile takes what can be decoded of it. So when one pass serves both, the decoder passes
 * the profile's sink no more packets from the first damage on; the incomplete profile is dropped,
 * and the file is read once more for the profile alone.
 *
 * Ensures   the clocks stay until hs_trace_decoder_deinit(). A state (the interned data of a
 *           sequence since it was last cleared) stays until its sequence is cleared; a sink that
 *           needs it later holds it with hs_trace_state_hold().
 * Threads   one user.
 * Fails     -errno of the reader or of a sink.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/clocks.h"
#include "trace/sequence.h"
#include "trace/trace_reader.h"

struct hs_trace_decoder {
    struct hs_trace_reader *reader;
    struct hs_clocks *clocks;
    struct hs_sequences sequences;
};

struct hs_trace_sink {
    void *ctx;
    /* Takes a packet, which is valid until it returns. 0, or the error that ends the pass. */
    int (*take)(void *ctx, const struct hs_trace_decoder *decoder,
                const Hs__Pb__TracePacket *packet, struct hs_trace_state *state);
};

/* Takes over the reader, also if the call fails. */
int hs_trace_decoder_init(struct hs_trace_decoder *decoder, struct hs_trace_reader *reader);
/* Frees clocks and states, and the reader. */
void hs_trace_decoder_deinit(struct hs_trace_decoder *decoder);

/*
 * Passes every packet that the reader returns to `sink`. `second` is another sink, or NULL: it gets
 * the packets that a profile needs, but none from the first damage on. Returns 0 or -errno;
 * *ret_is_second_full: `second` has the whole file, because the file is intact. Without a second
 * sink, ret_is_second_full may be NULL.
 */
int hs_trace_decoder_run(struct hs_trace_decoder *decoder, const struct hs_trace_sink *sink,
                         const struct hs_trace_sink *second, bool *ret_is_second_full);
