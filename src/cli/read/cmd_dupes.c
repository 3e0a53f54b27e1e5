/*
 * heapscope dupes: which live blocks have equal contents.
 *
 * See       profile/analyse/dupes.h for what counts as extra, docs/man/heapscope-dupes.1
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/read/block_files.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_sources.h"
#include "profile/analyse/wrappers.h"
#include "util/buf.h"
#include "view/dupes_view.h"

struct dupes_args {
    const char *folder;
    uint64_t top_count, least_bytes, pid;
    bool is_json;
};

struct output {
    const struct dupes_args *args;
    struct hs_dupes_view view;
};

static int fill_output(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return output->args->is_json ? hs_dupes_write_json(&output->view, buf)
                                 : hs_dupes_write_text(&output->view, buf);
}

static int show(const struct dupes_args *args, const struct hs_selection *selection,
                const struct hs_agg *agg, struct hs_block_files *files)
{
    struct hs_dupes dupes;
    int err =
        hs_dupes_build(selection, agg, files->blocks, files->count, files->group_count, &dupes);
    if (err < 0) {
        return hs_output_end("-", err);
    }
    struct output output = { .args = args,
                             .view = { .selection = selection,
                                       .agg = agg,
                                       .dupes = &dupes,
                                       .top_count = (uint32_t)args->top_count,
                                       .least_bytes = (double)args->least_bytes,
                                       .missing_count = files->missing_count,
                                       .is_never_written_known = files->is_never_written_known,
                                       .foreign_count = files->foreign_count,
                                       .columns = hs_args_columns(STDOUT_FILENO),
                                       .has_colour = hs_args_has_colour(STDOUT_FILENO) } };
    err = hs_output_write("-", fill_output, &output, NULL);
    hs_dupes_deinit(&dupes);
    return hs_output_end("-", err);
}

/* Says what the figures are not. */
static void say_limits(const struct hs_profile_dump *dump)
{
    if (hs_dump_widest_bytes(dump) > 1) {
        hs_message("only the blocks that were sampled are compared; for all blocks, record with "
                   "-i 1");
    }
    if (dump->block_left_out_count > 0) {
        hs_message("%llu blocks are not in the file, because there are too many",
                   (unsigned long long)dump->block_left_out_count);
    }
}

static int check_dump(const char *path, const struct hs_selection *selection)
{
    if (selection->dump_count != 1) {
        hs_message("%s has several processes, and contents are of one: choose it with --pid", path);
        return HS_EXIT_STATUS_FAILED;
    }
    if (!selection->profile->dumps[selection->dumps[0]].has_blocks) {
        hs_message("%s does not list blocks: it must be the snapshot that 'heapscope snapshot "
                   "--output-contents-dir' wrote together with the folder",
                   path);
        return HS_EXIT_STATUS_FAILED;
    }
    return 0;
}

static int run_dupes(const char *path, const struct dupes_args *args)
{
    const struct hs_select_spec select = { .pid = (uint32_t)args->pid, .snapshot = HS_SELECT_LAST };
    struct hs_profile *profile = NULL;
    struct hs_selection selection;
    struct hs_block_files files;
    struct hs_agg agg;
    enum hs_view view = HS_VIEW_SPACE;
    const char *reason = NULL;
    int status = hs_profile_file_load_view(path, &select, HS_VIEW_SPACE, &profile, &view, &reason);
    if (status != 0) {
        return status;
    }
    int err = hs_select_dumps(profile, &select, &selection);
    if (err != 0) {
        hs_profile_free(profile);
        return hs_output_end("-", err);
    }
    status = check_dump(path, &selection);
    if (status == 0) {
        const struct hs_profile_dump *dump = &profile->dumps[selection.dumps[0]];
        hs_progress_expect("heapscope: comparing the contents of blocks ...\n");
        status = hs_block_files_compare(profile, dump, args->folder, &files);
        hs_progress_over();
    }
    if (status == 0) {
        say_limits(&profile->dumps[selection.dumps[0]]);
        err = hs_agg_build(&selection, true, &agg);
        if (err == 0) {
            err = hs_wrappers_find(&agg);
            status = err == 0 ? show(args, &selection, &agg, &files) : 0;
            hs_agg_deinit(&agg);
        }
        status = err == 0 ? status : hs_output_end("-", err);
        hs_block_files_deinit(&files);
    }
    hs_selection_deinit(&selection);
    hs_profile_free(profile);
    return status;
}

int hs_cmd_dupes(int argc, char **argv)
{
    struct dupes_args args = { .top_count = 20, .least_bytes = 512 };
    const struct hs_opt list[] = {
        HS_OPT_STRING(0, "contents-dir", "DIR", &args.folder,
                      "the folder with the contents, as heapscope-snapshot(1) writes it"),
        HS_OPT_NUMBER(0, "top", "N", &args.top_count, 1, UINT32_MAX,
                      "show this many rows of each table (default 20)"),
        HS_OPT_SIZE(0, "min-bytes", "SIZE", &args.least_bytes, 0, UINT64_C(1) << 62,
                    "leave out rows with fewer extra, or fewer zero, bytes (default 512)"),
        HS_OPT_NUMBER(0, "pid", "PID", &args.pid, 1, UINT32_MAX,
                      "the process, if FILE has several"),
        HS_OPT_FLAG(0, "json", &args.is_json, "write JSON"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "dupes",
        .summary = "find live blocks with equal contents, and zero bytes",
        .operands_usage = "FILE",
        .footer = "FILE is the snapshot that was written together with the folder, a trace or\n"
                  "pprof. Of n equal blocks, n - 1 are extra: so many bytes would be saved if the\n"
                  "program kept them once. Each of the n has an equal share of them.",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = 1,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON && !args.folder) {
        return hs_args_fail(&spec, "no folder was given: --contents-dir DIR");
    }
    return status == HS_ARGS_GO_ON ? run_dupes(result.operands[0], &args) : status;
}
