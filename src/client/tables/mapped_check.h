/*
 * Compares the ranges that the program is thought to have mapped with those that the kernel names.
 *
 * Needed when a change could not be followed (mapped.h). Ranges that are not there any more, or
 * where a file is mapped now, are removed, and ranges without access become reserved. Memory whose
 * mapping was missed stays unknown: its stack is not known, and it was counted as lost.
 *
 * Threads   the one that holds the lock of mapped.h.
 * Fails     without /proc, without a free descriptor and under a seccomp filter nothing is changed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "client/tables/thread_state.h"

/* Reads /proc/self/maps and removes what is not there. */
void hs_mapped_check(struct hs_thread *thread);

/* Removes what contradicts this part of a text in the form of /proc/self/maps, and everything
 * between *end_va and the first mapping of the text. Returns how many bytes it has used up: whole
 * lines. *end_va becomes the end of the last mapping. */
size_t hs_mapped_check_text(struct hs_thread *thread, const char *text, size_t bytes,
                            uint64_t *end_va);
