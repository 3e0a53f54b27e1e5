/*
 * Reads HsPinnedPages: see load_pins.h.
 */
#include "profile/read/load_pins.h"

#include "profile/model/builder.h"

static uint64_t number(const uint64_t *column, size_t count, size_t i)
{
    return i < count ? column[i] : 0;
}

/* A broken file may have ends in any order. */
static struct hs_pin_estimate estimate(uint64_t bytes, uint64_t low_bytes, uint64_t high_bytes)
{
    return (struct hs_pin_estimate){
        .bytes = bytes,
        .low_bytes = low_bytes < bytes ? low_bytes : bytes,
        .high_bytes = high_bytes > bytes ? high_bytes : bytes,
    };
}

static void set_stack(struct hs_load *load, const struct hs_interned *tables,
                      const Hs__Pb__HsPinnedPages *from, size_t i, struct hs_profile_pin *to)
{
#define NUMBER(column) number(from->column, from->n_##column, i)
    *to = (struct hs_profile_pin){
        .node = hs_load_node(load, tables, from->callstack_iid[i]),
        .block_count = NUMBER(block_count),
        .block_bytes = NUMBER(block_bytes),
        .rounding_bytes = NUMBER(block_rounding_bytes),
        .sparse_page_bytes = NUMBER(sparse_page_bytes),
        .sparse_block_bytes = NUMBER(sparse_block_bytes),
        .gain = estimate(NUMBER(gain_bytes), NUMBER(gain_low_bytes), NUMBER(gain_high_bytes)),
        .set_gain = estimate(NUMBER(set_gain_bytes), NUMBER(set_gain_low_bytes),
                             NUMBER(set_gain_high_bytes)),
    };
#undef NUMBER
}

void hs_load_pins(struct hs_load *load, const struct hs_interned *tables,
                  const Hs__Pb__HsDump *dump, struct hs_profile_dump *head)
{
    const Hs__Pb__HsPinnedPages *from = dump->pinned_pages;
    if (dump->n_ledgers > 0) {
        head->pins = 0;
    }
    if (!from) {
        return;
    }
    struct hs_profile_pins pins = {
        .time_ns = from->time_ns,
        .is_exact = from->is_exact,
        .page_share = from->page_share > 0 ? from->page_share : 1,
        .is_huge_estimated = from->is_huge_estimated,
        .rounding_bytes = from->rounding_bytes,
        .head_bytes = from->head_bytes,
        .unknown_page_bytes = from->unknown_page_bytes,
        .cached_page_bytes = from->cached_page_bytes,
    };
    for (size_t i = 0; i < HS_PIN_LEVELS; i++) {
        pins.page_count[i] = number(from->page_count, from->n_page_count, i);
        pins.huge_count[i] = number(from->huge_count, from->n_huge_count, i);
    }
    for (size_t i = 0; i < from->n_callstack_iid && i < HS_PIN_STACKS_MAX; i++) {
        set_stack(load, tables, from, i, &pins.stacks[pins.stack_count++]);
    }
    head->pins = hs_builder_pins(load->builder, &pins);
}
