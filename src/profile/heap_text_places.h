/*
 * What the addresses of a heap text are: its map of libraries, and the names that jeprof --raw put into it.
 *
 *     MAPPED_LIBRARIES:
 *     55f81d68c000-55f81d68d000 r-xp 00001000 fe:00 10963209   /usr/bin/prog
 *
 * A stack lists the innermost address first. All others are return addresses, of which the call is one byte
 * before; so does jeprof, and its names are for those. An address becomes module and link-time address: its
 * offset in the file, and what the file's segment table says of that, if the file is there.
 *
 * Threads   one user.
 * Fails     through err, which is sticky.
 * See       symbol/elf_shift.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/load_foreign.h"
#include "profile/text_lines.h"
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
    uint32_t program; /* string id: what the symbols, or the map, call the program; 0 none */
};

void hs_heap_places_deinit(struct hs_heap_places *places);

/* The lines after MAPPED_LIBRARIES: up to the end. */
void hs_heap_places_add_maps(struct hs_heap_places *places, const struct hs_lines *lines);
/* The lines after "--- symbol", up to "---"; moves behind them. */
void hs_heap_places_add_symbols(struct hs_heap_places *places, struct hs_lines *lines);
/* The node of a stack: addresses separated by blanks. */
uint32_t hs_heap_places_node(struct hs_heap_places *places, struct hs_line_at stack);
