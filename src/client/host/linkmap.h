/*
 * The loader's list of objects, and symbols in them, read without calling the loader.
 *
 * dlsym(3) takes a lock, may allocate, and changes what the program's next dlerror(3) returns; the
 * client runs inside the first malloc of a process. So the list is found as a debugger finds it
 * (DT_DEBUG of the executable), and symbols are found through the objects' own hash tables.
 *
 * Objects that were loaded at the start stay loaded, and come first in the list. The objects after
 * them come and go with any thread's dlopen() and dlclose(); an unmapped object stays in the list
 * for a moment. So a search ends with the last object that stays.
 *
 * Ensures   a search finds the original definition, even where the client has changed the entry of
 *           a symbol table (patch/exports.h): the old values are noted here.
 * Threads   any, once hs_linkmap_set_last has been called. Before that, the list must not change
 *           during a search.
 * Fails     returns NULL.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

/* Symbol table entries that may be changed, of two libraries together. */
#define HS_CHANGED_SYMBOLS_MAX 96U

/* An entry of a symbol table that the client changes. */
struct hs_changed_symbol {
    const ElfW(Sym) * symbol;
    uint64_t value; /* before it was changed */
    uint64_t new_value;
};

/* All of them. exports.c notes an entry before it changes it, and removes it after it has set it
 * back. */
struct hs_changed_symbols {
    struct hs_changed_symbol symbols[HS_CHANGED_SYMBOLS_MAX];
    uint32_t count;
};
extern HS_HIDDEN struct hs_changed_symbols hs_changed_symbols;

/* The first entry: the executable. */
const struct link_map *hs_linkmap_first(void);

/* Are there objects in other namespaces (dlmopen)? False also when the loader does not tell. */
bool hs_linkmap_has_namespaces(void);

/* The entry of the object that contains this code. */
const struct link_map *hs_linkmap_self(void);

/* Declares that the objects up to `last` stay loaded for as long as the process lives. No search
 * goes beyond `last`. */
void hs_linkmap_set_last(const struct link_map *last);

/* The number of these objects; 0: not known. */
uint32_t hs_linkmap_lasting_count(void);

/* The address of a function or variable that `map` itself defines and exports under `name`. NULL:
 * none. */
void *hs_linkmap_symbol(const struct link_map *map, const char *name);

/* The same, as its entry in the symbol table. NULL: there is none. */
const ElfW(Sym) * hs_linkmap_entry(const struct link_map *map, const char *name);

/* A symbol's value before it was changed; for all but a few symbols that is the present one. */
uint64_t hs_linkmap_value(const ElfW(Sym) * symbol);

/* The number of `name` in the symbol table of `map`, defined there or not. 0: the hash table does
 * not have it. */
uint32_t hs_linkmap_symbol_number(const struct link_map *map, const char *name);

/* The first definition of `name` among the objects that stay, in load order after `after` (NULL:
 * from the start), leaving out `except`; *ret_map (may be NULL) says in which object. NULL:
 * none. */
void *hs_linkmap_search(const struct link_map *after, const struct link_map *except,
                        const char *name, const struct link_map **ret_map);
