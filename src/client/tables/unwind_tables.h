/*
 * Unwind tables that the collector hands over in the region: fmt/unwind_table_layout.h.
 *
 * Some modules have no unwind information in memory, only in a file. The collector reads that
 * file, and writes what the unwinder needs into the section UNWIND_TABLES. Until it does so,
 * nothing of that section is mapped, and no code of this module runs. Then its first part is
 * mapped, behind the header of the region, and modules.c asks here for the table of each module.
 *
 * A table is used where it lies. So a mapping stays: when more is needed, another, longer one is
 * made beside it. A forked child inherits its parent's mappings and goes on with the tables in
 * them, although it gets a region of its own. (The parent's region then stays in memory until the
 * child ends.)
 *
 * Threads   hs_unwind_tables_are_new: any. The others: one at a time, under the lock of modules.c,
 *           or while no thread records.
 * Fails     a table that cannot be mapped, or that is not one, is not found: the module stays
 *           without.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "unwind/module.h"

/* Bytes of the section that hs_unwind_tables_look() has seen, of the present region. */
extern HS_HIDDEN uint64_t hs_unwind_tables_seen_bytes;

/* Has the collector written tables that were not looked at yet? */
static inline bool hs_unwind_tables_are_new(void)
{
    return hs_load_relaxed(&hs_control_page.control.unwind_tables_bytes) !=
           hs_load_relaxed(&hs_unwind_tables_seen_bytes);
}

/* Makes the tables that were written since reachable. */
void hs_unwind_tables_look(void);

/* The table for a module: its addresses and its build id must be those in the table. On success
 * also writes module->table_source. */
bool hs_unwind_tables_find(struct hs_module_v1 *module, struct hs_unwind_table *ret_table);

/* Another region takes the place of the present one; the tables of this one stay in use. */
void hs_unwind_tables_change_region(void);

/* The region is abandoned: the mappings become empty, as all views of the region do. */
void hs_unwind_tables_abandon(void);
