/*
 * Reads files and lines of addresses from a unit's line number program (.debug_line, DWARF 2 to 5).
 *
 * The program is a sequence of small instructions that, when run, list all rows of the unit's table
 * in order of address: "from 0x1140 on, stats.c line 7". For a few addresses no table is needed:
 * each row is compared with the addresses and then forgotten. (libdw keeps the rows in a list, then
 * in an array, and sorts it; that took most of the time of looking up names.)
 *
 *     addresses asked for    0x1131            0x1149
 *     rows                0x1120:5   0x1140:7   0x1150:8   end 0x1160
 *     found                  line 5            line 7
 *
 * When sequences of rows overlap, one of them is left over from code that the linker dropped. The
 * row that begins nearest before the address counts; of several such rows, the last one.
 *
 * Ensures   the time is linear in the bytes of the program and in the number of results; nothing is
 *           read outside its sections.
 * Trust     the bytes are foreign.
 * Threads   none.
 * Fails     -EBADMSG: the bytes are invalid; -ENOTSUP: an unknown version or kind of machine;
 *           -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/cursor.h"

struct hs_line_bytes {
    const uint8_t *bytes; /* NULL: the file has none */
    size_t count;
};

/* The sections of programs and of their texts. */
struct hs_line_sections {
    struct hs_line_bytes line;     /* .debug_line */
    struct hs_line_bytes line_str; /* .debug_line_str */
    struct hs_line_bytes str;      /* .debug_str */
};

struct hs_line_file {
    const char *name; /* NULL: in a form that we cannot read */
    uint64_t folder_idx;
};

/* A program whose head has been read. Texts point into the sections. */
struct hs_line_program {
    struct hs_cursor insns;
    uint8_t min_insn_bytes;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *operand_counts; /* operand_counts[k - 1] belongs to standard opcode k */
    const char **folders;
    size_t folder_count;
    size_t folder_capacity;
    struct hs_line_file *files;
    size_t file_count;
    size_t file_capacity;
};

struct hs_line_row {
    uint64_t sva; /* first address */
    uint64_t file_idx;
    uint32_t line; /* 0: code that belongs to no line */
    bool is_found;
};

/* Reads the head of the program at `off` in .debug_line. */
int hs_line_program_open(const struct hs_line_sections *sections, uint64_t off,
                         struct hs_line_program *ret_program);
/* Closes a program. A closed one is fine. */
void hs_line_program_close(struct hs_line_program *program);

/*
 * Runs the program and fills rows[i] for each of the ascending pcs. Rows that begin below code_sva
 * do not count. If the program breaks off, the rows before that are found. Files that the program
 * itself defines are added to `files`.
 */
int hs_line_program_find(struct hs_line_program *program, uint64_t code_sva, const uint64_t *pcs,
                         size_t pc_count, struct hs_line_row *rows);

/*
 * The name of a file as the compiler wrote it, and the folder to which it is relative; *ret_folder
 * is NULL when that is the unit's (DW_AT_comp_dir). False: there is no such file.
 */
bool hs_line_program_file(const struct hs_line_program *program, uint64_t file_idx,
                          const char **ret_folder, const char **ret_name);
