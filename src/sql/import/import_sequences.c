/*
 * What rows need to know of packet sequences: which state their parts were read in.
 *
 * Parts of packets are deferred, so the state of a sequence is held until its last part was
 * processed, even if the sequence has a new one by then.
 *
 * See       import_state.h, trace/sequence.h
 */
#include <stdlib.h>
#include <string.h>

#include "sql/import/import_state.h"

static struct hs_intern_key sequence_key(uint32_t id, uint32_t epoch)
{
    return (struct hs_intern_key){ .hi = epoch, .lo = id };
}

/* NULL if nothing of the sequence was kept. */
static struct hs_import_sequence *find_sequence(const struct hs_import *import, uint32_t id)
{
    const uint32_t *epoch =
        hs_intern_elem(&import->epoch_ids, import->epochs, sizeof(*epoch), HS_IMPORT_KEY(id));
    return epoch ? hs_intern_elem(&import->sequence_ids, import->sequences,
                                  sizeof(struct hs_import_sequence), sequence_key(id, *epoch))
                 : NULL;
}

static void set_state(struct hs_import_sequence *sequence, struct hs_trace_state *state)
{
    if (sequence->state != state) {
        if (state) {
            hs_trace_state_hold(state);
        }
        hs_trace_state_release(sequence->state);
        sequence->state = state;
    }
}

static struct hs_import_sequence *sequence_of(struct hs_import *import, uint32_t id)
{
    bool is_new;
    const uint32_t *epoch = hs_import_at(import, &import->epoch_ids, &import->epochs,
                                         sizeof(*epoch), HS_IMPORT_KEY(id), &is_new);
    struct hs_import_sequence *sequence =
        epoch ? hs_import_at(import, &import->sequence_ids, &import->sequences, sizeof(*sequence),
                             sequence_key(id, *epoch), &is_new)
              : NULL;
    if (sequence) {
        sequence->id = id;
    }
    return sequence;
}

/* Starts a sequence with empty state. Deferred parts keep the state under which they were read. */
static struct hs_import_sequence *start_sequence(struct hs_import *import, uint32_t id)
{
    struct hs_import_sequence *sequence = sequence_of(import, id);
    if (sequence && sequence->waiting_count > 0) {
        uint32_t *epoch =
            hs_intern_elem(&import->epoch_ids, import->epochs, sizeof(*epoch), HS_IMPORT_KEY(id));
        sequence->is_over = true;
        ++*epoch;
        sequence = sequence_of(import, id);
    } else if (sequence) {
        hs_import_sequence_clear(import, sequence);
    }
    return sequence;
}

void hs_import_sequence_clear(struct hs_import *import, struct hs_import_sequence *sequence)
{
    if (sequence->complete_count > 0) {
        hs_import_dumps_finish(import, sequence);
    }
    hs_import_made_deinit(&sequence->made);
    hs_interned_deinit(&sequence->legacy);
    hs_import_stack_deinit(sequence);
    hs_import_dumps_clear(sequence);
    memset(sequence->named_count, 0, sizeof(sequence->named_count));
    set_state(sequence, NULL);
}

void hs_import_sequences_deinit(struct hs_import *import)
{
    for (uint32_t i = 0; i < import->sequence_ids.ids.count; i++) {
        hs_import_made_deinit(&import->sequences[i].made);
        hs_interned_deinit(&import->sequences[i].legacy);
        hs_import_stack_deinit(&import->sequences[i]);
        hs_import_dumps_clear(&import->sequences[i]);
        set_state(&import->sequences[i], NULL);
    }
    hs_intern_deinit(&import->epoch_ids.ids);
    hs_intern_deinit(&import->sequence_ids.ids);
    free(import->epochs);
    free(import->sequences);
}

struct hs_import_sequence *hs_import_sequence(struct hs_import *import,
                                              const Hs__Pb__TracePacket *packet,
                                              struct hs_trace_state *state, bool has_samples)
{
    bool is_cleared = hs_trace_clears_state(packet);
    uint32_t id = packet->trusted_packet_sequence_id;
    if (!is_cleared && !packet->interned_data && !has_samples && !packet->trace_packet_defaults &&
        packet->previous_packet_dropped == 0 && !hs_trace_needs_state(packet)) {
        return find_sequence(import, id);
    }
    if (packet->interned_data && id == 0) {
        hs_stat_count(import, HS_STAT_INTERNED_TOKENIZER);
    }
    if (id == 0 && !has_samples) {
        return NULL;
    }
    struct hs_import_sequence *sequence =
        is_cleared && id != 0 ? start_sequence(import, id) : sequence_of(import, id);
    if (!sequence) {
        return NULL;
    }
    set_state(sequence, state);
    if (packet->trace_packet_defaults) {
        hs_import_stack_defaults(import, sequence, packet->trace_packet_defaults);
    }
    if (packet->interned_data && state->is_valid) {
        hs_import_name_interned(import, sequence);
        hs_import_stack_interned(import, sequence, packet->interned_data);
    } else if (packet->interned_data && id != 0) {
        hs_stat_count(import, HS_STAT_INTERNED_SKIPPED);
    }
    return sequence;
}
