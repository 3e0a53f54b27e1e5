/*
 * heapscope profile: a folder with a pprof file for each heap of each dump, as traceconv writes it.
 *
 * See       profile_files.h, docs/man/heapscope-profile.1
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/read/profile_file.h"
#include "cli/read/profile_files.h"
#include "cli/read/symbol_sources.h"
#include "util/parse.h"

#define TIMES_MAX 1024

struct profile_args {
    bool is_alloc, is_perf, is_java_heap, is_verbose, is_annotated;
    uint64_t pid;
    const char *timestamps, *output_folder;
    uint64_t times_ns[TIMES_MAX];
    size_t time_count;
    struct hs_opt_list heaps;
};

static int take_timestamps(const struct hs_opts_spec *spec, struct profile_args *args)
{
    char word[32];
    const char *at = args->timestamps;
    while (at && *at) {
        size_t bytes = strcspn(at, ",");
        if (bytes >= sizeof(word) || args->time_count == TIMES_MAX) {
            return hs_args_fail(spec, "--timestamps: too long");
        }
        memcpy(word, at, bytes);
        word[bytes] = 0;
        if (hs_parse_number(word, &args->times_ns[args->time_count++]) < 0) {
            return hs_args_fail(spec, "--timestamps: '%s' is not a number of nanoseconds", word);
        }
        at += bytes + (at[bytes] == ',');
    }
    return HS_ARGS_GO_ON;
}

/* Makes ${TMPDIR}/heap_profile-YYMMDDHHMMSSxxxxx: a new folder, even when two are made in one
 * second. */
static int make_folder(char *ret_path, size_t path_bytes)
{
    static const char *const names[] = { "TMPDIR", "TEMP" };
    const char *parent = "/tmp";
    char stamp[32];
    struct tm tm;
    time_t now = time(NULL);
    for (size_t i = sizeof(names) / sizeof(names[0]); i-- > 0;) {
        const char *value = getenv(names[i]);
        parent = value && *value ? value : parent;
    }
    localtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%y%m%d%H%M%S", &tm);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        struct timespec ts;
        char letters[6] = "aaaaa";
        clock_gettime(CLOCK_REALTIME, &ts);
        uint64_t seed = ((uint64_t)ts.tv_nsec ^ (uint64_t)getpid() << 20) + attempt;
        for (size_t i = 0; i < 5; i++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            letters[i] = (char)('a' + (seed >> 33) % 26);
        }
        snprintf(ret_path, path_bytes, "%s/heap_profile-%s%s", parent, stamp, letters);
        if (mkdir(ret_path, 0777) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}

static int write_files(const char *path, const struct profile_args *args)
{
    struct hs_profile *profile = NULL;
    char folder[PATH_MAX];
    const struct hs_heap_patterns heaps = { args->heaps.items, args->heaps.count };
    int status = hs_profile_file_load(path, &profile);
    status = status ? status : hs_profile_file_keep_heaps(path, profile, &heaps);
    if (status != 0) {
        hs_profile_free(profile);
        return status;
    }
    int r = 0;
    if (profile->dump_count == 0) {
        hs_message("%s: no profile found in the trace; 'heapscope report' says what is in it",
                   path);
        status = HS_EXIT_STATUS_FAILED;
    } else if (args->output_folder) {
        snprintf(folder, sizeof(folder), "%s", args->output_folder);
        r = mkdir(folder, 0777) < 0 && errno != EEXIST ? -errno : 0;
    } else {
        r = make_folder(folder, sizeof(folder));
    }
    if (r < 0) {
        hs_message("cannot make the folder %s: %s", folder, strerror(-r));
        status = HS_EXIT_STATUS_FAILED;
    }
    if (status == 0) {
        const struct hs_profile_files files = { .folder = folder,
                                                .pid = (uint32_t)args->pid,
                                                .times_ns = args->times_ns,
                                                .time_count = args->time_count,
                                                .is_annotated = args->is_annotated };
        int count = hs_profile_files_write(profile, &files);
        hs_profile_files_warn(profile);
        if (count > 0) {
            hs_message_info("Wrote profiles to %s", folder);
        } else if (count == 0) {
            hs_message(
                "%s: no snapshot matches --pid and --timestamps, or nothing was allocated in "
                "the heaps",
                path);
        }
        if (count <= 0) {
            status = HS_EXIT_STATUS_FAILED;
            if (!args->output_folder) {
                rmdir(folder); /* fails, as intended, when it contains files */
            }
        }
    }
    hs_profile_free(profile);
    return status;
}

int hs_cmd_profile(int argc, char **argv)
{
    struct profile_args args = { .is_annotated = true };
    const struct hs_opt list[] = {
        HS_OPT_FLAG(0, "alloc", &args.is_alloc,
                    "write native heap profiles: the only kind, and the default"),
        HS_OPT_FLAG(0, "perf", &args.is_perf, NULL),
        HS_OPT_FLAG(0, "java-heap", &args.is_java_heap, NULL),
        HS_OPT_FLAG_OFF(0, "no-annotations", &args.is_annotated,
                        "leave out annotations such as [jit] behind function names"),
        HS_OPT_NUMBER(0, "pid", "PID", &args.pid, 1, UINT32_MAX, "write only this process"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps,
                    "write only these heaps: a glob or a list of them, such as 'pool,gpu*'; may\n"
                    "be given more than once (default: all heaps)"),
        HS_OPT_STRING(0, "timestamps", "T1,T2", &args.timestamps,
                      "write only snapshots whose time, or the start of whose window, is within a\n"
                      "millisecond of one of these times (in nanoseconds)"),
        HS_OPT_STRING(0, "output-dir", "DIR", &args.output_folder,
                      "output folder (default: a new one, heap_profile-*, in $TMPDIR or /tmp)"),
        HS_OPT_FLAG(0, "verbose", &args.is_verbose, NULL),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "profile",
        .summary = "write a pprof file for each heap of each snapshot",
        .operands_usage = "FILE",
        .footer = "FILE may be - for standard input. 'heapscope export' writes one file with all\n"
                  "processes.",
        .options = list,
        .option_count = sizeof(list) / sizeof(list[0]),
        .operands_min = 1,
        .operands_max = 1,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON && (args.is_perf || args.is_java_heap)) {
        status = hs_args_fail(&spec, "--%s: only native heap profiles can be read; leave it out",
                              args.is_perf ? "perf" : "java-heap");
    }
    status = status == HS_ARGS_GO_ON ? take_timestamps(&spec, &args) : status;
    status = status == HS_ARGS_GO_ON ? write_files(result.operands[0], &args) : status;
    hs_opt_list_deinit(&args.heaps);
    return status;
}
