/*
 * heapscope snapshot: the live heap of a recorded process as it is now.
 *
 * The process that records it (a daemon, run or attach) answers with a trace in memory, without
 * names, and goes on recording. This command looks up names, with the user's own rights, and writes
 * a trace or a pprof profile, by the name of the file.
 *
 * See       session/answers.h, cli/daemon_client/find_recorded.h, docs/man/heapscope-snapshot.1
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/block_contents.h"
#include "cli/daemon_client/contents_folder.h"
#include "cli/daemon_client/find_recorded.h"
#include "cli/daemon_client/snapshot_output.h"
#include "cli/message.h"
#include "cli/session_options.h"
#include "ctl/ctl.pb-c.h"
#include "profile/model/profile.h"
#include "util/human.h"
#include "util/shell_word.h"

struct snapshot {
    uint64_t pid;
    const char *name;
    const char *output;
    bool is_quiet, is_symbolizing, with_blocks, with_tags;
    const char *contents_path;
    struct hs_contents_folder folder;
    char default_path[160];
    bool is_without_types;
    struct hs_endpoint place; /* that records it */
    uint32_t asked_pid;
    uint64_t cut_epoch;
};

/* --- the answer ------------------------------------------------------------------------------- */

static int write_contents(struct snapshot *s, const struct hs_profile *profile);

static bool lists_blocks(const struct hs_profile *profile)
{
    bool has_blocks = profile->dump_count > 0;
    for (uint32_t i = 0; i < profile->dump_count; i++) {
        has_blocks = has_blocks && profile->dumps[i].has_blocks;
    }
    return has_blocks;
}

static int take(struct snapshot *s, const Hs__Ctl__Snapped *snapped, int fd)
{
    struct hs_profile *profile = NULL;
    struct hs_mapped_file map;
    char size[HS_HUMAN_BYTES];
    uint64_t bytes;
    int status = hs_snapshot_output_load(fd, &map, &profile);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    if (s->with_blocks && !lists_blocks(profile)) {
        hs_message("the process that records %u is of an older version, and does not list blocks: "
                   "restart it, or leave out --blocks",
                   snapped->pid);
        hs_snapshot_output_unload(&map, profile);
        return HS_EXIT_STATUS_FAILED;
    }
    s->cut_epoch = snapped->cut_epoch;
    status = write_contents(s, profile);
    if (status != HS_EXIT_STATUS_DONE) {
        hs_snapshot_output_unload(&map, profile);
        return status;
    }
    if (!s->output) {
        snprintf(s->default_path, sizeof(s->default_path), "heapscope.%.100s.%u.snapshot.pftrace",
                 snapped->process && !strchr(snapped->process, '/') ? snapped->process : "process",
                 snapped->pid);
        hs_shell_escape(s->default_path);
        s->output = s->default_path;
    }
    const struct hs_snapshot_output output = { .path = s->output,
                                               .trace = map.data,
                                               .trace_bytes = map.bytes,
                                               .is_symbolizing = s->is_symbolizing,
                                               .is_quiet = s->is_quiet,
                                               .with_tags = s->with_tags };
    status = hs_snapshot_output_write(&output, profile, &bytes);
    if (status == HS_EXIT_STATUS_DONE && strcmp(s->output, "-") != 0) {
        hs_message_info("wrote %s (%s): the heap of process %u (%s), of session %s", s->output,
                        hs_human_bytes(size, (double)bytes), snapped->pid,
                        snapped->process ? snapped->process : "?",
                        snapped->session ? snapped->session : "?");
    }
    hs_snapshot_output_unload(&map, profile);
    return status;
}

/* --- asking ----------------------------------------------------------------------------------- */

static void fill_request(const struct snapshot *s, Hs__Ctl__Snapshot *request)
{
    request->has_pid = request->has_wants_names = request->has_wants_blocks = true;
    request->wants_names =
        s->is_symbolizing && !(s->output && hs_snapshot_output_is_pprof(s->output));
    request->wants_blocks = s->with_blocks;
    request->has_is_without_types = request->is_without_types = s->is_without_types;
}

/* Looks which of the blocks live that the first snapshot had. */
static struct hs_profile *look_again(void *ctx)
{
    struct snapshot *s = ctx;
    Hs__Ctl__Snapshot request = HS__CTL__SNAPSHOT__INIT;
    struct hs_ctl_message answer = { 0 };
    struct hs_profile *profile = NULL;
    struct hs_mapped_file map = { NULL, 0 };
    request.has_pid = request.has_wants_blocks = request.has_block_epoch_max = true;
    request.pid = s->asked_pid;
    request.wants_blocks = true;
    request.block_epoch_max = s->cut_epoch;
    int r =
        hs_endpoint_ask(&s->place, HS_CTL_SNAPSHOT, &request.base, HS_PATIENCE_LONG_MS, &answer);
    int fd = r == 0 && answer.kind == HS_CTL_SNAPPED ? hs_ctl_take_fd(&answer, 0) : -1;
    if (fd >= 0 && hs_snapshot_output_load(fd, &map, &profile) != HS_EXIT_STATUS_DONE) {
        profile = NULL;
    }
    hs_snapshot_output_unload(&map, NULL);
    if (fd >= 0) {
        close(fd);
    }
    hs_ctl_message_deinit(&answer);
    return profile;
}

/* Writes the contents, if they are asked for. */
static int write_contents(struct snapshot *s, const struct hs_profile *profile)
{
    const struct hs_block_contents contents = { .pid = (pid_t)s->asked_pid,
                                                .profile = profile,
                                                .folder = &s->folder,
                                                .look = look_again,
                                                .ctx = s };
    return s->contents_path ? hs_block_contents_write(&contents) : HS_EXIT_STATUS_DONE;
}

static int ask(struct snapshot *s)
{
    Hs__Ctl__Snapshot request = HS__CTL__SNAPSHOT__INIT;
    struct hs_ctl_message answer = { 0 };
    int status = hs_recorded_find((uint32_t)s->pid, s->name, &s->place, &request.pid);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    fill_request(s, &request);
    s->asked_pid = request.pid;
    int r =
        hs_endpoint_ask(&s->place, HS_CTL_SNAPSHOT, &request.base, HS_PATIENCE_LONG_MS, &answer);
    status = hs_ask_take(r, HS_CTL_SNAPSHOT, &answer, "the process that records it", &answer);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    ProtobufCMessage *body = hs_ctl_unpack(&answer, &hs__ctl__snapped__descriptor);
    int fd = hs_ctl_take_fd(&answer, 0);
    if (body) {
        status = take(s, (const Hs__Ctl__Snapped *)(const void *)body, fd);
        protobuf_c_message_free_unpacked(body, NULL);
    } else {
        status = HS_EXIT_STATUS_FAILED;
    }
    if (fd >= 0) {
        close(fd);
    }
    hs_ctl_message_deinit(&answer);
    return status;
}

/* Asks, with the folder for contents open. */
static int ask_with_folder(struct snapshot *s)
{
    int status = HS_EXIT_STATUS_DONE;
    if (s->contents_path) {
        status = hs_contents_folder_open(&s->folder, s->contents_path);
    }
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    if (s->contents_path) {
        hs_message("the memory of the program is written to %s, with all secrets in it, such as "
                   "passwords and keys",
                   s->folder.path);
    }
    status = ask(s);
    if (s->contents_path) {
        hs_contents_folder_close(&s->folder);
    }
    return status;
}

int hs_cmd_snapshot(int argc, char **argv)
{
    struct snapshot s = { .is_symbolizing = true };
    const struct hs_opt options[] = {
        HS_OPT_NUMBER('p', "pid", "PID", &s.pid, 1, INT_MAX, "id of the process"),
        HS_OPT_NUMBER(0, "by-koid", "PID", &s.pid, 1, INT_MAX, "the same as --pid"),
        HS_OPT_STRING('n', "name", "NAME", &s.name,
                      "name of the process, or a glob that matches it"),
        HS_OPT_STRING(0, "by-name", "NAME", &s.name, "the same as --name"),
        HS_OPT_STRING(
            'o', "output", "FILE", &s.output,
            "output file: pprof if its name ends in .pb.gz or .pb, else a trace (default\n"
            "heapscope.NAME.PID.snapshot.pftrace)"),
        HS_OPT_STRING(0, "output-file", "FILE", &s.output, "the same as --output"),
        HS_OPT_BLOCKS(&s.with_blocks),
        HS_OPT_FLAG(0, "with-tags", &s.with_tags,
                    "write pprof with one sample for each recorded live block, with the labels "
                    "address, bytes, timestamp, thread and type; implies --blocks"),
        HS_OPT_STRING(0, "output-contents-dir", "DIR", &s.contents_path,
                      "also write what each recorded live block contains, secrets included, to a "
                      "file of its own in this folder, which must be empty or new; implies "
                      "--blocks, and for pprof --with-tags"),
        HS_OPT_FLAG_OFF(0, "no-symbolize", &s.is_symbolizing,
                        "leave function names out of the file"),
        HS_OPT_FLAG(0, "no-types", &s.is_without_types, "do not read the types of blocks"),
        HS_OPT_FLAG('q', "quiet", &s.is_quiet, "print nothing but errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "snapshot",
        .summary = "write the live heap of a process that is being recorded",
        .operands_usage = "",
        .footer =
            "The process must be recorded by 'heapscope run', by 'heapscope attach', or by a\n"
            "session of the daemon ('heapscope start'), or be bound, see heapscope_bind(3).\n"
            "The recording goes on undisturbed.\n"
            "-p and -n are not needed when only one process is recorded.\n"
            "If the environment variable HEAPSCOPE_SOCKET names a socket and there is no -p,\n"
            "only the daemon at that socket is asked.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_message_set_quiet(s.is_quiet);
    s.with_tags |= s.contents_path && s.output && hs_snapshot_output_is_pprof(s.output);
    s.with_blocks |= s.with_tags || s.contents_path;
    if (s.with_tags && !(s.output && hs_snapshot_output_is_pprof(s.output))) {
        return hs_args_fail(&spec, "--with-tags is for pprof: use -o FILE.pb.gz");
    }
    if (s.output && strcmp(s.output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(&spec, "a trace is binary and would garble the terminal: use -o FILE");
    }
    return ask_with_folder(&s);
}
