/*
 * Opening the debug information of a file in the cheapest way that there is: unpacked before and kept, else
 * unpacked by us, else as libdw does it.
 *
 * Threads   none.
 * Fails     `dwarf` is NULL when there is none that makes sense. The reason does not matter.
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
    struct hs_dwarf_unit_ranges listed; /* when the image was made just now and is kept */
};

/* The file must stay open. `cache_folder` may be NULL. */
void hs_dwarf_open(const struct hs_elf_file *file, const char *cache_folder,
                   struct hs_dwarf_file *ret_dwarf);
void hs_dwarf_close(struct hs_dwarf_file *dwarf);

/* Finds the units of addresses, see dwarf_units.h, with the help of what is known about the file. */
int hs_dwarf_file_units(const struct hs_dwarf_file *dwarf, uint64_t code_sva, const uint64_t *pcs,
                        size_t pc_count, struct hs_dwarf_units *ret_units);
