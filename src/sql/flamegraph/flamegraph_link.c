/* From ids to indices: finds each node's parent, and an order in which parents come first. */
#include <errno.h>
#include <stdlib.h>

#include "rt/bits.h"
#include "sql/flamegraph/flamegraph.h"
#include "sql/stacks/tree_order.h"

struct id_slots {
    uint32_t *slots; /* node + 1; 0: empty */
    uint64_t mask;
};

/* The slot with this id, or the empty slot where it belongs. */
static uint32_t *find_slot(const struct id_slots *table, const int64_t *ids, int64_t id)
{
    uint64_t at = hs_mix64((uint64_t)id) & table->mask;
    while (table->slots[at] != 0 && ids[table->slots[at] - 1] != id) {
        at = (at + 1) & table->mask;
    }
    return &table->slots[at];
}

static int find_parents(const int64_t *ids, const int64_t *parent_ids, const bool *has_parent,
                        uint32_t count, uint32_t *parents, uint32_t *ret_bad)
{
    uint64_t slot_count = 16;
    while (slot_count < 2 * (uint64_t)count) {
        slot_count *= 2;
    }
    struct id_slots table = { calloc(slot_count, sizeof(uint32_t)), slot_count - 1 };
    int err = table.slots ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        uint32_t *slot = find_slot(&table, ids, ids[i]);
        err = *slot != 0 ? HS_FLAMEGRAPH_E_DUPLICATE : 0;
        *slot = i + 1;
        *ret_bad = i;
    }
    for (uint32_t i = 0; i < count && err == 0; i++) {
        uint32_t found = has_parent[i] ? *find_slot(&table, ids, parent_ids[i]) : 0;
        parents[i] = found - 1; /* 0 becomes NONE */
        err = has_parent[i] && found == 0 ? HS_FLAMEGRAPH_E_ORPHAN : 0;
        *ret_bad = i;
    }
    free(table.slots);
    return err;
}

int hs_flamegraph_link(const int64_t *ids, const int64_t *parent_ids, const bool *has_parent,
                       uint32_t node_count, uint32_t *ret_parents, uint32_t *ret_order,
                       uint32_t *ret_bad_node)
{
    *ret_bad_node = 0;
    int err = find_parents(ids, parent_ids, has_parent, node_count, ret_parents, ret_bad_node);
    uint32_t ordered_count;
    if (err == 0) {
        err = hs_tree_order(ret_parents, node_count, ret_order, &ordered_count, ret_bad_node);
        err = err == HS_TREE_E_CYCLE ? HS_FLAMEGRAPH_E_CYCLE : err;
    }
    return err;
}
