/*
 * Files and lines of the addresses in a unit, and of its inlined calls.
 *
 * The position of an address comes from the unit's line number program (line_program.h). The entry
 * of an inlined call has its line, and the number of a file in the program's list. Entries of a
 * split unit refer to a list in the .dwo file, when there is one.
 *
 * Threads   none.
 * Fails     -ENOMEM. Addresses whose data is broken or missing have no position.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/line_program.h"
#include "symbol/symbol_builder.h"

struct hs_dwarf_lines {
    struct hs_line_program own;
    struct hs_line_program split; /* closed: entries refer to the files of `own` */
    const char *build_folder;     /* of the unit; may be NULL */
    struct hs_line_row *rows;     /* per address */
};

/*
 * Finds the sections with line number programs: those of the file's own units, or (is_dwo) those of
 * a .dwo file.
 */
void hs_dwarf_lines_sections(Dwarf *dwarf, bool is_dwo, struct hs_line_sections *ret_sections);

/*
 * Finds the rows of the ascending pcs in the unit with entry `unit`. `sections` are those of the
 * module, also for split units. `code_sva`: see hs_line_program_find(). 0 or -ENOMEM.
 */
int hs_dwarf_lines_open(Dwarf_Die *unit, const struct hs_line_sections *sections, uint64_t code_sva,
                        const uint64_t *pcs, size_t pc_count, struct hs_dwarf_lines *ret_lines);
/* Closes the lines. Closed ones are fine. */
void hs_dwarf_lines_close(struct hs_dwarf_lines *lines);

/*
 * The file and line of address i; 0 for what is not known. The path is added to the builder's
 * strings.
 */
void hs_dwarf_lines_of_pc(const struct hs_dwarf_lines *lines, size_t i,
                          struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                          uint32_t *ret_line);

/* The same for the position from which an inlined function was called. */
void hs_dwarf_lines_of_call(const struct hs_dwarf_lines *lines, Dwarf_Die *inlined,
                            struct hs_symbol_builder *builder, uint32_t *ret_file_off,
                            uint32_t *ret_line);
