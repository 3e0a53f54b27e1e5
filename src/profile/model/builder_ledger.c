/*
 * Adds ledgers to a profile: see builder.h.
 */
#include <string.h>

#include "profile/model/builder.h"
#include "profile/model/builder_state.h"

uint32_t hs_builder_ledger(struct hs_builder *builder, const struct hs_profile_ledger *ledger,
                           const struct hs_profile_ledger_line *lines, size_t count)
{
    struct hs_profile *p = builder->p;
    if (!hs_builder_grow(builder, &p->ledgers, &builder->ledger_capacity,
                         (uint64_t)p->ledger_count + 1, sizeof(p->ledgers[0])) ||
        !hs_builder_grow(builder, &p->ledger_lines, &builder->ledger_line_capacity,
                         (uint64_t)p->ledger_line_count + count, sizeof(p->ledger_lines[0]))) {
        return 0;
    }
    struct hs_profile_ledger *out = &p->ledgers[p->ledger_count++];
    *out = *ledger;
    out->line_first = p->ledger_line_count;
    out->lines_n = (uint32_t)count;
    out->stack_first = out->stacks_n = 0;
    if (count > 0) {
        memcpy(&p->ledger_lines[p->ledger_line_count], lines, count * sizeof(lines[0]));
    }
    p->ledger_line_count += (uint32_t)count;
    return p->ledger_count;
}

void hs_builder_mapped_stacks(struct hs_builder *builder, uint32_t ledger,
                              const struct hs_profile_mapped_stack *stacks, size_t count)
{
    struct hs_profile *p = builder->p;
    if (count > 0 && ledger > 0 &&
        hs_builder_grow(builder, &p->mapped_stacks, &builder->mapped_stack_capacity,
                        (uint64_t)p->mapped_stack_count + count, sizeof(p->mapped_stacks[0]))) {
        p->ledgers[ledger - 1].stack_first = p->mapped_stack_count;
        p->ledgers[ledger - 1].stacks_n = (uint32_t)count;
        memcpy(&p->mapped_stacks[p->mapped_stack_count], stacks, count * sizeof(stacks[0]));
        p->mapped_stack_count += (uint32_t)count;
    }
}

uint32_t hs_builder_pins(struct hs_builder *builder, const struct hs_profile_pins *pins)
{
    struct hs_profile *p = builder->p;
    if (!hs_builder_grow(builder, &p->pins, &builder->pins_capacity, (uint64_t)p->pins_count + 1,
                         sizeof(p->pins[0]))) {
        return 0;
    }
    p->pins[p->pins_count++] = *pins;
    return p->pins_count;
}
