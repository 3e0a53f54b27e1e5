/*
 * Answers `start`: checks the settings and the file, begins the session, and reports the processes
 * that match. See requests.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/requests.h"
#include "daemon/start_settings.h"
#include "rt/clock.h"

/* A verdict takes about a hundred bytes in the answer. */
#define HS_VERDICTS_TOLD 256

/* --- the answer ------------------------------------------------------------------------------- */

/* The answer, with the memory that its texts are in. */
struct reply {
    Hs__Ctl__Started started;
    uint64_t counts[HS_HUB_ANSWER_N];
    Hs__Ctl__Verdict verdicts[HS_VERDICTS_TOLD];
    Hs__Ctl__Verdict *pointers[HS_VERDICTS_TOLD];
    char names[HS_VERDICTS_TOLD][64];
    char holders[HS_VERDICTS_TOLD][HS_SESSION_NAME_MAX + 1];
    char reasons[HS_VERDICTS_TOLD][sizeof(((struct hs_refusal_words *)NULL)->what)];
};

static void add_verdict(void *ctx, const struct hs_hub_verdict *verdict)
{
    struct reply *reply = ctx;
    size_t i = reply->started.n_verdicts;
    reply->counts[verdict->answer]++;
    if (i == HS_VERDICTS_TOLD) {
        return;
    }
    reply->started.n_verdicts++;
    Hs__Ctl__Verdict *out = reply->pointers[i] = &reply->verdicts[i];
    hs__ctl__verdict__init(out);
    hs_match_display(&verdict->process->facts, reply->names[i], sizeof(reply->names[i]));
    out->has_pid = out->has_answer = out->has_is_named = true;
    out->pid = (uint32_t)verdict->process->facts.pid;
    out->process = reply->names[i];
    out->answer = verdict->answer;
    out->is_named = verdict->is_named;
    if (verdict->words) {
        snprintf(reply->reasons[i], sizeof(reply->reasons[i]), "%s", verdict->words->what);
        out->why = reply->reasons[i];
    }
    if (verdict->holder) {
        snprintf(reply->holders[i], sizeof(reply->holders[i]), "%s",
                 verdict->holder->settings.name);
        out->holder = reply->holders[i];
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static int refuse_job(struct hs_peer *peer, const char *name, int error)
{
    if (error == -EEXIST) {
        return hs_peer_refuse(peer, "there is a session '%s' already", name);
    }
    if (error == -E2BIG) {
        return hs_peer_refuse(peer, "there are too many sessions; stop one");
    }
    return hs_peer_refuse(peer, "the session cannot begin: %s", strerror(-error));
}

/* Writes the startup hint file for a session that begins: programs that start from now on may match
 * it. */
static void announce(const struct hs_requests *requests, const struct hs_session *session)
{
    struct hs_startup startup;
    hs_hub_find_startup(requests->hub, session, &startup);
    hs_daemon_socket_write_hint(requests->daemon_socket, &startup);
}

/* The same when it has begun, or could not begin. */
static void update_hint(const struct hs_requests *requests)
{
    struct hs_startup startup;
    hs_hub_find_startup(requests->hub, NULL, &startup);
    hs_daemon_socket_update_hint(requests->daemon_socket, &startup);
}

/* Begins the session, and answers the peer. Takes over the recording job and the settings. */
static int begin(const struct hs_requests *requests, struct hs_peer *peer,
                 struct hs_recording_job *job, struct hs_session_settings *settings,
                 const struct hs_ctl_message *message)
{
    struct reply *reply = calloc(1, sizeof(*reply));
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    snprintf(job->name, sizeof(job->name), "%s", settings->name);
    int r = reply ? hs_recording_job_add(requests->jobs, job) : -ENOMEM;
    if (r < 0) {
        r = refuse_job(peer, job->name, r);
        hs_recording_job_free(job);
        hs_session_settings_deinit(settings);
        free(reply);
        return r;
    }
    snprintf(settings->name, sizeof(settings->name), "%s", job->name);
    hs__ctl__started__init(&reply->started);
    reply->started.verdicts = reply->pointers;
    r = hs_session_new(settings, hs_trace_write_fd, (void *)(intptr_t)job->file.file_fd, now_ns,
                       &job->session);
    hs_session_settings_deinit(settings);
    if (r == 0) {
        off_t end = lseek(job->file.file_fd, 0, SEEK_CUR);
        job->session->owner = job;
        /* The command may have written data in front of the trace. */
        job->session->bytes = end > 0 ? (uint64_t)end : job->session->bytes;
        hs_recording_job_keep(job, message->body, message->body_bytes);
        /* Before the hub looks for running processes, which takes a moment: programs that start in
         * that time must not be missed. */
        announce(requests, job->session);
        r = hs_hub_start(requests->hub, job->session, now_ns, add_verdict, reply);
    }
    if (r < 0) {
        r = refuse_job(peer, job->name, r);
        hs_recording_job_drop_kept(job);
        hs_recording_job_remove(job);
        update_hint(requests);
    } else {
        update_hint(requests);
        hs_daemon_log("session %s of user %u begins: %s", job->name, job->rights.uid,
                      job->file.path);
        reply->started.session = job->name;
        reply->started.has_is_waiting = true;
        reply->started.is_waiting = hs_session_waits(job->session);
        reply->started.has_with_blocks = true;
        reply->started.with_blocks = job->session->settings.with_blocks;
        reply->started.n_answer_count = HS_HUB_ANSWER_N;
        reply->started.answer_count = reply->counts;
        r = hs_peer_reply(peer, HS_CTL_STARTED, &reply->started.base, NULL, 0);
    }
    free(reply);
    return r;
}

static const char *take_file(const struct hs_requests *requests, const Hs__Ctl__Start *request,
                             struct hs_ctl_message *message, struct hs_recording_file *file)
{
    file->file_fd = hs_ctl_take_fd(message, 0);
    file->folder_fd = hs_ctl_take_fd(message, 1);
    const char *why = hs_recording_file_check(file, requests->is_system);
    if (why) {
        return why;
    }
    return hs_recording_file_set_names(file, request->temp_name, request->final_name, request->path)
               ? NULL
               : "the file has no name";
}

static int start(const struct hs_requests *requests, struct hs_peer *peer,
                 const Hs__Ctl__Start *request, struct hs_ctl_message *message)
{
    struct hs_session_settings settings;
    const char *why = NULL;
    if (requests->is_stopping) {
        return hs_peer_refuse(peer, "the daemon is about to end");
    }
    int r = hs_start_settings(request, &settings, &why);
    if (r < 0) {
        return hs_peer_refuse(peer, "the session cannot begin: %s", why ? why : strerror(-r));
    }
    settings.uid = requests->is_system ? peer->rights.uid : requests->uid;
    settings.is_any_uid = hs_access_control_is_any_uid(requests->access, settings.uid);
    /* Only a user who may record the processes of every user may see which processes run. */
    settings.sources.scan_all_on_start &= !requests->is_system || settings.is_any_uid;
    struct hs_recording_job *job = hs_recording_job_new(&peer->rights);
    why = job ? take_file(requests, request, message, &job->file) : "out of memory";
    if (job && request->is_owned) {
        hs_recording_job_expect_owner(job, peer->pid, hs_clock_ns(CLOCK_MONOTONIC));
    }
    if (why) {
        hs_recording_job_free(job);
        hs_session_settings_deinit(&settings);
        return hs_peer_refuse(peer, "the session cannot begin: %s", why);
    }
    return begin(requests, peer, job, &settings, message);
}

int hs_request_start(const struct hs_requests *requests, struct hs_peer *peer,
                     struct hs_ctl_message *message)
{
    ProtobufCMessage *body = hs_ctl_unpack(message, &hs__ctl__start__descriptor);
    if (!body) {
        return -EPROTO;
    }
    int r = start(requests, peer, (const Hs__Ctl__Start *)(const void *)body, message);
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
