/*
 * Flags of `record`: see record_options.h.
 */
#include "cli/read/symbol_sources.h"
#include "cli/record/record_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/record/record_config.h"
#include "cli/session_options.h"
#include "rt/base.h"
#include "session/session.h"
#include "util/parse.h"

#define INTERVAL_DEFAULT 4096
#define SHMEM_DEFAULT    8388608

/* --- values that make no sense ---------------------------------------------------------------- */

static int fail(const char *text)
{
    hs_message("%s", text);
    return HS_EXIT_STATUS_FAILED;
}

static int check(const struct hs_record_flags *f, const char *program)
{
    if (f->has_block && f->has_no_block) {
        return fail("--block-client and --no-block-client cannot be combined");
    }
    if (!f->names && !f->pids && !program) {
        return fail("no process to profile was named: give a command after --, or -n NAME or -p "
                    "PID of a running process");
    }
    if (f->shmem_bytes % 4096 != 0) {
        return fail("--shmem-size: not a multiple of 4096");
    }
    if (f->shmem_bytes < 8192) {
        return fail("--shmem-size: less than 8192");
    }
    if (f->shmem_bytes & (f->shmem_bytes - 1)) {
        return fail("--shmem-size: not a power of two");
    }
    return HS_ARGS_GO_ON;
}

/* --- the command line ------------------------------------------------------------------------- */

static bool has_other_than_config(const struct hs_record_flags *f)
{
    return f->continuous_ms != HS_RECORD_NOT_GIVEN || f->shmem_bytes != HS_RECORD_NOT_GIVEN ||
           f->block_timeout_us != HS_RECORD_NOT_GIVEN || f->pids || f->names || f->heaps ||
           f->excluded_heaps || f->has_all_heaps || f->has_no_running || f->has_no_startup ||
           f->has_block || f->has_no_block || f->has_dump_at_max || f->has_disable_fork_teardown;
}

/* The flags as they were given. */
static struct hs_record_flags given = { .interval_bytes = HS_RECORD_NOT_GIVEN,
                                        .duration_ms = HS_RECORD_NOT_GIVEN,
                                        .continuous_ms = HS_RECORD_NOT_GIVEN,
                                        .shmem_bytes = HS_RECORD_NOT_GIVEN,
                                        .block_timeout_us = HS_RECORD_NOT_GIVEN };
static const char *output, *interval_text;
static bool is_annotated = true;
static bool is_without_types;
static bool with_blocks;

/* Accepted, without effect: heap_profile's own tools, its flags for Android devices, and Perfetto's
 * --txt (the bytes of a config show whether it is text). */
static struct {
    const char *preload, *tracebox, *traceconv;
    bool is_given;
} unused;

/* heap_profile's -o names a folder that exists; with a config, Perfetto's own -o names a trace. */
static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_unused_tools(void)
{
    const char *const names[] = { unused.preload, unused.tracebox, unused.traceconv };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        if (names[i] && access(names[i], F_OK) != 0) {
            hs_message("%s: %s", names[i], strerror(errno));
            return HS_EXIT_STATUS_FAILED;
        }
        if (names[i]) {
            hs_message_info("%s is not used: heapscope does not need it", names[i]);
        }
    }
    return HS_ARGS_GO_ON;
}

/* Takes -i, which may be a list, one for each heap. */
static int take_intervals(const struct hs_opts_spec *spec, struct hs_record_flags *f)
{
    char word[32];
    if (!interval_text) {
        return HS_ARGS_GO_ON;
    }
    for (const char *at = interval_text; at;) {
        uint64_t interval_bytes = 0;
        size_t bytes = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(bytes < 31 ? bytes : 31), at);
        if (hs_parse_size(word, &interval_bytes) < 0 || interval_bytes == 0 ||
            interval_bytes > HS_INTERVAL_BYTES_MAX) {
            return hs_args_fail(spec, "--interval: '%s' is not a size of 1 byte to 1T", word);
        }
        f->interval_bytes = at == interval_text ? interval_bytes : f->interval_bytes;
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    f->interval_list = strchr(interval_text, ',') ? interval_text : NULL;
    return f->interval_list && f->config
               ? hs_args_fail(spec, "with a config, --interval is one number")
               : HS_ARGS_GO_ON;
}

static int finish(const struct hs_opts_spec *spec, const struct hs_opts_result *args,
                  struct hs_record_flags *f, struct hs_record_options *o)
{
    o->program = args->operand_count > 0 ? args->operands : NULL;
    const char *program = o->program ? o->program[0] : NULL;
    int status = take_intervals(spec, f);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (f->config && has_other_than_config(f)) {
        return hs_args_fail(spec, "with a config, only --interval and --duration may be given: the "
                                  "config says what to record");
    }
    o->is_annotated = is_annotated;
    o->is_without_types = is_without_types;
    o->with_blocks = with_blocks;
    o->has_forks = !f->config && !f->names;
    o->has_lifetimes = f->has_lifetimes;
    o->is_native_only = f->is_native_only;
    if (output && f->config && !is_folder(output)) {
        o->trace_path = output;
    } else {
        o->folder_path = output;
    }
    if (!f->config) {
        f->interval_bytes =
            f->interval_bytes == HS_RECORD_NOT_GIVEN ? INTERVAL_DEFAULT : f->interval_bytes;
        f->shmem_bytes = f->shmem_bytes == HS_RECORD_NOT_GIVEN ? SHMEM_DEFAULT : f->shmem_bytes;
    }
    status = f->config ? HS_ARGS_GO_ON : check(f, program);
    if (status == HS_ARGS_GO_ON) {
        status = check_unused_tools();
    }
    return status == HS_ARGS_GO_ON ? hs_record_config_make(f, program, &o->config) : status;
}

static const struct hs_opt list[] = {
    HS_OPT_STRING('i', "interval", "BYTES", &interval_text,
                  "mean number of allocated bytes per sample (default 4096); several, separated by "
                  "commas: one for each name of --heaps, the first also for all other heaps"),
    HS_OPT_NUMBER('d', "duration", "MS", &given.duration_ms, 0, UINT32_MAX,
                  "record for this number of milliseconds; 0, the default: until Ctrl-C or the end "
                  "of PROGRAM"),
    HS_OPT_STRING(
        'n', "name", "NAMES", &given.names,
        "names of the processes to record, separated by commas (default: the name of PROGRAM)"),
    HS_OPT_STRING('p', "pid", "PIDS", &given.pids,
                  "ids of running processes to record, separated by commas"),
    HS_OPT_NUMBER('c', "continuous-dump", "MS", &given.continuous_ms, 0, UINT32_MAX,
                  "also take snapshots at this interval, in milliseconds; if the value is not a "
                  "number, -c means --config"),
    HS_OPT_STRING(0, "config", "FILE", &given.config,
                  "record as this TraceConfig says (text or binary); - is standard input"),
    HS_OPT_STRING(
        0, "heaps", "NAMES", &given.heaps,
        "names or globs of the heaps to record, separated by commas (default: libc.malloc); "
        "NAME=BYTES gives a heap an interval of its own"),
    HS_OPT_FLAG(0, "all-heaps", &given.has_all_heaps, "record all heaps"),
    HS_OPT_STRING(0, "exclude-heaps", "NAMES", &given.excluded_heaps,
                  "names or globs of heaps not to record, separated by commas"),
    HS_OPT_FLAG(0, "lifetimes", &given.has_lifetimes,
                "also record how long freed blocks lived, and which were temporary, for "
                "'report --lifetimes'"),
    HS_OPT_FLAG(0, "native-only", &given.is_native_only,
                "show native code only: no functions of Python, Java, JavaScript, Perl, PHP or "
                "Ruby"),
    HS_OPT_FLAG(0, "no-running", &given.has_no_running,
                "do not record processes that are already running"),
    HS_OPT_FLAG(0, "no-startup", &given.has_no_startup,
                "do not record processes that start during the recording"),
    HS_OPT_FLAG(0, "dump-at-max", &given.has_dump_at_max,
                "record what was live at the peak instead of what is live at the end"),
    HS_OPT_FLAG(0, "disable-fork-teardown", &given.has_disable_fork_teardown,
                "accepted, without effect: forked children are recorded as processes of their own"),
    HS_OPT_STRING(
        'o', "output", "PATH", &output,
        "an empty folder for the files (default: a new one in $TMPDIR or /tmp); with a config, "
        "PATH may also be a file, to which only the trace is written, or - for standard output"),
    HS_OPT_FLAG_OFF(0, "no-annotations", &is_annotated,
                    "leave out annotations such as [jit] behind function names"),
    HS_OPT_BLOCKS(&with_blocks),
    HS_OPT_FLAG(0, "no-types", &is_without_types, "do not read the types of blocks"),
    HS_OPT_FLAG(0, "print-config", &given.is_printing, "print the TraceConfig, and record nothing"),
    HS_OPT_SIZE(0, "shmem-size", "SIZE", &given.shmem_bytes, 0, UINT64_C(1) << 40,
                "accepted, without effect: heapscope has no buffer of samples"),
    HS_OPT_FLAG(0, "block-client", &given.has_block,
                "accepted, without effect: no program ever waits for a buffer"),
    HS_OPT_NUMBER(0, "block-client-timeout", "US", &given.block_timeout_us, 0, UINT32_MAX,
                  "accepted, without effect, for the same reason"),
    HS_OPT_FLAG(0, "no-block-client", &given.has_no_block,
                "accepted, without effect: there is no buffer that could overflow"),
    HS_OPT_STRING(0, "preload-library", "FILE", &unused.preload, NULL),
    HS_OPT_SYMBOLS,
    HS_OPT_STRING(0, "tracebox-binary", "FILE", &unused.tracebox, NULL),
    HS_OPT_STRING(0, "traceconv-binary", "FILE", &unused.traceconv, NULL),
    HS_OPT_STRING(0, "trace-processor-binary", "FILE", &unused.traceconv, NULL),
    HS_OPT_FLAG(0, "txt", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "no-start", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "no-android-tree-symbolization", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "disable-selinux", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "no-versions", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "idle-allocations", &unused.is_given, NULL),
    HS_OPT_FLAG(0, "simpleperf", &unused.is_given, NULL),
};

static const struct hs_opts_spec spec = {
    .command = "record",
    .summary = "record like Perfetto's heap_profile script, into pprof files",
    .operands_usage = "[host] [-- PROGRAM [ARGS]]",
    .footer = "The exit status is that of PROGRAM, or 1 if that is 0 and no profile was\n"
              "written. The word 'host' and heap_profile's flags for Android devices and for\n"
              "its own tools are accepted, and have no effect.\n"
              "Environment variables name folders with symbol files, too: see ENVIRONMENT in\n"
              "heapscope-report(1).",
    .options = list,
    .option_count = sizeof(list) / sizeof(list[0]),
    .operands_max = HS_OPERANDS_ANY,
    .is_ended_by_operand = true,
    .is_abbreviated = true,
};

/* heap_profile's -c takes milliseconds; Perfetto's -c takes a config: -c with anything but a whole
 * number is the latter. Options after the program's name belong to the program. */
static void tell_configs_apart(int argc, char **argv)
{
    static char config[] = "--config";
    uint64_t number;
    int program_at = hs_opts_find_operand(&spec, argc, argv);
    int end = program_at > 0 ? program_at : argc;
    for (int i = 1; i + 1 < end && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-c") == 0 && hs_parse_number(argv[i + 1], &number) < 0) {
            argv[i] = config;
        }
    }
}

/* Takes the word "host" or "android", which heap_profile accepts before or between its flags. */
static int take_subcommand(int *argc, char **argv)
{
    int at = hs_opts_find_operand(&spec, *argc, argv);
    if (at > 0 && strcmp(argv[at], "android") == 0) {
        return fail("heapscope cannot profile Android devices: give 'host', or nothing, to profile "
                    "on this machine");
    }
    if (at > 0 && strcmp(argv[at], "host") == 0) {
        memmove(argv + at, argv + at + 1, (size_t)(*argc - at) * sizeof(*argv));
        --*argc;
    }
    return HS_ARGS_GO_ON;
}

int hs_record_options_parse(int argc, char **argv, struct hs_record_options *ret_options)
{
    struct hs_opts_result args;
    int status = take_subcommand(&argc, argv);
    if (status == HS_ARGS_GO_ON) {
        tell_configs_apart(argc, argv);
        status = hs_args_parse(&spec, argc, argv, &args);
    }
    *ret_options = (struct hs_record_options){ 0 };
    return status == HS_ARGS_GO_ON ? finish(&spec, &args, &given, ret_options) : status;
}

void hs_record_options_deinit(struct hs_record_options *options)
{
    if (options->config) {
        hs__pb__trace_config__free_unpacked(options->config, NULL);
        options->config = NULL;
    }
}
