/*
 * Runs a function under the loader's own lock, so that meanwhile no library is loaded or unloaded.
 *
 * The loader's list, the objects in it and their protection change whenever a thread calls dlopen()
 * or dlclose(). The loader does that under a lock of its own, which has no public name. But dlsym()
 * holds it while it calls the resolver of an indirect function (STT_GNU_IFUNC), and a resolver of
 * ours can do anything. So a call of dlsym() for a symbol of ours runs a function of ours under
 * that lock. For as long as it runs, each object of the list is mapped, relocated and protected,
 * and stays so. A forked child finds this lock free: libc initializes it again there.
 *
 * The lock that dl_iterate_phdr() holds for its callback is a weaker one: it keeps objects mapped
 * and in the list, but they may still be half loaded and half relocated, and a child that was
 * forked meanwhile finds it held for good.
 *
 * Threads   any; one thread at a time has the lock. A signal handler must not interrupt the call:
 *           block signals. If the client was preloaded no slot is ever changed, so the function is
 *           called without the lock. (There our entry in the loader's list is no handle for
 *           dlsym(), because no dlopen() has opened it.)
 * Fails     a C library before 2.34 that has not loaded libdl has no dlsym(): then
 *           hs_loader_lock_call() makes the call under dl_iterate_phdr()'s lock. In such a process
 *           only the C library itself can load anything.
 */
#pragma once

#include "rt/base.h"

/* A function to call under the lock. */
typedef void hs_locked_fn(void *ctx);

/* Calls `fn` once, under the loader's lock. Waits for the lock as dlopen() would, so the calling
 * thread may neither be in the loader nor hold a lock that a library's constructor may wait for. A
 * thread that is about to call dlsym() itself may always call this. */
void hs_loader_lock_call(hs_locked_fn *fn, void *ctx);

/* The same, and under the lock also if the client was preloaded. (Weak: tests link the client
 * without its hooks.) */
__attribute__((weak)) void hs_loader_lock_call_always(hs_locked_fn *fn, void *ctx);
