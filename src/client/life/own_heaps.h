/*
 * Heaps of allocators that were found by their functions (hooks/own_hooks.h): each has the name of
 * its functions' prefix, without the underscores at its end (je_malloc: je). The functions of an
 * allocator without a prefix are malloc's heap.
 *
 * Threads   one, on the thread that starts the client or is borrowed.
 */
#pragma once

/* Adds these heaps, if there are detours. Once; later calls do nothing. */
void hs_own_heaps_name(void);
