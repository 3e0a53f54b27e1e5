/*
 * Opens the debug information of a file in the cheapest way: from the cache, else unpacked by
 * debug_image.h, else by libdw.
 *
 * Threads   none.
 * Fails     `dwarf` is NULL when there is no usable debug information, for whatever reason.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbol/debug_cache.h"
#include "symbol/debug_image.h"
#include "symbol/dwarf_units.h"
#include "symbol/elf_file.h"

struct hs_dwarf_file {
    Dwarf *dwarf; /* NULL: none */
    struct hs_debug_image image;
    struct hs_dwarf_unit_ranges listed; /* only when the image was made in this call, and stored */
};

/* Opens the debug information. The file must stay open. `cache_folder` may be NULL. */
void hs_dwarf_open(const struct hs_elf_file *file, const char *cache_folder,
                   struct hs_dwarf_file *ret_dwarf);
/* Closes it. */
void hs_dwarf_close(struct hs_dwarf_file *dwarf);

/* Finds the units of addresses, see dwarf_units.h, with the list of ranges if there is one. */
int hs_dwarf_file_units(const struct hs_dwarf_file *dwarf, uint64_t code_sva, const uint64_t *pcs,
                        size_t pc_count, struct hs_dwarf_units *ret_units);
