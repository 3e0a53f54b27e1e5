/*
 * heapscope run: profile a program from its start to its end.
 *
 * It works in an order in which it can report every foreseeable error before the program runs:
 * options, heapscope's library, the program, its pid (it is forked, and waits), the output file.
 * Then the program runs. Then names are looked up, the file appears, and the summary says what is
 * in it.
 *
 * Once the program has run, heapscope returns the program's exit status, whatever goes wrong with
 * the profile.
 *
 * See       collect/collector.h, docs/man/heapscope-run.1
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/budget_opts.h"
#include "cli/cmd.h"
#include "cli/dump_options.h"
#include "cli/end_signals.h"
#include "cli/message.h"
#include "cli/read/profile_file.h"
#include "cli/record/run_summary.h"
#include "cli/progress.h"
#include "cli/record/run_file.h"
#include "cli/record/run_meant.h"
#include "cli/record/run_words.h"
#include "cli/source_opts.h"
#include "collect/collector.h"
#include "collect/inspect/preflight.h"
#include "profile/model/symbol_packets.h"
#include "rt/clock.h"
#include "rt/text.h"
#include "session/session_server.h"
#include "session/frame_names.h"
#include "session/trace_names.h"
#include "trace/trace_writer.h"
#include "util/proc.h"
#include "util/selfpath.h"
#include "util/shell_word.h"

#define HS_PRELOAD_NAME     "libheapscope_preload.so"
#define HS_INTERVAL_DEFAULT 4096
#define HS_DURATION_MIN_NS  UINT64_C(1000000)

struct run {
    struct hs_session_settings settings; /* those that `run` has */
    uint64_t stack_count;
    struct hs_budget_limits limits;
    const char *output;
    uint64_t duration_ns;
    struct hs_opt_list only; /* names of the processes to record; none: all */
    struct hs_run_meant meant;
    const struct hs_run_head *head;
    bool is_quiet;
    bool is_following;
    bool is_dumping_at_usr1;
    bool is_unseen_told; /* the message about an unseen malloc was printed */
    char **program;      /* and its arguments */
    struct hs_preflight preflight;
    char preload_path[PATH_MAX];
    const char *file_path;
    char default_path[160];
    struct hs_run_file file;
    struct hs_trace_writer *writer;
    struct hs_sources *sources;
    struct hs_symbol_wanted wanted;
    struct hs_frame_names frame_names;
    struct hs_collector *collector;
    struct hs_session_server server;
    struct hs_session_server_figures figures;
    struct hs_collector_result result;
};

static int parse(struct run *run, int argc, char **argv)
{
    struct hs_budget_opts budget = { 0 };
    struct hs_source_opts sources = { 0 };
    const struct hs_opt options[] = {
        HS_OPT_SIZE('i', "interval", "BYTES", &run->settings.interval_bytes, 1,
                    HS_INTERVAL_BYTES_MAX,
                    "mean bytes between two samples (default 4096; 1 records every allocation)"),
        HS_OPT_STRING('o', "output", "FILE", &run->output,
                      "file for the trace (default heapscope.NAME.PID.pftrace)"),
        HS_OPT_DURATION('d', "duration", "DURATION", &run->duration_ns, HS_DURATION_MIN_NS,
                        HS_DUMP_EVERY_MAX_NS,
                        "record for this time; the program runs on (default: to its end)"),
        HS_OPT_LIST(0, "only", "NAME", &run->only,
                    "record only processes of this name, or glob; may be given more than once"),
        HS_OPT_FLAG('q', "quiet", &run->is_quiet, "no summary; errors are still printed"),
        HS_OPTS_DUMPS(&run->settings.dumps),
        HS_OPT_FLAG(0, "dump-on-usr1", &run->is_dumping_at_usr1,
                    "also take a dump at SIGUSR1 to heapscope, which is then not passed on"),
        HS_OPT_FLAG_OFF(0, "no-follow", &run->is_following,
                        "do not record the programs that the program starts"),
        HS_OPT_FLAG_OFF(0, "no-symbolize", &run->settings.is_symbolizing,
                        "leave function names out of the file"),
        HS_OPT_FLAG_OFF(0, "no-compress", &run->settings.is_compressing,
                        "do not compress the file's packets"),
        HS_SOURCE_OPTIONS(&sources),
        HS_BUDGET_OPTIONS(&budget),
        HS_OPT_NUMBER(0, "top", "N", &run->stack_count, 0, 1000,
                      "call stacks in the summary (default 3)"),
    };
    const struct hs_opts_spec spec = {
        .command = "run",
        .summary = "profile a program from its start",
        .operands_usage = "-- PROGRAM [ARGS]",
        .footer = "The exit status is that of the program.\n"
                  "Read the file with 'heapscope report FILE', or open it in the Perfetto UI.\n"
                  "HEAPSCOPE_CACHE: folder for unpacked debug information, or 'off'.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .operands_min = 1,
        .operands_max = HS_OPERANDS_ANY,
        .operand_missing = "no program to run was given",
        .is_ended_by_operand = true,
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status == HS_ARGS_GO_ON) {
        run->program = args.operands;
        const char *wrong = hs_dump_schedule_check(&run->settings.dumps);
        hs_message_set_quiet(run->is_quiet);
        status = wrong ? hs_args_fail(&spec, "%s", wrong)
                       : hs_budget_opts_take(&spec, &budget, &run->limits);
    }
    if (status == HS_ARGS_GO_ON) {
        status = hs_source_opts_take(&spec, &sources, &run->settings.sources);
    }
    return status;
}

/* The kernel would give a closed descriptor below 3 to one of heapscope's files, and the program,
 * or heapscope's messages, would write into that file. The program still gets the descriptor
 * closed. */
static void reserve_standard_fds(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int got = open("/dev/null", (fd == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
            (void)got; /* the lowest free one: `fd` */
        }
    }
}

/* The file's name: that of -o, or heapscope.NAME.PID.pftrace in the current folder. */
static void name_file(struct run *run, pid_t pid)
{
    snprintf(run->default_path, sizeof(run->default_path), "heapscope.%.100s.%d.pftrace",
             hs_text_base_name(run->program[0]), (int)pid);
    hs_shell_escape(run->default_path);
    run->file_path = run->output ? run->output : run->default_path;
}

static struct hs_skipped_files skipped_of(const struct run *run)
{
    return run->head && run->head->skipped ? *run->head->skipped : (struct hs_skipped_files){ 0 };
}

static int start_file(struct run *run, pid_t pid)
{
    name_file(run, pid);
    int r = hs_run_file_open(&run->file, run->file_path);
    if (r < 0) {
        hs_message("cannot write %s: %s; %s was not started", run->file_path, strerror(-r),
                   run->program[0]);
        return r;
    }
    const struct hs_trace_writer_config config = {
        .sink = hs_run_file_write,
        .sink_ctx = &run->file,
        .is_compressing = run->settings.is_compressing,
        .is_at_max =
            hs_dump_tells_max(&run->settings.dumps) || (run->head && run->head->is_max_in_samples),
        .skipped = skipped_of(run),
        .name_frames = run->settings.is_symbolizing ? hs_frame_names_find : NULL,
        .name_frames_ctx = &run->frame_names
    };
    if (run->head) {
        r = hs_run_file_write(&run->file, run->head->data, run->head->bytes);
    }
    r = r < 0 ? r : hs_trace_writer_new(&config, &run->writer);
    if (r == 0) {
        r = hs_trace_writer_begin(run->writer);
    }
    if (r == 0) {
        r = hs_sources_new(&run->settings.sources, run->writer, &run->sources);
    }
    if (r == 0) {
        hs_sources_begin(run->sources, hs_clock_ns(CLOCK_MONOTONIC));
    } else {
        hs_message("cannot write %s: %s; %s was not started", run->file_path, strerror(-r),
                   run->program[0]);
    }
    return r;
}

static int take_snapshot(void *ctx, const struct hs_snapshot *snap)
{
    struct run *run = ctx;
    if (!hs_run_meant_has(&run->meant, snap)) {
        return 0;
    }
    uint64_t names_ns = run->frame_names.cpu_ns;
    int r = hs_trace_writer_dump(run->writer, snap);
    hs_collector_add_cpu(run->collector, run->frame_names.cpu_ns - names_ns);
    run->figures.dump_count++;
    run->figures.ended_process_count += snap->is_final;
    if (r == 0 && run->settings.is_symbolizing) {
        const struct hs_skipped_files skipped = skipped_of(run);
        r = hs_symbol_packets_add_snapshot(&run->wanted, snap, &skipped);
    }
    return r;
}

/* --- names ------------------------------------------------------------------------------------ */

/* A file without names is still a profile, so a failed look-up only prints a message. An error of
 * the writer is reported when it finishes. */
static void add_names(struct run *run)
{
    bool is_interrupted = false;
    if (!run->is_quiet) {
        hs_progress_expect(HS_PROGRESS_NAMING);
    }
    int r = hs_trace_names_append(run->writer, &run->wanted, hs_end_signals_is_hurried,
                                  &is_interrupted);
    hs_progress_over();
    if (r < 0 && hs_trace_writer_finish(run->writer) == 0) {
        hs_message("cannot look up function names: %s", strerror(-r));
    } else if (is_interrupted) {
        hs_message("interrupted: some functions have no names in the file");
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

static void finish_file(struct run *run)
{
    const struct hs_run_summary present = {
        .file = &run->file,
        .path = run->file_path,
        .lost = "the profile is lost; the exit status is that of the program",
        .stack_count = (uint32_t)run->stack_count,
        .is_quiet = run->is_quiet,
    };
    int r = run->result.sink_error;
    if (r == 0 && run->settings.is_symbolizing) {
        add_names(run);
    }
    if (r == 0) {
        r = hs_trace_writer_finish(run->writer);
    }
    hs_run_summary_file(&present, r);
}

static int status_of(const struct hs_collector_result *result)
{
    return result->exit_kind == HS_EXIT_SIGNAL ? 128 + result->exit_value : result->exit_value;
}

static int say_not_started(const struct run *run, int error)
{
    hs_message("cannot run %s: %s", run->preflight.path, strerror(error));
    return error == ENOENT ? 127 : 126;
}

/* The relay restores the signals' actions. Until hs_end_signals_open() takes them, they are
 * ignored, so that none ends heapscope before the file is written. */
static void outlive_signals(void)
{
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number != SIGCHLD && number != SIGTSTP) {
            signal(number, SIG_IGN); /* a real fault still ends heapscope */
        }
    }
}

/* --- requests of other commands --------------------------------------------------------------- */

static bool has_target(const void *ctx, const struct hs_target *target)
{
    (void)ctx;
    return !target->has_ended;
}

static void look(const void *ctx, struct hs_session_server_figures *ret_figures)
{
    const struct run *run = ctx;
    *ret_figures = run->figures;
    ret_figures->file_bytes = run->file.bytes;
    ret_figures->ended_sample_count = hs_collector_ended_sample_count(run->collector);
}

static void on_peer(void *ctx, int connection_fd)
{
    struct run *run = ctx;
    hs_session_server_serve(&run->server, connection_fd, hs_clock_ns(CLOCK_MONOTONIC));
}

static void open_session_server(struct run *run)
{
    /* The name that `list` shows. */
    hs_session_settings_add_name(&run->settings, hs_text_base_name(run->program[0]));
    run->server = (struct hs_session_server){ .command = "run",
                                              .registry = hs_collector_registry(run->collector),
                                              .settings = &run->settings,
                                              .path = run->file_path,
                                              .has = has_target,
                                              .look = look,
                                              .ctx = run };
    hs_session_server_open(&run->server);
}

static void on_look(void *ctx, const struct hs_target *target)
{
    struct run *run = ctx;
    hs_run_meant_look(&run->meant, target);
}

/* Reports the first such program at once, while the user can still react; the others are counted at
 * the end. */
static void on_unseen(void *ctx, pid_t pid, const char *words)
{
    struct run *run = ctx;
    struct hs_proc_stat stat;
    if (!run->is_unseen_told && hs_proc_read_stat(pid, &stat) == 0) {
        run->is_unseen_told = true;
        for (char *c = stat.comm; *c; c++) {
            *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c; /* the program chose this name */
        }
        hs_message(
            "process %d (%s) contains its own malloc, whose allocations will not be recorded: %s",
            (int)pid, stat.comm, words);
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static int record(struct run *run)
{
    const struct hs_collector_config config = {
        .path = run->preflight.path,
        .argv = run->program,
        .preload_path = run->preload_path,
        .interval_bytes = run->settings.interval_bytes,
        .dumps = run->settings.dumps,
        .is_dumping_at_usr1 = run->is_dumping_at_usr1,
        .limits = run->limits,
        .is_following = run->is_following,
        .duration_ns = run->duration_ns,
        .sink = take_snapshot,
        .sink_ctx = run,
        .on_look = run->only.count > 0 ? on_look : NULL,
        .look_ctx = run,
        .on_unseen = on_unseen,
        .unseen_ctx = run,
        .on_peer = on_peer,
        .peer_ctx = run,
    };
    int status = HS_EXIT_STATUS_FAILED;
    int r = hs_collector_new(&config, &run->collector);
    if (r < 0) {
        hs_message("cannot start %s: %s", run->program[0], strerror(-r));
        return status;
    }
    run->meant = (struct hs_run_meant){ .names = &run->only,
                                        .has_forks = run->head && run->head->has_forks,
                                        .program_pid = hs_collector_pid(run->collector),
                                        .registry = hs_collector_registry(run->collector) };
    if (start_file(run, hs_collector_pid(run->collector)) == 0) {
        open_session_server(run);
        hs_collector_set_sources(run->collector, run->sources);
        r = hs_collector_run(run->collector, &run->result);
        if (r < 0) {
            status = say_not_started(run, -r);
        } else {
            outlive_signals();
            status = status_of(&run->result);
        }
        run->collector = hs_collector_free(run->collector);
        if (r == 0) {
            hs_end_signals_open(); /* ignores SIGPIPE again, whose action was restored */
            hs_end_signals_begin_end();
            hs_run_words_gaps(run->program[0], &run->result, run->is_unseen_told);
            if (run->settings.sources.with_smaps_at_dumps &&
                hs_sources_smaps_count(run->sources) == 0) {
                hs_message(
                    "--smaps: the file contains no mappings: %s ended before they could be read",
                    run->program[0]);
            }
            if (run->result.image_count > 0) {
                finish_file(run);
            }
        }
    }
    hs_collector_free(run->collector);
    hs_run_meant_deinit(&run->meant);
    return status;
}

int hs_cmd_run(int argc, char **argv)
{
    return hs_cmd_run_headed(argc, argv, NULL);
}

int hs_cmd_run_headed(int argc, char **argv, const struct hs_run_head *head)
{
    struct run run = { .head = head,
                       .settings = { .interval_bytes = HS_INTERVAL_DEFAULT,
                                     .is_symbolizing = true,
                                     .is_compressing = true },
                       .stack_count = 3,
                       .is_following = true,
                       .file = { .out.fd = -1, .spool_fd = -1 } };
    reserve_standard_fds();
    int status = parse(&run, argc, argv);
    if (status != HS_ARGS_GO_ON) {
        hs_opt_list_deinit(&run.only);
        return status;
    }
    if (head && head->sources) {
        run.settings.sources = *head->sources;
    }
    hs_preflight_check(run.program[0], &run.preflight);
    status = hs_run_words_refuse(run.program[0], &run.preflight);
    if (status >= 0) {
        hs_opt_list_deinit(&run.only);
        return status;
    }
    int r = hs_selfpath_find_lib(HS_PRELOAD_NAME, run.preload_path, sizeof(run.preload_path));
    if (r < 0) {
        hs_message("cannot find " HS_PRELOAD_NAME ", which is installed beside heapscope: %s",
                   strerror(-r));
        hs_opt_list_deinit(&run.only);
        return HS_EXIT_STATUS_FAILED;
    }
    status = record(&run);
    hs_sources_free(run.sources);
    hs_opt_list_deinit(&run.only);
    hs_trace_writer_free(run.writer);
    hs_symbol_wanted_deinit(&run.wanted);
    hs_frame_names_deinit(&run.frame_names);
    hs_session_settings_deinit(&run.settings);
    hs_session_server_close(&run.server, &(struct hs_session_server_outcome){ .error = NULL });
    hs_run_file_abort(&run.file);
    return status;
}
