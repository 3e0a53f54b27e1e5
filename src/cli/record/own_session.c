/*
 * What run and attach share: see own_session.h.
 */
#include "cli/record/own_session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/end_signals.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/read/symbol_sources.h"
#include "cli/record/run_summary.h"
#include "rt/clock.h"
#include "trace/skipped_files.h"
#include "util/selfpath.h"

void hs_own_session_take_head(struct hs_session_settings *settings, const struct hs_run_head *head)
{
    if (!head) {
        return;
    }
    if (head->sources) {
        settings->sources = *head->sources;
    }
    settings->heaps = *head->heaps;
    settings->dumps.is_max_in_samples = head->is_max_in_samples;
    for (size_t i = 0; head->skipped && i < head->skipped->count; i++) {
        hs_session_settings_add_skipped(settings, head->skipped->prefixes[i]);
    }
}

int hs_own_session_find_client(char *ret_path, size_t path_bytes)
{
    int r = hs_selfpath_find_lib(HS_PRELOAD_NAME, ret_path, path_bytes);
    const char *folder = getenv("HEAPSCOPE_LIB");
    if (r < 0 && folder && *folder) {
        hs_message("cannot find heapscope's library " HS_PRELOAD_NAME " in %s, the folder that "
                   "HEAPSCOPE_LIB names: %s",
                   folder, strerror(-r));
    } else if (r < 0) {
        hs_message("cannot find heapscope's library " HS_PRELOAD_NAME ": %s; install it together "
                   "with heapscope, or name its folder in HEAPSCOPE_LIB",
                   strerror(-r));
    }
    return r;
}

int hs_own_session_open_file(struct hs_own_session *own)
{
    return hs_run_file_open(&own->file, own->path);
}

int hs_own_session_begin(struct hs_own_session *own, struct hs_session_settings *settings)
{
    int r = own->head ? hs_run_file_write(&own->file, own->head->data, own->head->bytes) : 0;
    r = r < 0 ? r
              : hs_session_new(settings, hs_run_file_write, &own->file,
                               hs_clock_ns(CLOCK_MONOTONIC), &own->session);
    if (r == 0) {
        own->session->is_alone = true;
    }
    return r;
}

/* --- requests of other commands --------------------------------------------------------------- */

static bool has_target(const void *ctx, const struct hs_target *target)
{
    const struct hs_own_session *own = ctx;
    return target->session.owner == own->session && !target->process.has_ended;
}

static void look(const void *ctx, struct hs_session_server_figures *ret_figures)
{
    const struct hs_own_session *own = ctx;
    *ret_figures = (struct hs_session_server_figures){
        .ended_process_count = own->session->process_count,
        .ended_sample_count = own->session->ended_sample_count,
        .dump_count = own->session->dump_count,
        .file_bytes = own->file.bytes,
    };
}

void hs_own_session_serve(struct hs_own_session *own, struct hs_registry *registry)
{
    own->server = (struct hs_session_server){ .command = own->command,
                                              .registry = registry,
                                              .settings = &own->session->settings,
                                              .path = own->path,
                                              .has = has_target,
                                              .look = look,
                                              .ctx = own,
                                              .can_stop = own->can_stop };
    hs_session_server_open(&own->server);
}

void hs_own_session_take_peer(struct hs_own_session *own, int connection_fd)
{
    hs_session_server_serve(&own->server, connection_fd, hs_clock_ns(CLOCK_MONOTONIC));
}

uint64_t hs_own_session_turn(struct hs_own_session *own, uint64_t now_ns)
{
    return hs_session_server_turn(&own->server, now_ns);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A trace without names is still a profile, so a failed look-up only prints a message. */
static void say_about_names(const struct hs_session *session)
{
    if (session->names_error < 0) {
        hs_message("cannot look up function names: %s", strerror(-session->names_error));
    } else if (session->naming.is_interrupted) {
        hs_message("interrupted: some functions have no names in the file");
    }
}

/* Without a summary, which says so too. */
static void say_about_heaps(const struct hs_session *session)
{
    struct hs_buf text = HS_BUF_INIT;
    hs_heaps_seen_words(&session->heaps_seen, &session->settings.heaps, &text);
    if (text.bytes > 0) {
        hs_message("%s", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}

int hs_own_session_finish(struct hs_own_session *own)
{
    struct hs_session *session = own->session;
    const struct hs_run_summary summary = { .file = &own->file,
                                            .path = own->path,
                                            .lost = own->lost,
                                            .stack_count = own->stack_count,
                                            .is_quiet = own->is_quiet };
    hs_session_server_end_watches(&own->server); /* names take a while */
    session->naming.is_cancelled = hs_end_signals_is_without_names;
    session->naming.on_progress = hs_progress_step;
    session->naming.say = hs_message_text;
    hs_end_signals_begin_end();
    if (!own->is_quiet) {
        hs_progress_expect(hs_symbol_sources_end_line());
    }
    int r = hs_session_finish(session);
    hs_progress_over();
    if (r == 0) {
        say_about_names(session);
    }
    if (own->is_quiet) {
        say_about_heaps(session);
    }
    r = hs_run_summary_file(&summary, r);
    hs_session_server_close(
        &own->server, &(struct hs_session_server_outcome){ .error = r < 0 ? strerror(-r) : NULL,
                                                           .file_bytes = session->bytes,
                                                           .process_count = session->process_count,
                                                           .dump_count = session->dump_count });
    return r;
}

void hs_own_session_close(struct hs_own_session *own, const char *why)
{
    hs_session_server_close(&own->server, &(struct hs_session_server_outcome){ .error = why });
    own->session = hs_session_free(own->session);
    hs_run_file_abort(&own->file);
}
