/*
 * The options --focus, --from and --hide: which stacks a command shows, and how much of them; and
 * --short-names and --annotations: which names it gives them.
 *
 *     struct hs_filter_options filters = { 0 };
 *     const struct hs_opt list[] = { ..., HS_FILTER_OPTIONS(&filters), ... };
 *     int status = hs_filter_options_parse(&spec, &filters);
 *     status = status ? status : hs_filter_options_apply(path, profile, &filters);
 *     hs_filter_options_deinit(&filters);
 *
 * Threads   main thread only.
 * Fails     functions with a status return 0, or the exit status after a message.
 */
#pragma once

#include <stdbool.h>

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "profile/analyse/shown_names.h"
#include "profile/analyse/stack_filters.h"
#include "util/opts.h"
#include "view/filter_words.h"

struct hs_filter_options {
    struct hs_opt_list focus, from, hide; /* as given */
    struct hs_stack_filters filters;
    struct hs_shown_names names;
};

/* The help of the options. */
extern const char hs_filter_help_focus[], hs_filter_help_from[], hs_filter_help_hide[],
    hs_filter_help_short[], hs_filter_help_annotations[];

#define HS_FILTER_OPTIONS(options)                                                                 \
    HS_OPT_LIST(0, "focus", "REGEX", &(options)->focus, hs_filter_help_focus),                     \
        HS_OPT_LIST(0, "from", "REGEX", &(options)->from, hs_filter_help_from),                    \
        HS_OPT_LIST(0, "hide", "REGEX", &(options)->hide, hs_filter_help_hide),                    \
        HS_OPT_FLAG(0, "short-names", &(options)->names.is_short, hs_filter_help_short),           \
        HS_OPT_FLAG(0, "annotations", &(options)->names.has_annotations,                           \
                    hs_filter_help_annotations)

/* Reads the patterns. */
int hs_filter_options_parse(const struct hs_opts_spec *spec, struct hs_filter_options *options);
/* The first of the filters that was given: "--focus"; NULL: none. */
const char *hs_filter_options_given(const struct hs_filter_options *options);
/* The first of the options about names that was given; NULL: none. */
const char *hs_filter_options_names_given(const struct hs_filter_options *options);
/* Changes the names, except for data (is_data), which keep the full ones. */
int hs_filter_options_rename(const char *path, struct hs_profile *profile,
                             const struct hs_filter_options *options, bool is_data);
/* Filters the stacks of a profile. */
int hs_filter_options_apply(const char *path, struct hs_profile *profile,
                            const struct hs_filter_options *options);
/* The same, and says which share of what the view shows is left. */
int hs_filter_options_apply_aloud(const char *path, struct hs_profile *profile,
                                  const struct hs_filter_options *options,
                                  const struct hs_select_spec *select, enum hs_view view);
/* The patterns, to be named. They refer to `options`. */
struct hs_filter_texts hs_filter_options_texts(const struct hs_filter_options *options);
/* Frees the lists and patterns. */
void hs_filter_options_deinit(struct hs_filter_options *options);
