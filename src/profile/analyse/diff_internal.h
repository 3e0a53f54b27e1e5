/*
 * What the files of the comparison share: diff.c folds the stacks, diff_change.c decides on
 * verdicts, diff_module.c names modules, diff_name.c names functions, diff_process.c matches
 * processes.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/analyse/diff.h"

/*
 * Writes the name by which modules are compared: "" for the program of the selection; for others
 * the file name without folder and version (of "libz.so.1.2.13" and of "libz-1.2.13.so":
 * "libz.so").
 */
void hs_diff_write_module(const struct hs_selection *selection, uint32_t module,
                          struct hs_buf *buf);

/* Writes the name by which functions are compared: see diff_name.c. */
void hs_diff_write_name(const char *name, struct hs_buf *buf);

/* Adds the processes of a side. *capacity is that of diff->processes, 0 at first. 0 or -ENOMEM. */
int hs_diff_add_processes(struct hs_diff *diff, enum hs_diff_side side,
                          const struct hs_selection *selection, size_t *capacity);
/* Sorts the processes, the largest change first. 0 or -ENOMEM. */
int hs_diff_sort_processes(struct hs_diff *diff);
