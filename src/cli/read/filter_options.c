/*
 * See filter_options.h.
 */
#include "cli/read/filter_options.h"

#include <errno.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "rt/base.h"
#include "util/buf.h"
#include "util/human.h"

const char hs_filter_help_focus[] =
    "show only stacks with a function that matches; may be given more than\n"
    "once: each must match a function. Shares are of all memory";
const char hs_filter_help_from[] =
    "let stacks begin at the outermost function that matches, and leave out\n"
    "stacks without one; may be given more than once: any may match";
const char hs_filter_help_hide[] =
    "leave out the functions that match, and count what they allocated for\n"
    "their callers; may be given more than once";

const char hs_filter_help_short[] =
    "leave out template arguments and parameters: std::vector<…>::push_back;\n"
    "JSON has the full names";
const char hs_filter_help_annotations[] =
    "put [jit], [interp] and [inlined] behind the names of such functions";

static int parse_list(const struct hs_opts_spec *spec, const char *option,
                      const struct hs_opt_list *texts, struct hs_focus *patterns)
{
    for (size_t i = 0; i < texts->count; i++) {
        struct hs_buf why = HS_BUF_INIT;
        int err = hs_focus_add(patterns, texts->items[i], &why);
        int status =
            err == 0 ? 0
            : err == -E2BIG
                ? hs_args_fail(spec, "%s may be given %d times", option, HS_FOCUS_PATTERNS_MAX)
                : hs_args_fail(spec, "%s: '%s' is not a regular expression: %s", option,
                               texts->items[i], hs_buf_text(&why));
        hs_buf_deinit(&why);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

int hs_filter_options_parse(const struct hs_opts_spec *spec, struct hs_filter_options *options)
{
    int status = parse_list(spec, "--focus", &options->focus, &options->filters.focus);
    status = status ? status : parse_list(spec, "--from", &options->from, &options->filters.from);
    return status ? status : parse_list(spec, "--hide", &options->hide, &options->filters.hide);
}

const char *hs_filter_options_given(const struct hs_filter_options *options)
{
    return options->focus.count > 0  ? "--focus"
           : options->from.count > 0 ? "--from"
           : options->hide.count > 0 ? "--hide"
                                     : NULL;
}

const char *hs_filter_options_names_given(const struct hs_filter_options *options)
{
    return options->names.is_short          ? "--short-names"
           : options->names.has_annotations ? "--annotations"
                                            : NULL;
}

int hs_filter_options_rename(const char *path, struct hs_profile *profile,
                             const struct hs_filter_options *options, bool is_data)
{
    int err = is_data ? 0 : hs_shown_names_apply(profile, &options->names);
    if (err != 0) {
        hs_message("%s: %s", path, strerror(-err));
    }
    return err ? HS_EXIT_STATUS_FAILED : 0;
}

int hs_filter_options_apply(const char *path, struct hs_profile *profile,
                            const struct hs_filter_options *options)
{
    int err = hs_stack_filters_apply(profile, &options->filters);
    if (err != 0) {
        hs_message("%s: %s", path, strerror(-err));
    }
    return err ? HS_EXIT_STATUS_FAILED : 0;
}

/* What the samples of the selected dumps have in the view. */
static double sum_of(const struct hs_profile *profile, const struct hs_select_spec *select,
                     enum hs_view view)
{
    struct hs_selection selection;
    double sum = 0;
    if (hs_select_dumps(profile, select, &selection) != 0) {
        return 0;
    }
    for (uint32_t d = 0; d < selection.dump_count; d++) {
        const struct hs_profile_dump *dump = &profile->dumps[selection.dumps[d]];
        for (uint32_t i = 0; i < dump->samples_n; i++) {
            const struct hs_profile_sample *sample = &profile->samples[dump->sample_first + i];
            enum hs_quantity quantity = hs_views[view].quantity;
            const struct hs_amount *amount = quantity == HS_QUANTITY_LIVE    ? &sample->live
                                             : quantity == HS_QUANTITY_ALLOC ? &sample->alloc
                                                                             : &sample->peak;
            sum += hs_views[view].is_count ? amount->count : amount->bytes;
        }
    }
    hs_selection_deinit(&selection);
    return sum;
}

int hs_filter_options_apply_aloud(const char *path, struct hs_profile *profile,
                                  const struct hs_filter_options *options,
                                  const struct hs_select_spec *select, enum hs_view view)
{
    char share[HS_HUMAN_BYTES];
    if (!hs_filter_options_given(options)) {
        return 0;
    }
    double before = sum_of(profile, select, view);
    int status = hs_filter_options_apply(path, profile, options);
    if (status == 0 && before > 0) {
        hs_human_share(share, sum_of(profile, select, view), before);
        hs_message_info("%s: the filters leave %s of the %s", path, share,
                        hs_views[view].is_count ? "objects" : "bytes");
    }
    return status;
}

struct hs_filter_texts hs_filter_options_texts(const struct hs_filter_options *options)
{
    return (struct hs_filter_texts){ .focus = options->focus.items,
                                     .focus_count = options->focus.count,
                                     .from = options->from.items,
                                     .from_count = options->from.count,
                                     .hide = options->hide.items,
                                     .hide_count = options->hide.count };
}

void hs_filter_options_deinit(struct hs_filter_options *options)
{
    hs_opt_list_deinit(&options->focus);
    hs_opt_list_deinit(&options->from);
    hs_opt_list_deinit(&options->hide);
    hs_stack_filters_deinit(&options->filters);
}
