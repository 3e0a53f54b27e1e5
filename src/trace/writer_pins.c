/*
 * Fills HsPinnedPages: see writer_pins.h.
 */
#include "trace/writer_pins.h"

static void put_row(struct hs_pin_packet *packet, size_t row, uint64_t callstack_iid,
                    const struct hs_pinning_stack *stack)
{
    const uint64_t values[HS_PIN_COLUMNS] = {
        callstack_iid,         stack->block_count,        stack->block_bytes,
        stack->rounding_bytes, stack->sparse_page_bytes,  stack->sparse_block_bytes,
        stack->gain.bytes,     stack->gain.low_bytes,     stack->gain.high_bytes,
        stack->set_gain.bytes, stack->set_gain.low_bytes, stack->set_gain.high_bytes,
    };
    for (size_t c = 0; c < HS_PIN_COLUMNS; c++) {
        packet->columns[c][row] = values[c];
    }
}

/* Returns the number of rows. */
static size_t put_rows(const struct hs_writer_dump *dump, struct hs_pin_packet *packet)
{
    const struct hs_pinned_pages *pins = dump->snap->pins;
    size_t count = 0;
    for (uint32_t i = 0; i < pins->stack_count && count < HS_PIN_STACKS_MAX; i++) {
        uint64_t iid = hs_writer_callstack_iid(dump, pins->stacks[i].stack_id);
        if (iid != 0) {
            put_row(packet, count++, iid, &pins->stacks[i]);
        }
    }
    return count;
}

static void point_to_columns(struct hs_pin_packet *packet, size_t count)
{
    Hs__Pb__HsPinnedPages *message = &packet->message;
    struct {
        size_t *count;
        uint64_t **values;
    } const fields[HS_PIN_COLUMNS] = {
        { &message->n_callstack_iid, &message->callstack_iid },
        { &message->n_block_count, &message->block_count },
        { &message->n_block_bytes, &message->block_bytes },
        { &message->n_block_rounding_bytes, &message->block_rounding_bytes },
        { &message->n_sparse_page_bytes, &message->sparse_page_bytes },
        { &message->n_sparse_block_bytes, &message->sparse_block_bytes },
        { &message->n_gain_bytes, &message->gain_bytes },
        { &message->n_gain_low_bytes, &message->gain_low_bytes },
        { &message->n_gain_high_bytes, &message->gain_high_bytes },
        { &message->n_set_gain_bytes, &message->set_gain_bytes },
        { &message->n_set_gain_low_bytes, &message->set_gain_low_bytes },
        { &message->n_set_gain_high_bytes, &message->set_gain_high_bytes },
    };
    for (size_t c = 0; c < HS_PIN_COLUMNS; c++) {
        *fields[c].count = count;
        *fields[c].values = packet->columns[c];
    }
}

void hs_writer_pins_fill(const struct hs_writer_dump *dump, struct hs_pin_packet *packet,
                         Hs__Pb__HsDump *out)
{
    const struct hs_pinned_pages *pins = dump->snap->pins;
    Hs__Pb__HsPinnedPages *message = &packet->message;
    if (!pins || out->n_ledgers == 0) {
        return; /* readers keep those of the dump before */
    }
    *message = (Hs__Pb__HsPinnedPages)HS__PB__HS_PINNED_PAGES__INIT;
    HS_SET_FIELD(message, time_ns, pins->time_mono_ns);
    HS_SET_FIELD(message, is_exact, pins->is_exact);
    HS_SET_FIELD(message, page_share, pins->page_share);
    HS_SET_FIELD(message, rounding_bytes, pins->rounding_bytes);
    HS_SET_FIELD(message, head_bytes, pins->head_bytes);
    HS_SET_FIELD(message, unknown_page_bytes, pins->unknown_page_bytes);
    HS_SET_FIELD(message, cached_page_bytes, pins->cached_page_bytes);
    if (pins->is_huge_estimated) {
        HS_SET_FIELD(message, is_huge_estimated, true);
    }
    message->n_page_count = message->n_huge_count = HS_PIN_LEVELS;
    message->page_count = (uint64_t *)(uintptr_t)pins->page_count;
    message->huge_count = (uint64_t *)(uintptr_t)pins->huge_count;
    point_to_columns(packet, put_rows(dump, packet));
    out->pinned_pages = message;
}
