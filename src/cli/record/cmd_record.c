/*
 * heapscope record: heap_profile's command line and its folder of files. Also called heap_profile.
 *
 * A TraceConfig says what to record, whether it came as flags or as a file. With a program,
 * `record` works as `run` does; without one, it uses a session of the daemon, or works as `attach`
 * does where no daemon runs. The trace begins with the config that it was made with.
 *
 * See       record_options.h, record_config.h, record_folder.h, docs/adr/0020-two-meanings-of-c.md,
 *           docs/man/heapscope-record.1
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/message.h"
#include "cli/read/profile_file.h"
#include "cli/read/profile_files.h"
#include "cli/record/record_config.h"
#include "cli/record/record_folder.h"
#include "cli/record/record_options.h"
#include "cli/record/record_session.h"
#include "trace/proto/perfetto.pb-c.h"
#include "util/buf.h"

#define NS_PER_MS UINT64_C(1000000)

/* A command line for `run` or `attach`. Zero-initialized is empty. */
struct line {
    char **words; /* owned, and each of them */
    size_t count;
    bool has_failed;
};

static void add(struct line *line, const char *word)
{
    char **words = realloc(line->words, (line->count + 2) * sizeof(*words));
    char *copy = strdup(word);
    if (words) {
        line->words = words;
    }
    if (!words || !copy) {
        free(copy);
        line->has_failed = true;
        return;
    }
    line->words[line->count++] = copy;
    line->words[line->count] = NULL;
}

static void add_number(struct line *line, const char *option, uint64_t number, const char *unit)
{
    char text[64];
    if (number > 0) {
        snprintf(text, sizeof(text), "--%s=%llu%s", option, (unsigned long long)number, unit);
        add(line, text);
    }
}

static void add_schedule(struct line *line, const struct hs_trace_wishes *w)
{
    add_number(line, "interval", w->interval_bytes, "");
    add_number(line, "duration", w->duration_ns / NS_PER_MS, "ms");
    add_number(line, "dump-every", w->dumps.every_ns / NS_PER_MS, "ms");
    add_number(line, "dump-phase", w->dumps.phase_ns / NS_PER_MS, "ms");
    add_number(line, "max-memory", w->limits.memory_bytes, "");
    add_number(line, "max-cpu-secs", w->limits.cpu_ns / (1000 * NS_PER_MS), "");
}

static void add_run(struct line *line, const struct hs_trace_wishes *w, char **program)
{
    for (size_t i = 0; i < w->name_count && !w->is_all; i++) {
        add(line, "--only");
        add(line, w->names[i]);
    }
    add(line, "--");
    for (; *program; program++) {
        add(line, *program);
    }
}

static void add_attach(struct line *line, const struct hs_trace_wishes *w)
{
    char text[32];
    if (w->is_all) {
        add(line, "--name=*");
    }
    for (size_t i = 0; i < w->name_count && !w->is_all; i++) {
        add(line, "--name");
        add(line, w->names[i]);
    }
    add(line, "--");
    for (size_t i = 0; i < w->pid_count; i++) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)w->pids[i]);
        add(line, text);
    }
}

/* Refuses what none of the ways to record can do, before anything is touched. */
static int check(const struct hs_trace_wishes *w, bool has_program)
{
    if (!has_program && !w->is_all && w->name_count + w->pid_count == 0) {
        hs_message("the config names no process to profile: set process_cmdline, pid or all, or "
                   "give a command");
        return HS_EXIT_STATUS_FAILED;
    }
    if (!has_program) {
        return 0;
    }
    if (w->pid_count > 0) {
        hs_message_info("process ids have no effect when a program is started");
    }
    if (w->min_anon_bytes > 0) {
        hs_message_info("min_anonymous_memory_kb has no effect when a program is started, because "
                        "the program has hardly any memory yet");
    }
    if (!w->is_taking_startup) {
        hs_message("no_startup excludes the program that is to be started");
        return HS_EXIT_STATUS_FAILED;
    }
    return 0;
}

/* Packs the config into a packet for the trace. */
static int pack_config(Hs__Pb__TraceConfig *config, struct hs_buf *out)
{
    Hs__Pb__TracePacket packet = HS__PB__TRACE_PACKET__INIT;
    Hs__Pb__TracePacket *packets[1] = { &packet };
    Hs__Pb__Trace trace = HS__PB__TRACE__INIT;
    packet.trace_config = config;
    trace.n_packet = 1;
    trace.packet = packets;
    size_t bytes = hs__pb__trace__get_packed_size(&trace);
    uint8_t *data = malloc(bytes + 1);
    if (data) {
        hs__pb__trace__pack(&trace, data);
        hs_buf_add(out, data, bytes);
    }
    free(data);
    return data ? out->err : -ENOMEM;
}

/* The line of heap_profile, which scripts wait for. */
#define ACTIVE_LINE "Profiling active. Press Ctrl+C to terminate.\n"

static void say_active(void)
{
    fputs(ACTIVE_LINE, stdout);
    fflush(stdout);
}

/* The same when standard output gets the trace. */
static void say_active_elsewhere(void)
{
    fputs(ACTIVE_LINE, stderr);
}

static bool is_standard_output(const char *path)
{
    struct stat out, file;
    return strcmp(path, "-") == 0 || (fstat(STDOUT_FILENO, &out) == 0 && stat(path, &file) == 0 &&
                                      out.st_dev == file.st_dev && out.st_ino == file.st_ino);
}

static void make_line(struct line *line, const struct hs_record_options *o,
                      const struct hs_trace_wishes *w, const char *raw, bool is_symbolizing)
{
    add(line, o->program ? "run" : "attach");
    add(line, "--quiet");
    add(line, "--no-compress");
    add(line, "--output");
    add(line, raw);
    if (!is_symbolizing) {
        add(line, "--no-symbolize");
    }
    if (o->with_blocks) {
        add(line, "--blocks");
    }
    add_schedule(line, w);
    if (o->program) {
        add(line, "--dump-on-usr1");
        add_run(line, w, o->program);
    } else {
        add_attach(line, w);
    }
}

/* Records in this process: as `run`, or as `attach`. */
static int record_here(const struct hs_record_options *o, const struct hs_trace_wishes *w,
                       const char *raw, bool is_symbolizing, const struct hs_run_head *head)
{
    int status = HS_EXIT_STATUS_FAILED;
    struct line line = { 0 };
    make_line(&line, o, w, raw, is_symbolizing);
    char **words = calloc(line.count + 1, sizeof(*words)); /* parsing reorders them */
    if (line.has_failed || !words) {
        hs_message("%s", strerror(ENOMEM));
    } else {
        memcpy(words, line.words, line.count * sizeof(*words));
        status =
            (o->program ? hs_cmd_run_headed : hs_cmd_attach_headed)((int)line.count, words, head);
    }
    free(words);
    for (size_t i = 0; i < line.count; i++) {
        free(line.words[i]);
    }
    free(line.words);
    hs_message_set_quiet(false);
    return status;
}

/* No daemon is running: prints what `record` can do without one, and refuses what it cannot. */
static int say_without_daemon(const struct hs_trace_wishes *w, struct hs_attach_scope *scope)
{
    if (w->is_taking_startup && w->is_all) {
        if (!w->is_taking_running) {
            hs_message("only a daemon can record all processes that start, and none is running: "
                       "'heapscoped &'");
            return HS_EXIT_STATUS_FAILED;
        }
        hs_message_info("no daemon is running ('heapscoped &'): all processes that run now are "
                        "recorded, and none that starts later");
        scope->is_taking_startup = false;
    } else if (w->is_taking_startup && w->name_count > 0) {
        hs_message_info("no daemon is running ('heapscoped &'): a process that starts later is "
                        "attached to once it is noticed, about 0.1 s after its start");
    }
    return 0;
}

static int record_processes(const struct hs_record_options *o, const struct hs_trace_wishes *w,
                            const char *raw, bool is_symbolizing, const struct hs_run_head *head)
{
    char path[HS_CTL_PATH_MAX + 1];
    void (*on_active)(void) = is_standard_output(raw) ? say_active_elsewhere : say_active;
    int r = hs_ask_is_daemon_there(path);
    if (r == 0) {
        const struct hs_record_session session = { .schedule = w,
                                                   .sources = head->sources,
                                                   .path = raw,
                                                   .head = head->data,
                                                   .head_bytes = head->bytes,
                                                   .is_symbolizing = is_symbolizing,
                                                   .with_blocks = o->with_blocks,
                                                   .on_active = on_active };
        return hs_record_session_run(&session);
    }
    if (r == -EINVAL) {
        return hs_ask_say_bad_socket();
    }
    struct hs_attach_scope scope = { .is_all = w->is_all,
                                     .is_taking_running = w->is_taking_running,
                                     .is_taking_startup = w->is_taking_startup,
                                     .min_anon_bytes = w->min_anon_bytes };
    int status = say_without_daemon(w, &scope);
    struct hs_run_head attach = *head;
    attach.scope = &scope;
    attach.on_active = on_active;
    return status ? status : record_here(o, w, raw, is_symbolizing, &attach);
}

/* Writes the trace to `raw`. Returns the exit status. */
static int record(const struct hs_record_options *o, const struct hs_trace_wishes *w,
                  const char *raw, bool is_symbolizing)
{
    struct hs_sources_settings sources;
    if (!hs_trace_config_sources(o->config, &sources)) {
        sources = hs_sources_default();
    }
    sources.is_without_types = o->is_without_types;
    struct hs_buf packet = HS_BUF_INIT;
    if (pack_config(o->config, &packet) < 0) {
        hs_message("%s", strerror(ENOMEM));
        hs_buf_deinit(&packet);
        return HS_EXIT_STATUS_FAILED;
    }
    struct hs_run_head head = { .data = hs_buf_text(&packet),
                                .bytes = packet.bytes,
                                .sources = &sources,
                                .skipped = &w->skipped,
                                .heaps = &w->heaps,
                                .is_max_in_samples = w->dumps.is_max_in_samples,
                                .has_forks = o->has_forks };
    int status = o->program ? record_here(o, w, raw, is_symbolizing, &head)
                            : record_processes(o, w, raw, is_symbolizing, &head);
    hs_buf_deinit(&packet);
    return status;
}

static int record_folder(const struct hs_record_options *o, const struct hs_trace_wishes *w)
{
    struct hs_record_folder folder;
    char raw[PATH_MAX];
    int status = hs_record_folder_open(&folder, o->folder_path);
    if (status != 0) {
        return status;
    }
    hs_record_folder_file(&folder, "raw-trace", raw);
    /* With PERFETTO_BINARY_PATH names go into a file of their own. */
    status = record(o, w, raw, !hs_record_folder_wants_symbols());
    if (access(raw, F_OK) == 0) {
        int late = hs_record_folder_finish(&folder, o->is_annotated);
        return status ? status : late;
    }
    hs_message("No profiles generated");
    hs_record_folder_drop(&folder);
    return status ? status : HS_EXIT_STATUS_FAILED;
}

/* Leaves what `perfetto -c CONFIG -o FILE` leaves: one trace, with names. A trace that went into a
 * pipe cannot be read again. */
static int record_file(const struct hs_record_options *o, const struct hs_trace_wishes *w)
{
    struct stat st;
    struct hs_profile *profile = NULL;
    int status = record(o, w, o->trace_path, true);
    if (status != 0 || stat(o->trace_path, &st) < 0 || !S_ISREG(st.st_mode)) {
        return status;
    }
    status = hs_profile_file_load(o->trace_path, &profile);
    if (status == 0) {
        hs_profile_files_warn(profile);
        if (profile->sample_count == 0) {
            status = hs_record_fail_empty(profile, o->trace_path);
        } else {
            hs_message_info("wrote the trace to %s", o->trace_path);
        }
        hs_profile_free(profile);
    }
    return status;
}

int hs_cmd_record(int argc, char **argv)
{
    struct hs_record_options o;
    struct hs_trace_wishes schedule;
    struct hs_trace_config_error error;
    int status = hs_record_options_parse(argc, argv, &o);
    if (status == HS_ARGS_GO_ON) {
        status = 0;
        if (hs_trace_config_take(o.config, &hs_record_notes, &schedule, &error) != 0) {
            hs_message("%s", error.text);
            status = HS_EXIT_STATUS_FAILED;
        }
        if (status == 0) {
            schedule.heaps.has_lifetimes = o.has_lifetimes; /* no config says these */
            schedule.heaps.is_native_only = o.is_native_only;
            status = check(&schedule, o.program != NULL);
        }
        if (status == 0) {
            status = o.trace_path ? record_file(&o, &schedule) : record_folder(&o, &schedule);
        }
    }
    hs_record_options_deinit(&o);
    return status;
}
