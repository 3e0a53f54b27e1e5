/*
 * speedscope: a JSON file for speedscope.app, with one profile for each view.
 *
 * Stacks are in the order of the tree, largest first, so that speedscope's time order shows a flame
 * graph and not noise. Values are bytes, or numbers of objects.
 *
 * Threads   no state.
 * Fails     -ENOMEM or as the buffer does; HS_SELECT_E_* when the profile has no such dump.
 */
#pragma once

#include "profile/analyse/aggregate.h"

struct hs_buf;

/* Writes the file. `first_view` is the view that speedscope shows first. */
int hs_speedscope_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                        enum hs_view first_view, struct hs_buf *buf);
