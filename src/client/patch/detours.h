/*
 * Detours: jumps to our hooks, written over the first instructions of the functions of an allocator
 * that is part of the executable.
 *
 * If a hook called such an entry, the jump there would lead back to the hook. So the hooks call
 * code that the collector makes (arch/detour.h), and that this file puts into pages of its own. The
 * code does what the entries did, whether they have been changed or not. It is in place before the
 * first entry is changed, and stays for as long as the process lives: a second session finds it
 * there.
 *
 * The detours of an allocator whose functions have names of their own lead to separate hooks
 * (hooks/own_hooks.h).
 *
 * A collector that attaches calls HS_DETOUR_ENTRY on a borrowed thread. A program that the
 * collector starts with the client preloaded waits before its first allocation: the calls that a
 * program makes to its own functions cannot be interposed, and the collector can change these
 * functions only after the client has put that code into place. The collector has been told that
 * the client waits; when it is done, or cannot do it, or dies, the connection closes.
 *
 * Ensures   hs_real calls none of the entries once there are detours. No program without such an
 *           allocator waits. The wait lasts at most two seconds, whatever happens to the collector.
 * Trust     the peer can only make the client read its own memory; what is found there was written
 *           by a process that may trace this one.
 * Threads   one call at a time, on a borrowed thread, or on the one that starts the client, with
 *           signals blocked; no detour leads to our hooks before it is done.
 * Fails     -errno: no entry has been changed. If the wait fails, the allocator's blocks are not
 *           recorded, and the collector says why.
 * See       host/real.h for the table, fmt/ctl_layout.h, docs/adr/0014-detours.md
 */
#pragma once

#include <stdbool.h>

#include "fmt/ctl_layout.h"
#include "rt/base.h"

/* The request said HS_DETOUR_CARVED. */
extern HS_HIDDEN bool hs_detours_are_carved;

/* Adds detours, as HS_DETOUR_ENTRY describes; 0 or -errno. Nothing may yet have been learned about
 * what operators call inside. */
int hs_detours_add(const struct hs_detour_request_v1 *request);

/* Adds detours on request until the collector closes the connection. `sock`: the connection on
 * which the hello was sent; it stays the caller's. */
void hs_detours_serve(int sock);
