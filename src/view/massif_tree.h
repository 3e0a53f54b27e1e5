/*
 * One tree of massif's text: which calls asked for the memory, from the innermost function
 * outwards.
 *
 * The stacks are grouped by their innermost call, each group by the next call, and so on. Only
 * groups that are shown are split further, so that the cost is proportional to the output.
 *
 * Threads   each call has one user.
 * Fails     -ENOMEM.
 */
#pragma once

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"

struct hs_buf;

/* Writes the text on one line, sanitized for a terminal. */
void hs_massif_write_clean(struct hs_buf *buf, const char *text);

/* Writes the tree of `quantity`, in bytes, of the selection's dumps. */
int hs_massif_tree_write(const struct hs_selection *selection, enum hs_quantity quantity,
                         struct hs_buf *buf);
