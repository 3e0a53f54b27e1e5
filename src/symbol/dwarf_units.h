/*
 * Finds the compilation unit of each address.
 *
 * The ranges come from the units themselves (.debug_info), not from .debug_aranges: clang writes
 * none, and when only one of several compilers wrote it, the units of the others would be missing.
 * Only the first entry of each unit is read, so that a file of thousands of units costs
 * milliseconds. Even this is most of the remaining work for a few addresses. The ranges are
 * therefore available as a list, which can be cached with the unpacked sections and passed to the
 * next search.
 *
 * A split unit (-gsplit-dwarf) has a skeleton in the module and the rest in a .dwo file. The entry
 * is that of the .dwo file where that file is available, and the skeleton's otherwise.
 *
 * Threads   none.
 * Fails     -ENOMEM. Broken units are skipped.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define HS_DWARF_UNIT_NONE UINT32_MAX

/* A range of a unit, and the offset of the unit's entry in .debug_info. */
struct hs_dwarf_unit_range {
    uint64_t die_off;
    uint64_t low_sva;
    uint64_t high_sva; /* exclusive */
};

/*
 * The ranges of all units. The ranges of one unit are adjacent, and units are in their order in the
 * file.
 */
struct hs_dwarf_unit_ranges {
    struct hs_dwarf_unit_range *ranges;
    size_t count;
    size_t capacity;
};

struct hs_dwarf_units {
    Dwarf_Die *dies; /* unit entries; only of units with a wanted address */
    size_t count;
    size_t capacity;
    uint32_t *unit_of; /* per address: index in dies, or HS_DWARF_UNIT_NONE */
};

/*
 * Finds the units of the ascending pcs. `ranges`: a list from an earlier search, so that not every
 * unit is read; NULL: there is none. -ENOENT when the list does not belong to the file. `code_sva`:
 * ranges that begin below it are left over from functions that the linker dropped.
 */
int hs_dwarf_units_find(Dwarf *dwarf, const void *ranges, size_t range_count, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_units *ret_units);

/*
 * Lists the ranges of all units. -ENOENT when there are none, too many, or some that a list cannot
 * contain. The caller frees `ranges`.
 */
int hs_dwarf_unit_ranges_list(Dwarf *dwarf, struct hs_dwarf_unit_ranges *ret_list);

/* Frees the units. */
void hs_dwarf_units_deinit(struct hs_dwarf_units *units);
