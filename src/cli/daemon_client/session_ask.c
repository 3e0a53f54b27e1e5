/*
 * Asking for a session: see session_ask.h.
 */
#include "cli/daemon_client/session_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/message.h"
#include "ctl/ctl.pb-c.h"
#include "rt/text.h"
#include "session/heaps_message.h"

static int fail_file(const char *path, const char *why)
{
    hs_message("cannot write %s: %s", path, why);
    return HS_EXIT_STATUS_FAILED;
}

int hs_session_ask_open(struct hs_session_ask *ask, const char *path)
{
    char folder[PATH_MAX];
    ask->folder_fd = -1;
    int r = hs_outfile_open_named(&ask->file, path);
    if (r < 0) {
        return fail_file(path, strerror(-r));
    }
    if (ask->file.is_direct) {
        return fail_file(path, "a session can only be written to a regular file");
    }
    const char *base = hs_text_base_name(ask->file.path);
    snprintf(folder, sizeof(folder), "%.*s", (int)(base - ask->file.path), ask->file.path);
    ask->folder_fd = open(folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return ask->folder_fd < 0 ? fail_file(path, strerror(errno)) : HS_EXIT_STATUS_DONE;
}

static void fill_processes(const struct hs_session_settings *s, uint32_t *pids,
                           Hs__Ctl__Start *request)
{
    for (size_t i = 0; i < s->pid_count; i++) {
        pids[i] = (uint32_t)s->pids[i];
    }
    request->n_pid = s->pid_count;
    request->pid = pids;
    request->n_name = s->name_count;
    request->name = s->names;
    request->n_skip_symbol_prefix = s->skipped_count;
    request->skip_symbol_prefix = s->skipped;
    request->has_is_all = request->has_min_anon_bytes = request->has_is_without_startup =
        request->has_is_without_running = request->has_is_taking_children = true;
    request->is_all = s->is_all;
    request->min_anon_bytes = s->min_anon_bytes;
    request->is_without_startup = !s->is_taking_startup;
    request->is_without_running = !s->is_taking_running;
    request->is_taking_children = s->is_taking_children;
}

static void fill_recording(const struct hs_session_settings *s, Hs__Ctl__Start *request)
{
    request->has_interval_bytes = request->has_is_without_names = request->has_is_uncompressed =
        true;
    request->interval_bytes = s->interval_bytes;
    request->is_without_names = !s->is_symbolizing;
    request->has_with_blocks = true;
    request->with_blocks = s->with_blocks;
    request->is_uncompressed = !s->is_compressing;
    request->has_is_dumping_at_peak = request->has_dump_above_bytes = request->has_dump_every_ns =
        request->has_dump_phase_ns = request->has_duration_ns = true;
    request->is_dumping_at_peak = s->dumps.is_at_peak;
    request->has_is_max_in_samples = true;
    request->is_max_in_samples = s->dumps.is_max_in_samples;
    request->dump_above_bytes = s->dumps.above_bytes;
    request->dump_every_ns = s->dumps.every_ns;
    request->dump_phase_ns = s->dumps.phase_ns;
    request->duration_ns = s->duration_ns;
    request->has_max_memory_bytes = request->has_max_overhead_ppm = request->has_max_cpu_ns = true;
    request->max_memory_bytes = s->limits.memory_bytes;
    request->max_overhead_ppm = s->limits.overhead_ppm;
    request->max_cpu_ns = s->limits.cpu_ns;
}

static void fill_sources(const struct hs_sources_settings *s, Hs__Ctl__Sources *sources)
{
    sources->has_poll_ms = sources->has_is_thinning = sources->has_with_smaps_at_dumps =
        sources->has_meminfo_ms = sources->has_psi_ms = true;
    sources->poll_ms = s->poll_ms;
    sources->is_thinning = s->is_thinning;
    sources->with_smaps_at_dumps = s->with_smaps_at_dumps;
    sources->meminfo_ms = s->meminfo_ms;
    sources->psi_ms = s->psi_ms;
    sources->has_with_smaps_rollup = sources->has_without_rollup_at_dumps =
        sources->has_without_thread_names = sources->has_without_process_age =
            sources->has_without_process_runtime = sources->has_scan_all_on_start =
                sources->has_meminfo_mask = sources->has_is_without_types = true;
    sources->with_smaps_rollup = s->with_smaps_rollup;
    sources->without_rollup_at_dumps = !s->with_rollup_at_dumps;
    sources->without_thread_names = !s->with_thread_names;
    sources->without_process_age = !s->with_process_age;
    sources->without_process_runtime = !s->with_process_runtime;
    sources->scan_all_on_start = s->scan_all_on_start;
    sources->meminfo_mask = s->meminfo_mask;
    sources->is_without_types = s->is_without_types;
}

static int send_request(struct hs_session_ask *ask, uint32_t *pids,
                        struct hs_ctl_message *ret_answer)
{
    Hs__Ctl__Start request = HS__CTL__START__INIT;
    Hs__Ctl__Sources sources = HS__CTL__SOURCES__INIT;
    struct hs_heaps_message heaps;
    char folder[PATH_MAX], path[2 * PATH_MAX];
    /* An absolute path, for users in another folder. */
    bool is_relative = ask->file.path[0] != '/' && getcwd(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s%s%s", is_relative ? folder : "", is_relative ? "/" : "",
             ask->file.path);
    fill_processes(ask->settings, pids, &request);
    fill_recording(ask->settings, &request);
    fill_sources(&ask->settings->sources, &sources);
    request.sources = &sources;
    request.heaps = hs_heaps_message_fill(&heaps, &ask->settings->heaps);
    request.session = (char *)(uintptr_t)ask->name;
    request.temp_name = (char *)(uintptr_t)hs_text_base_name(ask->file.temp_path);
    request.final_name = (char *)(uintptr_t)hs_text_base_name(ask->file.path);
    request.path = path;
    request.has_is_owned = true;
    request.is_owned = ask->is_owned;
    const int fds[] = { ask->file.fd, ask->folder_fd };
    return hs_ask_daemon(HS_CTL_START, &request.base, fds, HS_COUNT_OF(fds), HS_ASK_SOON,
                         ret_answer);
}

int hs_session_ask_send(struct hs_session_ask *ask, struct hs_ctl_message *ret_answer)
{
    uint32_t *pids = calloc(ask->settings->pid_count + 1, sizeof(pids[0]));
    if (!pids) {
        hs_message("out of memory");
        return HS_EXIT_STATUS_FAILED;
    }
    int status = send_request(ask, pids, ret_answer);
    if (status == HS_EXIT_STATUS_DONE) {
        free(ask->file.temp_path);
        ask->file.temp_path = NULL;
    }
    free(pids);
    return status;
}

void hs_session_ask_warn(const struct Hs__Ctl__Started *started, bool with_blocks)
{
    if (with_blocks && !started->with_blocks) {
        hs_message("the daemon is of an older version, and does not list blocks: the recording "
                   "goes on without --blocks; restart the daemon to have them");
    }
}

void hs_session_ask_close(struct hs_session_ask *ask)
{
    hs_outfile_abort(&ask->file);
    if (ask->folder_fd >= 0) {
        close(ask->folder_fd);
    }
    ask->folder_fd = -1;
}
