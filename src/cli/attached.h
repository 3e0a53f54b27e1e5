/*
 * Processes that were attached to, and are to be let go of at the end: those that were named, and their forked children.
 *
 * Threads   main thread only.
 * Fails     a process that cannot be let go of is told of, with what to do.
 * See       collect/attachment.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/registry.h"

/* How long a process is waited for until it may be left. */
#define HS_PATIENCE_END_NS UINT64_C(10000000000)

/* A process that has our library, */
struct hs_attached_process {
    pid_t pid;
    uint64_t stack_start_va; /* as long as its program's stack is here */
};

/* Zero-initialised is empty. */
struct hs_attached {
    struct hs_attached_process *processes;
    size_t count, capacity;
};

/* Again, when it executed another program. */
void hs_attached_add(struct hs_attached *attached, pid_t pid);
bool hs_attached_has(const struct hs_attached *attached, pid_t pid);
/* Forked children are let go of, too: those that are recorded now. */
void hs_attached_add_children(struct hs_attached *attached, const struct hs_registry *registry);
/* Calls lead where they did, in forked children too. */
void hs_attached_let_go(const struct hs_attached *attached);
void hs_attached_deinit(struct hs_attached *attached);
