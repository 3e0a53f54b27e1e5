/*
 * See import_order.h.
 */
#include "sql/import/import_order.h"

#include <stdlib.h>

#include "trace/trace_scan.h"
#include "util/array.h"

/* Limits of deferred parts, because a short part takes more memory than it has bytes in the file:
 * WAITING_MIN parts in any file, plus one part for every BYTES_EACH_WAITING bytes of the file. A
 * counter's packet of one value has about 20 bytes. */
#define WAITING_MIN        ((size_t)4 << 20)
#define BYTES_EACH_WAITING 2U

struct hs_import_waiting {
    int64_t ns;
    uint64_t order;         /* for parts of the same time: their order in the file */
    uint32_t sequence;      /* HS_IMPORT_NONE */
    uint32_t default_count; /* hs_import_stack_default_count() */
    struct hs_trace_part part;
};

void hs_import_defer(struct hs_import *import, struct hs_import_sequence *sequence,
                     struct hs_trace_reader *reader)
{
    uint32_t count;
    const struct hs_trace_part *parts = hs_trace_reader_parts(reader, &count);
    size_t max_count = WAITING_MIN + import->file_bytes / BYTES_EACH_WAITING;
    for (uint32_t i = 0; i < count; i++) {
        if (import->waiting_count == max_count) {
            hs_trace_reader_note_too_big(reader);
            return;
        }
        int err = hs_array_reserve(&import->waiting, &import->waiting_capacity,
                                   import->waiting_count + 1, sizeof(import->waiting[0]));
        if (err < 0) {
            import->store->err = import->store->err ? import->store->err : err;
            return;
        }
        uint32_t at = sequence ? (uint32_t)(sequence - import->sequences) : HS_IMPORT_NONE;
        import->waiting[import->waiting_count] = (struct hs_import_waiting){
            .ns = import->now_ns,
            .order = import->waiting_count,
            .sequence = at,
            .default_count = hs_import_stack_default_count(sequence),
            .part = parts[i],
        };
        import->is_out_of_order |= import->waiting_count > 0 &&
                                   import->waiting[import->waiting_count - 1].ns > import->now_ns;
        import->waiting_count++;
        if (sequence) {
            sequence->waiting_count++;
        }
    }
}

static int compare_waiting(const void *left_data, const void *right_data)
{
    const struct hs_import_waiting *left = left_data, *right = right_data;
    if (left->ns != right->ns) {
        return left->ns < right->ns ? -1 : 1;
    }
    return left->order < right->order ? -1 : left->order > right->order;
}

/* Adds the rows of a part. packet: NULL if it could not be decoded. */
static void add_part_rows(struct hs_import *import, struct hs_import_sequence *sequence,
                          const Hs__Pb__TracePacket *packet)
{
    if (!packet) {
        return;
    }
    if (packet->process_tree) {
        hs_import_process_tree(import, packet->process_tree);
    }
    if (packet->process_stats) {
        hs_import_process_stats(import, packet->process_stats);
    }
    if (packet->heapscope_counters) {
        hs_import_our_counters(import, packet->heapscope_counters);
    }
    if (packet->sys_stats) {
        hs_import_sys_stats(import, packet->sys_stats);
    }
    if (packet->smaps_packet) {
        hs_import_smaps(import, packet->smaps_packet);
    }
    if (packet->profile_packet && sequence) {
        hs_import_profile_packet(import, sequence, packet->profile_packet);
    }
}

void hs_import_defer_finish(struct hs_import *import, struct hs_trace_reader *reader)
{
    if (import->is_out_of_order) {
        qsort(import->waiting, import->waiting_count, sizeof(import->waiting[0]), compare_waiting);
    }
    for (size_t i = 0; i < import->waiting_count && import->store->err == 0; i++) {
        const struct hs_import_waiting *waiting = &import->waiting[i];
        struct hs_import_sequence *sequence =
            waiting->sequence == HS_IMPORT_NONE ? NULL : &import->sequences[waiting->sequence];
        import->now_ns = waiting->ns;
        if (waiting->part.field == HS_TRACE_FIELD_STACK_SAMPLE) {
            hs_import_stack_sample(import, sequence, waiting->default_count, &waiting->part);
        } else if (waiting->part.field == HS_TRACE_FIELD_PERF_SAMPLE) {
            hs_import_perf_sample(import, sequence, &waiting->part);
        } else {
            add_part_rows(import, sequence, hs_trace_reader_decode(reader, &waiting->part));
        }
        if (sequence && --sequence->waiting_count == 0 && sequence->is_over) {
            hs_import_sequence_clear(import, sequence);
        }
    }
}
