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

#include "client/tables/mapped.h"

/* A call that has failed, and may have permitted access to a part of these addresses. */
struct hs_mapped_opener {
    struct hs_mapped_origin origin;
    uint64_t start_va, end_va; /* 0: there is no such call */
};

/* Reads /proc/self/maps and changes what contradicts it. */
void hs_mapped_check(const struct hs_mapped_opener *opener);

/* Changes what contradicts this part of a text in the form of /proc/self/maps, and removes
 * everything between *end_va and the first mapping of the text. Returns how many bytes it has used
 * up: whole lines. *end_va becomes the end of the last mapping. */
size_t hs_mapped_check_text(const struct hs_mapped_opener *opener, const char *text, size_t bytes,
                            uint64_t *end_va);
