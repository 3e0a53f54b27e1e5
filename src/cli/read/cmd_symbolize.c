/*
 * heapscope symbolize: names in place of the addresses in a MemoryInfra trace.
 *
 * A frame whose name is not found stays an address, so that a later call can find it with other
 * files. A string can have one name only: where calls were inlined, it is the function to which the
 * code belongs, as in Chrome's own symbolizer.
 *
 * See       profile/read/infra_pcs.h, infra_rewrite.h, docs/man/heapscope-symbolize.1
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/infra_rewrite.h"
#include "cli/read/symbol_env.h"
#include "profile/read/infra_pcs.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "rt/text.h"
#include "symbol/breakpad_folder.h"
#include "symbol/cache_folder.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_input.h"
#include "util/buf.h"
#include "util/human.h"

#define FIRST_BYTES ((size_t)1 << 20)

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
    const char *bucket, *addr2line, *downloads;
    struct hs_opt_list folders, breakpad_folders;
};

struct work {
    const char *path;
    struct hs_trace_input input;
    struct hs_infra_pcs pcs;
    struct hs_symbol_wanted wanted;
    const struct hs_symbol_request *requests;
    size_t module_count;
    struct hs_symbol_table *tables, *breakpad_tables; /* by module; NULL: none */
    const char **names;                               /* by address */
    size_t named_count;
};

/* --- the file --- */

static int fail(const struct work *work, int err)
{
    hs_message("%s: %s", work->path, strerror(-err));
    return HS_EXIT_STATUS_FAILED;
}

/* Expands the whole file. Returns the exit status. */
static int expand(struct work *work)
{
    struct hs_trace_input *input = &work->input;
    bool is_run = hs_trace_input_next_run(input);
    int err = 0;
    for (size_t bytes = FIRST_BYTES; is_run && err == 0 && !input->is_whole;
         bytes = bytes <= SIZE_MAX / 2 ? bytes * 2 : bytes) {
        err = hs_trace_input_want(input, bytes);
    }
    if (err != 0) {
        return fail(work, err);
    }
    if (!is_run || input->has_bad_compression || input->is_truncated || input->is_too_big ||
        input->file_at < input->file_bytes) {
        hs_message("%s: the file is damaged, cut off, or several files in one: it stays as it is",
                   work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    return 0;
}

static int check_kind(const struct work *work)
{
    enum hs_load_kind kind;
    const struct hs_trace_input *input = &work->input;
    int err = hs_load_find_kind(input->file, input->file_bytes, &kind);
    if (err != 0) {
        return fail(work, err);
    }
    if (kind == HS_LOAD_MEMORY_INFRA &&
        hs_trace_coding_of(input->file, input->file_bytes) == HS_TRACE_ZSTD) {
        hs_message("%s: the file is compressed with zstd, which Chrome's tools do not read: "
                   "expand it first, with zstd -d",
                   work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    if (kind == HS_LOAD_TRACE) {
        hs_message("%s: this is no MemoryInfra trace in JSON. Names cannot be written into a "
                   "Perfetto trace; 'heapscope report' and 'heapscope export' look up the names of "
                   "one by themselves",
                   work->path);
    } else if (kind != HS_LOAD_MEMORY_INFRA) {
        hs_message("%s: this is no MemoryInfra trace in JSON, the only kind of file that symbolize "
                   "rewrites",
                   work->path);
    }
    return kind == HS_LOAD_MEMORY_INFRA ? 0 : HS_EXIT_STATUS_FAILED;
}

/* Opens and reads the file. Returns the exit status. */
static int read_file(struct work *work)
{
    struct stat st;
    if (strcmp(work->path, "-") == 0 || (stat(work->path, &st) == 0 && !S_ISREG(st.st_mode))) {
        hs_message("%s: symbolize rewrites a file in place, and this is no plain file", work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    int err = hs_trace_input_open(&work->input, work->path);
    if (err < 0) {
        return fail(work, err);
    }
    int status = check_kind(work);
    status = status ? status : expand(work);
    if (status != 0) {
        return status;
    }
    err = hs_infra_pcs_find(&work->pcs, (const char *)work->input.at, work->input.avail);
    if (err == 0 && work->pcs.is_bad && !work->pcs.is_cut) {
        hs_message("%s: the file is damaged JSON: it stays as it is", work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    return err ? fail(work, err) : 0;
}

/* --- names --- */

static int want_names(struct work *work)
{
    const struct hs_infra_pcs *pcs = &work->pcs;
    int err = 0;
    for (size_t i = 0; i < pcs->count && err == 0; i++) {
        if (pcs->pcs[i].module != HS_INFRA_NOWHERE) {
            const struct hs_infra_module *module = &pcs->modules[pcs->pcs[i].module];
            uint32_t number;
            err = hs_symbol_wanted_module(&work->wanted, module->path, module->build_id,
                                          module->build_id_bytes, 0, &number);
            err = err ? err : hs_symbol_wanted_pc(&work->wanted, number, pcs->pcs[i].pc);
        }
    }
    return err ? err
               : hs_symbol_wanted_requests(&work->wanted, &work->requests, &work->module_count);
}

/* Reads Breakpad's symbol files. Returns the exit status. */
static int find_in_breakpad(struct work *work, const struct symbolize_args *args)
{
    struct hs_breakpad_folder folder = { 0 };
    int err = 0, status = 0;
    for (size_t i = 0; i < args->breakpad_folders.count && status == 0; i++) {
        err = hs_breakpad_folder_add(&folder, args->breakpad_folders.items[i]);
        if (err != 0) {
            hs_message("%s: %s", args->breakpad_folders.items[i], strerror(-err));
            status = HS_EXIT_STATUS_FAILED;
        }
    }
    if (status == 0 && folder.count > 0) {
        work->breakpad_tables = calloc(work->module_count + 1, sizeof(*work->breakpad_tables));
        err = work->breakpad_tables ? 0 : -ENOMEM;
        for (size_t i = 0; i < work->module_count && err == 0; i++) {
            err = hs_breakpad_folder_names(&folder, &work->requests[i], &work->breakpad_tables[i]);
        }
        status = err ? fail(work, err) : 0;
    }
    hs_breakpad_folder_deinit(&folder);
    return status;
}

static int find_in_modules(struct work *work, const struct symbolize_args *args)
{
    struct hs_symbol_env env;
    char cache[PATH_MAX];
    hs_symbol_env_read(&env);
    const char **folders = calloc(env.root_count + args->folders.count + 1, sizeof(*folders));
    size_t count = 0;
    for (size_t i = 0; folders && i < args->folders.count; i++) {
        folders[count++] = args->folders.items[i];
    }
    for (size_t i = 0; folders && i < env.root_count; i++) {
        folders[count++] = env.roots[i];
    }
    const struct hs_symbol_options options = {
        .search_paths = folders,
        .search_path_count = count,
        .is_indexing = env.is_indexing,
        .cache_folder = hs_cache_folder_find(cache, sizeof(cache)) ? cache : NULL,
    };
    int err = folders
                  ? hs_symbolizer_run(&options, work->requests, work->module_count, &work->tables)
                  : -ENOMEM;
    free(folders);
    hs_symbol_env_deinit(&env);
    return err;
}

/* The outermost function at an address; NULL: there is no name. */
static const char *name_in(const struct hs_symbol_table *table, uint32_t slot)
{
    if (slot >= table->span_count || table->spans[slot].line_count == 0) {
        return NULL;
    }
    const struct hs_symbol_span *span = &table->spans[slot];
    const struct hs_symbol_line *line = &table->lines[span->line_first + span->line_count - 1];
    const char *name = hs_symbol_string(table, line->function_off);
    return name[0] != '\0' ? name : NULL;
}

static int take_names(struct work *work)
{
    const struct hs_infra_pcs *pcs = &work->pcs;
    work->names = calloc(pcs->count + 1, sizeof(*work->names));
    for (size_t i = 0; work->names && i < pcs->count; i++) {
        const struct hs_infra_pc *pc = &pcs->pcs[i];
        uint32_t number, slot;
        if (pc->module == HS_INFRA_NOWHERE) {
            continue;
        }
        const struct hs_infra_module *module = &pcs->modules[pc->module];
        if (!hs_symbol_wanted_find(&work->wanted, module->path, module->build_id,
                                   module->build_id_bytes, 0, pc->pc, &number, &slot)) {
            continue;
        }
        const char *name =
            work->breakpad_tables ? name_in(&work->breakpad_tables[number], slot) : NULL;
        work->names[i] = name ? name : name_in(&work->tables[number], slot);
        work->named_count += work->names[i] != NULL;
    }
    return work->names ? 0 : -ENOMEM;
}

/* --- messages --- */

static size_t count_named(const struct work *work, uint32_t module)
{
    size_t count = 0;
    const struct hs_symbol_table *breakpad =
        work->breakpad_tables ? &work->breakpad_tables[module] : NULL;
    for (uint32_t slot = 0; slot < work->tables[module].span_count; slot++) {
        count += (breakpad && name_in(breakpad, slot)) || name_in(&work->tables[module], slot);
    }
    return count;
}

static const char *what_to_do(uint32_t reason)
{
    return reason == HS_SYMBOL_REASON_FILE_MISSING || reason == HS_SYMBOL_REASON_BUILD_ID_DIFFERS ||
                   reason == HS_SYMBOL_REASON_NO_SYMBOLS
               ? "; give the folder with the file of this build, or with its debug file, as "
                 "--output-directory"
               : "";
}

/* Says which module has no name at all, and why. */
static void say_missing(const struct work *work, uint32_t module)
{
    const struct hs_symbol_request *request = &work->requests[module];
    uint32_t reason = work->tables[module].reason;
    struct hs_buf text = HS_BUF_INIT;
    if (count_named(work, module) > 0) {
        return;
    }
    hs_buf_printf(&text, "Could not find %s", hs_text_base_name(request->path));
    for (size_t i = 0; i < request->build_id_bytes; i++) {
        hs_buf_printf(&text, "%s%02x", i == 0 ? " (Build ID " : "", request->build_id[i]);
    }
    hs_buf_printf(&text, "%s: %s: %s", request->build_id_bytes > 0 ? ")" : "", request->path,
                  hs_symbol_reason_text(reason));
    if (work->breakpad_tables &&
        work->breakpad_tables[module].reason == HS_SYMBOL_REASON_BUILD_ID_DIFFERS) {
        hs_buf_printf(&text, "; %s is of another build",
                      hs_symbol_string(&work->breakpad_tables[module],
                                       work->breakpad_tables[module].detail_off));
    }
    hs_message("%s%s", hs_buf_text(&text), what_to_do(reason));
    hs_buf_deinit(&text);
}

static void say_done(const struct work *work, bool has_backup)
{
    char named[HS_HUMAN_BYTES], all[HS_HUMAN_BYTES];
    size_t outside = 0;
    for (size_t i = 0; i < work->pcs.count; i++) {
        outside += work->pcs.pcs[i].module == HS_INFRA_NOWHERE;
    }
    hs_human_exact(named, work->named_count);
    hs_human_exact(all, work->pcs.count);
    hs_message_info("%s: %s of %s addresses have names now%s%s%s%s", work->path, named, all,
                    outside > 0 ? "; some are in no mapped file" : "",
                    has_backup ? "; the old file is " : "", has_backup ? work->path : "",
                    has_backup ? HS_INFRA_REWRITE_BACKUP : "");
}

static int say_backup(const struct work *work, int err)
{
    if (err == HS_INFRA_REWRITE_E_BACKUP) {
        hs_message("%s%s exists already, and is not overwritten: remove or rename it, or leave the "
                   "backup out with --no-backup",
                   work->path, HS_INFRA_REWRITE_BACKUP);
    } else if (err == HS_INFRA_REWRITE_E_LINK) {
        hs_message("%s: the file system cannot give the old file a second name as its backup: "
                   "copy it yourself, and use --no-backup",
                   work->path);
    } else {
        return fail(work, err);
    }
    return HS_EXIT_STATUS_FAILED;
}

/* --- the command --- */

static int name_all(struct work *work, const struct symbolize_args *args)
{
    int err = want_names(work);
    int status = err ? fail(work, err) : find_in_breakpad(work, args);
    if (status != 0) {
        return status;
    }
    hs_progress_expect(HS_PROGRESS_NAMING);
    err = find_in_modules(work, args);
    hs_progress_over();
    err = err ? err : take_names(work);
    if (err != 0) {
        return fail(work, err);
    }
    for (uint32_t i = 0; i < work->module_count; i++) {
        say_missing(work, i);
    }
    return 0;
}

static int symbolize(struct work *work, const struct symbolize_args *args)
{
    int status = read_file(work);
    if (status != 0) {
        return status;
    }
    if (work->pcs.count == 0) {
        hs_message_info("%s: nothing to symbolize: no frame is only an address", work->path);
        return 0;
    }
    int err = args->has_backup ? hs_infra_rewrite_check(work->path) : 0;
    if (err != 0) {
        return say_backup(work, err);
    }
    status = name_all(work, args);
    if (status == 0 && work->named_count == 0) {
        hs_message("%s: no address has a name: the file stays as it is", work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    if (status == 0) {
        const struct hs_infra_rewrite rewrite = {
            .path = work->path,
            .pcs = &work->pcs,
            .names = work->names,
            .is_compressed = work->input.coding == HS_TRACE_GZIP,
            .has_backup = args->has_backup,
        };
        err = hs_infra_rewrite(&rewrite);
        status = err ? say_backup(work, err) : 0;
    }
    if (status == 0) {
        say_done(work, args->has_backup);
    }
    return status;
}

static int run_symbolize(const char *path, const struct symbolize_args *args)
{
    struct work work = { .path = path };
    hs_message_set_quiet(args->is_quiet);
    int status = symbolize(&work, args);
    for (size_t i = 0; work.breakpad_tables && i < work.module_count; i++) {
        hs_symbol_table_deinit(&work.breakpad_tables[i]);
    }
    free(work.breakpad_tables);
    hs_symbol_tables_free(work.tables, work.module_count);
    hs_symbol_wanted_deinit(&work.wanted);
    hs_infra_pcs_deinit(&work.pcs);
    hs_trace_input_deinit(&work.input);
    free(work.names);
    return status;
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
        HS_OPT_FLAG_OFF(0, "no-backup", &args.has_backup,
                        "do not keep the old file as FILE.BACKUP"),
        HS_OPT_LIST(0, "output-directory", "DIR", &args.folders,
                    "look for modules and their debug files in this folder first; may be given\n"
                    "more than once"),
        HS_OPT_LIST(0, "breakpad-symbols-directory", "DIR", &args.breakpad_folders,
                    "use the Breakpad symbol files (.sym) below this folder; may be given more\n"
                    "than once"),
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
        .summary = "put names into a MemoryInfra trace, in place of addresses",
        .operands_usage = "FILE.json[.gz]",
        .footer = "The file is rewritten in place; the old one is kept as FILE.BACKUP.",
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
        status = run_symbolize(result.operands[0], &args);
    }
    hs_opt_list_deinit(&args.folders);
    hs_opt_list_deinit(&args.breakpad_folders);
    return status;
}
