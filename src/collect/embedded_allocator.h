/*
 * A program with an allocator of its own in it: its calls of that come to the client's hooks all the same.
 *
 * Such calls go straight to the function. So it is the functions that are changed (arch/detour.h), while all threads
 * of the program stand still (inject/text_patch.h): the one thing of attaching that others notice.
 *
 *     lead       before anything is recorded: the client is loaded, gets the code that calls the allocator by another way,
 *                and the entries are changed
 *     let_go     after recording has ended: the entries are what they were
 *
 * Holds     after true, either all that the client has hooks for is led to it, or nothing had to be. Between the two
 *           calls the program works as before, whether somebody records or not, and when we die as well.
 * Threads   any.
 * Fails     false, with words. The program is as before.
 * See       docs/adr/0014-detours.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_embedded_allocator {
    uint32_t changed_count; /* entries of functions, without those that were so before */
    uint32_t thread_count;  /* that stood still, all of them */
    uint64_t stopped_ns;    /* for so long */
    char words[384];
};

/* `prefix`: of an allocator's functions beside malloc (allocator_names.h); NULL: the known ones are looked for. */
bool hs_embedded_allocator_redirect(pid_t pid, const char *client_path, const char *client_name,
                                    const char *prefix, uint64_t patience_ns,
                                    struct hs_embedded_allocator *ret_own);

/* The same for a process that starts with the client preloaded, and waits at the other end of the connection for this. It
 * has such an allocator: true says that it is led to us. Its thread is not borrowed, and stands still anyway. */
bool hs_embedded_allocator_redirect_waiting(pid_t pid, int waiting_fd, uint64_t patience_ns,
                                            struct hs_embedded_allocator *ret_own);
bool hs_embedded_allocator_release(pid_t pid, uint64_t patience_ns,
                                   struct hs_embedded_allocator *ret_own);

/* What is there beside malloc that would be led to us: "je_malloc, mi_malloc"; "": nothing, or it cannot be looked at. A
 * malloc that is hidden is "malloc". */
void hs_embedded_allocator_describe(pid_t pid, char *ret_text, size_t cap_bytes);
