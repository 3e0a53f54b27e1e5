/*
 * See name_maps.h.
 */
#include "cli/read/name_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "deobfuscate/mapping_packet.h"
#include "profile/model/original_names.h"

bool hs_name_maps_are_in_environment(void)
{
    const char *value = getenv("PERFETTO_PROGUARD_MAP");
    return value && value[0] != '\0';
}

static void say(struct hs_buf *words)
{
    hs_message("%s", hs_buf_text(words));
    hs_buf_deinit(words);
}

int hs_name_maps_of_environment(struct hs_map_list *maps)
{
    struct hs_buf words = HS_BUF_INIT;
    int err = hs_map_list_add_environment(maps);
    if (err != 0) {
        hs_map_list_write_error(err, &words);
        say(&words);
    }
    return err == -EINVAL ? HS_EXIT_STATUS_USAGE : err ? HS_EXIT_STATUS_FAILED : 0;
}

/* Says why a map could not be read. */
static int fail(const struct hs_map_file *file, int err, const struct hs_proguard_error *error)
{
    struct hs_buf words = HS_BUF_INIT;
    hs_map_file_write_error(file, err, error, &words);
    say(&words);
    return HS_EXIT_STATUS_FAILED;
}

static int read_names(const struct hs_map_list *maps, const struct hs_java_wanted *wanted,
                      struct hs_java_names *names)
{
    int status = 0;
    for (size_t i = 0; i < maps->count; i++) {
        struct hs_proguard_error error;
        int err = hs_map_file_read_names(&maps->files[i], wanted, names, &error);
        status = err ? fail(&maps->files[i], err, &error) : status;
    }
    return status;
}

int hs_name_maps_of_options(const struct hs_opts_spec *spec, const struct hs_opt_list *given,
                            struct hs_map_list *maps)
{
    for (size_t i = 0; i < given->count; i++) {
        int err = hs_map_list_add(maps, given->items[i]);
        if (err == -EINVAL) {
            return hs_args_fail(spec, "--proguard-map: '%s' is not [PACKAGE=]PATH",
                                given->items[i]);
        }
        if (err != 0) {
            hs_message("%s", strerror(-err));
            return HS_EXIT_STATUS_FAILED;
        }
    }
    return 0;
}

void hs_name_maps_apply(struct hs_profile *profile)
{
    struct hs_map_list maps = { 0 };
    struct hs_java_wanted wanted = { 0 };
    struct hs_java_names names = { 0 };
    if (hs_name_maps_of_environment(&maps) == 0 && maps.count > 0) {
        int err = hs_original_names_wanted(profile, &wanted);
        if (err == 0) {
            (void)read_names(&maps, &wanted, &names); /* the message is all */
            err = hs_original_names_apply(profile, &names, NULL);
        }
        if (err != 0) {
            hs_message("PERFETTO_PROGUARD_MAP: %s", strerror(-err));
        }
    }
    hs_java_names_deinit(&names);
    hs_java_wanted_deinit(&wanted);
    hs_map_list_deinit(&maps);
}

static int write_map(const struct hs_map_file *file, const struct hs_java_wanted *wanted,
                     struct hs_buf *out, struct hs_name_maps_written *written)
{
    struct hs_mapping_writer writer = { .out = out, .package = file->package };
    const struct hs_proguard_sink sink = hs_mapping_writer_sink(&writer);
    struct hs_proguard_error error;
    int err = hs_map_file_read(file, wanted, &sink, &error);
    int late_err = hs_mapping_writer_finish(&writer);
    err = err ? err : late_err;
    written->class_count += writer.class_count;
    written->member_count += writer.member_count;
    return err ? fail(file, err, &error) : 0;
}

int hs_name_maps_write(const struct hs_map_list *maps, const struct hs_profile *profile,
                       bool is_all, struct hs_buf *out, struct hs_name_maps_written *ret_written)
{
    struct hs_java_wanted wanted = { 0 };
    *ret_written = (struct hs_name_maps_written){ 0 };
    int err = is_all ? 0 : hs_original_names_wanted(profile, &wanted);
    int status = 0;
    if (err != 0) {
        hs_message("%s", strerror(-err));
        status = HS_EXIT_STATUS_FAILED;
    }
    for (size_t i = 0; i < maps->count && status == 0; i++) {
        status = write_map(&maps->files[i], is_all ? NULL : &wanted, out, ret_written);
    }
    hs_java_wanted_deinit(&wanted);
    return status;
}
