/*
 * Memory of mimalloc that the data of its library does not point to.
 *
 * mimalloc divides memory into segments at multiples of 32 MiB. The head of each contains its own
 * address, combined by exclusive or with a number that is chosen at random when the process
 * starts. The segments that are known tell that number; memory where it is found again, at the
 * same place of a head, is mimalloc's.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user.
 * Fails     never: what cannot be read is not named.
 */
#pragma once

#include "collect/ledger/glibc_mmapped.h"
#include "collect/ledger/remote_window.h"

/* Sets names[i] to `name` where gaps->items[i] has such a segment, and names[i] is NULL. Segments
 * are known where names[i] is `name` before. */
void hs_mimalloc_segments_find(const struct hs_remote_window *window, int pagemap_fd,
                               const struct hs_va_ranges *gaps, const char *name,
                               const char **names);
