/*
 * See trend_output.h.
 */
#include "cli/read/trend_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/profile_file.h"
#include "profile/analyse/rss_trend.h"
#include "profile/analyse/trend.h"
#include "profile/model/describe.h"
#include "view/trend_view.h"

#define COLUMNS_PIPED 160

/* How many points a trend of a process has. */
static uint32_t count_points(const struct hs_compare *compare, const struct hs_profile *profile,
                             uint32_t process)
{
    return compare->is_rss ? hs_rss_readings_count(profile, process)
                           : hs_trend_dump_count(profile, process);
}

static void say_too_few(const struct hs_compare *compare, const char *path, uint32_t most)
{
    if (compare->is_rss) {
        hs_message("%s: a trend of resident memory needs %u snapshots of a process at which it was "
                   "read, and there are %u: record them with heapscope run --dump-every 10s",
                   path, HS_TREND_DUMPS_MIN, most);
    } else {
        hs_message("%s: a trend needs %u snapshots of a process, and there are %u: record them "
                   "with heapscope run --dump-every 10s",
                   path, HS_TREND_DUMPS_MIN, most);
    }
}

/* The processes that a trend is of. */
struct chosen {
    uint32_t *processes; /* indices */
    uint32_t count;
};

/* Prints what to do when no process has enough snapshots, or several have. */
static int say_choice(const struct hs_compare *compare, uint32_t enough, uint32_t most,
                      struct hs_buf *names)
{
    const char *path = compare->sides[HS_DIFF_AFTER].path;
    if (enough == 0) {
        say_too_few(compare, path, most);
    } else {
        hs_message("%s: a trend of blocks shows one process: choose it with --process PID, from "
                   "%s; with --rss, it adds up all of them",
                   path, hs_buf_text(names));
    }
    return HS_EXIT_STATUS_FAILED;
}

/* Finds the one process with enough snapshots. If several have enough readings of resident memory,
 * all that have any are chosen. */
static int choose_from(const struct hs_compare *compare, const struct hs_profile *profile,
                       const struct hs_selection *selection, struct chosen *chosen)
{
    struct hs_buf names = HS_BUF_INIT;
    uint32_t enough = 0, most = 0, found = 0;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        uint32_t process = profile->dumps[selection->dumps[i]].process;
        uint32_t count = count_points(compare, profile, process);
        if (count > 0) {
            chosen->processes[chosen->count++] = process;
        }
        most = count > most ? count : most;
        if (count >= HS_TREND_DUMPS_MIN) {
            hs_buf_str(&names, enough++ > 0 ? ", " : "");
            hs_describe_process(profile, process, &names);
            hs_buf_printf(&names, " (%u)", profile->processes[process].pid);
            found = process;
        }
    }
    int status = 0;
    if (enough == 1) {
        chosen->processes[0] = found;
        chosen->count = 1;
    } else if (enough == 0 || !compare->is_rss) {
        status = say_choice(compare, enough, most, &names);
    }
    hs_buf_deinit(&names);
    return status;
}

static int choose_processes(const struct hs_compare *compare, const struct hs_profile *profile,
                            struct chosen *chosen)
{
    const struct hs_compare_side *side = &compare->sides[HS_DIFF_AFTER];
    struct hs_selection selection;
    int err = hs_select_dumps(profile, &side->select, &selection);
    if (err == 0) {
        chosen->processes = calloc((size_t)selection.dump_count + 1, sizeof(uint32_t));
        err = chosen->processes ? 0 : -ENOMEM;
        int status = err == 0 ? choose_from(compare, profile, &selection, chosen) : 0;
        hs_selection_deinit(&selection);
        if (err == 0) {
            return status;
        }
    }
    hs_message("%s: %s", side->path, strerror(err < 0 ? -err : EINVAL));
    return HS_EXIT_STATUS_FAILED;
}

struct output {
    const struct hs_trend *trend; /* NULL: only the resident memory is shown */
    const struct hs_trend_options *options;
    enum hs_compare_format format;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    const struct hs_rss_trend *rss = output->options->rss;
    if (output->format == HS_COMPARE_JSON) {
        return output->trend ? hs_trend_write_json(output->trend, output->options, buf)
                             : hs_trend_write_rss_json(rss, output->options, buf);
    }
    return output->trend ? hs_trend_write_text(output->trend, output->options, buf)
                         : hs_trend_write_rss(rss, output->options, buf);
}

static int write_output(const struct hs_compare *compare, const struct hs_profile *profile,
                        const struct hs_trend *trend, const struct hs_rss_trend *rss)
{
    bool is_stdout = strcmp(compare->output, "-") == 0;
    const struct hs_trend_options options = {
        .name = compare->sides[HS_DIFF_AFTER].path,
        .profile = profile,
        .rss = rss,
        .top_count = compare->top_count,
        .columns = is_stdout && (isatty(STDOUT_FILENO) == 1 || getenv("COLUMNS"))
                       ? hs_args_columns(STDOUT_FILENO)
                       : COLUMNS_PIPED,
        .has_colour = is_stdout && hs_args_has_colour(STDOUT_FILENO),
        .filters = hs_compare_filter_texts(compare),
    };
    struct output output = { .trend = trend, .options = &options, .format = compare->format };
    return hs_output_end(compare->output,
                         hs_output_write(compare->output, fill_output, &output, NULL));
}

/* Computes and writes the trends: that of the resident memory as well, if it was read. */
static int write_trends(const struct hs_compare *compare, const struct hs_profile *profile,
                        const struct chosen *chosen, enum hs_view view)
{
    struct hs_trend trend = { 0 };
    struct hs_rss_trend rss = { 0 };
    int status = HS_EXIT_STATUS_FAILED;
    int rss_err = hs_rss_trend_build(profile, chosen->processes, chosen->count, &rss);
    int err =
        compare->is_rss ? rss_err : hs_trend_build(profile, chosen->processes[0], view, &trend);
    if (!compare->is_rss && err == 0 && rss_err < 0 && rss_err != -ENODATA) {
        err = rss_err;
    }
    if (err == 0) {
        status = write_output(compare, profile, compare->is_rss ? NULL : &trend,
                              rss_err == 0 ? &rss : NULL);
    } else {
        hs_message("%s: %s", compare->sides[HS_DIFF_AFTER].path,
                   err == -ENODATA ? "all snapshots have the same time" : strerror(-err));
    }
    hs_rss_trend_deinit(&rss);
    hs_trend_deinit(&trend);
    return status;
}

int hs_trend_output_run(const struct hs_compare *compare)
{
    const struct hs_compare_side *side = &compare->sides[HS_DIFF_AFTER];
    enum hs_view wanted = compare->view == HS_VIEW_AUTO ? HS_VIEW_SPACE : compare->view;
    struct hs_profile *profile = NULL;
    enum hs_view view;
    const char *reason;
    struct chosen chosen = { 0 };
    int status =
        hs_profile_file_load_view(side->path, &side->select, wanted, &profile, &view, &reason);
    if (status == 0) {
        status = choose_processes(compare, profile, &chosen);
    }
    status = status ? status : hs_compare_filter(compare, HS_DIFF_AFTER, profile, view);
    if (status == 0) {
        status = write_trends(compare, profile, &chosen, view);
    }
    free(chosen.processes);
    hs_profile_free(profile);
    return status;
}
