/*
 * The system calls of the client in a process that it was brought into: what a seccomp filter there must allow.
 *
 * Seen with the kernel's tracer, and read in src/client, where rt/sys.h is the only way to the kernel. A filter that allows
 * these and nothing else is a test: who adds a call to the client adds it here.
 *
 * Threads   constants.
 * See       inject/seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include "inject/inject.h"

/* Attaching, refreshing and detaching; below a filter that does not allow all of `optional`, HS_ATTACH_SANDBOX is set in
 * struct hs_attach_v1. */
void hs_client_calls_attach(struct hs_inject_request *request);
/* Making detours, which comes before attaching. */
void hs_client_calls_detour(struct hs_inject_request *request);
/* Refreshing or detaching: nothing is new to the other threads. */
void hs_client_calls_again(struct hs_inject_request *request);
