/*
 * Opens a profile for a command that reads one: loads it, chooses dumps and a view, and prints one
 * line about any error. A file without names gets the names that this machine knows.
 *
 * Threads   main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/heap_choice.h"
#include "profile/analyse/select.h"

/* The values of --view, by enum hs_view; "auto" is the last one. */
extern const char *const hs_profile_file_views[HS_VIEW_N + 1];

struct hs_load_report;

/* Prints why a file could not be loaded: `error` is what hs_profile_load() or hs_sql_open_for()
 * returned. Returns the exit status. */
int hs_profile_file_fail(const char *path, int error, const struct hs_load_report *report);

struct hs_buf;

/* Loads FILE, FILE@N or FILE@NAME (dump_name.h) that contains a heap, and prints nothing: 0, or the
 * exit status with the reason in *ret_why, without the file's name. `heaps` are chosen; with
 * is_lenient, they need not be in this file. */
int hs_profile_file_open(const char *operand, const struct hs_heap_patterns *heaps, bool is_lenient,
                         struct hs_select_spec *ret_select, struct hs_profile **ret_profile,
                         struct hs_buf *ret_why);

/* Chooses heaps of a loaded profile; `other` as in heap_choice.h. 0, or the exit status, after a
 * message that lists the heaps. */
int hs_profile_file_choose_heaps(const char *path, struct hs_profile *profile,
                                 const struct hs_heap_patterns *heaps,
                                 const struct hs_profile *other);

/* The same, and removes all other heaps from the profile, for output with each heap by itself. */
int hs_profile_file_keep_heaps(const char *path, struct hs_profile *profile,
                               const struct hs_heap_patterns *heaps);

/* Loads a profile, with its primary heaps: 0, or the exit status, after a message. */
int hs_profile_file_load(const char *path, struct hs_profile **ret_profile);

/* True: some of the file could not be read. The report says what. */
bool hs_profile_file_is_damaged(const struct hs_profile *profile);

/* Gives the profile the stacks that `select` asks for, if the dumps that it selects tell them. 0,
 * or the exit status, after a message. */
int hs_profile_file_change_stacks(const char *path, struct hs_profile *profile,
                                  const struct hs_select_spec *select);

/*
 * Loads a profile and chooses the heaps and stacks of `select` and the view. 0; or the exit status,
 * after a message, and nothing to free. See hs_profile_file_choose().
 */
int hs_profile_file_load_view(const char *path, const struct hs_select_spec *select,
                              enum hs_view wanted, struct hs_profile **ret_profile,
                              enum hs_view *ret_view, const char **ret_reason);

/*
 * Chooses the view. Returns 0 with the view and the reason for it (NULL: the user asked for it, or
 * it needs no reason), or the exit status, after a message.
 */
int hs_profile_file_choose(const char *path, const struct hs_profile *profile,
                           const struct hs_select_spec *select, enum hs_view wanted,
                           enum hs_view *ret_view, const char **ret_reason);
