/*
 * Opens files and watches processes: see top_source.h.
 */
#include "cli/top/top_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/read/profile_file.h"
#include "ctl/ctl.pb-c.h"
#include "rt/clock.h"
#include "watch/receive/watch_profile.h"

/* --- rows ------------------------------------------------------------------------------------- */

static void drop_rows(struct hs_top_source *source)
{
    hs_top_rows_deinit(&source->rows);
    hs_profile_free(source->profile);
    source->profile = NULL;
}

/* Takes over the profile. */
static int set_profile(struct hs_top_source *source, struct hs_profile *profile)
{
    struct hs_top_rows rows;
    int r = hs_top_rows_build(profile, &rows);
    if (r != 0) {
        hs_profile_free(profile);
        return r;
    }
    drop_rows(source);
    source->profile = profile;
    source->rows = rows;
    source->live_bytes = rows.selection.live.bytes;
    source->live_count = rows.selection.live.count;
    source->alloc_bytes = rows.selection.alloc.bytes;
    source->interval_min_bytes = rows.selection.interval_min_bytes;
    source->interval_max_bytes = rows.selection.interval_max_bytes;
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The figures that the dumps state, beside those of the heaps. */
static void add_dumps(struct hs_top_source *source)
{
    const struct hs_selection *selection = &source->rows.selection;
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        const struct hs_profile_dump *dump = &source->profile->dumps[selection->dumps[i]];
        source->rss_bytes += dump->rss_bytes;
        source->rss_peak_bytes += dump->rss_peak_bytes;
        if (selection->dump_count == 1) {
            source->pid = source->profile->processes[dump->process].pid;
        }
    }
}

int hs_top_source_file(const char *path, struct hs_top_source *ret_source)
{
    struct hs_top_source *source = ret_source;
    struct hs_profile *profile = NULL;
    *source = (struct hs_top_source){ .is_file = true, .link.fd = -1 };
    snprintf(source->title, sizeof(source->title), "%s", path);
    int status = hs_profile_file_load(path, &profile);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    int r = set_profile(source, profile);
    if (r != 0) {
        hs_message("%s: %s", path, r < 0 ? strerror(-r) : "there is no snapshot in it");
        return HS_EXIT_STATUS_FAILED;
    }
    source->end = "the last snapshot of a file";
    add_dumps(source);
    return HS_EXIT_STATUS_DONE;
}

/* --- watching --------------------------------------------------------------------------------- */

static void keep_history(struct hs_top_source *source)
{
    if (source->history_count == HS_TOP_HISTORY) {
        memmove(source->history, source->history + 1,
                (HS_TOP_HISTORY - 1) * sizeof(source->history[0]));
        source->history_count--;
    }
    source->history[source->history_count++] = source->live_bytes;
}

/* Sets the growth of the rows of one kind, and notes them. */
static int find_growth(struct hs_top_source *source, enum hs_top_kind kind, uint64_t time_ns)
{
    struct hs_top_table *table = &source->rows.tables[kind];
    struct hs_watch_figure *figures = calloc((size_t)table->count + 1, sizeof(*figures));
    if (!figures) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        struct hs_top_row *row = &table->rows[i];
        double bytes = kind == HS_TOP_FUNCTIONS ? row->total_bytes : row->live_bytes;
        figures[i] = (struct hs_watch_figure){ row->key, bytes };
        row->growth = hs_watch_growth_of(&source->growth_of[kind], time_ns, row->key, bytes);
    }
    int r = hs_watch_growth_note(&source->growth_of[kind], time_ns, figures, table->count);
    free(figures);
    return r;
}

static int find_all_growth(struct hs_top_source *source)
{
    uint64_t time_ns = source->link.state.snap->time_mono_ns;
    const struct hs_watch_figure all = { 0, source->live_bytes };
    int r = 0;
    for (unsigned kind = 0; r == 0 && kind < HS_TOP_KIND_N; kind++) {
        r = find_growth(source, (enum hs_top_kind)kind, time_ns);
    }
    source->growth = hs_watch_growth_of(&source->growth_of_all, time_ns, 0, all.bytes);
    return r < 0 ? r : hs_watch_growth_note(&source->growth_of_all, time_ns, &all, 1);
}

static int make_rows(struct hs_top_source *source)
{
    const struct hs_watch_state *state = &source->link.state;
    struct hs_profile *profile = NULL;
    hs_watch_names_look_up(&source->names, state->snap);
    uint64_t named_ns = hs_clock_ns(CLOCK_MONOTONIC); /* names are looked up once */
    int r = hs_watch_profile_make(state, &source->names, &profile);
    r = r == 0 ? set_profile(source, profile) : r;
    if (r != 0) {
        return r < 0 ? r : -EPROTO;
    }
    if (state->rss_bytes > 0) { /* otherwise the process has just ended */
        source->rss_bytes = state->rss_bytes;
        source->anon_bytes = state->rss_anon_bytes;
        source->swap_bytes = state->swap_bytes;
    }
    source->lost_count = state->lost_count;
    keep_history(source);
    r = find_all_growth(source);
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC);
    source->ask_ns = end_ns + (end_ns - named_ns) * HS_TOP_REST;
    return r;
}

static int take_watched(struct hs_top_source *source, const Hs__Ctl__Watched *watched, int fd)
{
    snprintf(source->title, sizeof(source->title), "%s", watched->process ? watched->process : "?");
    snprintf(source->session, sizeof(source->session), "%s",
             watched->session ? watched->session : "?");
    source->pid = watched->pid;
    return hs_watch_link_begin(fd, &source->link);
}

/* The connection of the answer, or -errno with the words of a refusal. */
static int take_answer(struct hs_top_source *source, struct hs_ctl_message *answer,
                       struct hs_buf *ret_why)
{
    bool is_watched = answer->kind == HS_CTL_WATCHED;
    ProtobufCMessage *body = hs_ctl_unpack(answer, is_watched ? &hs__ctl__watched__descriptor
                                                              : &hs__ctl__error__descriptor);
    int fd = is_watched && body ? hs_ctl_take_fd(answer, 0) : -1;
    int r = -EPROTO;
    if (body && is_watched && fd >= 0) {
        r = take_watched(source, (const Hs__Ctl__Watched *)(const void *)body, fd);
    } else if (body && answer->kind == HS_CTL_ERROR) {
        const Hs__Ctl__Error *error = (const Hs__Ctl__Error *)(const void *)body;
        hs_buf_str(ret_why, error->text ? error->text : "");
        r = -EREMOTEIO;
    }
    if (body) {
        protobuf_c_message_free_unpacked(body, NULL);
    }
    return r;
}

int hs_top_source_watch(struct hs_endpoint *place, uint32_t pid, uint32_t interval_ms,
                        struct hs_top_source *ret_source, struct hs_buf *ret_why)
{
    Hs__Ctl__Watch request = HS__CTL__WATCH__INIT;
    struct hs_ctl_message answer = { 0 };
    *ret_source = (struct hs_top_source){ .link.fd = -1 };
    request.has_pid = request.has_interval_ms = true;
    request.pid = pid;
    request.interval_ms = interval_ms;
    int r = hs_endpoint_ask(place, HS_CTL_WATCH, &request.base, HS_PATIENCE_SHORT_MS, &answer);
    if (r == 0) {
        r = take_answer(ret_source, &answer, ret_why);
        hs_ctl_message_deinit(&answer);
    }
    if (r < 0 && r != -EREMOTEIO) {
        hs_buf_str(ret_why, r == -EPROTO || r == -ECONNRESET
                                ? "the process that records is of an older version"
                                : strerror(-r));
    }
    return r;
}

int hs_top_source_take(struct hs_top_source *source)
{
    if (source->link.fd < 0) {
        return 0;
    }
    int r = hs_watch_link_take(&source->link);
    if (r == 0 || (r > 0 && source->link.state.has_more)) {
        return 0;
    }
    if (r > 0 && source->link.state.number > 0) {
        r = make_rows(source);
        r = r == 0 ? 1 : r;
    }
    if (r == -ENOMEM) {
        return r;
    }
    uint32_t end = source->link.state.end;
    if (r < 0 || end != HS_WATCH_GOES_ON) {
        source->end = end == HS_WATCH_END_PROCESS  ? "it has ended, or is not recorded any more"
                      : end == HS_WATCH_END_FAILED ? "what it records could not be read"
                                                   : "the connection has been lost";
        hs_watch_link_end(&source->link);
    }
    return 1;
}

void hs_top_source_ask(struct hs_top_source *source, uint64_t now_ns)
{
    if (source->link.fd >= 0 && now_ns >= source->ask_ns) {
        hs_watch_link_ask(&source->link); /* an error is seen when an update is taken */
    }
}

void hs_top_source_end(struct hs_top_source *source)
{
    drop_rows(source);
    hs_watch_link_end(&source->link);
    hs_watch_names_deinit(&source->names);
    for (unsigned kind = 0; kind < HS_TOP_KIND_N; kind++) {
        hs_watch_growth_deinit(&source->growth_of[kind]);
    }
    hs_watch_growth_deinit(&source->growth_of_all);
    *source = (struct hs_top_source){ .link.fd = -1 };
}
