/*
 * heapscope bundle: a trace and its names in one tar file, which every command opens.
 *
 * The trace is copied as it is, and what completes it are members of their own, as in the bundles
 * of Perfetto. So the names can be replaced, and nothing of the trace can be lost.
 *
 * See       trace/tar.h, symbol_append.h, docs/man/heapscope-bundle.1
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/name_maps.h"
#include "cli/read/profile_file.h"
#include "cli/read/symbol_append.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "trace/tar.h"
#include "trace/trace_input.h"
#include "util/human.h"

struct bundle_args {
    const char *output;
    struct hs_opt_list symbol_paths, maps;
    bool has_auto_paths, has_auto_maps, is_verbose, is_quiet;
};

struct member {
    const char *name;
    const void *data;
    size_t bytes;
};

struct bundle {
    struct hs_trace_input input;
    struct hs_symbol_append found;
    struct hs_buf symbols;
    struct hs_map_list maps;
    struct hs_buf original_names;
    int64_t time_s; /* of the trace */
};

/* --- folders --- */

/* Gives the folders of a list that commas separate. The list is cut up. */
static int give_list(char *list)
{
    char *rest = NULL;
    int err = 0;
    for (char *path = strtok_r(list, ",", &rest); path && err == 0;
         path = strtok_r(NULL, ",", &rest)) {
        err = hs_symbol_sources_give(path);
    }
    return err;
}

/* Gives a folder that is searched without being asked for, if it is there. `path` gets it, and
 * stays in use. */
static int give_if_there(const char *variable, const char *below, char path[PATH_MAX])
{
    const char *value = getenv(variable);
    struct stat st;
    int bytes = value && value[0] == '/' ? snprintf(path, PATH_MAX, "%s/%s", value, below) : 0;
    bool is_there = bytes > 0 && bytes < PATH_MAX && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    return is_there ? hs_symbol_sources_give(path) : 0;
}

static int give_folders(const struct bundle_args *args)
{
    static char debug[PATH_MAX], android[PATH_MAX];
    int err = 0;
    for (size_t i = 0; i < args->symbol_paths.count && err == 0; i++) {
        err = give_list((char *)(uintptr_t)args->symbol_paths.items[i]);
    }
    if (args->has_auto_paths) {
        err = err ? err : give_if_there("HOME", ".debug", debug);
        err = err ? err : give_if_there("ANDROID_PRODUCT_OUT", "symbols", android);
    }
    return err;
}

/* --- the tar file --- */

static void add_member(struct hs_buf *out, const struct member *member, int64_t time_s)
{
    static const uint8_t zeros[HS_TAR_BLOCK_BYTES];
    uint8_t head[HS_TAR_BLOCK_BYTES];
    hs_tar_head(member->name, member->bytes, time_s, head);
    hs_buf_add(out, head, sizeof(head));
    hs_buf_add(out, member->data, member->bytes);
    hs_buf_add(out, zeros, hs_tar_padding(member->bytes));
}

static int fill(void *ctx, struct hs_buf *out)
{
    static const uint8_t end[2 * HS_TAR_BLOCK_BYTES];
    const struct bundle *bundle = ctx;
    const struct member members[] = {
        { HS_TAR_TRACE, bundle->input.file, bundle->input.file_bytes },
        { HS_TAR_SYMBOLS, bundle->symbols.data, bundle->symbols.bytes },
        { HS_TAR_DEOBFUSCATED, bundle->original_names.data, bundle->original_names.bytes },
    };
    for (size_t i = 0; i < HS_COUNT_OF(members) && out->err == 0; i++) {
        if (members[i].bytes > 0) {
            add_member(out, &members[i], bundle->time_s);
        }
    }
    hs_buf_add(out, end, sizeof(end));
    return out->err;
}

/* --- names --- */

/* Looks up names of the trace, which stays open. */
static int find_names(struct bundle *bundle, const char *path, const struct bundle_args *args)
{
    struct hs_trace_input again;
    struct hs_name_sources sources;
    int err = give_folders(args);
    err = err ? err : hs_symbol_sources_read(&sources);
    if (err != 0) {
        return err;
    }
    sources.is_given_only = !args->has_auto_paths;
    hs_trace_input_init(&again, bundle->input.file, bundle->input.file_bytes);
    err = hs_symbol_append_find(path, &again, &sources, &bundle->found);
    err = err ? err : hs_symbol_append_fill(&bundle->found, &bundle->symbols);
    hs_name_sources_deinit(&sources);
    return err;
}

/* The names of the maps, if any are given. Returns the exit status. */
static int find_original_names(struct bundle *bundle, const char *path)
{
    struct hs_load_report report = { 0 };
    struct hs_name_maps_written written;
    struct hs_profile *profile = NULL;
    if (bundle->maps.count == 0) {
        return 0;
    }
    int err =
        hs_profile_load_memory(bundle->input.file, bundle->input.file_bytes, &profile, &report);
    int status =
        err ? hs_profile_file_fail(path, err, &report)
            : hs_name_maps_write(&bundle->maps, profile, false, &bundle->original_names, &written);
    hs_profile_free(profile);
    return status;
}

static void say_sources(const struct hs_symbol_append *found)
{
    for (size_t i = 0; i < found->frames.request_count; i++) {
        const struct hs_symbol_table *table = &found->tables[i];
        if (table->named_count > 0) {
            hs_message("%s: names of %u of %u frames, %u with lines, from %s",
                       found->frames.requests[i].path, table->named_count, table->span_count,
                       table->lined_count, hs_symbol_string(table, table->detail_off));
        }
    }
}

static void say_done(const struct bundle *bundle, const struct bundle_args *args,
                     uint64_t out_bytes)
{
    char named[HS_HUMAN_BYTES], all[HS_HUMAN_BYTES], size[HS_HUMAN_BYTES];
    const struct hs_nameless_frames *frames = &bundle->found.frames;
    hs_human_exact(named, frames->named_count + bundle->found.new_count);
    hs_human_exact(all, frames->frame_count);
    hs_human_bytes(size, (double)out_bytes);
    hs_message_info("wrote %s: %s, with the names of %s of %s frames", args->output, size, named,
                    all);
}

/* --- the command --- */

static int write_bundle(struct bundle *bundle, const char *path, const struct bundle_args *args)
{
    struct hs_load_report report = { 0 };
    enum hs_load_kind kind;
    uint64_t out_bytes = 0;
    int err = hs_load_find_kind(bundle->input.file, bundle->input.file_bytes, &kind);
    if (err == 0 && kind != HS_LOAD_TRACE) {
        hs_message("%s: this is no Perfetto trace: only traces can be bundled with their names",
                   path);
        return HS_EXIT_STATUS_FAILED;
    }
    err = err ? err : find_names(bundle, path, args);
    if (err != 0) {
        return hs_profile_file_fail(path, err, &report);
    }
    if (args->is_verbose) {
        say_sources(&bundle->found);
    }
    hs_symbol_append_say_missing(&bundle->found);
    int status = find_original_names(bundle, path);
    if (status != 0) {
        return status;
    }
    err = hs_output_write(args->output, fill, bundle, &out_bytes);
    if (err == 0) {
        say_done(bundle, args, out_bytes);
    }
    return hs_output_end(args->output, err);
}

static int64_t time_of(const char *path)
{
    struct stat st;
    bool is_known = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return is_known ? (int64_t)st.st_mtime : (int64_t)time(NULL);
}

static int run_bundle(const struct hs_opts_spec *spec, const char *path,
                      const struct bundle_args *args)
{
    struct bundle bundle = { .symbols = HS_BUF_INIT,
                             .original_names = HS_BUF_INIT,
                             .time_s = time_of(path) };
    struct hs_load_report report = { 0 };
    hs_message_set_quiet(args->is_quiet);
    int status = args->has_auto_maps ? hs_name_maps_of_environment(&bundle.maps) : 0;
    status = status ? status : hs_name_maps_of_options(spec, &args->maps, &bundle.maps);
    if (status != 0) {
        hs_map_list_deinit(&bundle.maps);
        return status;
    }
    int err = hs_trace_input_open(&bundle.input, path);
    if (err != 0) {
        return hs_profile_file_fail(path, err, &report);
    }
    status = write_bundle(&bundle, path, args);
    hs_symbol_append_deinit(&bundle.found);
    hs_buf_deinit(&bundle.symbols);
    hs_buf_deinit(&bundle.original_names);
    hs_map_list_deinit(&bundle.maps);
    hs_trace_input_deinit(&bundle.input);
    return status;
}

/* The output is that of -o, or the second operand as in Perfetto's command. */
static int run_with(const struct hs_opts_spec *spec, const struct hs_opts_result *result,
                    struct bundle_args *args)
{
    if (result->operand_count == 2) {
        if (args->output) {
            return hs_args_fail(spec, "-o and a second file were given: one of them is enough");
        }
        args->output = result->operands[1];
    }
    if (!args->output) {
        return hs_args_fail(spec, "no output was given: -o OUT.tar");
    }
    if (strcmp(args->output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "a bundle is binary and would garble the terminal: use -o FILE");
    }
    return run_bundle(spec, result->operands[0], args);
}

int hs_cmd_bundle(int argc, char **argv)
{
    struct bundle_args args = { .has_auto_paths = true, .has_auto_maps = true };
    const struct hs_opt list[] = {
        HS_OPT_STRING('o', "output", "OUT", &args.output, "the tar file (-: standard output)"),
        HS_OPT_LIST(0, "symbol-paths", "LIST", &args.symbol_paths,
                    "look up names below these folders, separated by commas"),
        HS_OPT_SYMBOLS,
        HS_OPT_FLAG_OFF(0, "no-auto-symbol-paths", &args.has_auto_paths,
                        "look only in given folders: not at the modules' own paths, in\n"
                        "/usr/lib/debug, ~/.debug and $ANDROID_PRODUCT_OUT/symbols"),
        HS_OPT_LIST(0, "proguard-map", "[PACKAGE=]PATH", &args.maps,
                    "also write the original names of this map of R8 or ProGuard; may be given\n"
                    "more than once"),
        HS_OPT_FLAG_OFF(0, "no-auto-proguard-maps", &args.has_auto_maps,
                        "leave out the maps that PERFETTO_PROGUARD_MAP names"),
        HS_OPT_FLAG('v', "verbose", &args.is_verbose,
                    "say for each module from which file its names come"),
        HS_OPT_FLAG('q', "quiet", &args.is_quiet, "print nothing but errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "bundle",
        .summary = "put a trace and its names into one file",
        .operands_usage = "FILE [OUT]",
        .footer = "All commands that read a trace open the bundle, and so does Perfetto.",
        .options = list,
        .option_count = HS_COUNT_OF(list),
        .operands_min = 1,
        .operands_max = 2,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON) {
        status = run_with(&spec, &result, &args);
    }
    hs_opt_list_deinit(&args.symbol_paths);
    hs_opt_list_deinit(&args.maps);
    return status;
}
