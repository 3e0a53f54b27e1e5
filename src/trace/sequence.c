/*
 * See sequence.h.
 */
#include "trace/sequence.h"

#include <errno.h>
#include <stdlib.h>

#include "rt/check.h"

#define FLAG_STATE_CLEARED 1U
#define FLAG_NEEDS_STATE   2U

void hs_sequences_deinit(struct hs_sequences *sequences)
{
    for (uint32_t i = 0; i < sequences->ids.ids.count; i++) {
        hs_trace_state_release(sequences->states[i]);
    }
    hs_intern_deinit(&sequences->ids.ids);
    free(sequences->states);
    *sequences = (struct hs_sequences){ 0 };
}

void hs_trace_state_hold(struct hs_trace_state *state)
{
    state->hold_count++;
}

void hs_trace_state_release(struct hs_trace_state *state)
{
    if (state && --state->hold_count == 0) {
        HS_ASSERT_SLOW(hs_interned_is_valid(&state->interned));
        hs_interned_deinit(&state->interned);
        free(state);
    }
}

bool hs_trace_clears_state(const Hs__Pb__TracePacket *packet)
{
    return (packet->sequence_flags & FLAG_STATE_CLEARED) != 0 || packet->incremental_state_cleared;
}

bool hs_trace_needs_state(const Hs__Pb__TracePacket *packet)
{
    return (packet->sequence_flags & FLAG_NEEDS_STATE) != 0;
}

/* Where the sequence has its state, which is NULL for a new one. Returns NULL after an error. */
static struct hs_trace_state **find_place(struct hs_sequences *sequences, uint32_t id, int *err)
{
    if (sequences->last < sequences->ids.ids.count &&
        sequences->ids.ids.keys[sequences->last].lo == id) {
        return &sequences->states[sequences->last];
    }
    bool is_new;
    void *elem = NULL;
    *err = hs_intern_at(&sequences->ids, &sequences->states, sizeof(sequences->states[0]),
                        (struct hs_intern_key){ .lo = id }, &elem, &is_new);
    struct hs_trace_state **place = *err == 0 ? elem : NULL;
    if (place) {
        sequences->last = (uint32_t)(place - sequences->states);
    }
    return place;
}

static struct hs_trace_state *new_state(uint32_t id, bool is_valid)
{
    struct hs_trace_state *state = calloc(1, sizeof(*state));
    if (state) {
        state->sequence_id = id;
        state->is_valid = is_valid;
        state->hold_count = 1;
    }
    return state;
}

int hs_sequences_take(struct hs_sequences *sequences, const Hs__Pb__TracePacket *packet,
                      struct hs_trace_state **ret_state)
{
    uint32_t id = packet->trusted_packet_sequence_id;
    bool is_cleared = hs_trace_clears_state(packet);
    int err = 0;
    struct hs_trace_state **place = find_place(sequences, id, &err);
    if (!place) {
        return err;
    }
    if (is_cleared || !*place) {
        struct hs_trace_state *state = new_state(id, is_cleared && id != 0);
        if (!state) {
            return -ENOMEM;
        }
        hs_trace_state_release(*place);
        *place = state;
    }
    struct hs_trace_state *state = *place;
    if (packet->previous_packet_dropped != 0 && !is_cleared) {
        state->is_valid = false;
    }
    if (packet->trace_packet_defaults) {
        state->clock_id = packet->trace_packet_defaults->timestamp_clock_id;
    }
    *ret_state = state;
    return packet->interned_data
               ? hs_interned_add(&state->interned, packet->interned_data, state->is_valid)
               : 0;
}
