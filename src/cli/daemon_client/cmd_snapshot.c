/*
 * heapscope snapshot: the live heap of a recorded process as it is now.
 *
 * The process that records it (a daemon, run or attach) answers with a trace in memory, without
 * names, and goes on recording. This command looks up names, with the user's own rights, and writes
 * a trace or a pprof profile, by the name of the file.
 *
 * See       session/answers.h, cli/daemon_client/find_recorded.h, docs/man/heapscope-snapshot.1
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/find_recorded.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "ctl/ctl.pb-c.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "session/trace_names.h"
#include "symbol/cache_folder.h"
#include "trace/trace_writer.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/outfile.h"
#include "util/shell_word.h"
#include "view/pprof.h"

struct snapshot {
    uint64_t pid;
    const char *name;
    const char *output;
    bool is_quiet, is_symbolizing;
    char default_path[160];
    const void *trace; /* mapped */
    size_t trace_bytes;
};

static bool has_end(const char *name, const char *end)
{
    size_t name_bytes = strlen(name), end_bytes = strlen(end);
    return name_bytes > end_bytes && strcmp(name + name_bytes - end_bytes, end) == 0;
}

static bool is_pprof_name(const char *name)
{
    return has_end(name, ".pb.gz") || has_end(name, ".pb") || has_end(name, ".pprof");
}

/* --- the output ------------------------------------------------------------------------------- */

static int write_pprof(struct hs_profile *profile, bool is_symbolizing, struct hs_buf *out)
{
    const struct hs_select_spec select = { .snapshot = HS_SELECT_LAST };
    char cache[PATH_MAX];
    const struct hs_symbol_options options = {
        .cache_folder = hs_cache_folder_find(cache, sizeof(cache)) ? cache : NULL,
    };
    if (is_symbolizing) {
        hs_profile_symbolize(profile, &options, NULL);
    }
    return hs_pprof_write(profile, &select, out);
}

static int add_to_buf(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *out = ctx;
    hs_buf_add(out, data, bytes);
    return out->err;
}

/* Writes the trace as it came, followed by names. */
static int write_trace(const struct snapshot *s, const struct hs_profile *profile,
                       struct hs_buf *out)
{
    const struct hs_trace_writer_config config = { .sink = add_to_buf, .sink_ctx = out };
    struct hs_symbol_wanted wanted = { 0 };
    struct hs_trace_writer *writer = NULL;
    bool is_interrupted = false;
    hs_buf_add(out, s->trace, s->trace_bytes);
    if (!s->is_symbolizing) {
        return out->err;
    }
    int r = hs_trace_writer_new(&config, &writer);
    if (r == 0) {
        r = hs_profile_wanted(profile, &wanted);
    }
    if (r == 0) {
        r = hs_trace_names_append(writer, &wanted, NULL, &is_interrupted);
    }
    if (r == 0) {
        r = hs_trace_writer_finish(writer);
    }
    hs_trace_writer_free(writer);
    hs_symbol_wanted_deinit(&wanted);
    return r;
}

static int write_output(const struct snapshot *s, struct hs_profile *profile, struct hs_buf *out)
{
    if (!s->is_quiet) {
        hs_progress_expect(HS_PROGRESS_NAMING);
    }
    int r = is_pprof_name(s->output) ? write_pprof(profile, s->is_symbolizing, out)
                                     : write_trace(s, profile, out);
    hs_progress_over();
    int late = hs_buf_finish(out);
    return r ? r : late;
}

static int save(const struct snapshot *s, const Hs__Ctl__Snapped *snapped,
                struct hs_profile *profile)
{
    struct hs_outfile file;
    struct hs_buf out;
    char size[HS_HUMAN_BYTES];
    int r = hs_outfile_open(&file, s->output);
    if (r == 0) {
        hs_buf_init(&out, hs_outfile_write, &file);
        r = write_output(s, profile, &out);
        uint64_t bytes = out.total_bytes;
        hs_buf_deinit(&out);
        if (r == 0) {
            r = hs_outfile_commit(&file);
        }
        hs_outfile_abort(&file);
        if (r == 0 && strcmp(s->output, "-") != 0) {
            hs_message_info("wrote %s (%s): the heap of process %u (%s), of session %s", s->output,
                            hs_human_bytes(size, (double)bytes), snapped->pid,
                            snapped->process ? snapped->process : "?",
                            snapped->session ? snapped->session : "?");
        }
    }
    if (r != 0) {
        hs_message("cannot write %s: %s", s->output, r < 0 ? strerror(-r) : "it would be empty");
    }
    return r == 0 ? HS_EXIT_STATUS_DONE : HS_EXIT_STATUS_FAILED;
}

/* --- the answer ------------------------------------------------------------------------------- */

static int map_trace(struct snapshot *s, int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
        return -EPROTO;
    }
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        return -errno;
    }
    s->trace = map;
    s->trace_bytes = (size_t)st.st_size;
    return 0;
}

static int take(struct snapshot *s, const Hs__Ctl__Snapped *snapped, int fd)
{
    struct hs_profile *profile = NULL;
    int r = map_trace(s, fd);
    if (r == 0) {
        r = hs_profile_load_memory(s->trace, s->trace_bytes, &profile, NULL);
    }
    if (r != 0) {
        hs_message("the answer is not a snapshot%s%s", r < 0 ? ": " : "",
                   r < 0 ? strerror(-r) : "");
        return HS_EXIT_STATUS_FAILED;
    }
    if (!s->output) {
        snprintf(s->default_path, sizeof(s->default_path), "heapscope.%.100s.%u.snapshot.pftrace",
                 snapped->process && !strchr(snapped->process, '/') ? snapped->process : "process",
                 snapped->pid);
        hs_shell_escape(s->default_path);
        s->output = s->default_path;
    }
    int status = save(s, snapped, profile);
    hs_profile_free(profile);
    munmap((void *)(uintptr_t)s->trace, s->trace_bytes);
    return status;
}

static int ask(struct snapshot *s)
{
    Hs__Ctl__Snapshot request = HS__CTL__SNAPSHOT__INIT;
    struct hs_ctl_message answer = { 0 };
    struct hs_endpoint place;
    int status = hs_recorded_find((uint32_t)s->pid, s->name, &place, &request.pid);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    request.has_pid = request.has_wants_names = true;
    request.wants_names = s->is_symbolizing && !(s->output && is_pprof_name(s->output));
    int r = hs_endpoint_ask(&place, HS_CTL_SNAPSHOT, &request.base, HS_PATIENCE_LONG_MS, &answer);
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

int hs_cmd_snapshot(int argc, char **argv)
{
    struct snapshot s = { .is_symbolizing = true };
    const struct hs_opt options[] = {
        HS_OPT_NUMBER('p', "pid", "PID", &s.pid, 1, INT_MAX, "id of the process"),
        HS_OPT_STRING('n', "name", "NAME", &s.name,
                      "name of the process, or a glob that matches it"),
        HS_OPT_STRING(0, "by-name", "NAME", &s.name, "the same as --name"),
        HS_OPT_STRING(
            'o', "output", "FILE", &s.output,
            "output file: pprof if its name ends in .pb.gz or .pb, else a trace (default\n"
            "heapscope.NAME.PID.snapshot.pftrace)"),
        HS_OPT_STRING(0, "output-file", "FILE", &s.output, "the same as --output"),
        HS_OPT_FLAG_OFF(0, "no-symbolize", &s.is_symbolizing,
                        "leave function names out of the file"),
        HS_OPT_FLAG('q', "quiet", &s.is_quiet, "print nothing but errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "snapshot",
        .summary = "write the live heap of a process that is being recorded",
        .operands_usage = "",
        .footer =
            "The process must be recorded by 'heapscope run', by 'heapscope attach', or by a\n"
            "session of the daemon ('heapscope start'). The recording goes on undisturbed.\n"
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
    if (s.output && strcmp(s.output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(&spec, "a trace is binary and would garble the terminal: use -o FILE");
    }
    return ask(&s);
}
