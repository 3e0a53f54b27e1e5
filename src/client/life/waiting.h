/*
 * Before the first allocation of a program that contains its own allocator: time for the collector
 * to redirect that allocator to our hooks.
 *
 * The calls that a program makes to its own functions cannot be interposed. The collector can
 * change these functions, but the client must put code into place first (detours.h). The collector
 * has been told that the client waits; when it is done, or cannot do it, or dies, the connection
 * closes.
 *
 * Ensures   no program without such an allocator waits. The wait lasts at most two seconds,
 *           whatever happens to the collector.
 * Trust     the peer can only make the client read its own memory; what is found there was written
 *           by a process that may trace this one.
 * Threads   the one that starts the client, before it records; others may run, unrecorded. Signals
 *           are blocked.
 * Fails     never: the allocator is then not seen, and the collector says why.
 * See       fmt/ctl_layout.h, docs/adr/0014-detours.md
 */
#pragma once

/* Serves requests. `sock`: the connection on which the hello was sent; it stays the caller's. */
void hs_waiting_serve(int sock);
