/*
 * heapscope snapshots: lists the snapshots that programs took of themselves and a daemon stored,
 * writes one of them as a file, or deletes one.
 *
 * It reads the folder of the store, so no daemon needs to run.
 *
 * See       cli/daemon_client/stored_places.h, docs/man/heapscope-snapshots.1
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/snapshot_output.h"
#include "cli/daemon_client/stored_places.h"
#include "cli/message.h"
#include "profile/model/profile.h"
#include "session/match.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/json.h"
#include "util/shell_word.h"
#include "util/table.h"
#include "util/utf8.h"

struct snapshots {
    bool is_json, is_quiet;
    uint64_t pid;
    const char *process, *download, *delete_id, *output;
};

/* --- the list --------------------------------------------------------------------------------- */

static bool is_meant(const struct snapshots *s, const struct hs_stored_place *place)
{
    return (s->pid == 0 || s->pid == place->stored.pid) &&
           (!s->process || hs_match_glob(s->process, place->stored.process));
}

static void write_json(const struct snapshots *s, const struct hs_stored_places *places,
                       struct hs_buf *out)
{
    struct hs_json json;
    hs_json_init(&json, out, 2);
    hs_json_open(&json, '{');
    hs_json_key(&json, "snapshots");
    hs_json_open(&json, '[');
    for (size_t i = 0; i < places->count; i++) {
        const struct hs_stored_place *place = &places->items[i];
        if (is_meant(s, place)) {
            hs_json_open_inline(&json, '{');
            hs_json_kv_string(&json, "id", place->id);
            hs_json_kv_string(&json, "name", place->stored.name);
            hs_json_kv_uint(&json, "pid", place->stored.pid);
            hs_json_kv_string(&json, "process", place->stored.process);
            hs_json_kv_uint(&json, "uid", place->uid);
            hs_json_kv_uint(&json, "time_ms", place->stored.time_ms);
            hs_json_kv_uint(&json, "bytes", place->stored.bytes);
            hs_json_close(&json, '}');
        }
    }
    hs_json_close(&json, ']');
    hs_json_close(&json, '}');
    hs_buf_char(out, '\n');
}

/* A text that a program chose, in one line and without control characters. */
static void add_text(struct hs_table *table, const char *text)
{
    struct hs_buf clean = HS_BUF_INIT;
    char line[HS_SNAP_NAME_MAX + 1];
    snprintf(line, sizeof(line), "%s", text);
    for (char *c = line; *c; c++) {
        *c = *c == '\n' || *c == '\t' || *c == '\r' ? ' ' : *c;
    }
    hs_utf8_write(&clean, line, strlen(line));
    hs_table_cell(table, "%s", hs_buf_text(&clean));
    hs_buf_deinit(&clean);
}

static void write_text(const struct snapshots *s, const struct hs_stored_places *places,
                       struct hs_buf *out)
{
    static const struct hs_table_column heads[] = {
        { "ID", HS_TABLE_LEFT },      { "TIME", HS_TABLE_LEFT },  { "PID", HS_TABLE_RIGHT },
        { "PROCESS", HS_TABLE_LEFT }, { "SIZE", HS_TABLE_RIGHT }, { "NAME", HS_TABLE_TEXT },
    };
    struct hs_table table;
    size_t count = 0;
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < places->count; i++) {
        const struct hs_stored_place *place = &places->items[i];
        time_t seconds = (time_t)(place->stored.time_ms / 1000);
        struct tm local;
        char when[32] = "?", size[HS_HUMAN_BYTES];
        if (!is_meant(s, place)) {
            continue;
        }
        if (localtime_r(&seconds, &local)) {
            strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
        }
        hs_table_cell(&table, "%s", place->id);
        hs_table_cell(&table, "%s", when);
        hs_table_cell(&table, "%u", place->stored.pid);
        add_text(&table, place->stored.process);
        hs_table_cell(&table, "%s", hs_human_bytes(size, (double)place->stored.bytes));
        add_text(&table, place->stored.name);
        count++;
    }
    if (count > 0) {
        hs_table_write(&table, out,
                       &(struct hs_table_style){ .columns = hs_args_columns(STDOUT_FILENO),
                                                 .has_titles = true,
                                                 .give_way = "4 2" });
    } else {
        hs_buf_str(out, places->count == 0 ? "no snapshot is stored\n"
                                           : "no stored snapshot is of such a process\n");
    }
    hs_table_deinit(&table);
}

static int list(const struct snapshots *s, const struct hs_stored_places *places)
{
    struct hs_buf out = HS_BUF_INIT;
    if (s->is_json) {
        write_json(s, places, &out);
    } else {
        write_text(s, places, &out);
    }
    fwrite(out.data, 1, out.bytes, stdout);
    hs_buf_deinit(&out);
    return hs_args_finish_output();
}

/* --- one snapshot ----------------------------------------------------------------------------- */

static int fail(const char *id, int error)
{
    hs_message("snapshot %s: %s", id, strerror(-error));
    return HS_EXIT_STATUS_FAILED;
}

static bool has_names(const struct hs_profile *profile)
{
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        if (profile->frames[i].line_count > 0) {
            return true;
        }
    }
    return false;
}

static int save(const struct snapshots *s, const struct hs_stored_place *place, int fd)
{
    struct hs_mapped_file map;
    struct hs_profile *profile = NULL;
    char path[160], size[HS_HUMAN_BYTES];
    uint64_t bytes;
    int status = hs_snapshot_output_load(fd, &map, &profile);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    const char *process = place->stored.process;
    snprintf(path, sizeof(path), "heapscope.%s.%u.%llu.pftrace",
             process[0] && !strchr(process, '/') ? process : "process", place->stored.pid,
             (unsigned long long)place->stored.id);
    hs_shell_escape(path);
    const struct hs_snapshot_output output = { .path = s->output ? s->output : path,
                                               .trace = map.data,
                                               .trace_bytes = map.bytes,
                                               .is_symbolizing = !has_names(profile),
                                               .is_quiet = s->is_quiet };
    status = hs_snapshot_output_write(&output, profile, &bytes);
    if (status == HS_EXIT_STATUS_DONE && strcmp(output.path, "-") != 0) {
        hs_message_info("wrote %s (%s): snapshot %s of process %u (%s)", output.path,
                        hs_human_bytes(size, (double)bytes), place->id, place->stored.pid, process);
    }
    hs_snapshot_output_unload(&map, profile);
    return status;
}

static int use(const struct snapshots *s, const struct hs_stored_places *places)
{
    const char *id = s->download ? s->download : s->delete_id;
    const struct hs_stored_place *place = hs_stored_places_get(places, id);
    if (!place) {
        hs_message("there is no stored snapshot '%.100s'\n'heapscope snapshots' lists those that "
                   "there are.",
                   id);
        return HS_EXIT_STATUS_FAILED;
    }
    int folder_fd = hs_store_open(place->root, place->uid);
    if (folder_fd < 0) {
        return fail(id, folder_fd);
    }
    int status = HS_EXIT_STATUS_DONE;
    int r = s->download ? hs_store_read(folder_fd, &place->stored)
                        : hs_store_remove(folder_fd, &place->stored);
    if (r < 0) {
        status = fail(id, r);
    } else if (s->download) {
        status = save(s, place, r);
        close(r);
    }
    close(folder_fd);
    return status;
}

static int run(const struct snapshots *s)
{
    struct hs_stored_places places;
    int r = hs_stored_places_find(&places);
    if (r < 0) {
        hs_message("cannot read the stored snapshots: %s",
                   r == -EINVAL ? HS_ENV_STATE " is neither the absolute path of a folder nor 'off'"
                                : strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    int status = s->download || s->delete_id ? use(s, &places) : list(s, &places);
    hs_stored_places_deinit(&places);
    return status;
}

int hs_cmd_snapshots(int argc, char **argv)
{
    struct snapshots s = { .is_json = false };
    const struct hs_opt options[] = {
        HS_OPT_STRING(0, "by-name", "NAME", &s.process,
                      "list only those of processes of this name, or of one that this glob\n"
                      "matches"),
        HS_OPT_NUMBER('p', "pid", "PID", &s.pid, 1, INT_MAX, "list only those of this process"),
        HS_OPT_NUMBER(0, "by-koid", "PID", &s.pid, 1, INT_MAX, "the same as --pid"),
        HS_OPT_FLAG(0, "json", &s.is_json, "print JSON"),
        HS_OPT_STRING(0, "download", "ID", &s.download, "write this snapshot to a file"),
        HS_OPT_STRING(
            'o', "output", "FILE", &s.output,
            "output file: pprof if its name ends in .pb.gz or .pb, else a trace (default\n"
            "heapscope.NAME.PID.ID.pftrace)"),
        HS_OPT_STRING(0, "output-file", "FILE", &s.output, "the same as --output"),
        HS_OPT_STRING(0, "delete", "ID", &s.delete_id, "delete this snapshot"),
        HS_OPT_FLAG('q', "quiet", &s.is_quiet, "print nothing but errors and the list"),
    };
    const struct hs_opts_spec spec = {
        .command = "snapshots",
        .summary = "list, write or delete the snapshots that programs took",
        .operands_usage = "",
        .footer =
            "The daemon stores the snapshots that a program takes of itself while one of its\n"
            "sessions records it or the program is bound, and the last state of one that a\n"
            "signal killed. They stay when the program or the daemon ends, until newer ones\n"
            "need the room. No daemon needs to run. A user sees their own; root sees those\n"
            "of all users.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (s.download && s.delete_id) {
        return hs_args_fail(&spec, "--download and --delete cannot be combined");
    }
    if ((s.download || s.delete_id) && (s.is_json || s.process || s.pid)) {
        return hs_args_fail(&spec, "--download and --delete take an id, and no option of the list");
    }
    if (s.output && !s.download) {
        return hs_args_fail(&spec, "--output is for --download");
    }
    if (s.output && strcmp(s.output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(&spec, "a trace is binary and would garble the terminal: use -o FILE");
    }
    hs_message_set_quiet(s.is_quiet);
    return run(&s);
}
