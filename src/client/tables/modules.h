/*
 * The module table: which executable or library a piece of code belongs to, now and earlier.
 *
 * The loader tells without a lock (_dl_find_object, glibc 2.35) where code lies. The client keeps
 * what it has seen, with build id and path, in the region, because the process may have ended when
 * names are looked up. A library that is unloaded keeps its entry; another one at the same place
 * gets its own, told apart by name and build id.
 *
 * Holds     an entry's addresses and identity never change; `unload_ns` is 0 again when the module
 *           came back to its place.
 * Threads   any; entries are added under a try-lock, and a thread that has tried in vain for a
 *           while goes on without the entry (the frame is looked up again at the next sample).
 * Fails     code outside every known object belongs to the module HS_MODULE_ID_ANON.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/module.h"

#define HS_MODULE_ID_ANON 1U

/* Finds the loader's lookup function and makes the two fixed entries; all other modules are
 * forgotten. False: there is no region. */
bool hs_modules_init(void);

/* The module at `pc`: its id, and what unwinding needs (NULL for HS_MODULE_ID_ANON; otherwise valid
 * for good). False: it could not be found out at this moment. */
bool hs_modules_find(uint64_t pc, const struct hs_unwind_module **ret_module, uint32_t *ret_id);

/* For assertions: is each entry the one that the region has under its id, and does no entry that is
 * loaded overlap another? No thread may add modules meanwhile. */
bool hs_modules_is_valid(void);

/* The id of the module at `pc` + 1, or 0. */
uint32_t hs_modules_id_at(const void *pc);

/* Called in a forked child, where a thread that was adding a module does not exist to finish it. */
void hs_modules_forget_adder(void);

/* Called when something was unloaded: each module is verified again before it is next used. */
void hs_modules_recheck(void);

/* Called when the collector has handed over unwind tables (unwind_tables.h): gives them to the
 * modules that they belong to. True: some module has got one, and rules that were derived without
 * it must be forgotten. Another thread may be adding a module at this moment: then nothing happens,
 * and hs_unwind_tables_are_new() stays true. */
bool hs_modules_take_tables(void);
