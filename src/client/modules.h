/*
 * The module table: which executable or library code belongs to, now and earlier.
 *
 * The loader tells without a lock (_dl_find_object, glibc 2.35) where code lies; we keep what we
 * have seen, with its build id and path, in the region, because the process may be gone when names
 * are wanted. A library that is unloaded keeps its entry; another one at the same place gets its
 * own, told apart by name and build id.
 *
 * Holds     an entry's addresses and identity never change; `unload_ns` is 0 again when the module
 *           came back to its place.
 * Threads   any; entries are added under a try-lock, and a thread that has tried in vain for a while
 *           goes without (the frame is looked up again next time).
 * Fails     code outside every known object belongs to the module HS_MODULE_ID_ANON.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

#define HS_MODULE_ID_ANON 1U

/* Finds the loader's lookup function and makes the two fixed entries; whatever was known is forgotten. Without
 * region: false. */
bool hs_modules_init(void);

/* The module at `pc`: its id, and what unwinding needs (NULL for HS_MODULE_ID_ANON; else valid for
 * good). False: could not be told just now. */
bool hs_modules_find(uint64_t pc, const struct hs_unwind_module **ret_module, uint32_t *ret_id);

/* Id of the module at `pc` +1, or 0. */
uint32_t hs_modules_id_at(const void *pc);

/* In a forked child, where a thread that was adding a module is not there to end it. */
void hs_modules_forget_adder(void);

/* Something was unloaded: whether each module is still the one we knew is looked at again. */
void hs_modules_recheck(void);
