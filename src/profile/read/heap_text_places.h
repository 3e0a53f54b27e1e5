/*
 * Finds modules and names of the addresses in a heap text: from its map of libraries, and from the
 * names that jeprof --raw adds.
 *
 *     MAPPED_LIBRARIES:
 *     55f81d68c000-55f81d68d000 r-xp 00001000 fe:00 10963209   /usr/bin/prog
 *
 * A stack lists the innermost address first. All other addresses are return addresses, whose call
 * is one byte before; jeprof assumes the same, and its names are those of the calls. An address
 * becomes a module and a link-time address: its offset in the file, corrected by the file's segment
 * table if the file can be opened.
 *
 * Threads   one user.
 * Fails     through err, which is sticky.
 * See       symbol/elf_shift.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/read/load_foreign.h"
#include "profile/read/text_lines.h"
#include "util/intern.h"

struct hs_heap_place;

struct hs_heap_places {
    const struct hs_load_source *source;
    int err;
    struct hs_heap_place *maps; /* by address */
    size_t map_count, map_capacity;
    struct hs_intern named; /* addresses with names */
    uint32_t *names;        /* string ids: names of each, joined by "--" */
    size_t name_capacity;
    uint32_t program; /* string id: the program's name in the symbols or in the map; 0 none */
};

/* Frees what the places own. */
void hs_heap_places_deinit(struct hs_heap_places *places);

/* Reads the lines after "MAPPED_LIBRARIES:", up to the end. */
void hs_heap_places_add_maps(struct hs_heap_places *places, const struct hs_lines *lines);
/* Reads the lines after "--- symbol", up to "---"; `lines` moves behind them. */
void hs_heap_places_add_symbols(struct hs_heap_places *places, struct hs_lines *lines);
/* The node of a stack, which is given as addresses separated by blanks. */
uint32_t hs_heap_places_node(struct hs_heap_places *places, struct hs_line_at stack);
