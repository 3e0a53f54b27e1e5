/*
 * A symbol table: the names, files and lines that were found for the addresses of one module, in
 * flat arrays.
 *
 * Strings are offsets into one block that contains each text once. A table is therefore three
 * arrays, which can be sent through a pipe as they are (symbol_worker.c does) and freed at once.
 * Spans are parallel to the requested addresses. A span is a run of lines: the innermost inlined
 * function first, the function to which the code belongs last.
 *
 * Holds     offset 0 is "". In a table that hs_symbol_table_is_valid() accepts, every span is
 *           inside lines[], every offset is inside strings[], and strings[] ends in NUL. Texts
 *           contain no control characters, because they come from foreign files and are printed on
 *           terminals.
 * Threads   none; a table has one owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands between the names of functions that share code. */
#define HS_SYMBOL_FOLDED_BETWEEN " | "

/* Why a module has no names at all. docs/SYMBOLS.md says what a user can do about each. */
enum hs_symbol_reason {
    HS_SYMBOL_REASON_NONE,         /* names were found; `source` says how much */
    HS_SYMBOL_REASON_FILE_MISSING, /* no file at the path, and none under its build id */
    /* the file at the path, or one of its name in a given folder, has another build id */
    HS_SYMBOL_REASON_BUILD_ID_DIFFERS,
    HS_SYMBOL_REASON_NO_SYMBOLS,      /* the file has no table that covers these addresses */
    HS_SYMBOL_REASON_UNREADABLE,      /* the file cannot be opened, or is not a valid ELF file */
    HS_SYMBOL_REASON_NO_PERF_MAP,     /* JIT code, and the program wrote no map of it */
    HS_SYMBOL_REASON_UNSAFE_PERF_MAP, /* there is a map, but any user could have written it */
    /* the worker that read it crashed, or needed too much memory */
    HS_SYMBOL_REASON_BROKEN,
    HS_SYMBOL_REASON_TOO_SLOW, /* the time limit was reached */
    /* the caller cancelled it, because the user sent a signal */
    HS_SYMBOL_REASON_INTERRUPTED,
    HS_SYMBOL_REASON_NO_SERVER, /* no file here has them, and no debuginfod server answered */
    HS_SYMBOL_REASON_N,
};

/* The best source that named an address of the module, in order from worst to best. */
enum hs_symbol_source {
    HS_SYMBOL_SOURCE_NONE,
    HS_SYMBOL_SOURCE_DYNSYM,    /* exported functions only: the module is stripped */
    HS_SYMBOL_SOURCE_MINIDEBUG, /* .gnu_debugdata */
    HS_SYMBOL_SOURCE_SYMTAB,    /* all functions, no lines */
    HS_SYMBOL_SOURCE_DWARF,     /* functions, inlined ones too, with files and lines */
    HS_SYMBOL_SOURCE_PERF_MAP,  /* JIT code */
    HS_SYMBOL_SOURCE_JITDUMP,   /* JIT code, with times, and lines if the compiler states them */
    HS_SYMBOL_SOURCE_N,
};

struct hs_symbol_line {
    uint32_t function_off;    /* demangled */
    uint32_t system_name_off; /* as in the file; equal to function_off when it was not mangled */
    uint32_t file_off;        /* 0 unknown */
    uint32_t line;            /* 1-based; 0 unknown */
    uint32_t folded_off;      /* all functions that share the code; 0: no others are known */
};

struct hs_symbol_span {
    uint32_t line_first;
    uint32_t line_count; /* 0: no name was found */
};

struct hs_symbol_table {
    uint32_t reason; /* enum hs_symbol_reason */
    uint32_t source; /* enum hs_symbol_source */
    /* the file that the reason is about, or that the names came from; behind one of another build
     * stands " (Build ID: ...)" */
    uint32_t detail_off;
    uint32_t span_count;
    uint32_t line_count;
    uint32_t string_bytes;
    uint32_t named_count; /* addresses with a function */
    uint32_t lined_count; /* addresses with a file and a line */
    struct hs_symbol_span *spans;
    struct hs_symbol_line *lines;
    char *strings;
};

/* The text at an offset; "" when the offset is outside of strings[]. */
static inline const char *hs_symbol_string(const struct hs_symbol_table *table, uint32_t off)
{
    return off < table->string_bytes ? table->strings + off : "";
}

/* Checks what `Holds` promises; for tables from another process. */
bool hs_symbol_table_is_valid(const struct hs_symbol_table *table);

/* Frees what the table owns, not the table. */
void hs_symbol_table_deinit(struct hs_symbol_table *table);

/* A short text for messages: "no such file", "the file is another build". Never NULL. */
const char *hs_symbol_reason_text(uint32_t reason);
