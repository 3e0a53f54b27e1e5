/*
 * A session's life and trace: see session.h. Its settings: session_settings.c.
 */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile/model/symbol_packets.h"
#include "rt/clock.h"
#include "session/trace_names.h"
#include "util/array.h"
#include "util/proc.h"
#include "util/proc_counters.h"

/* If a thousand processes match a name and are refused, the first ones are examples enough. */
#define HS_REFUSED_LISTED_MAX 32U
/* If our process is killed, at most the counters of this time are lost. Shorter times would
 * compress worse. */
#define HS_SOURCES_OUT_NS UINT64_C(30000000000)

/* The sink of the trace: passes the data on to the session's sink, and counts the bytes. */
static int count_out(void *ctx, const void *data, size_t bytes)
{
    struct hs_session *session = ctx;
    int r = session->sink(session->sink_ctx, data, bytes);
    if (r == 0) {
        session->bytes += bytes;
    }
    return r;
}

static void schedule(struct hs_session *session, uint64_t start_ns)
{
    const struct hs_session_settings *settings = &session->settings;
    session->start_ns = start_ns;
    session->end_ns = settings->duration_ns ? start_ns + settings->duration_ns : UINT64_MAX;
    session->next_dump_ns = hs_dump_first_ns(&settings->dumps, start_ns);
}

void hs_session_begin_recording(struct hs_session *session, uint64_t now_ns)
{
    uint64_t asked_ns = session->start_ns;
    schedule(session, now_ns);
    session->start_ns = asked_ns;
}

/* Flushes the trace to the sink, so that the data is in the file even if our process is killed. */
static void hand_out(struct hs_session *session)
{
    if (session->settings.is_buffered) {
        return;
    }
    if (session->error == 0) {
        session->error = hs_trace_writer_flush(session->writer, &session->place);
    }
    if (session->error == 0 && session->on_written) {
        session->on_written(session->owner, session);
    }
}

static struct hs_skipped_files skipped_of(const struct hs_session_settings *settings)
{
    return (struct hs_skipped_files){ (const char *const *)settings->skipped,
                                      settings->skipped_count };
}

static int begin(struct hs_session_settings *settings, const struct hs_session_progress *progress,
                 hs_buf_sink_fn *sink, void *sink_ctx, struct hs_session **ret_session)
{
    struct hs_session *session = calloc(1, sizeof(*session));
    if (!session) {
        return -ENOMEM;
    }
    session->sink = sink;
    session->sink_ctx = sink_ctx;
    const struct hs_trace_writer_config config = { .sink = count_out,
                                                   .sink_ctx = session,
                                                   .is_compressing = settings->is_compressing,
                                                   .is_at_max = hs_dump_tells_max(&settings->dumps),
                                                   .continued = progress->place,
                                                   .skipped = skipped_of(settings),
                                                   .name_frames = settings->is_symbolizing
                                                                      ? hs_frame_names_find
                                                                      : NULL,
                                                   .name_frames_ctx = &session->frame_names };
    int r = hs_trace_writer_new(&config, &session->writer);
    if (r == 0) {
        r = hs_trace_writer_begin(session->writer);
    }
    if (r == 0) {
        session->bytes = progress->bytes;
        r = settings->is_buffered ? 0 : hs_trace_writer_flush(session->writer, &session->place);
    }
    if (r < 0) {
        hs_session_free(session);
        return r;
    }
    session->settings = *settings;
    *settings = (struct hs_session_settings){ 0 };
    r = hs_sources_new(&session->settings.sources, session->writer, &session->sources);
    if (r < 0) {
        hs_session_free(session);
        return r;
    }
    hs_cpu_budget_init(&session->cpu, session->settings.limits.cpu_ns);
    schedule(session, progress->start_ns);
    *ret_session = session;
    return 0;
}

int hs_session_new(struct hs_session_settings *settings, hs_buf_sink_fn *sink, void *sink_ctx,
                   uint64_t now_ns, struct hs_session **ret_session)
{
    const struct hs_session_progress progress = { .start_ns = now_ns };
    int r = begin(settings, &progress, sink, sink_ctx, ret_session);
    if (r == 0) {
        hs_sources_begin((*ret_session)->sources, now_ns);
    }
    return r;
}

int hs_session_resume(struct hs_session_settings *settings,
                      const struct hs_session_progress *progress, hs_buf_sink_fn *sink,
                      void *sink_ctx, uint64_t now_ns, struct hs_session **ret_session)
{
    int r = begin(settings, progress, sink, sink_ctx, ret_session);
    if (r < 0) {
        return r;
    }
    struct hs_session *session = *ret_session;
    session->is_resumed = true;
    session->process_count = progress->process_count;
    session->rejected_count = progress->rejected_count;
    session->dump_count = progress->dump_count;
    session->ended_sample_count = progress->ended_sample_count;
    session->has_begun = progress->has_begun;
    if (now_ns >= session->next_dump_ns) {
        hs_session_take_due_dump(session, now_ns); /* a missed dump is not made up for */
    }
    return 0;
}

struct hs_session_progress hs_session_progress(const struct hs_session *session)
{
    return (struct hs_session_progress){
        .place = session->place,
        .start_ns = session->start_ns,
        .bytes = session->bytes,
        .process_count = session->process_count,
        .rejected_count = session->rejected_count,
        .dump_count = session->dump_count,
        .ended_sample_count = session->ended_sample_count,
        .has_begun = session->has_begun,
    };
}

struct hs_session *hs_session_free(struct hs_session *session)
{
    if (session) {
        hs_sources_free(session->sources);
        hs_trace_writer_free(session->writer);
        hs_symbol_wanted_deinit(&session->wanted);
        hs_java_wanted_deinit(&session->java_wanted);
        hs_frame_names_deinit(&session->frame_names);
        hs_target_files_free(session->files);
        hs_session_settings_deinit(&session->settings);
        free(session->seen.pids);
        free(session->late.pids);
        free(session->expected.pids);
        free(session->refused.pids);
        free(session);
    }
    return NULL;
}

/* --- which processes match -------------------------------------------------------------------- */

static struct hs_match match_of(const struct hs_session *session)
{
    const struct hs_session_settings *settings = &session->settings;
    return (struct hs_match){ .pids = settings->pids,
                              .pid_count = settings->pid_count,
                              .names = (const char *const *)settings->names,
                              .name_count = settings->name_count,
                              .is_all = settings->is_all,
                              .min_anon_bytes = settings->min_anon_bytes };
}

bool hs_session_is_allowed(const struct hs_session *session, uid_t uid)
{
    return session->settings.is_any_uid || session->settings.uid == uid;
}

bool hs_session_names(const struct hs_session *session, pid_t pid)
{
    for (size_t i = 0; i < session->settings.pid_count; i++) {
        if (session->settings.pids[i] == pid) {
            return true;
        }
    }
    return false;
}

bool hs_session_means_starting(const struct hs_session *session, const struct hs_match_facts *facts)
{
    struct hs_match match = match_of(session);
    if (!session->settings.is_taking_startup) {
        /* A process that the session names by pid still matches when it executes another
         * program. */
        match.name_count = 0;
        match.is_all = false;
    }
    return !session->is_over &&
           (session->settings.is_taking_announced || hs_match_starting(&match, facts));
}

bool hs_session_means_running(const struct hs_session *session, const struct hs_match_facts *facts)
{
    struct hs_match match = match_of(session);
    return !session->is_over && session->settings.is_taking_running &&
           hs_match_running(&match, facts);
}

bool hs_session_waits(const struct hs_session *session)
{
    struct hs_match match = match_of(session);
    return session->settings.is_taking_announced ||
           (session->settings.is_taking_startup && hs_match_waits(&match));
}

/* --- lists of processes ----------------------------------------------------------------------- */

void hs_pid_list_add(struct hs_pid_list *list, pid_t pid)
{
    if (pid <= 0 || hs_pid_list_has(list, pid)) {
        return;
    }
    if (list->count == HS_PID_LIST_MAX) {
        list->count--;
        memmove(list->pids, list->pids + 1, list->count * sizeof(list->pids[0]));
    }
    if (hs_array_reserve(&list->pids, &list->capacity, list->count + 1, sizeof(list->pids[0])) ==
        0) {
        list->pids[list->count++] = pid;
    }
}

bool hs_pid_list_has(const struct hs_pid_list *list, pid_t pid)
{
    for (size_t i = list->count; i > 0; i--) {
        if (list->pids[i - 1] == pid) {
            return true;
        }
    }
    return false;
}

bool hs_pid_list_drop(struct hs_pid_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->pids[i] == pid) {
            list->count--;
            memmove(list->pids + i, list->pids + i + 1, (list->count - i) * sizeof(list->pids[0]));
            return true;
        }
    }
    return false;
}

/* --- the trace -------------------------------------------------------------------------------- */

int hs_session_dump(struct hs_session *session, const struct hs_snapshot *snap)
{
    uint64_t names_ns = session->frame_names.cpu_ns;
    if (session->wants && !session->wants(session->wants_ctx, snap)) {
        return session->error;
    }
    session->frame_names.files = session->files;
    if (session->error == 0) {
        session->error = hs_trace_writer_dump(session->writer, snap);
    }
    session->cpu_used_ns += session->frame_names.cpu_ns - names_ns;
    if (session->error == 0) {
        session->dump_count++;
        hs_heaps_seen_add(&session->heaps_seen, &session->settings.heaps, snap);
        if (session->settings.is_symbolizing) {
            const struct hs_skipped_files skipped = skipped_of(&session->settings);
            const struct hs_symbol_named named = { hs_frame_names_has_jit, &session->frame_names };
            if (hs_trace_names_wants_java()) {
                session->error =
                    hs_trace_names_add_java(&session->java_wanted, snap, &session->frame_names.jit);
            }
            session->error =
                hs_symbol_packets_add_snapshot(&session->wanted, snap, &skipped, &named);
        }
    }
    if (snap->is_final) {
        hs_jit_names_drop(&session->frame_names.jit, snap);
    }
    session->process_count += snap->is_final;
    hand_out(session);
    return session->error;
}

static int write_refusal(struct hs_session *session, const struct hs_process_facts *facts,
                         enum hs_refusal refusal, const struct hs_refusal_words *words,
                         uint64_t now_ns)
{
    char exe[1] = "";
    struct hs_snap_heap heap = { .name = "libc.malloc" };
    /* The session's user must not see the arguments of another user's program. */
    bool is_telling = refusal != HS_REFUSAL_OTHER_USER;
    struct hs_snapshot snap = {
        .pid = (uint32_t)facts->facts.pid,
        .exe = exe,
        .cmdline = is_telling ? (char *)(uintptr_t)facts->cmdline : NULL,
        .cmdline_bytes = is_telling ? (uint32_t)facts->facts.cmdline_bytes : 0,
        .is_final = true,
        .refusal = refusal,
        .words = words,
        .start_mono_ns = now_ns,
        .time_mono_ns = now_ns,
        .interval_bytes = session->settings.interval_bytes,
        .orig_interval_bytes = session->settings.interval_bytes,
        .heaps = &heap,
        .heap_count = 1,
    };
    memcpy(snap.comm, facts->comm, sizeof(snap.comm));
    if (session->error == 0) {
        session->error = hs_trace_writer_dump(session->writer, &snap);
    }
    hand_out(session);
    return session->error;
}

int hs_session_refuse(struct hs_session *session, const struct hs_process_facts *facts,
                      enum hs_refusal refusal, const struct hs_refusal_words *words,
                      uint64_t now_ns)
{
    pid_t pid = facts->facts.pid;
    bool is_named = hs_session_names(session, pid);
    if (hs_pid_list_has(&session->refused, pid)) {
        return session->error;
    }
    hs_pid_list_add(&session->refused, pid);
    /* A process that does not exist does not count: it is no reason to keep an empty recording. */
    session->rejected_count += refusal != HS_REFUSAL_GONE;
    if (!is_named && session->refused_listed == HS_REFUSED_LISTED_MAX) {
        session->refused_unlisted[refusal]++;
        return session->error;
    }
    session->refused_listed += !is_named;
    return write_refusal(session, facts, refusal, words, now_ns);
}

static int write_unlisted(struct hs_session *session)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HS_REFUSAL_N; i++) {
        count += session->refused_unlisted[i];
    }
    return count > 0 ? hs_trace_writer_unlisted(session->writer, session->refused_unlisted) : 0;
}

uint64_t hs_session_turn_sources(struct hs_session *session, uint64_t now_ns)
{
    uint64_t next_ns = session->error == 0 ? hs_sources_turn(session->sources, now_ns) : UINT64_MAX;
    uint64_t written = hs_sources_packet_count(session->sources);
    if (written != session->sources_written && now_ns >= session->sources_out_ns) {
        session->sources_written = written;
        session->sources_out_ns = now_ns + HS_SOURCES_OUT_NS;
        hand_out(session);
    }
    return next_ns;
}

bool hs_session_take_due_dump(struct hs_session *session, uint64_t now_ns)
{
    struct hs_dump_schedule schedule = session->settings.dumps;
    schedule.every_ns = hs_cpu_budget_stretch_ns(&session->cpu, schedule.every_ns);
    return hs_dump_take_due(&schedule, now_ns, &session->next_dump_ns);
}

bool hs_session_keep_cpu_budget(struct hs_session *session, uint64_t now_ns)
{
    if (!hs_cpu_budget_decide(&session->cpu, session->cpu_used_ns)) {
        return false;
    }
    uint64_t every_ns = hs_cpu_budget_stretch_ns(&session->cpu, session->settings.dumps.every_ns);
    session->next_dump_ns = every_ns ? now_ns + every_ns : UINT64_MAX;
    return true;
}

/* Processes that this one starts do most of it. */
static uint64_t names_cpu_ns(void)
{
    return hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + hs_proc_children_cpu_ns();
}

/* Says what the recording cost; the names took `names_ns`. */
static int write_cost(const struct hs_session *session, uint64_t names_ns)
{
    struct hs_trace_cost cost = { .recording_cpu_ns = session->cpu_used_ns,
                                  .names_cpu_ns = names_ns };
    struct hs_counters own = { 0 };
    struct hs_proc_identity identity;
    if (session->is_alone) {
        cost.collector_cpu_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        if (hs_proc_read_counters("/proc", getpid(), &own, &identity) == 0 &&
            hs_counters_have(&own, HS_COUNTER_RSS_PEAK)) {
            cost.collector_rss_peak_bytes = (uint64_t)own.values[HS_COUNTER_RSS_PEAK];
        }
    }
    return hs_trace_writer_cost(session->writer, &cost);
}

int hs_session_finish(struct hs_session *session)
{
    uint64_t begin_ns = names_cpu_ns();
    if (session->error == 0) {
        session->error = write_unlisted(session);
    }
    if (session->error == 0 && session->settings.is_symbolizing) {
        /* After a failure the trace is valid, without names; the writer returns its own error at
         * the end. */
        session->naming.files = session->files;
        session->naming.java = &session->java_wanted;
        session->names_error =
            hs_trace_names_append(session->writer, &session->wanted, &session->naming);
    }
    if (session->error == 0 && !session->is_resumed) {
        session->error = write_cost(session, names_cpu_ns() - begin_ns);
    }
    if (session->error == 0) {
        session->error = hs_trace_writer_finish(session->writer);
    }
    return session->error;
}
