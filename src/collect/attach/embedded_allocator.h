/*
 * Redirects the calls of an allocator that is part of a program to the client's hooks.
 *
 * Such calls go straight to the function, so the functions themselves are changed (arch/detour.h)
 * while all threads of the program are stopped (inject/ptrace/text_patch.h). This is the one thing
 * about attaching that other threads notice.
 *
 *     redirect   before anything is recorded: the client is loaded, it gets the code that calls the
 *                allocator past the changed entries, and the entries are changed
 *     release    after recording has ended: the entries get their original bytes back
 *
 * Ensures   after true, either every function that the client has hooks for is redirected, or there
 *           was none to redirect. Between the two calls the program works as before, whether a
 *           session records it or not, and also when heapscope dies.
 * Threads   any.
 * Fails     false, with a message. The program is as before.
 * See       docs/adr/0014-detours.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_embedded_allocator {
    /* entries that were changed, without those that had been changed before */
    uint32_t changed_count;
    uint32_t thread_count; /* threads that were stopped: all of the process */
    uint64_t stopped_ns;   /* how long they were stopped */
    char words[384];
};

/* Redirects malloc, if it is embedded, and the allocator functions with `prefix` besides it
 * (allocator_names.h; with HS_ALLOCATOR_CARVED behind it or not); NULL: the known ones are searched
 * for. The client is loaded from
 * `client_path` if necessary. */
bool hs_embedded_allocator_redirect(pid_t pid, const char *client_path, const char *client_name,
                                    const char *prefix, uint64_t patience_ns,
                                    struct hs_embedded_allocator *ret_own);

/* The same for a process that starts with the client preloaded and waits for this at the other end
 * of the connection `waiting_fd`. The process has an embedded allocator: true means that it is
 * redirected. No thread is borrowed, as its thread is waiting anyway. */
bool hs_embedded_allocator_redirect_waiting(pid_t pid, int waiting_fd, uint64_t patience_ns,
                                            struct hs_embedded_allocator *ret_own);
/* Restores the original entries. True also when there was nothing to restore. */
bool hs_embedded_allocator_release(pid_t pid, uint64_t patience_ns,
                                   struct hs_embedded_allocator *ret_own);

/* Lists the allocators besides malloc that would be redirected: "je_malloc, mi_malloc"; "": there
 * is none, or the process cannot be looked at. A malloc that is not exported is listed as
 * "malloc". */
void hs_embedded_allocator_describe(pid_t pid, char *ret_text, size_t cap_bytes);
