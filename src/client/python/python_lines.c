/*
 * Line tables of CPython. See python_lines.h.
 */
#include "client/python/python_lines.h"

#include <stdbool.h>

static uint32_t checked(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Numbers in a table that makes no sense are kept away from overflow. */
static int64_t bounded(int64_t line)
{
    return line > UINT32_MAX             ? UINT32_MAX
           : line < -(int64_t)UINT32_MAX ? -(int64_t)UINT32_MAX
                                         : line;
}

/* Pairs: bytes of code, lines (signed) that their end adds. */
static uint32_t line_of_lnotab(const uint8_t *table, uint32_t bytes, int64_t line, uint32_t off)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i + 1 < bytes; i += 2) {
        at += table[i];
        if (at > off) {
            break;
        }
        line += (int8_t)table[i + 1];
    }
    return checked(line);
}

/* Pairs: bytes of code, and how its line differs from the one before; -128: it has none. */
static uint32_t line_of_3_10(const uint8_t *table, uint32_t bytes, int64_t line, uint32_t off)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i + 1 < bytes; i += 2) {
        bool has_line = table[i + 1] != 0x80;
        end += table[i];
        line += has_line ? (int8_t)table[i + 1] : 0;
        if (end > off) {
            return has_line ? checked(line) : 0;
        }
    }
    return 0;
}

/* A number in groups of six bits, lowest first, each but the last with bit 6 set. */
static uint64_t read_number(const uint8_t *table, uint32_t bytes, uint32_t *at)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < bytes && shift < 60; shift += 6) {
        uint8_t byte = table[(*at)++];
        number |= (uint64_t)(byte & 0x3fU) << shift;
        if (!(byte & 0x40U)) {
            break;
        }
    }
    return number;
}

static int64_t read_signed(const uint8_t *table, uint32_t bytes, uint32_t *at)
{
    uint64_t number = read_number(table, bytes, at);
    return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

enum {
    ENTRY_ONE_LINE = 10, /* to 12: that many lines further, minus 10 */
    ENTRY_NO_COLUMNS = 13,
    ENTRY_LONG = 14,
    ENTRY_NONE = 15,
};

/* Entries: a first byte with a kind and the number of instructions, and what belongs to the kind.
 * Of all that follows in an entry only the line matters; such bytes never have bit 7 set. */
static uint32_t line_of_3_11(const uint8_t *table, uint32_t bytes, int64_t line, uint32_t off)
{
    uint64_t end = 0;
    for (uint32_t at = 0; at < bytes;) {
        uint8_t first = table[at++];
        unsigned kind = first >> 3 & 15U;
        if (!(first & 0x80U)) {
            return 0;
        }
        if (kind == ENTRY_NO_COLUMNS || kind == ENTRY_LONG) {
            line = bounded(line + read_signed(table, bytes, &at));
        } else if (kind >= ENTRY_ONE_LINE && kind < ENTRY_NO_COLUMNS) {
            line += kind - ENTRY_ONE_LINE;
        }
        end += 2 * ((first & 7U) + 1U);
        if (end > off) {
            return kind == ENTRY_NONE ? 0 : checked(line);
        }
        while (at < bytes && !(table[at] & 0x80U)) {
            at++;
        }
    }
    return 0;
}

uint32_t hs_python_line(uint32_t minor, const uint8_t *table, uint32_t bytes, uint32_t first_line,
                        uint32_t off)
{
    if (minor >= 11) {
        return line_of_3_11(table, bytes, first_line, off);
    }
    return minor == 10 ? line_of_3_10(table, bytes, first_line, off)
                       : line_of_lnotab(table, bytes, first_line, off);
}
