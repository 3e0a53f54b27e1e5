/*
 * The option --by: how the parts of a profile are grouped, for the commands that have it.
 *
 * Threads   main thread only.
 */
#pragma once

#include "profile/analyse/part_sums.h"

struct hs_opts_spec;

/* Reads the list; `text` must outlive the groups. 0, or the exit status, after a message: a name is
 * unknown, or parts are not known of what the view shows. */
int hs_parts_option_parse(const struct hs_opts_spec *spec, const char *text, enum hs_view view,
                          struct hs_part_groups *ret_groups);
/* Whether the selected dumps have these parts: 0, or the exit status, after a message. */
int hs_parts_option_check(const char *path, const struct hs_profile *profile,
                          const struct hs_select_spec *select, enum hs_view view,
                          const struct hs_part_groups *groups);
