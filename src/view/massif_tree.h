/*
 * One tree of massif's text: who asked for the memory, from the innermost function outwards.
 *
 * The stacks are split by their innermost call, each of the parts by the one before, and so on; only parts
 * that are shown are split further, so that it costs what it shows.
 *
 * Threads   one call is one user.
 * Fails     -ENOMEM.
 */
#pragma once

#include "profile/aggregate.h"
#include "profile/select.h"

struct hs_buf;

/* Text on one line, fit for a terminal. */
void hs_massif_write_clean(struct hs_buf *buf, const char *text);

/* `quantity` of the selection's dumps, in bytes. */
int hs_massif_tree_write(const struct hs_selection *selection, enum hs_quantity quantity,
                         struct hs_buf *buf);
