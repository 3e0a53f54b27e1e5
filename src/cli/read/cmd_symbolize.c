/*
 * heapscope symbolize: names for the addresses in a trace, also on another machine than the one on
 * which it was recorded.
 *
 * For a Perfetto trace it writes packets that can be appended to the trace. A MemoryInfra trace, in
 * which names stand in the place of addresses, is rewritten.
 *
 * See       symbolize_trace.h, symbolize_infra.h, docs/man/heapscope-symbolize.1
 */
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/read/symbol_sources.h"
#include "cli/read/symbolize_infra.h"
#include "cli/read/symbolize_trace.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "trace/trace_input.h"

/* Options of Chrome's symbolizer that make no sense here. */
enum refused {
    REFUSED_CHROME_ONLY,
    REFUSED_CAST,
    REFUSED_TYPES,
    REFUSED_BUCKET,
    REFUSED_ADDR2LINE,
    REFUSED_DOWNLOADS,
    REFUSED_N,
};

static const char *const refusals[REFUSED_N] = {
    [REFUSED_CHROME_ONLY] = "--only-symbolize-chrome-symbols: heapscope looks names up in all "
                            "modules; leave the option out",
    [REFUSED_CAST] = "--is-cast: give the folder with the device's files as --output-directory",
    [REFUSED_TYPES] = "--frame-as-object-type: types stay as they are; leave the option out",
    [REFUSED_BUCKET] = "--cloud-storage-bucket: heapscope downloads nothing; download the symbol "
                       "files, and give their folder as --breakpad-symbols-directory",
    [REFUSED_ADDR2LINE] = "--addr2line-executable: heapscope reads symbols itself; leave the "
                          "option out",
    [REFUSED_DOWNLOADS] = "--symbol-base-directory: heapscope downloads nothing; give the folder "
                          "with the symbol files as --breakpad-symbols-directory",
};

struct symbolize_args {
    bool has_backup, is_quiet, is_local, is_breakpad;
    bool is_chrome_only, is_cast, is_by_frame;
    const char *output; /* NULL: standard output */
    const char *bucket, *addr2line, *downloads;
    struct hs_opt_list folders, breakpad_folders;
};

static int fail(const char *path, int err)
{
    hs_message("%s: %s", path, strerror(-err));
    return HS_EXIT_STATUS_FAILED;
}

/* The folders of this command's own options are sources like those of --symbols. */
static int give_folders(const struct symbolize_args *args)
{
    const struct hs_opt_list *lists[] = { &args->folders, &args->breakpad_folders };
    int err = 0;
    for (size_t k = 0; k < HS_COUNT_OF(lists); k++) {
        for (size_t i = 0; i < lists[k]->count && err == 0; i++) {
            err = hs_symbol_sources_give(lists[k]->items[i]);
        }
    }
    return err;
}

static int symbolize_trace(const struct hs_opts_spec *spec, const char *path,
                           struct hs_trace_input *input, const struct symbolize_args *args)
{
    bool is_stdout = !args->output || strcmp(args->output, "-") == 0;
    if (is_stdout && isatty(STDOUT_FILENO) == 1) {
        hs_trace_input_deinit(input);
        return hs_args_fail(spec, "the names of a Perfetto trace are binary packets and would "
                                  "garble the terminal: use -o OUT, or > OUT");
    }
    return hs_symbolize_trace(path, input, is_stdout ? "-" : args->output);
}

/* Does the work that the kind of the file needs. Returns the exit status. */
static int symbolize(const struct hs_opts_spec *spec, const char *path,
                     const struct symbolize_args *args)
{
    struct hs_trace_input input;
    enum hs_load_kind kind;
    int err = give_folders(args);
    err = err ? err : hs_trace_input_open(&input, path);
    if (err != 0) {
        return fail(path, err);
    }
    err = hs_load_find_kind(input.file, input.file_bytes, &kind);
    if (err == 0 && kind == HS_LOAD_TRACE) {
        return symbolize_trace(spec, path, &input, args);
    }
    bool is_bundled = input.lead_bytes > 0; /* rewriting it would replace the bundle */
    if (err == 0 && kind == HS_LOAD_MEMORY_INFRA && !args->output && !is_bundled) {
        return hs_symbolize_infra(path, &input, args->has_backup);
    }
    hs_trace_input_deinit(&input);
    if (err == 0 && kind == HS_LOAD_MEMORY_INFRA && args->output) {
        return hs_args_fail(spec, "-o: a MemoryInfra trace is rewritten in place; leave the option "
                                  "out, or copy the file first");
    }
    if (err == 0) {
        hs_message("%s: this is neither a Perfetto trace nor a MemoryInfra trace in JSON, the "
                   "kinds of file that symbolize completes; 'heapscope report' and 'heapscope "
                   "export' look up the names of others by themselves",
                   path);
    }
    return err ? fail(path, err) : HS_EXIT_STATUS_FAILED;
}

static int refuse(const struct hs_opts_spec *spec, const struct symbolize_args *args)
{
    const bool is_given[REFUSED_N] = {
        [REFUSED_CHROME_ONLY] = args->is_chrome_only,
        [REFUSED_CAST] = args->is_cast,
        [REFUSED_TYPES] = args->is_by_frame,
        [REFUSED_BUCKET] = args->bucket != NULL,
        [REFUSED_ADDR2LINE] = args->addr2line != NULL,
        [REFUSED_DOWNLOADS] = args->downloads != NULL,
    };
    for (int i = 0; i < REFUSED_N; i++) {
        if (is_given[i]) {
            return hs_args_fail(spec, "%s", refusals[i]);
        }
    }
    if (args->is_breakpad && args->breakpad_folders.count == 0) {
        return hs_args_fail(spec, "--use-breakpad-symbols: heapscope downloads nothing; give the "
                                  "folder with the symbol files as --breakpad-symbols-directory");
    }
    return HS_ARGS_GO_ON;
}

int hs_cmd_symbolize(int argc, char **argv)
{
    struct symbolize_args args = { .has_backup = true };
    const struct hs_opt list[] = {
        HS_OPT_STRING('o', "output", "OUT", &args.output,
                      "where the names of a Perfetto trace go (default -, standard output)"),
        HS_OPT_SYMBOLS,
        HS_OPT_FLAG_OFF(0, "no-backup", &args.has_backup,
                        "do not keep the old MemoryInfra trace as FILE.BACKUP"),
        HS_OPT_LIST(0, "output-directory", "DIR", &args.folders,
                    "the same as --symbols, as Chrome's symbolizer calls it"),
        HS_OPT_LIST(0, "breakpad-symbols-directory", "DIR", &args.breakpad_folders,
                    "the same as --symbols, for Breakpad symbol files (.sym)"),
        HS_OPT_FLAG('q', "quiet", &args.is_quiet, "print nothing but errors"),
        HS_OPT_FLAG(0, "is-local-build", &args.is_local, NULL),
        HS_OPT_FLAG(0, "use-breakpad-symbols", &args.is_breakpad, NULL),
        HS_OPT_FLAG(0, "only-symbolize-chrome-symbols", &args.is_chrome_only, NULL),
        HS_OPT_FLAG(0, "is-cast", &args.is_cast, NULL),
        HS_OPT_FLAG(0, "frame-as-object-type", &args.is_by_frame, NULL),
        HS_OPT_STRING(0, "cloud-storage-bucket", "NAME", &args.bucket, NULL),
        HS_OPT_STRING(0, "addr2line-executable", "PATH", &args.addr2line, NULL),
        HS_OPT_STRING(0, "symbol-base-directory", "DIR", &args.downloads, NULL),
    };
    const struct hs_opts_spec spec = {
        .command = "symbolize",
        .summary = "look up the names of a trace, also on another machine",
        .operands_usage = "FILE",
        .footer =
            "The names of a Perfetto trace are packets to append to it: cat FILE OUT > WHOLE.\n"
            "A MemoryInfra trace (FILE.json, FILE.json.gz) is rewritten in place; the old one\n"
            "is kept as FILE.BACKUP.",
        .options = list,
        .option_count = HS_COUNT_OF(list),
        .operands_min = 1,
        .operands_max = 1,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    status = status == HS_ARGS_GO_ON ? refuse(&spec, &args) : status;
    if (status == HS_ARGS_GO_ON) {
        hs_message_set_quiet(args.is_quiet);
        status = symbolize(&spec, result.operands[0], &args);
    }
    hs_opt_list_deinit(&args.folders);
    hs_opt_list_deinit(&args.breakpad_folders);
    return status;
}
