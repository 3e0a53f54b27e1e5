/*
 * Before the first allocation of a program that has an allocator of its own in it: time for the collector to lead that to
 * us.
 *
 * Nothing of ours comes in between a program's calls of its own functions. The collector can change these, and needs us
 * to put code into its place first (detours.h). It has been told that we wait; when it is done, or cannot, or is
 * no more, it hangs up.
 *
 * Holds     no program without such an allocator waits. Two seconds are the longest, whatever becomes of the collector.
 * Trust     who is at the other end of the connection can have us look into our own memory, no more; what is found there
 *           was written by somebody who may trace us.
 * Threads   the one that starts us, before it records; others may run, unrecorded. Signals are blocked.
 * Fails     never: the allocator is not seen then, and the collector says why.
 * See       fmt/ctl_layout.h, docs/adr/0014-detours.md
 */
#pragma once

/* `sock`: on which the hello has been said. It stays the caller's. */
void hs_waiting_serve(int sock);
