/*
 * heapscope deobfuscate: the original names of obfuscated Java code, as packets that can be
 * appended to the trace.
 *
 * See       name_maps.h, docs/man/heapscope-deobfuscate.1
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/memory_bound.h"
#include "cli/read/name_maps.h"
#include "cli/read/profile_file.h"
#include "profile/model/original_names.h"
#include "profile/read/load.h"
#include "rt/base.h"
#include "util/human.h"

struct deobfuscate_args {
    struct hs_opt_list maps;
    const char *output;
    bool is_all, is_quiet;
};

struct work {
    struct hs_map_list maps;
    struct hs_profile *profile;
    bool is_all;
    int status; /* after a message */
    struct hs_name_maps_written written;
};

static int load(struct work *work, const char *path)
{
    struct hs_load_report report = { 0 };
    struct hs_memory_bound bound;
    hs_memory_bound_begin(&bound, path);
    int err = hs_profile_load(path, &work->profile, &report);
    hs_memory_bound_end(&bound);
    if (err != 0) {
        return hs_profile_file_fail(path, err, &report);
    }
    if (work->profile->origin) {
        hs_message("%s: this is %s, to which no packets can be appended: set "
                   "PERFETTO_PROGUARD_MAP, and report, export and diff give it the original names",
                   path, work->profile->origin);
        return HS_EXIT_STATUS_FAILED;
    }
    return 0;
}

/* The maps of the environment, then those of options. */
static int find_maps(const struct hs_opts_spec *spec, const struct deobfuscate_args *args,
                     struct hs_map_list *maps)
{
    int status = hs_name_maps_of_environment(maps);
    status = status ? status : hs_name_maps_of_options(spec, &args->maps, maps);
    if (status == 0 && maps->count == 0) {
        return hs_args_fail(spec, "no PERFETTO_PROGUARD_MAP specified: set it to "
                                  "[PACKAGE=]FILE[:[PACKAGE=]FILE...], or give --proguard-map");
    }
    return status;
}

static int fill(void *ctx, struct hs_buf *buf)
{
    struct work *work = ctx;
    work->status =
        hs_name_maps_write(&work->maps, work->profile, work->is_all, buf, &work->written);
    return work->status == 0 ? 0 : -ECANCELED;
}

/* Says what was found. Returns the exit status. */
static int end(const struct work *work, const char *path)
{
    struct hs_java_wanted wanted = { 0 };
    char classes[HS_HUMAN_BYTES], members[HS_HUMAN_BYTES];
    int status = 0;
    int err = hs_original_names_wanted(work->profile, &wanted);
    hs_human_exact(classes, work->written.class_count);
    hs_human_exact(members, work->written.member_count);
    if (err == 0 && work->written.member_count == 0 && wanted.methods.count == 0) {
        hs_message_info("%s: nothing to rename: no frame has a name of the form CLASS.METHOD that "
                        "is not renamed already",
                        path);
    } else if (err == 0 && work->written.member_count == 0) {
        hs_human_exact(classes, wanted.methods.count);
        hs_message("%s: no map has any of the %s names of the form CLASS.METHOD in this file: "
                   "is it the map of the build that was recorded?",
                   path, classes);
        status = HS_EXIT_STATUS_FAILED;
    } else {
        hs_message_info("%s: names of %s member%s of %s class%s: append them with cat", path,
                        members, work->written.member_count == 1 ? "" : "s", classes,
                        work->written.class_count == 1 ? "" : "es");
    }
    hs_java_wanted_deinit(&wanted);
    return status;
}

static int deobfuscate(const struct hs_opts_spec *spec, const char *path,
                       const struct deobfuscate_args *args, struct work *work)
{
    const char *output = args->output ? args->output : "-";
    if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO) == 1) {
        return hs_args_fail(spec, "the packets are binary data: write them to a file, with "
                                  "'> mapping' or -o");
    }
    hs_message_set_quiet(args->is_quiet);
    int status = find_maps(spec, args, &work->maps);
    status = status ? status : load(work, path);
    if (status == 0) {
        work->is_all = args->is_all;
        int err = hs_output_write(output, fill, work, NULL);
        status = work->status ? work->status : hs_output_end(output, err);
    }
    return status ? status : end(work, path);
}

int hs_cmd_deobfuscate(int argc, char **argv)
{
    struct deobfuscate_args args = { 0 };
    const struct hs_opt list[] = {
        HS_OPT_LIST(0, "proguard-map", "[PACKAGE=]PATH", &args.maps,
                    "use this map of R8 or ProGuard, for the code of one Android package or\n"
                    "(without PACKAGE) for all code; may be given more than once"),
        HS_OPT_FLAG('a', "all", &args.is_all,
                    "write all names of the maps, not only those that FILE needs"),
        HS_OPT_STRING('o', "output", "FILE", &args.output,
                      "write to this file, not to standard output"),
        HS_OPT_FLAG('q', "quiet", &args.is_quiet, "print nothing but errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "deobfuscate",
        .summary = "write original names of obfuscated Java code",
        .operands_usage = "FILE > MAPPING",
        .footer = "Then: cat FILE MAPPING > WHOLE. The environment variable PERFETTO_PROGUARD_MAP\n"
                  "names maps as well: [PACKAGE=]PATH[:[PACKAGE=]PATH...].",
        .options = list,
        .option_count = HS_COUNT_OF(list),
        .operands_min = 1,
        .operands_max = 1,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    struct work work = { 0 };
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON) {
        status = deobfuscate(&spec, result.operands[0], &args, &work);
    }
    hs_profile_free(work.profile);
    hs_map_list_deinit(&work.maps);
    hs_opt_list_deinit(&args.maps);
    return status;
}
