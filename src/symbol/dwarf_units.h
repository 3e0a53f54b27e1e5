/*
 * Which compilation unit does each address belong to?
 *
 * Asked of the units themselves (their ranges in .debug_info), not of .debug_aranges: clang writes
 * none, and what one compiler of several wrote would hide the others' units. Only the first entry of
 * each unit is read for it, so that a file of thousands of units costs milliseconds.
 *
 * Threads   none.
 * Fails     -ENOMEM. Broken units are passed over.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define HS_DWARF_UNIT_NONE UINT32_MAX

struct hs_dwarf_units {
    Dwarf_Die *dies; /* unit entries; only those with an address of ours */
    size_t count;
    size_t capacity;
    uint32_t *unit_of; /* per address: index in dies, or HS_DWARF_UNIT_NONE */
};

/* `code_sva`: ranges that begin below it are left over from functions the linker dropped. */
int hs_dwarf_units_find(Dwarf *dwarf, uint64_t code_sva, const uint64_t *pcs, size_t pc_count,
                        struct hs_dwarf_units *ret_units);
void hs_dwarf_units_deinit(struct hs_dwarf_units *units);
