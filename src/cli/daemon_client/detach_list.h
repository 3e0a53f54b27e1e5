/*
 * The processes that a command attached to and detaches from at its end: those that were named, and
 * their forked children.
 *
 * Threads   main thread only.
 * Fails     when a process cannot be detached from, a message says what to do.
 * See       collect/attach/attachment.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/registry.h"

/* How long detaching waits for a safe point of the process. */
#define HS_PATIENCE_END_NS UINT64_C(10000000000)

/* A process that has heapscope's library. */
struct hs_attached_process {
    pid_t pid;
    uint64_t stack_start_va; /* another value: it has executed another program */
};

/* Zero-initialized is empty. */
struct hs_detach_list {
    struct hs_attached_process *processes;
    size_t count, capacity;
};

/* Adds a process; again after it executed another program. */
void hs_detach_list_add(struct hs_detach_list *list, pid_t pid);
/* True: the process was added. */
bool hs_detach_list_has(const struct hs_detach_list *list, pid_t pid);
/* Adds the forked children of these processes that are recorded now. */
void hs_detach_list_add_children(struct hs_detach_list *list, const struct hs_registry *registry);
/* Detaches from every process: releases its calls, in forked children, too. */
void hs_detach_list_detach(const struct hs_detach_list *list);
/* Frees the list. */
void hs_detach_list_deinit(struct hs_detach_list *list);
