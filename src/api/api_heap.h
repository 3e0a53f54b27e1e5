/*
 * The heaps of the table: how a slot is taken, set up, and registered.
 *
 * A slot is taken by a compare-and-swap of the count, so no lock is needed, and a constructor or a
 * callback may create heaps. It is never given back: its id may be in use anywhere.
 *
 * Threads   any; a heap that is being set up belongs to the thread that created it.
 * Fails     -EINVAL, -ENAMETOOLONG, -ENOSPC for a new heap; -EINVAL, -EBUSY for a change.
 */
#pragma once

#include <stdint.h>

#include <heapscope/heapscope.h>

/* Takes a slot and gives it the name. */
int hs_api_heap_new(const char *name, heapscope_heap **ret_heap);
/* The id of a heap, registered or not; 0: this is no heap. */
uint32_t hs_api_heap_id(const heapscope_heap *heap);
/* The id of a heap that may still be changed, or the reason why it may not. */
int hs_api_heap_changeable(const heapscope_heap *heap, uint32_t *ret_id);
/* The heap of an id. */
heapscope_heap *hs_api_heap_of(uint32_t id);
