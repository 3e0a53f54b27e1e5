/*
 * Names in place of the addresses in a MemoryInfra trace: see symbolize_infra.h.
 *
 * A string can have one name only: where calls were inlined, it is the function to which the code
 * belongs, as in Chrome's own symbolizer.
 *
 * See       profile/read/infra_pcs.h, infra_rewrite.h
 */
#include "cli/read/symbolize_infra.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/infra_rewrite.h"
#include "cli/read/missing_symbols.h"
#include "cli/read/symbol_sources.h"
#include "profile/read/infra_pcs.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_input.h"
#include "util/human.h"

#define FIRST_BYTES ((size_t)1 << 20)

struct work {
    const char *path;
    struct hs_trace_input input;
    struct hs_infra_pcs pcs;
    struct hs_symbol_wanted wanted;
    const struct hs_symbol_request *requests;
    size_t module_count;
    struct hs_symbol_table *tables; /* by module */
    const char **names;             /* by address */
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

/* Reads the file. Returns the exit status. */
static int read_file(struct work *work)
{
    struct stat st;
    if (strcmp(work->path, "-") == 0 || (stat(work->path, &st) == 0 && !S_ISREG(st.st_mode))) {
        hs_message("%s: a MemoryInfra trace is rewritten in place, and this is no plain file",
                   work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    if (hs_trace_coding_of(work->input.file, work->input.file_bytes) == HS_TRACE_ZSTD) {
        hs_message("%s: the file is compressed with zstd, which Chrome's tools do not read: "
                   "expand it first, with zstd -d",
                   work->path);
        return HS_EXIT_STATUS_FAILED;
    }
    int status = expand(work);
    if (status != 0) {
        return status;
    }
    int err = hs_infra_pcs_find(&work->pcs, (const char *)work->input.at, work->input.avail);
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

static int find_names(struct work *work)
{
    struct hs_name_sources sources;
    int err = hs_symbol_sources_read(&sources);
    if (err == 0) {
        const struct hs_symbol_options options = hs_symbol_sources_options(&sources);
        err = hs_symbolizer_run(&options, work->requests, work->module_count, &work->tables);
        hs_name_sources_deinit(&sources);
    }
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
        work->names[i] = name_in(&work->tables[number], slot);
        work->named_count += work->names[i] != NULL;
    }
    return work->names ? 0 : -ENOMEM;
}

/* --- messages --- */

static size_t count_named(const struct work *work, uint32_t module)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < work->tables[module].span_count; slot++) {
        count += name_in(&work->tables[module], slot) != NULL;
    }
    return count;
}

/* Says which module has no name at all, and why. */
static void say_missing(const struct work *work, uint32_t module)
{
    if (count_named(work, module) == 0) {
        hs_missing_symbols_say_result(&work->requests[module], &work->tables[module],
                                      "--output-directory");
    }
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

static int name_all(struct work *work)
{
    int err = want_names(work);
    hs_progress_expect(HS_PROGRESS_NAMING);
    err = err ? err : find_names(work);
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

static int symbolize(struct work *work, bool has_backup)
{
    int status = read_file(work);
    if (status != 0) {
        return status;
    }
    if (work->pcs.count == 0) {
        hs_message_info("%s: nothing to symbolize: no frame is only an address", work->path);
        return 0;
    }
    int err = has_backup ? hs_infra_rewrite_check(work->path) : 0;
    if (err != 0) {
        return say_backup(work, err);
    }
    status = name_all(work);
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
            .has_backup = has_backup,
        };
        err = hs_infra_rewrite(&rewrite);
        status = err ? say_backup(work, err) : 0;
    }
    if (status == 0) {
        say_done(work, has_backup);
    }
    return status;
}

int hs_symbolize_infra(const char *path, struct hs_trace_input *input, bool has_backup)
{
    struct work work = { .path = path, .input = *input };
    *input = (struct hs_trace_input){ 0 };
    int status = symbolize(&work, has_backup);
    hs_symbol_tables_free(work.tables, work.module_count);
    hs_symbol_wanted_deinit(&work.wanted);
    hs_infra_pcs_deinit(&work.pcs);
    hs_trace_input_deinit(&work.input);
    free(work.names);
    return status;
}
