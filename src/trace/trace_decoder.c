/*
 * See trace_decoder.h.
 */
#include "trace/trace_decoder.h"

#include <errno.h>
#include <stddef.h>

int hs_trace_decoder_init(struct hs_trace_decoder *decoder, struct hs_trace_reader *reader)
{
    *decoder = (struct hs_trace_decoder){ .reader = reader };
    int err = hs_clocks_new(&decoder->clocks);
    if (err < 0) {
        hs_trace_decoder_deinit(decoder);
    }
    return err;
}

void hs_trace_decoder_deinit(struct hs_trace_decoder *decoder)
{
    hs_sequences_deinit(&decoder->sequences);
    hs_clocks_free(decoder->clocks);
    hs_trace_reader_free(decoder->reader);
    *decoder = (struct hs_trace_decoder){ 0 };
}

/* Decodes what later packets may refer to. */
static int decode(struct hs_trace_decoder *decoder, const Hs__Pb__TracePacket *packet,
                  struct hs_trace_state **ret_state)
{
    int err = packet->clock_snapshot
                  ? hs_clocks_take(decoder->clocks, packet->trusted_packet_sequence_id,
                                   packet->clock_snapshot)
                  : 0;
    *ret_state = NULL;
    return err < 0 ? err : hs_sequences_take(&decoder->sequences, packet, ret_state);
}

int hs_trace_decoder_run(struct hs_trace_decoder *decoder, const struct hs_trace_sink *sink,
                         const struct hs_trace_sink *second, bool *ret_is_second_full)
{
    const Hs__Pb__TracePacket *packet;
    int found;
    while ((found = hs_trace_reader_next(decoder->reader, &packet)) > 0) {
        struct hs_trace_state *state;
        int err = decode(decoder, packet, &state);
        if (second && !hs_trace_reader_is_intact(decoder->reader)) {
            second = NULL;
        }
        if (err == 0 && second && hs_trace_reader_is_needed(decoder->reader)) {
            err = second->take(second->ctx, decoder, packet, state);
        }
        err = err ? err : sink->take(sink->ctx, decoder, packet, state);
        if (err != 0) {
            return err;
        }
    }
    if (ret_is_second_full) {
        *ret_is_second_full = second && hs_trace_reader_is_intact(decoder->reader);
    }
    return found;
}
