/*
 * Opening a profile for a command that reads one: loads it, picks dumps and a view, and says in one
 * line what is wrong when that cannot be. A file without names gets those that this machine knows.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/aggregate.h"
#include "profile/select.h"

/* What --view takes; the index is that of enum hs_view, "auto" last. */
extern const char *const hs_profile_file_views[HS_VIEW_N + 1];

struct hs_load_report;

/* Says why a file could not be loaded: what hs_profile_load() or hs_sql_open() returned. The exit status. */
int hs_profile_file_fail(const char *path, int error, const struct hs_load_report *report);

struct hs_buf;

/* Loads FILE or FILE@N (dump_name.h) with a heap in it, and says nothing: 0, or the exit status, and why not in
 * *ret_why, without the file's name. */
int hs_profile_file_open(const char *operand, struct hs_select_spec *ret_select,
                         struct hs_profile **ret_profile, struct hs_buf *ret_why);

/* 0, or the exit status to return after having said why. */
int hs_profile_file_load(const char *path, struct hs_profile **ret_profile);

/* Could some of the file not be read? The report says what. */
bool hs_profile_file_is_damaged(const struct hs_profile *profile);

/*
 * Can this be shown? Returns 0 with the view to show and why that one (NULL: it was asked for, or it
 * goes without saying), or the exit status to return after having said why not.
 */
int hs_profile_file_choose(const char *path, const struct hs_profile *profile,
                           const struct hs_select_spec *select, enum hs_view wanted,
                           enum hs_view *ret_view, const char **ret_reason);
