/*
 * A symbol table: what was found for the addresses of one module, in flat arrays.
 *
 * Strings are offsets into one block, each text in it once, so that a table is three arrays that
 * can be sent through a pipe as they are (symbol_worker.c does) and freed at once. Spans are
 * parallel to the addresses that were asked for; a span is a run of lines, the innermost inlined
 * function first, the function that the code belongs to last.
 *
 * Holds     offset 0 is "". A table that hs_symbol_table_is_valid() accepts has every span inside
 *           lines[], every offset inside strings[], and strings[] ends in NUL. Texts hold no
 *           control characters: they come from foreign files and end up on terminals.
 * Threads   none; belongs to whoever made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a module has no names at all. What a user can do about it is in docs/SYMBOLS.md. */
enum hs_symbol_reason {
    HS_SYMBOL_REASON_NONE,             /* something was found; see `source` for how much */
    HS_SYMBOL_REASON_FILE_MISSING,     /* no file at the path, and none under its build id */
    HS_SYMBOL_REASON_BUILD_ID_DIFFERS, /* the file at the path is another build */
    HS_SYMBOL_REASON_NO_SYMBOLS,       /* the file has no table that covers these addresses */
    HS_SYMBOL_REASON_UNREADABLE,       /* not to be opened, or not an ELF file that makes sense */
    HS_SYMBOL_REASON_NO_PERF_MAP,      /* JIT code, and the program left no map of it */
    HS_SYMBOL_REASON_UNSAFE_PERF_MAP,  /* there is one, but anybody could have put it there */
    HS_SYMBOL_REASON_BROKEN,           /* reading it crashed the worker, or took too much memory */
    HS_SYMBOL_REASON_TOO_SLOW,         /* the time limit was reached */
    HS_SYMBOL_REASON_INTERRUPTED,      /* the caller was hurried, by a signal of the user's */
    HS_SYMBOL_REASON_N,
};

/* The best source that named an address of the module; the order is from worst to best. */
enum hs_symbol_source {
    HS_SYMBOL_SOURCE_NONE,
    HS_SYMBOL_SOURCE_DYNSYM,    /* exported functions only: the module is stripped */
    HS_SYMBOL_SOURCE_MINIDEBUG, /* .gnu_debugdata */
    HS_SYMBOL_SOURCE_SYMTAB,    /* all functions, no lines */
    HS_SYMBOL_SOURCE_DWARF,     /* functions, inlined ones too, with files and lines */
    HS_SYMBOL_SOURCE_PERF_MAP,  /* JIT code */
    HS_SYMBOL_SOURCE_N,
};

struct hs_symbol_line {
    uint32_t function_off;    /* demangled */
    uint32_t system_name_off; /* as in the file; equal to function_off when it was not mangled */
    uint32_t file_off;        /* 0 unknown */
    uint32_t line;            /* 1-based; 0 unknown */
};

struct hs_symbol_span {
    uint32_t line_first;
    uint32_t line_count; /* 0: no name was found */
};

struct hs_symbol_table {
    uint32_t reason;     /* enum hs_symbol_reason */
    uint32_t source;     /* enum hs_symbol_source */
    uint32_t detail_off; /* the file that the reason is about, or that the names came from */
    uint32_t span_count;
    uint32_t line_count;
    uint32_t string_bytes;
    uint32_t named_count; /* addresses with a function */
    uint32_t lined_count; /* addresses with a file and a line */
    struct hs_symbol_span *spans;
    struct hs_symbol_line *lines;
    char *strings;
};

static inline const char *hs_symbol_string(const struct hs_symbol_table *table, uint32_t off)
{
    return off < table->string_bytes ? table->strings + off : "";
}

/* Checks what `Holds` promises; for tables that came from elsewhere. */
bool hs_symbol_table_is_valid(const struct hs_symbol_table *table);

/* Frees what the table owns, not the table. */
void hs_symbol_table_deinit(struct hs_symbol_table *table);

/* A few words for a message: "no such file", "the file is another build". Never NULL. */
const char *hs_symbol_reason_text(uint32_t reason);
