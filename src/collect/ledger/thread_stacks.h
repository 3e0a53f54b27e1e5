/*
 * Which mappings of another process are stacks of its threads.
 *
 * glibc puts a thread's descriptor at the upper end of the thread's stack. It contains its own
 * address twice and the thread's id, so a stack is recognized by its contents, in whatever state
 * the thread is. The kernel may join a stack with the mapping above it, so the descriptor is
 * searched in a mapping as far as a stack reaches that is as long as the others.
 *
 * A stack that the program gave to a thread itself lies in other memory, and counts as that.
 *
 * Trust     the memory is hostile: a descriptor is accepted only with the id of a living thread.
 * Threads   one.
 * Fails     -ENOMEM, -ESRCH.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/address_space.h"
#include "collect/ledger/remote_window.h"

struct hs_thread_stack {
    uint64_t start_va, end_va;
    uint32_t tid;
    char name[16];
};

struct hs_thread_stacks {
    struct hs_thread_stack *items; /* by address; without the main thread's */
    size_t count;
    size_t capacity;
};

/* Finds the stacks of `pid`. A zeroed struct is an empty array. Returns 0, or see Fails. */
int hs_thread_stacks_find(pid_t pid, struct hs_remote_window *window, int pagemap_fd,
                          const struct hs_address_space *space, struct hs_thread_stacks *stacks);
/* Frees the array. */
void hs_thread_stacks_deinit(struct hs_thread_stacks *stacks);
