/*
 * Leading the calls of a running program to our hooks.
 *
 * A call of malloc from an executable or a library goes through a pointer of that object, which the loader has
 * set. We were not there then; so each of these pointers is set anew: one store of eight bytes, after which a
 * call goes to our hook, and before which it went to the allocator. Nobody needs to stop for that. The allocator
 * itself, whatever it is, stays as it is and goes on serving.
 *
 * Which pointers? Those whose relocation names one of our functions, in all objects but the loader and us, if
 * they hold what the program's malloc is: the first definition in the loader's order, the executable's own entry
 * for it (programs that are not position independent), or, not yet bound, a way to the loader. A pointer that leads
 * elsewhere (an object that was loaded with an allocator of its own) is left alone and counted.
 *
 * Holds     a slot leads to a hook, or to what the loader binds it to. Slots are only ever found through objects that are
 *           there, and nothing is remembered of one by its address: another object may be there by then.
 * Threads   one at a time, the program's threads go on. An object whose slots are changed must stay where it is, and
 *           be done with being relocated and protected: otherwise our store, or the loader's, would fault, or the
 *           protection of memory that is somebody else's by then would change. See hs_patch_apply(), hs_patch_undo().
 * Fails     a slot that cannot be written to is left, and counted.
 * See       hook_table.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

struct hs_patch_counts {
    uint32_t changed;
    uint32_t left; /* that lead elsewhere */
};

/* Slots of all objects, or of those that are new since. Under the loader's lock (loader_lock.h), so that none of them is
 * half loaded. False: another thread is at it, or is in a fork that lasts. No fork is made meanwhile: the child would
 * find a lock of the loader's taken for good. */
bool hs_patch_apply(struct hs_patch_counts *ret_counts);

/* Sets all slots back, under the loader's lock as well: an object that is half loaded may have been bound to our hooks
 * already (exports.h). False: as above; nothing has changed then. */
bool hs_patch_undo(struct hs_patch_counts *ret_counts);

/* Something may have been loaded: set by the hook of dlopen. */
extern HS_HIDDEN uint32_t hs_patch_is_due;

/* If so, and while we are attached. From the hook of dlsym, whose caller comes from an object at rest. */
void hs_patch_new(void);
