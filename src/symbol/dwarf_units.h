/*
 * Which compilation unit does each address belong to?
 *
 * Asked of the units themselves (their ranges in .debug_info), not of .debug_aranges: clang writes
 * none, and what one compiler of several wrote would hide the others' units. Only the first entry of
 * each unit is read for it, so that a file of thousands of units costs milliseconds. Even that is most of
 * what is left to do for a few addresses; so the ranges can be had as a list, to be kept with the unpacked
 * sections and given to the next search.
 *
 * Threads   none.
 * Fails     -ENOMEM. Broken units are passed over.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define HS_DWARF_UNIT_NONE UINT32_MAX

/* A range of a unit, and where the unit's entry is in .debug_info. */
struct hs_dwarf_unit_range {
    uint64_t die_off;
    uint64_t low_sva;
    uint64_t high_sva; /* behind the last */
};

/* The ranges of all units, those of one unit together, units in their order in the file. */
struct hs_dwarf_unit_ranges {
    struct hs_dwarf_unit_range *ranges;
    size_t count;
    size_t capacity;
};

struct hs_dwarf_units {
    Dwarf_Die *dies; /* unit entries; only those with an address of ours */
    size_t count;
    size_t capacity;
    uint32_t *unit_of; /* per address: index in dies, or HS_DWARF_UNIT_NONE */
};

/*
 * `ranges`: a list kept earlier, so that not every unit is read; NULL: there is none. -ENOENT when it
 * does not belong to the file. `code_sva`: ranges that begin below it are left over from functions
 * the linker dropped.
 */
int hs_dwarf_units_find(Dwarf *dwarf, const void *ranges, size_t range_count, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_units *ret_units);

/* -ENOENT when there is nothing to list, too much, or what a list cannot say. free(ranges). */
int hs_dwarf_unit_ranges_list(Dwarf *dwarf, struct hs_dwarf_unit_ranges *ret_list);

void hs_dwarf_units_deinit(struct hs_dwarf_units *units);
