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
 * See       session/program_run.h, docs/man/heapscope-run.1
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
#include "cli/end_signals.h"
#include "cli/heap_opts.h"
#include "cli/message.h"
#include "cli/read/page_output.h"
#include "cli/record/own_session.h"
#include "cli/record/run_meant.h"
#include "cli/record/run_words.h"
#include "cli/session_options.h"
#include "cli/source_opts.h"
#include "collect/inspect/preflight.h"
#include "rt/text.h"
#include "session/program_run.h"
#include "util/proc.h"
#include "util/shell_word.h"

#define HS_DURATION_MIN_NS UINT64_C(1000000)

#define FOOTER                                                                                     \
    "The exit status is that of the program, or 128 plus the number of the signal\n"               \
    "that ended it; 1, 2, 126 or 127 if the program was not started.\n"                            \
    "Read the file with 'heapscope report FILE', or open it in the Perfetto UI.\n"                 \
    "The environment variable HEAPSCOPE_CACHE names the folder for unpacked debug\n"               \
    "information; 'off' means none."

struct run {
    struct hs_session_settings settings; /* until the session takes them over */
    uint64_t stack_count;
    const char *output;
    struct hs_opt_list only; /* names of the processes to record; none: all */
    struct hs_run_meant meant;
    const struct hs_run_head *head;
    bool is_quiet;
    bool has_page; /* it is written at the end */
    bool is_following;
    bool is_dumping_at_usr1;
    bool is_unseen_told; /* the message about an unseen malloc was printed */
    char **program;      /* and its arguments */
    struct hs_preflight preflight;
    char preload_path[PATH_MAX];
    char default_path[160];
    struct hs_own_session own;
    struct hs_program_run *program_run;
    struct hs_program_run_result result;
};

/* Options that several commands have, as written. */
struct parts {
    struct hs_budget_opts budget;
    struct hs_source_opts sources;
    struct hs_heap_opts heaps;
};

static int take(struct run *run, const struct hs_opts_spec *spec, const struct parts *parts)
{
    struct hs_session_settings *settings = &run->settings;
    hs_message_set_quiet(run->is_quiet);
    int status = hs_budget_opts_take(spec, &parts->budget, &settings->limits);
    if (status == HS_ARGS_GO_ON) {
        status = hs_source_opts_take(spec, &parts->sources, &settings->sources);
    }
    if (status == HS_ARGS_GO_ON) {
        status =
            hs_heap_opts_take(spec, &parts->heaps, &settings->heaps, &settings->interval_bytes);
    }
    if (status == HS_ARGS_GO_ON) {
        const char *wrong = hs_session_settings_check(settings);
        status = wrong ? hs_args_fail(spec, "%s", wrong) : HS_ARGS_GO_ON;
    }
    return status;
}

static int parse(struct run *run, int argc, char **argv)
{
    struct parts parts = { 0 };
    const struct hs_opt options[] = {
        HS_OPT_INTERVAL(&run->settings.interval_bytes),
        HS_HEAP_OPTIONS(&parts.heaps),
        HS_OPT_STRING('o', "output", "FILE", &run->output,
                      "file for the trace (default heapscope.NAME.PID.pftrace)"),
        HS_OPT_DURATION(
            'd', "duration", "DURATION", &run->settings.duration_ns, HS_DURATION_MIN_NS,
            HS_DUMP_EVERY_MAX_NS,
            "stop recording after this time; the program goes on (default: record until it ends)"),
        HS_OPT_LIST(
            0, "only", "NAME", &run->only,
            "record only processes whose name is this or matches this glob; may be given more "
            "than once"),
        HS_OPT_FLAG('q', "quiet", &run->is_quiet, "print no summary; errors are still printed"),
        HS_OPT_FLAG(0, "html", &run->has_page,
                    "also write a page for a browser: FILE with .html in place of .pftrace"),
        HS_OPTS_DUMPS(&run->settings.dumps),
        HS_OPT_FLAG(
            0, "dump-on-usr1", &run->is_dumping_at_usr1,
            "also take a snapshot when heapscope gets SIGUSR1; the signal is then not passed on to "
            "the program"),
        HS_OPT_FLAG_OFF(
            0, "no-follow", &run->is_following,
            "record only the program's own process, and none of the processes that it starts"),
        HS_OPT_BLOCKS(&run->settings.with_blocks),
        HS_OPT_NO_SYMBOLIZE(&run->settings.is_symbolizing),
        HS_OPT_NO_COMPRESS(&run->settings.is_compressing),
        HS_SOURCE_OPTIONS(&parts.sources),
        HS_BUDGET_OPTIONS(&parts.budget),
        HS_OPT_NUMBER(0, "top", "N", &run->stack_count, 0, 1000,
                      "number of call stacks in the summary (default 3)"),
    };
    const struct hs_opts_spec spec = {
        .command = "run",
        .summary = "profile a program from its start",
        .operands_usage = "-- PROGRAM [ARGS]",
        .footer = FOOTER,
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
        status = take(run, &spec, &parts);
    }
    if (status == HS_ARGS_GO_ON && run->has_page) {
        bool is_stdout = run->output && strcmp(run->output, "-") == 0;
        status = is_stdout ? hs_args_fail(&spec, "--html needs a file: name it with -o")
                 : hs_page_output_is_built() ? HS_ARGS_GO_ON
                                             : HS_EXIT_STATUS_FAILED;
    }
    hs_heap_opts_deinit(&parts.heaps);
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
static const char *name_file(struct run *run, pid_t pid)
{
    snprintf(run->default_path, sizeof(run->default_path), "heapscope.%.100s.%d.pftrace",
             hs_text_base_name(run->program[0]), (int)pid);
    hs_shell_escape(run->default_path);
    return run->output ? run->output : run->default_path;
}

static bool is_meant(void *ctx, const struct hs_snapshot *snap)
{
    struct run *run = ctx;
    return hs_run_meant_has(&run->meant, snap);
}

static int begin_session(struct run *run)
{
    pid_t pid = hs_program_run_pid(run->program_run);
    struct hs_registry *registry = hs_program_run_registry(run->program_run);
    run->own = (struct hs_own_session){
        .command = "run",
        .path = name_file(run, pid),
        .head = run->head,
        .lost = "the profile is lost; the exit status is that of the program",
        .stack_count = (uint32_t)run->stack_count,
        .is_quiet = run->is_quiet,
    };
    run->meant = (struct hs_run_meant){ .names = &run->only,
                                        .has_forks = run->head && run->head->has_forks,
                                        .program_pid = pid,
                                        .registry = registry };
    int r = hs_own_session_open_file(&run->own);
    r = r < 0 ? r : hs_own_session_begin(&run->own, &run->settings);
    if (r < 0) {
        hs_message("cannot write %s: %s; %s was not started", run->own.path, strerror(-r),
                   run->program[0]);
        return r;
    }
    run->own.session->wants = is_meant;
    run->own.session->wants_ctx = run;
    hs_own_session_serve(&run->own, registry);
    return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

static int status_of(const struct hs_program_run_result *result)
{
    return result->exit_kind == HS_EXIT_SIGNAL ? 128 + result->exit_value : result->exit_value;
}

static int say_not_started(const struct run *run, int error)
{
    if (error == ECHILD) {
        hs_message("cannot start %s: the process that was to execute it has ended",
                   run->preflight.path);
        return HS_EXIT_STATUS_FAILED;
    }
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

/* --- while it runs ---------------------------------------------------------------------------- */

static void on_peer(void *ctx, int connection_fd)
{
    struct run *run = ctx;
    hs_own_session_take_peer(&run->own, connection_fd);
}

static uint64_t on_turn(void *ctx, uint64_t now_ns)
{
    struct run *run = ctx;
    return hs_own_session_turn(&run->own, now_ns);
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

/* The program has ended: says what is missing in the recording, and finishes its file. */
static void finish(struct run *run)
{
    const struct hs_session *session = run->own.session;
    hs_end_signals_open(); /* ignores SIGPIPE again, whose action was restored */
    hs_end_signals_begin_end();
    hs_run_words_gaps(run->program[0], &run->result, run->is_unseen_told);
    if (session->settings.sources.with_smaps_at_dumps &&
        hs_sources_smaps_count(session->sources) == 0) {
        hs_message("--smaps: the file contains no mappings: %s ended before they could be read",
                   run->program[0]);
    }
    if (run->result.image_count > 0 && hs_own_session_finish(&run->own) == 0 && run->has_page) {
        hs_page_output_beside(run->own.path);
    }
}

/* Runs the program and writes the file. Returns heapscope's exit status. */
static int run_program(struct run *run)
{
    int r = hs_program_run_prepare(run->program_run, run->own.session);
    if (r < 0) {
        hs_message("cannot record %s: %s; it was not started", run->program[0], strerror(-r));
        return HS_EXIT_STATUS_FAILED;
    }
    r = hs_program_run_go(run->program_run, &run->result);
    if (r < 0) {
        return say_not_started(run, -r);
    }
    outlive_signals();
    int status = status_of(&run->result);
    run->program_run = hs_program_run_free(run->program_run);
    finish(run);
    return status;
}

static int record(struct run *run)
{
    const struct hs_program_run_config config = {
        .path = run->preflight.path,
        .argv = run->program,
        .preload_path = run->preload_path,
        .interval_bytes = run->settings.interval_bytes,
        .heaps = &run->settings.heaps,
        .is_following = run->is_following,
        .is_dumping_at_usr1 = run->is_dumping_at_usr1,
        .on_look = run->only.count > 0 ? on_look : NULL,
        .on_unseen = on_unseen,
        .on_peer = on_peer,
        .on_turn = on_turn,
        .ctx = run,
    };
    int status = HS_EXIT_STATUS_FAILED;
    int r = hs_program_run_new(&config, &run->program_run);
    if (r < 0) {
        hs_message("cannot start %s: %s", run->program[0], strerror(-r));
        return status;
    }
    if (begin_session(run) == 0) {
        status = run_program(run);
    }
    hs_program_run_free(run->program_run);
    return status;
}

static void close_all(struct run *run)
{
    hs_own_session_close(&run->own, NULL);
    hs_session_settings_deinit(&run->settings);
    hs_run_meant_deinit(&run->meant);
    hs_opt_list_deinit(&run->only);
}

/* Everything that can be said before the program runs. Returns the exit status, or
 * HS_ARGS_GO_ON. */
static int prepare(struct run *run, int argc, char **argv)
{
    int status = parse(run, argc, argv);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_own_session_take_head(&run->settings, run->head);
    /* The name that `list` shows. */
    hs_session_settings_add_name(&run->settings, hs_text_base_name(run->program[0]));
    hs_preflight_check(run->program[0], &run->preflight);
    status = hs_run_words_refuse(run->program[0], &run->preflight);
    if (status >= 0) {
        return status;
    }
    return hs_own_session_find_client(run->preload_path, sizeof(run->preload_path)) < 0
               ? HS_EXIT_STATUS_FAILED
               : HS_ARGS_GO_ON;
}

int hs_cmd_run(int argc, char **argv)
{
    return hs_cmd_run_headed(argc, argv, NULL);
}

int hs_cmd_run_headed(int argc, char **argv, const struct hs_run_head *head)
{
    struct run run = { .head = head,
                       .settings = { .is_taking_announced = true,
                                     .is_any_uid = true,
                                     .is_symbolizing = true,
                                     .is_compressing = true,
                                     .is_buffered = true },
                       .stack_count = 3,
                       .is_following = true,
                       .own.file = HS_OWN_SESSION_NO_FILE };
    reserve_standard_fds();
    int status = prepare(&run, argc, argv);
    if (status == HS_ARGS_GO_ON) {
        status = record(&run);
    }
    close_all(&run);
    return status;
}
