/*
 * The loader's list of objects, and symbols in them, read without the loader's help.
 *
 * dlsym(3) takes a lock, may allocate, and changes what the program's next dlerror(3) says; we run
 * inside the first malloc of a process. So the list is found as a debugger finds it (DT_DEBUG of the
 * executable), and symbols through the objects' own hash tables.
 *
 * Objects that were there at the start stay, and come first. Those behind them come and go, with any thread's dlopen()
 * and dlclose(): what is unmapped stays in the list for a moment. So a search ends with the last one that stays.
 *
 * Threads   any, once it is known which objects stay; before, the list must not change meanwhile.
 * Fails     returns NULL.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* First entry: the executable. */
const struct link_map *hs_linkmap_first(void);

/* Are there objects in other namespaces (dlmopen)? As far as the loader tells. */
bool hs_linkmap_has_namespaces(void);

/* The entry of the object this code is in. */
const struct link_map *hs_linkmap_self(void);

/* `last`: the objects up to this one stay for as long as the process lives, and no search goes on behind it. */
void hs_linkmap_set_last(const struct link_map *last);

/* How many these are; 0: it is not known. */
uint32_t hs_linkmap_lasting_count(void);

/* A function or variable that `map` itself defines and exports under `name`. */
void *hs_linkmap_symbol(const struct link_map *map, const char *name);

/* The same, as its entry in the symbol table. NULL: there is none. */
const ElfW(Sym) * hs_linkmap_entry(const struct link_map *map, const char *name);

/* Its number in the symbol table of `map`, defined there or not, as far as the hash table knows; 0: it does not. */
uint32_t hs_linkmap_symbol_number(const struct link_map *map, const char *name);

/* The first definition of `name` among the objects that stay, in load order after `after` (NULL: from the start), leaving out
 * `except`; *ret_map says where (NULL allowed). */
void *hs_linkmap_search(const struct link_map *after, const struct link_map *except,
                        const char *name, const struct link_map **ret_map);
