/*
 * Writes a snapshot: see snapshot_output.h.
 */
#include "cli/daemon_client/snapshot_output.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/name_maps.h"
#include "cli/read/symbol_sources.h"
#include "profile/model/frame_types.h"
#include "profile/model/original_names.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "session/trace_names.h"
#include "symbol/target_files.h"
#include "trace/trace_writer.h"
#include "util/buf.h"
#include "util/outfile.h"
#include "util/proc.h"
#include "view/pprof.h"

static bool has_end(const char *name, const char *end)
{
    size_t name_bytes = strlen(name), end_bytes = strlen(end);
    return name_bytes > end_bytes && strcmp(name + name_bytes - end_bytes, end) == 0;
}

bool hs_snapshot_output_is_pprof(const char *path)
{
    return has_end(path, ".pb.gz") || has_end(path, ".pb") || has_end(path, ".pprof");
}

static int write_pprof(struct hs_profile *profile, const struct hs_snapshot_output *output,
                       struct hs_buf *out)
{
    const struct hs_pprof_options pprof = { .with_tags = output->with_tags };
    const struct hs_select_spec select = { .snapshot = HS_SELECT_LAST };
    struct hs_name_sources sources;
    if (output->is_symbolizing && hs_symbol_sources_read(&sources) == 0) {
        const struct hs_symbol_options options = hs_symbol_sources_options(&sources);
        hs_profile_symbolize(profile, &options, NULL);
        hs_name_sources_deinit(&sources);
        hs_name_maps_apply(profile);
    }
    int r = hs_frame_types_apply(profile);
    return r < 0 ? r : hs_pprof_write(profile, &select, &pprof, out);
}

static int add_to_buf(void *ctx, const void *data, size_t bytes)
{
    struct hs_buf *out = ctx;
    hs_buf_add(out, data, bytes);
    return out->err;
}

/* The processes still run, mostly. */
static void look_at_processes(const struct hs_profile *profile, struct hs_target_files **files)
{
    struct hs_proc_status status;
    for (uint32_t i = 0; i < profile->process_count; i++) {
        pid_t pid = (pid_t)profile->processes[i].pid;
        if (pid > 0 && hs_proc_read_status(pid, &status) == 0) {
            hs_target_files_look(files, pid, status.uid.effective, true);
        }
    }
}

/* Writes the trace as it came, followed by names. */
static int write_trace(const struct hs_snapshot_output *output, const struct hs_profile *profile,
                       struct hs_buf *out)
{
    const struct hs_trace_writer_config config = { .sink = add_to_buf, .sink_ctx = out };
    struct hs_symbol_wanted wanted = { 0 };
    struct hs_trace_writer *writer = NULL;
    struct hs_target_files *files = NULL;
    struct hs_java_wanted java = { 0 };
    struct hs_trace_naming naming = { .java = &java,
                                      .on_progress = hs_progress_step,
                                      .say = hs_message_text };
    hs_buf_add(out, output->trace, output->trace_bytes);
    if (!output->is_symbolizing) {
        return out->err;
    }
    int r = hs_trace_writer_new(&config, &writer);
    if (r == 0) {
        r = hs_profile_wanted(profile, &wanted);
    }
    if (r == 0 && hs_trace_names_wants_java()) {
        r = hs_original_names_wanted(profile, &java);
    }
    if (r == 0) {
        look_at_processes(profile, &files);
        naming.files = files;
        r = hs_trace_names_append(writer, &wanted, &naming);
    }
    if (r == 0) {
        r = hs_trace_writer_finish(writer);
    }
    hs_trace_writer_free(writer);
    hs_symbol_wanted_deinit(&wanted);
    hs_java_wanted_deinit(&java);
    hs_target_files_free(files);
    return r;
}

static int fill(const struct hs_snapshot_output *output, struct hs_profile *profile,
                struct hs_buf *out)
{
    if (!output->is_quiet) {
        hs_progress_expect(HS_PROGRESS_NAMING);
    }
    int r = hs_snapshot_output_is_pprof(output->path) ? write_pprof(profile, output, out)
                                                      : write_trace(output, profile, out);
    hs_progress_over();
    int late = hs_buf_finish(out);
    return r ? r : late;
}

int hs_snapshot_output_write(const struct hs_snapshot_output *output, struct hs_profile *profile,
                             uint64_t *ret_bytes)
{
    struct hs_outfile file;
    struct hs_buf out;
    int r = hs_outfile_open(&file, output->path);
    if (r == 0) {
        hs_buf_init(&out, hs_outfile_write, &file);
        r = fill(output, profile, &out);
        *ret_bytes = out.total_bytes;
        hs_buf_deinit(&out);
        if (r == 0) {
            r = hs_outfile_commit(&file);
        }
        hs_outfile_abort(&file);
    }
    if (r != 0) {
        hs_message("cannot write %s: %s", output->path, r < 0 ? strerror(-r) : "it would be empty");
        return HS_EXIT_STATUS_FAILED;
    }
    return HS_EXIT_STATUS_DONE;
}

static int map_file(int fd, struct hs_mapped_file *ret_map)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
        return -EPROTO;
    }
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        return -errno;
    }
    *ret_map = (struct hs_mapped_file){ map, (size_t)st.st_size };
    return 0;
}

int hs_snapshot_output_load(int fd, struct hs_mapped_file *ret_map, struct hs_profile **ret_profile)
{
    struct hs_mapped_file map = { NULL, 0 };
    int r = map_file(fd, &map);
    if (r == 0) {
        r = hs_profile_load_memory(map.data, map.bytes, ret_profile, NULL);
    }
    if (r != 0) {
        hs_message("that is not a snapshot%s%s", r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
        hs_snapshot_output_unload(&map, NULL);
        return HS_EXIT_STATUS_FAILED;
    }
    *ret_map = map;
    return HS_EXIT_STATUS_DONE;
}

void hs_snapshot_output_unload(struct hs_mapped_file *map, struct hs_profile *profile)
{
    hs_profile_free(profile);
    if (map->data) {
        munmap((void *)(uintptr_t)map->data, map->bytes);
        map->data = NULL;
    }
}
