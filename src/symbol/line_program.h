/*
 * Files and lines of addresses, read from a unit's line number program (.debug_line, DWARF 2 to 5).
 *
 * The program is a row of small instructions that, when run, list all rows of the unit's table in order of
 * address: "from 0x1140 on, stats.c line 7". Whoever runs it for a few addresses needs no table: each row is
 * held against the addresses and forgotten. (libdw keeps the rows in a list, then an array, and sorts it; that was
 * most of the time that names took.)
 *
 *     addresses asked for    0x1131            0x1149
 *     rows                0x1120:5   0x1140:7   0x1150:8   end 0x1160
 *     found                  line 5            line 7
 *
 * Where sequences of rows overlap, one is a leftover of code that the linker dropped; the row that begins
 * nearest before the address counts, of several the last.
 *
 * Holds     runs in time linear in the bytes of the program and what is found; never reads outside its sections.
 * Trust     the bytes are foreign.
 * Threads   none.
 * Fails     -EBADMSG: the bytes make no sense; -ENOTSUP: a version or a kind of machine that we do not know; -ENOMEM.
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

/* Where programs are, and where they keep texts. */
struct hs_line_sections {
    struct hs_line_bytes line;     /* .debug_line */
    struct hs_line_bytes line_str; /* .debug_line_str */
    struct hs_line_bytes str;      /* .debug_str */
};

struct hs_line_file {
    const char *name; /* NULL: in a form that we cannot read */
    uint64_t folder_idx;
};

/* A program, its head read. Texts point into the sections. */
struct hs_line_program {
    struct hs_cursor insns;
    uint8_t min_insn_bytes;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *operand_counts; /* of standard opcode k: operand_counts[k - 1] */
    const char **folders;
    size_t folder_count;
    size_t folder_capacity;
    struct hs_line_file *files;
    size_t file_count;
    size_t file_capacity;
};

struct hs_line_row {
    uint64_t sva; /* where it begins */
    uint64_t file_idx;
    uint32_t line; /* 0: code of no line */
    bool is_found;
};

/* The program at `off` of .debug_line. */
int hs_line_program_open(const struct hs_line_sections *sections, uint64_t off,
                         struct hs_line_program *ret_program);
/* Closed ones are fine. */
void hs_line_program_close(struct hs_line_program *program);

/*
 * Fills rows[i] for each of the ascending pcs; rows that begin below code_sva do not count. Of a program that
 * breaks off, the rows before that are found. Adds the files that the program itself defines.
 */
int hs_line_program_find(struct hs_line_program *program, uint64_t code_sva, const uint64_t *pcs,
                         size_t pc_count, struct hs_line_row *rows);

/*
 * The name of a file as the compiler wrote it down, and the folder it is relative to; *ret_folder is NULL when that
 * is the unit's (DW_AT_comp_dir). False: there is no such file.
 */
bool hs_line_program_file(const struct hs_line_program *program, uint64_t file_idx,
                          const char **ret_folder, const char **ret_name);
