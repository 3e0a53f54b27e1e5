/*
 * Redirecting the calls of a running program to our hooks.
 *
 * A call of malloc from an executable or a library goes through a slot: a pointer of that object,
 * which the loader has set. The client was not loaded at that time, so each of these slots is set
 * again. This is one store of eight bytes: before it a call goes to the allocator, and after it to
 * our hook. No thread needs to stop for that. The allocator itself is not changed and goes on
 * serving.
 *
 * Which slots? Those whose relocation names one of our functions, in all objects except the loader
 * and the client, if the slot holds what the program's malloc is: the first definition in the
 * loader's order; the executable's own entry for it (in programs that are not position
 * independent); or, if it is not bound yet (lazy binding), an address through which the loader is
 * called. A slot that leads elsewhere (of an object that was loaded with an allocator of its own)
 * is left alone and counted.
 *
 * Holds     a slot leads to a hook, or to what the loader binds it to. Slots are only ever found
 *           through objects that are loaded, and no slot is remembered by its address, because
 *           another object may be there later.
 * Threads   one at a time; the program's threads go on. An object whose slots are changed must stay
 *           loaded, and the loader must have finished relocating and protecting it. Otherwise our
 *           store or the loader's would fault, or the protection of memory that belongs to another
 *           object by then would change. See hs_patch_apply() and hs_patch_undo().
 * Fails     a slot that cannot be written to is left, and counted.
 * See       hook_table.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/base.h"

/* Counts of slots. */
struct hs_patch_counts {
    uint32_t changed;
    uint32_t left; /* slots that lead elsewhere */
};

/* Redirects the slots of all objects, or of those that were loaded since the last call. (Weak: as
 * hs_exports_redirect.) Called
 * under the loader's lock (loader_lock.h), so that no object is half loaded. False: another thread
 * is at work, or a fork lasts too long. No fork is made meanwhile: the child would find a lock of
 * the loader that is never released. */
__attribute__((weak)) bool hs_patch_apply(struct hs_patch_counts *ret_counts);

/* Releases all slots. Also called under the loader's lock: an object that is half loaded may have
 * been bound to our hooks already (exports.h). False: as above; nothing has changed then. */
bool hs_patch_undo(struct hs_patch_counts *ret_counts);

/* Set by the hook of dlopen: an object may have been loaded. If the client was preloaded, its slots
 * need nothing, unless it was loaded with RTLD_DEEPBIND. */
#define HS_PATCH_DUE    1U
#define HS_PATCH_LOADED 2U /* no slot is to be set */
extern HS_HIDDEN uint32_t hs_patch_is_due;

/* What else is done when there may be new objects. */
typedef void hs_patch_also_fn(void);

/* Redirects the slots of new objects if hs_patch_is_due and the client is attached, and then calls
 * `also` under the same lock. Called from the hook of dlsym, because its caller is in an object
 * that is completely loaded. */
void hs_patch_new(hs_patch_also_fn *also);
