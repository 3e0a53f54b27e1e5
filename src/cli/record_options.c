/*
 * Flags of `record`: see record_options.h.
 */
#include "cli/record_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "rt/text.h"
#include "session/session.h"
#include "trace/textproto.h"
#include "util/parse.h"
#include "util/write_all.h"

#define INTERVAL_DEFAULT 4096
#define SHMEM_DEFAULT    8388608
#define NOT_GIVEN        UINT64_MAX

struct flags {
    uint64_t interval_bytes, duration_ms, continuous_ms, shmem_bytes, block_timeout_us;
    const char *pids, *names, *heaps, *config, *output, *preload, *tracebox, *traceconv;
    bool has_all_heaps, has_no_running, has_no_startup, has_block, has_no_block, has_dump_at_max;
    bool has_disable_fork_teardown, is_printing, is_annotated;
    bool is_ignored; /* flags of Android's, and of no effect in heap_profile either */
};

static void say(void *ctx, const char *text)
{
    (void)ctx;
    hs_message_info("%s", text);
}

const struct hs_trace_config_notes hs_record_notes = { .say = say };

/* --- flags as text --------------------------------------------------------------------------------- */

static int fail(const char *text)
{
    hs_message("%s", text);
    return HS_EXIT_STATUS_FAILED;
}

static int check(const struct flags *f, const char *program)
{
    if (f->has_block && f->has_no_block) {
        return fail("--block-client and --no-block-client exclude each other");
    }
    if (!f->names && !f->pids && !program) {
        return fail("nothing says what to profile: give a command behind --, or -n NAME or -p PID "
                    "of what runs");
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

/* "    field: "word"" for each word between commas. */
static void put_words(struct hs_buf *buf, const char *field, const char *words)
{
    for (const char *at = words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t bytes = strcspn(at, ",");
        if (bytes > 0) {
            hs_buf_printf(buf, "      %s: ", field);
            hs_textproto_quote(buf, at, bytes);
            hs_buf_char(buf, '\n');
        }
    }
}

static int put_pids(struct hs_buf *buf, const char *pids)
{
    for (const char *at = pids; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char word[32];
        uint64_t pid = 0;
        size_t bytes = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)(bytes < 31 ? bytes : 31), at);
        if (hs_parse_number(word, &pid) < 0 || pid == 0 || pid > INT_MAX) {
            hs_message("--pid: '%s' is no process id", word);
            return HS_EXIT_STATUS_FAILED;
        }
        hs_buf_printf(buf, "      pid: %llu\n", (unsigned long long)pid);
    }
    return HS_ARGS_GO_ON;
}

static int put_heap_config(struct hs_buf *buf, const struct flags *f, const char *program)
{
    hs_buf_printf(buf, "      shmem_size_bytes: %llu\n      sampling_interval_bytes: %llu\n",
                  (unsigned long long)f->shmem_bytes, (unsigned long long)f->interval_bytes);
    if (!f->has_no_block) {
        hs_buf_str(buf, "      block_client: true\n");
    }
    if (f->block_timeout_us != NOT_GIVEN) {
        hs_buf_printf(buf, "      block_client_timeout_us: %llu\n",
                      (unsigned long long)f->block_timeout_us);
    }
    const struct {
        bool is_set;
        const char *field;
    } bools[] = { { f->has_no_startup, "no_startup" },
                  { f->has_no_running, "no_running" },
                  { f->has_dump_at_max, "dump_at_max" },
                  { f->has_disable_fork_teardown, "disable_fork_teardown" },
                  { f->has_all_heaps, "all_heaps" } };
    for (size_t i = 0; i < sizeof(bools) / sizeof(bools[0]); i++) {
        if (bools[i].is_set) {
            hs_buf_printf(buf, "      %s: true\n", bools[i].field);
        }
    }
    int status = put_pids(buf, f->pids);
    if (program && !f->names) {
        hs_buf_str(buf, "      process_cmdline: ");
        hs_textproto_quote(buf, hs_text_base_name(program), strlen(hs_text_base_name(program)));
        hs_buf_char(buf, '\n');
    }
    put_words(buf, "process_cmdline", f->names);
    put_words(buf, "heaps", f->heaps);
    if (f->continuous_ms != NOT_GIVEN && f->continuous_ms > 0) {
        hs_buf_printf(buf,
                      "      continuous_dump_config {\n        dump_phase_ms: 0\n"
                      "        dump_interval_ms: %llu\n      }\n",
                      (unsigned long long)f->continuous_ms);
    }
    return status;
}

static int put_config(struct hs_buf *buf, const struct flags *f, const char *program)
{
    hs_buf_str(buf, "buffers {\n  size_kb: 63488\n}\n\ndata_sources {\n  config {\n"
                    "    name: \"android.heapprofd\"\n    heapprofd_config {\n");
    int status = put_heap_config(buf, f, program);
    uint64_t duration_ms = f->duration_ms == NOT_GIVEN ? 0 : f->duration_ms;
    hs_buf_printf(buf,
                  "    }\n  }\n}\n\nduration_ms: %llu\nwrite_into_file: true\n"
                  "flush_timeout_ms: 30000\nflush_period_ms: 604800000\n",
                  (unsigned long long)duration_ms);
    return status;
}

/* --- configs from files ------------------------------------------------------------------------------ */

static int read_file(const char *path, struct hs_buf *buf)
{
    char block[65536];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    while (r == 0) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            r = got < 0 ? -errno : 0;
            break;
        }
        hs_buf_add(buf, block, (size_t)got);
        r = buf->bytes > HS_TRACE_CONFIG_BYTES_MAX ? -EFBIG : buf->err;
    }
    if (fd >= 0 && !is_stdin) {
        close(fd);
    }
    return r;
}

static int read_config(const struct flags *f, const char *program, struct hs_record_options *o)
{
    struct hs_buf text = HS_BUF_INIT;
    struct hs_trace_config_error error;
    const char *name =
        f->config ? (strcmp(f->config, "-") == 0 ? "standard input" : f->config) : "the flags";
    int status = HS_ARGS_GO_ON;
    int r = 0;
    if (f->config) {
        r = read_file(f->config, &text);
    } else {
        status = put_config(&text, f, program);
    }
    if (r == 0 && status == HS_ARGS_GO_ON) {
        r = hs_trace_config_read(name, hs_buf_text(&text), text.bytes, &hs_record_notes, &o->config,
                                 &error);
    }
    if (r != 0) {
        hs_message("%s%s%s", r > 0 ? error.text : name, r > 0 ? "" : ": ",
                   r > 0 ? "" : strerror(-r));
        status = HS_EXIT_STATUS_FAILED;
    }
    if (status == HS_ARGS_GO_ON && f->is_printing) {
        if (f->config) {
            hs_buf_clear(&text);
            hs_textproto_write(&o->config->base, &text);
        }
        status = fwrite(hs_buf_text(&text), 1, text.bytes, stdout) == text.bytes
                     ? hs_args_finish_output()
                     : HS_EXIT_STATUS_FAILED;
    }
    hs_buf_deinit(&text);
    return status;
}

/* --- the command line ---------------------------------------------------------------------------------- */

/* heap_profile's -c takes milliseconds: what is no whole number is a config. */
static void tell_configs_apart(int argc, char **argv)
{
    static char config[] = "--config";
    uint64_t number;
    for (int i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-c") == 0 && hs_parse_number(argv[i + 1], &number) < 0) {
            argv[i] = config;
        }
    }
}

static bool has_other_than_config(const struct flags *f)
{
    return f->interval_bytes != NOT_GIVEN || f->duration_ms != NOT_GIVEN ||
           f->continuous_ms != NOT_GIVEN || f->shmem_bytes != NOT_GIVEN ||
           f->block_timeout_us != NOT_GIVEN || f->pids || f->names || f->heaps ||
           f->has_all_heaps || f->has_no_running || f->has_no_startup || f->has_block ||
           f->has_no_block || f->has_dump_at_max || f->has_disable_fork_teardown;
}

static int finish(const struct hs_opts_spec *spec, const struct hs_opts_result *args,
                  struct flags *f, struct hs_record_options *o)
{
    o->program = args->operand_count > 0 ? args->operands : NULL;
    o->output_folder = f->output;
    o->is_annotated = f->is_annotated;
    const char *program = o->program ? o->program[0] : NULL;
    if (f->config && has_other_than_config(f)) {
        return hs_args_fail(spec, "a config says all that is to be recorded: leave the other flags "
                                  "out, or --config");
    }
    f->interval_bytes = f->interval_bytes == NOT_GIVEN ? INTERVAL_DEFAULT : f->interval_bytes;
    f->shmem_bytes = f->shmem_bytes == NOT_GIVEN ? SHMEM_DEFAULT : f->shmem_bytes;
    int status = f->config ? HS_ARGS_GO_ON : check(f, program);
    const char *const tools[] = { f->preload, f->tracebox, f->traceconv };
    for (size_t i = 0; i < 3 && status == HS_ARGS_GO_ON; i++) {
        if (tools[i] && access(tools[i], F_OK) != 0) {
            hs_message("%s: %s", tools[i], strerror(errno));
            status = HS_EXIT_STATUS_FAILED;
        } else if (tools[i]) {
            hs_message_info("%s is not used: heapscope has all it needs", tools[i]);
        }
    }
    return status == HS_ARGS_GO_ON ? read_config(f, program, o) : status;
}

/* As they were given. */
static struct flags given = { .interval_bytes = NOT_GIVEN,
                              .duration_ms = NOT_GIVEN,
                              .continuous_ms = NOT_GIVEN,
                              .shmem_bytes = NOT_GIVEN,
                              .block_timeout_us = NOT_GIVEN,
                              .is_annotated = true };

static const struct hs_opt list[] = {
    HS_OPT_SIZE('i', "interval", "BYTES", &given.interval_bytes, 1, HS_SESSION_INTERVAL_MAX,
                "mean bytes between two samples (default 4096)"),
    HS_OPT_NUMBER('d', "duration", "MS", &given.duration_ms, 0, UINT32_MAX,
                  "milliseconds to record; 0, the default: until Ctrl-C or the command's end"),
    HS_OPT_STRING('n', "name", "NAMES", &given.names,
                  "names of processes, with commas between (default: the command's)"),
    HS_OPT_STRING('p', "pid", "PIDS", &given.pids, "running processes, with commas between"),
    HS_OPT_NUMBER('c', "continuous-dump", "MS", &given.continuous_ms, 0, UINT32_MAX,
                  "also dump at these intervals; -c with what is no number is --config"),
    HS_OPT_STRING(0, "config", "FILE", &given.config,
                  "record what this TraceConfig says, text or binary; - is standard input"),
    HS_OPT_STRING(0, "heaps", "NAMES", &given.heaps,
                  "heaps, with commas between; there is libc.malloc"),
    HS_OPT_FLAG(0, "all-heaps", &given.has_all_heaps, "every heap there is"),
    HS_OPT_FLAG(0, "no-running", &given.has_no_running, "not those that run already"),
    HS_OPT_FLAG(0, "no-startup", &given.has_no_startup, "not those that start meanwhile"),
    HS_OPT_FLAG(0, "dump-at-max", &given.has_dump_at_max,
                "no effect: the peak is always in the trace"),
    HS_OPT_FLAG(0, "disable-fork-teardown", &given.has_disable_fork_teardown,
                "no effect: forked children are recorded as processes of their own"),
    HS_OPT_STRING('o', "output", "DIR", &given.output,
                  "an empty folder for the files (default: a new one in $TMPDIR or /tmp)"),
    HS_OPT_FLAG_OFF(0, "no-annotations", &given.is_annotated,
                    "no [jit] and the like behind names of functions"),
    HS_OPT_FLAG(0, "print-config", &given.is_printing, "print the TraceConfig, and do no more"),
    HS_OPT_SIZE(0, "shmem-size", "SIZE", &given.shmem_bytes, 0, UINT64_C(1) << 40,
                "no effect, as there is no buffer to be sized"),
    HS_OPT_FLAG(0, "block-client", &given.has_block,
                "no effect: without a buffer nobody ever waits"),
    HS_OPT_NUMBER(0, "block-client-timeout", "US", &given.block_timeout_us, 0, UINT32_MAX,
                  "no effect, for the same reason"),
    HS_OPT_FLAG(0, "no-block-client", &given.has_no_block,
                "no effect: without a buffer none overflows, nor ends the profile"),
    HS_OPT_STRING(0, "preload-library", "FILE", &given.preload, NULL),
    HS_OPT_STRING(0, "tracebox-binary", "FILE", &given.tracebox, NULL),
    HS_OPT_STRING(0, "traceconv-binary", "FILE", &given.traceconv, NULL),
    HS_OPT_FLAG(0, "no-start", &given.is_ignored, NULL),
    HS_OPT_FLAG(0, "no-android-tree-symbolization", &given.is_ignored, NULL),
    HS_OPT_FLAG(0, "disable-selinux", &given.is_ignored, NULL),
    HS_OPT_FLAG(0, "no-versions", &given.is_ignored, NULL),
    HS_OPT_FLAG(0, "idle-allocations", &given.is_ignored, NULL),
    HS_OPT_FLAG(0, "simpleperf", &given.is_ignored, NULL),
};

static const struct hs_opts_spec spec = {
    .command = "record",
    .summary = "profile as heap_profile does, into a folder of files",
    .operands_usage = "[host] [-- PROGRAM [ARGS]]",
    .footer = "The exit status is that of the program. heap_profile's flags for Android devices\n"
              "and its own tools are understood, and have no effect.\n"
              "PERFETTO_BINARY_PATH: folders to look for symbols in, with colons between;\n"
              "by build id, or, with PERFETTO_SYMBOLIZER_MODE=find, by name.",
    .options = list,
    .option_count = sizeof(list) / sizeof(list[0]),
    .operands_max = HS_OPERANDS_ANY,
    .is_ended_by_operand = true,
    .is_abbreviated = true,
};

/* The word that heap_profile wants before its flags, or between them. */
static int take_subcommand(int *argc, char **argv)
{
    int at = hs_opts_find_operand(&spec, *argc, argv);
    if (at > 0 && strcmp(argv[at], "android") == 0) {
        return fail("no Android devices here: 'host', or nothing, profiles on this machine");
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
