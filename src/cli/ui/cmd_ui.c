/*
 * heapscope ui: shows profiles in a browser.
 *
 * See       ui_perfetto.h, ui_speedscope.h, docs/man/heapscope-ui.1
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/ui/ui_live.h"
#include "cli/ui/ui_perfetto.h"
#include "cli/ui/ui_speedscope.h"
#include "rt/base.h"

struct ui_args {
    const char *perfetto, *speedscope, *speedscope_folder;
    uint64_t port;
    bool is_opening;
};

static int run(const struct hs_opts_spec *spec, const struct ui_args *args,
               const struct hs_opts_result *files)
{
    bool is_viewer = args->perfetto || args->speedscope;
    if (args->speedscope_folder && !args->speedscope) {
        return hs_args_fail(spec, "--speedscope-dir is for --speedscope");
    }
    if (args->perfetto && args->speedscope) {
        return hs_args_fail(spec, "--perfetto and --speedscope cannot be combined");
    }
    if (is_viewer && files->operand_count > 0) {
        return hs_args_fail(spec, "%s shows one file: '%s' is one too many",
                            args->perfetto ? "--perfetto" : "--speedscope", files->operands[0]);
    }
    if (args->perfetto && args->port != 0) {
        return hs_args_fail(spec, "--port: the Perfetto UI is allowed to read from port 9001 only");
    }
    if (args->perfetto) {
        return hs_ui_perfetto(args->perfetto, args->is_opening);
    }
    if (args->speedscope) {
        return hs_ui_speedscope(args->speedscope, args->speedscope_folder, (uint16_t)args->port,
                                args->is_opening);
    }
    return hs_ui_live(files->operands, files->operand_count, (uint16_t)args->port,
                      args->is_opening);
}

int hs_cmd_ui(int argc, char **argv)
{
    struct ui_args args = { .is_opening = true };
    const struct hs_opt options[] = {
        HS_OPT_STRING(
            0, "perfetto", "FILE", &args.perfetto,
            "give this file to the Perfetto UI, https://ui.perfetto.dev: print the link,\n"
            "and end when the file was fetched"),
        HS_OPT_STRING(0, "speedscope", "FILE", &args.speedscope,
                      "show this profile in speedscope, if its npm package is installed"),
        HS_OPT_STRING(0, "speedscope-dir", "DIR", &args.speedscope_folder,
                      "folder of the npm package speedscope, or of its build (default: the\n"
                      "node_modules of this folder, of the home folder, and of the machine)"),
        HS_OPT_NUMBER(0, "port", "N", &args.port, 1, UINT16_MAX,
                      "port to listen at (default: a free one)"),
        HS_OPT_FLAG_OFF(0, "no-open", &args.is_opening, "do not open a browser"),
    };
    const struct hs_opts_spec spec = {
        .command = "ui",
        .summary = "show profiles, and what is recorded now, in a browser",
        .operands_usage = "[FILE...]",
        .footer =
            "Without --perfetto and --speedscope, it serves the page of 'report --html', from\n"
            "which recordings can be started, watched and stopped, too, until Ctrl-C.\n"
            "It listens at 127.0.0.1 only, prints the address to open, and serves no other\n"
            "user of this computer.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
        .operands_max = HS_OPERANDS_ANY,
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    return status == HS_ARGS_GO_ON ? run(&spec, &args, &result) : status;
}
