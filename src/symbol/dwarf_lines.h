/*
 * Files and lines of a unit's addresses and calls.
 *
 * An address's own place comes from the unit's line number program (line_program.h). The entry of an inlined call
 * has its line, and the number of a file in the program's list; entries of a split unit number the files of a list
 * in the .dwo file, when there is one.
 *
 * Threads   none.
 * Fails     -ENOMEM. What is broken or missing has no places.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/line_program.h"
#include "symbol/symbol_builder.h"

struct hs_dwarf_lines {
    struct hs_line_program own;
    struct hs_line_program split; /* closed: entries mean the files of `own` */
    const char *build_folder;     /* of the unit; may be NULL */
    struct hs_line_row *rows;     /* per address */
};

/* Where a file keeps its line number programs: of its own units, or (is_dwo) those of a .dwo file. */
void hs_dwarf_lines_sections(Dwarf *dwarf, bool is_dwo, struct hs_line_sections *ret_sections);

/* Of the unit with entry `unit`, for ascending pcs. `sections`: of the module, also for split units. */
int hs_dwarf_lines_open(Dwarf_Die *unit, const struct hs_line_sections *sections, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_lines *ret_lines);
/* Closed ones are fine. */
void hs_dwarf_lines_close(struct hs_dwarf_lines *lines);

/* The place of address i; 0 for what is not known. The path is put into the builder's texts. */
void hs_dwarf_lines_of_pc(const struct hs_dwarf_lines *lines, size_t i,
                          struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                          uint32_t *ret_line);

/* The place where an inlined function was called, likewise. */
void hs_dwarf_lines_of_call(const struct hs_dwarf_lines *lines, Dwarf_Die *inlined,
                            struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                            uint32_t *ret_line);
