/*
 * See symbol_append.h.
 */
#include "cli/read/symbol_append.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/end_signals.h"
#include "cli/progress.h"
#include "profile/model/symbol_packets.h"
#include "profile/model/symbolize.h"
#include "profile/read/load.h"
#include "symbol/cache_folder.h"

static int write_packets(const struct hs_trace_writer_config *config,
                         const struct hs_symbol_request *requests,
                         const struct hs_symbol_table *tables, size_t count)
{
    struct hs_trace_writer *writer = NULL;
    int r = hs_trace_writer_new(config, &writer);
    if (r == 0) {
        r = hs_symbol_packets_write(writer, requests, tables, count);
        int late = hs_trace_writer_finish(writer);
        r = r ? r : late;
    }
    hs_trace_writer_free(writer);
    return r;
}

static int name_all(const struct hs_profile *profile, const struct hs_symbol_env *env,
                    const struct hs_trace_writer_config *config)
{
    struct hs_symbol_wanted wanted = { 0 };
    const struct hs_symbol_request *requests;
    struct hs_symbol_table *tables = NULL;
    char cache[PATH_MAX];
    const struct hs_symbol_options options = {
        .search_paths = env->roots,
        .search_path_count = env->root_count,
        .is_indexing = env->is_indexing,
        .cache_folder = hs_cache_folder_find(cache, sizeof(cache)) ? cache : NULL,
        .is_cancelled = hs_end_signals_is_without_names,
    };
    size_t count = 0;
    int r = hs_profile_wanted(profile, &wanted);
    if (r == 0) {
        r = hs_symbol_wanted_requests(&wanted, &requests, &count);
    }
    if (r == 0) {
        r = hs_symbolizer_run(&options, requests, count, &tables);
    }
    if (r == 0) {
        r = write_packets(config, requests, tables, count);
    }
    hs_symbol_tables_free(tables, count);
    hs_symbol_wanted_deinit(&wanted);
    return r;
}

int hs_symbol_append_packets(const char *path, const struct hs_symbol_env *env,
                             hs_buf_sink_fn *sink, void *sink_ctx)
{
    const struct hs_trace_writer_config config = { .sink = sink, .sink_ctx = sink_ctx };
    struct hs_profile *profile = NULL;
    int r = hs_profile_load(path, &profile, NULL);
    if (r == 0) {
        r = name_all(profile, env, &config);
    }
    hs_profile_free(profile);
    return r;
}

/* --- a copy ----------------------------------------------------------------------------------- */

static int write_to(void *ctx, const void *data, size_t bytes)
{
    int fd = *(const int *)ctx;
    const char *at = data;
    while (bytes > 0) {
        ssize_t put = write(fd, at, bytes);
        if (put < 0 && errno != EINTR) {
            return -errno;
        }
        at += put > 0 ? put : 0;
        bytes -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int copy_to(const char *path, int copy_fd)
{
    char block[65536];
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    while (r == 0) {
        ssize_t got = read(fd, block, sizeof(block));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            r = write_to(&copy_fd, block, (size_t)got);
        } else if (errno != EINTR) {
            r = -errno;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

/* Only traces have packets. The code that opens the copy reports a file that cannot be read
 * at all. */
static int append_names(int fd, const struct hs_symbol_env *env)
{
    char path[32];
    struct hs_load_report report = { 0 };
    struct hs_profile *profile = NULL;
    const struct hs_trace_writer_config config = { .sink = write_to, .sink_ctx = &fd };
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = hs_profile_load(path, &profile, &report);
    if (r == 0 && profile && !profile->origin) {
        hs_progress_expect(HS_PROGRESS_NAMING);
        r = name_all(profile, env, &config);
        hs_progress_over();
    }
    hs_profile_free(profile);
    return r < 0 ? r : 0;
}

int hs_symbol_append_copy(const char *path, const struct hs_symbol_env *env)
{
    int fd = memfd_create("heapscope-names", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : copy_to(path, fd);
    if (r == 0) {
        r = append_names(fd, env);
    }
    if (r < 0 && fd >= 0) {
        close(fd);
    }
    return r < 0 ? r : fd;
}
