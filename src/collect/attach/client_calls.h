/*
 * The system calls that the client makes in a process it was injected into: a seccomp filter there
 * must allow them.
 *
 * The lists come from the kernel's tracer, and from src/client, where rt/sys.h is the only way to
 * the kernel. A test runs the client under a filter that allows these calls and nothing else: a
 * change that adds a call to the client must add it here.
 *
 * Threads   constants.
 * See       inject/seccomp/seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include "inject/inject.h"

/* Sets request->wants for attaching. Under a filter that does not allow all of `optional`,
 * HS_ATTACH_SANDBOX is set in struct hs_attach_v1. */
void hs_client_calls_attach(struct hs_inject_request *request);
/* Sets request->wants for making detours, which happens before attaching. */
void hs_client_calls_detour(struct hs_inject_request *request);
/* Sets request->wants for refreshing or detaching: the other threads make no new calls. */
void hs_client_calls_again(struct hs_inject_request *request);
