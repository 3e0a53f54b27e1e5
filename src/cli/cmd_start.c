/*
 * heapscope start: begins a session of the daemon, and returns.
 *
 * The file is opened here, with the user's own rights, under a temporary name in the folder where it will be;
 * the daemon gets descriptors of both, and gives it its name when it is whole. So the session outlives us.
 *
 * See       daemon/request_start.c, docs/man/heapscope-start.1
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/ask_daemon.h"
#include "cli/budget_opts.h"
#include "cli/cmd.h"
#include "cli/dump_options.h"
#include "cli/message.h"
#include "cli/source_opts.h"
#include "ctl/ctl.pb-c.h"
#include "rt/text.h"
#include "session/hub.h"
#include "session/session.h"
#include "util/outfile.h"
#include "util/parse.h"

#define HS_INTERVAL_DEFAULT 4096
#define HS_TIME_MIN_NS      UINT64_C(10000000)
#define HS_TIME_MAX_NS      (UINT64_C(100000) * 3600 * UINT64_C(1000000000))
#define HS_TOLD_MAX         20 /* processes of one answer */

struct start {
    struct hs_opt_list names, pid_texts;
    uint32_t *pids;
    const char *output;
    const char *session;
    bool is_all, is_quiet;
    bool is_taking_startup, is_taking_running, is_taking_children, is_symbolizing, is_compressing;
    struct hs_budget_opts budget;
    struct hs_budget_limits limits;
    struct hs_source_opts source_opts;
    struct hs_sources_settings sources;
    uint64_t interval_bytes, min_anon_bytes, duration_ns;
    struct hs_dump_wishes dumps;
    char default_path[160];
    struct hs_outfile file;
    int folder_fd;
};

/* --- options ----------------------------------------------------------------------------------- */

static const struct hs_opts_spec *make_spec(struct start *s)
{
    static struct hs_opt options[17 + HS_SOURCE_OPTION_COUNT + HS_BUDGET_OPTION_COUNT];
    static struct hs_opts_spec spec;
    const struct hs_opt list[] = {
        HS_OPT_LIST('n', "name", "NAME", &s->names,
                    "processes of this name, or glob: running ones and such that start"),
        HS_OPT_LIST('p', "pid", "PID", &s->pid_texts, "a running process, and its forked children"),
        HS_OPT_FLAG(0, "all", &s->is_all, "all processes that announce themselves"),
        HS_OPT_SIZE(0, "min-memory", "SIZE", &s->min_anon_bytes, 0, UINT64_MAX,
                    "only running processes with so much memory of their own"),
        HS_OPT_SIZE('i', "interval", "BYTES", &s->interval_bytes, 1, HS_SESSION_INTERVAL_MAX,
                    "mean bytes between two samples (default 4096; 1 records every allocation)"),
        HS_OPT_STRING('o', "output", "FILE", &s->output,
                      "where the trace goes (default heapscope.NAME.DATE-TIME.pftrace)"),
        HS_OPT_DURATION('d', "duration", "DURATION", &s->duration_ns, HS_TIME_MIN_NS,
                        HS_TIME_MAX_NS, "how long (default: until 'heapscope stop')"),
        HS_OPTS_DUMPS(&s->dumps),
        HS_OPT_FLAG(0, "children", &s->is_taking_children,
                    "also the children that processes have, and theirs"),
        HS_OPT_FLAG_OFF(0, "no-running", &s->is_taking_running, "leave alone what runs already"),
        HS_OPT_FLAG_OFF(0, "no-startup", &s->is_taking_startup, "leave alone what starts later"),
        HS_OPT_FLAG_OFF(0, "no-symbolize", &s->is_symbolizing, "leave names out of the file"),
        HS_SOURCE_OPTIONS(&s->source_opts),
        HS_BUDGET_OPTIONS(&s->budget),
        HS_OPT_STRING(0, "session", "NAME", &s->session,
                      "what to call the session (default: a number)"),
        HS_OPT_FLAG('q', "quiet", &s->is_quiet, "print nothing but errors"),
    };
    _Static_assert(sizeof(list) == sizeof(options), "all of them");
    memcpy(options, list, sizeof(list));
    spec = (struct hs_opts_spec){
        .command = "start",
        .summary = "begin to profile processes, by name or pid, through the daemon",
        .operands_usage = "",
        .footer = "Programs must have libheapscope_preload.so in LD_PRELOAD to be found.\n"
                  "Ends with 'heapscope stop'; the file is there when that returns.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    return &spec;
}

static int parse_pids(struct start *s, const struct hs_opts_spec *spec)
{
    s->pids = calloc(s->pid_texts.count + 1, sizeof(s->pids[0]));
    if (!s->pids) {
        hs_message("out of memory");
        return HS_EXIT_STATUS_FAILED;
    }
    for (size_t i = 0; i < s->pid_texts.count; i++) {
        uint64_t pid = 0;
        if (hs_parse_number(s->pid_texts.items[i], &pid) < 0 || pid == 0 || pid > INT_MAX) {
            return hs_args_fail(spec, "--pid: '%s' is no process id", s->pid_texts.items[i]);
        }
        s->pids[i] = (uint32_t)pid;
    }
    return HS_ARGS_GO_ON;
}

static int parse(struct start *s, int argc, char **argv)
{
    const struct hs_opts_spec *spec = make_spec(s);
    struct hs_opts_result args;
    int status = hs_args_parse(spec, argc, argv, &args);
    if (status == HS_ARGS_GO_ON) {
        status = parse_pids(s, spec);
    }
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_message_set_quiet(s->is_quiet);
    status = hs_budget_opts_take(spec, &s->budget, &s->limits);
    if (status == HS_ARGS_GO_ON) {
        status = hs_source_opts_take(spec, &s->source_opts, &s->sources);
    }
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (s->names.count == 0 && s->pid_texts.count == 0 && !s->is_all) {
        return hs_args_fail(spec, "nothing to profile was named: -n NAME, -p PID, or --all");
    }
    if (!s->is_taking_running && !s->is_taking_startup) {
        return hs_args_fail(spec, "--no-running and --no-startup leave nothing to profile");
    }
    const char *wrong = hs_dump_wishes_check(&s->dumps);
    if (wrong) {
        return hs_args_fail(spec, "%s", wrong);
    }
    if (s->session && !hs_session_is_name(s->session)) {
        return hs_args_fail(spec, "--session: a name is at most 63 letters, digits, '.', '_', '-'");
    }
    return HS_ARGS_GO_ON;
}

/* --- the file ---------------------------------------------------------------------------------- */

/* A glob or path as a part of a file's name. */
static void name_file(struct start *s)
{
    char name[64] = "all", date[32] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (s->session) {
        snprintf(name, sizeof(name), "%s", s->session);
    } else if (s->names.count > 0) {
        snprintf(name, sizeof(name), "%s", hs_text_base_name(s->names.items[0]));
    } else if (s->pid_texts.count > 0) {
        snprintf(name, sizeof(name), "%u", s->pids[0]);
    }
    for (char *c = name; *c; c++) {
        if (strchr("*?[]\\ /:@", *c) || (unsigned char)*c < ' ') {
            *c = '_';
        }
    }
    if (localtime_r(&now, &tm)) {
        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
    }
    snprintf(s->default_path, sizeof(s->default_path), "heapscope.%s.%s.pftrace", name, date);
}

static int fail_file(const char *path, const char *why)
{
    hs_message("cannot write %s: %s", path, why);
    return HS_EXIT_STATUS_FAILED;
}

static int open_file(struct start *s)
{
    char folder[PATH_MAX];
    if (!s->output) {
        name_file(s);
        s->output = s->default_path;
    }
    int r = hs_outfile_open(&s->file, s->output);
    if (r < 0) {
        return fail_file(s->output, strerror(-r));
    }
    if (s->file.is_direct) {
        return fail_file(s->output, "a session goes into a regular file");
    }
    const char *base = hs_text_base_name(s->file.path);
    snprintf(folder, sizeof(folder), "%.*s", (int)(base - s->file.path), s->file.path);
    s->folder_fd = open(folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->folder_fd < 0 ? fail_file(s->output, strerror(errno)) : HS_EXIT_STATUS_DONE;
}

/* --- what became of it ------------------------------------------------------------------------- */

static const char *const answer_words[HS_HUB_ANSWER_N] = {
    [HS_HUB_RECORDED] = "recorded from now on",
    [HS_HUB_ATTACHING] = "about to be recorded",
    [HS_HUB_REJECTED] = "not recorded: another session has it",
    [HS_HUB_NO_CLIENT] = "not recorded: another attempt to attach to it is under way; try again",
    [HS_HUB_NOT_ALLOWED] = "not recorded: it may not be",
    [HS_HUB_GONE] = "there is no such process",
};

static void say_verdict(const Hs__Ctl__Verdict *verdict)
{
    const char *words = verdict->answer < HS_HUB_ANSWER_N ? answer_words[verdict->answer]
                                                          : "unknown to this version";
    const char *why = verdict->why;
    hs_message_info("  %u %s: %s%s%s", verdict->pid,
                    verdict->process && verdict->answer != HS_HUB_GONE ? verdict->process : "",
                    why ? "not recorded: " : words, verdict->holder ? ", " : "",
                    why               ? why
                    : verdict->holder ? verdict->holder
                                      : "");
}

/* Of all processes, those without the recorder are most, and no news one by one. */
static bool is_worth_telling(const struct start *s, const Hs__Ctl__Verdict *verdict)
{
    return verdict->is_named || !s->is_all || verdict->answer != HS_HUB_NO_CLIENT;
}

static void say_verdicts(const struct start *s, const Hs__Ctl__Started *started)
{
    uint64_t told = 0, all = 0;
    for (size_t i = 0; i < started->n_verdicts; i++) {
        const Hs__Ctl__Verdict *verdict = started->verdicts[i];
        if (is_worth_telling(s, verdict) && (verdict->is_named || told < HS_TOLD_MAX)) {
            told++;
            say_verdict(verdict);
        }
    }
    for (size_t i = 0; i < started->n_answer_count; i++) {
        all += started->answer_count[i];
    }
    if (all > told) {
        hs_message_info("  %s%" PRIu64 " more%s", told ? "and " : "", all - told,
                        s->is_all ? ", most of them without libheapscope_preload.so" : "");
    }
}

static uint64_t count_of(const Hs__Ctl__Started *started, enum hs_hub_answer answer)
{
    return started->n_answer_count > (size_t)answer ? started->answer_count[answer] : 0;
}

static int say_started(const struct start *s, const Hs__Ctl__Started *started)
{
    uint64_t recorded = count_of(started, HS_HUB_RECORDED) + count_of(started, HS_HUB_ATTACHING);
    const char *session = started->session ? started->session : "?";
    bool is_empty = recorded == 0 && !started->is_waiting;
    if (is_empty) {
        hs_message_set_quiet(false);
    }
    hs_message_info("session %s records %llu process%s%s", session, (unsigned long long)recorded,
                    recorded == 1 ? "" : "es",
                    started->is_waiting ? ", and such that start from now on" : "");
    say_verdicts(s, started);
    if (is_empty) {
        hs_message("nothing is left for it to record, and it is over");
        if (count_of(started, HS_HUB_NOT_ALLOWED) + count_of(started, HS_HUB_REJECTED) > 0) {
            hs_message("why is in %s as well: heapscope report %s", s->output, s->output);
        }
        return HS_EXIT_STATUS_FAILED;
    }
    hs_message_info("It goes to %s when it is over: heapscope stop %s", s->output, session);
    puts(session);
    return hs_args_finish_output();
}

/* --- asking ------------------------------------------------------------------------------------ */

static void fill_request(const struct start *s, const char *path, Hs__Ctl__Start *request)
{
    request->n_pid = s->pid_texts.count;
    request->pid = s->pids;
    request->n_name = s->names.count;
    request->name = (char **)(uintptr_t)s->names.items;
    request->has_is_all = request->has_min_anon_bytes = request->has_interval_bytes =
        request->has_is_without_startup = request->has_is_without_running =
            request->has_is_without_names = request->has_is_dumping_at_peak = true;
    request->is_all = s->is_all;
    request->min_anon_bytes = s->min_anon_bytes;
    request->interval_bytes = s->interval_bytes;
    request->is_without_startup = !s->is_taking_startup;
    request->is_without_running = !s->is_taking_running;
    request->has_is_taking_children = true;
    request->is_taking_children = s->is_taking_children;
    request->is_without_names = !s->is_symbolizing;
    request->is_dumping_at_peak = s->dumps.is_at_peak;
    request->has_dump_above_bytes = request->has_dump_every_ns = request->has_dump_phase_ns =
        request->has_duration_ns = true;
    request->dump_above_bytes = s->dumps.above_bytes;
    request->dump_every_ns = s->dumps.every_ns;
    request->dump_phase_ns = s->dumps.phase_ns;
    request->duration_ns = s->duration_ns;
    request->has_max_memory_bytes = request->has_max_overhead_ppm = request->has_max_cpu_ns = true;
    request->max_memory_bytes = s->limits.memory_bytes;
    request->max_overhead_ppm = s->limits.overhead_ppm;
    request->max_cpu_ns = s->limits.cpu_ns;
    request->session = (char *)(uintptr_t)s->session;
    request->temp_name = (char *)(uintptr_t)hs_text_base_name(s->file.temp_path);
    request->final_name = (char *)(uintptr_t)hs_text_base_name(s->file.path);
    request->path = (char *)(uintptr_t)path;
}

static void fill_sources(const struct start *s, Hs__Ctl__Sources *sources)
{
    sources->has_poll_ms = sources->has_is_thinning = sources->has_with_smaps_at_dumps =
        sources->has_meminfo_ms = sources->has_psi_ms = true;
    sources->poll_ms = s->sources.poll_ms;
    sources->is_thinning = s->sources.is_thinning;
    sources->with_smaps_at_dumps = s->sources.with_smaps_at_dumps;
    sources->meminfo_ms = s->sources.meminfo_ms;
    sources->psi_ms = s->sources.psi_ms;
}

static int ask(struct start *s)
{
    Hs__Ctl__Start request = HS__CTL__START__INIT;
    Hs__Ctl__Sources sources = HS__CTL__SOURCES__INIT;
    struct hs_ctl_message answer = { 0 };
    char folder[PATH_MAX], path[2 * PATH_MAX];
    /* For people in another folder. */
    bool is_relative = s->file.path[0] != '/' && getcwd(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s%s%s", is_relative ? folder : "", is_relative ? "/" : "",
             s->file.path);
    fill_request(s, path, &request);
    fill_sources(s, &sources);
    request.sources = &sources;
    const int fds[] = { s->file.fd, s->folder_fd };
    int status =
        hs_ask_daemon(HS_CTL_START, &request.base, fds, HS_COUNT_OF(fds), HS_ASK_SOON, &answer);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    /* The file is the daemon's affair from here on. */
    free(s->file.temp_path);
    s->file.temp_path = NULL;
    ProtobufCMessage *body = hs_ctl_unpack(&answer, &hs__ctl__started__descriptor);
    if (body) {
        status = say_started(s, (const Hs__Ctl__Started *)(const void *)body);
        protobuf_c_message_free_unpacked(body, NULL);
    }
    hs_ctl_message_deinit(&answer);
    return status;
}

int hs_cmd_start(int argc, char **argv)
{
    struct start s = { .interval_bytes = HS_INTERVAL_DEFAULT,
                       .is_taking_running = true,
                       .is_taking_startup = true,
                       .is_symbolizing = true,
                       .is_compressing = true,
                       .file.fd = -1,
                       .folder_fd = -1 };
    int status = parse(&s, argc, argv);
    if (status == HS_ARGS_GO_ON) {
        status = open_file(&s);
        if (status == HS_EXIT_STATUS_DONE) {
            status = ask(&s);
        }
        hs_outfile_abort(&s.file);
    }
    if (s.folder_fd >= 0) {
        close(s.folder_fd);
    }
    free(s.pids);
    hs_opt_list_deinit(&s.names);
    hs_opt_list_deinit(&s.pid_texts);
    return status;
}
