/*
 * See unwind_table.h.
 */
#include "unwind/unwind_table.h"

#include <string.h>

#include "rt/check.h"

bool hs_unwind_table_head(const uint8_t *section, uint64_t bytes_max, uint64_t off,
                          struct hs_unwind_table_v2 *ret_head)
{
    if (off > bytes_max || bytes_max - off < sizeof(*ret_head)) {
        return false;
    }
    memcpy(ret_head, section + off, sizeof(*ret_head));
    return ret_head->table_bytes >= sizeof(*ret_head) && ret_head->table_bytes % 8 == 0 &&
           ret_head->table_bytes <= bytes_max - off &&
           ret_head->build_id_bytes <= sizeof(ret_head->build_id);
}

bool hs_unwind_table_open(const uint8_t *at, const struct hs_unwind_table_v2 *head,
                          struct hs_unwind_table *ret_table)
{
    uint64_t entries_bytes = (uint64_t)head->entry_count * sizeof(struct hs_unwind_entry_v2);
    HS_ASSERT(head->table_bytes >= sizeof(*head));
    uint64_t room_bytes = head->table_bytes - sizeof(*head);
    if (entries_bytes > room_bytes || head->cfi_bytes > room_bytes - entries_bytes) {
        return false;
    }
    const uint8_t *entries = at + sizeof(*head);
    bool is_debug = (head->flags & HS_UNWIND_TABLE_DEBUG) != 0;
    *ret_table = (struct hs_unwind_table){
        .cfi = { .bytes = entries + entries_bytes,
                 .va = head->bias_va + head->cfi_sva,
                 .size_bytes = head->cfi_bytes },
        .entries = entries,
        .entry_count = head->entry_count,
        .code_va = head->bias_va + head->code_sva,
        .bias = head->bias_va,
        .is_debug = is_debug,
    };
    return true;
}
