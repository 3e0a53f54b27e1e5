/*
 * Doing something while no library comes or goes, with the loader's own lock.
 *
 * The loader's list, the objects in it and their protection change whenever any thread calls dlopen() or dlclose().
 * The loader does that under a lock of its own, which nobody can ask for by name. But dlsym() holds it while it calls
 * the resolver of an indirect function (STT_GNU_IFUNC), and a resolver of ours can do anything. So a call of dlsym()
 * for a symbol of ours runs a function of ours under that lock: for as long as it runs, each object of the list is
 * mapped, relocated and protected, and stays so. A forked child finds this lock free: libc makes it anew there.
 *
 * The lock that dl_iterate_phdr() holds for its callback is a lesser one: it keeps objects mapped and in the list, but
 * they may still be on their way in, half relocated, and a child that was forked meanwhile finds it held for ever.
 *
 * Threads   any; the lock is for one at a time, and a signal's handler must not interrupt the call: block signals.
 *           Where we were preloaded no slot is ever changed, so the function is called without the lock; our entry in the
 *           loader's list is no handle for dlsym() there, as nobody has opened us.
 * Fails     a C library before 2.34 that has not loaded libdl has no dlsym(): then hs_loader_lock_call() makes the
 *           call under dl_iterate_phdr()'s lock. Nobody there but the C library itself can load anything.
 */
#pragma once

#include "rt/base.h"

typedef void hs_locked_fn(void *ctx);

/* Calls `fn` once, under the loader's lock. Waits for it as dlopen() would, so the calling thread may neither be in
 * the loader nor hold a lock that a library's constructor may wait for; a thread that is about to call dlsym() itself
 * may always do it. */
void hs_loader_lock_call(hs_locked_fn *fn, void *ctx);
