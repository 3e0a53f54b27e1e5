/*
 * Answers `start`: checks the settings and the file, begins the session, and reports the processes
 * that match. See requests.h.
 *
 * The file comes as a descriptor. It must be a regular file that is open for writing, on a file
 * system that answers. The machine's daemon takes no file on FUSE, where another user's process
 * would decide how long a write takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/daemon_log.h"
#include "daemon/handover/handover_save.h"
#include "daemon/recording_job.h"
#include "daemon/requests.h"
#include "daemon/start_settings.h"

/* A verdict takes about a hundred bytes in the answer. */
#define HS_VERDICTS_TOLD 256

/* --- the file --------------------------------------------------------------------------------- */

static const char *check_file(const struct hs_daemon *daemon, int fd)
{
    struct stat st;
    struct statfs fs;
    int flags = fcntl(fd, F_GETFL);
    if (fd < 0 || flags < 0 || fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0) {
        return "no file came with the request";
    }
    if (!S_ISREG(st.st_mode)) {
        return "the file is not a regular one";
    }
    if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH)) {
        return "the file is not open for writing";
    }
    if (daemon->is_system && fs.f_type == FUSE_SUPER_MAGIC) {
        return "the file is on a FUSE file system; choose a local one";
    }
    return NULL;
}

static const char *check_folder(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)
               ? NULL
               : "no folder came with the request";
}

static const char *take_file(const struct hs_daemon *daemon, const Hs__Ctl__Start *request,
                             struct hs_ctl_message *message, struct hs_recording_job *job)
{
    job->file_fd = hs_ctl_take_fd(message, 0);
    job->folder_fd = hs_ctl_take_fd(message, 1);
    const char *why = check_file(daemon, job->file_fd);
    why = why ? why : check_folder(job->folder_fd);
    if (why) {
        return why;
    }
    return hs_recording_job_name_file(job, request) ? NULL : "the file has no name";
}

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
static void announce(struct hs_daemon *daemon, const struct hs_session *session)
{
    uint64_t least = hs_hub_startup_interval(daemon->hub);
    uint64_t interval = session->settings.interval_bytes;
    if (hs_session_waits(session) && (least == 0 || interval < least)) {
        hs_daemon_socket_write_hint(&daemon->daemon_socket, interval);
    }
}

/* Begins the session, and answers the peer. Takes over the recording job and the settings. */
static int begin(struct hs_daemon *daemon, struct hs_peer *peer, struct hs_recording_job *job,
                 struct hs_session_settings *settings, const struct hs_ctl_message *message)
{
    struct reply *reply = calloc(1, sizeof(*reply));
    uint64_t now_ns = hs_daemon_mono_ns();
    snprintf(job->name, sizeof(job->name), "%s", settings->name);
    int r = reply ? hs_recording_job_add(daemon, job) : -ENOMEM;
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
    r = hs_session_new(settings, hs_trace_write_fd, (void *)(intptr_t)job->file_fd, now_ns,
                       &job->session);
    hs_session_settings_deinit(settings);
    if (r == 0) {
        off_t end = lseek(job->file_fd, 0, SEEK_CUR);
        job->session->owner = job;
        /* The command may have written data in front of the trace. */
        job->session->bytes = end > 0 ? (uint64_t)end : job->session->bytes;
        hs_handover_save_job(daemon, job, message->body, message->body_bytes);
        /* Before the hub looks for running processes, which takes a moment: programs that start in
         * that time must not be missed. */
        announce(daemon, job->session);
        r = hs_hub_start(daemon->hub, job->session, now_ns, add_verdict, reply);
    }
    if (r < 0) {
        r = refuse_job(peer, job->name, r);
        hs_handover_drop_job(daemon, job);
        hs_recording_job_remove(daemon, job);
        hs_daemon_write_startup_hint(daemon);
    } else {
        hs_daemon_write_startup_hint(daemon);
        hs_daemon_log("session %s of user %u begins: %s", job->name, job->uid, job->path);
        reply->started.session = job->name;
        reply->started.has_is_waiting = true;
        reply->started.is_waiting = hs_session_waits(job->session);
        reply->started.n_answer_count = HS_HUB_ANSWER_N;
        reply->started.answer_count = reply->counts;
        r = hs_peer_reply(peer, HS_CTL_STARTED, &reply->started.base, NULL, 0);
    }
    free(reply);
    return r;
}

static int start(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Start *request,
                 struct hs_ctl_message *message)
{
    struct hs_session_settings settings;
    const char *why = NULL;
    if (daemon->is_stopping) {
        return hs_peer_refuse(peer, "the daemon is about to end");
    }
    int r = hs_start_settings(request, &settings, &why);
    if (r < 0) {
        return hs_peer_refuse(peer, "the session cannot begin: %s", why ? why : strerror(-r));
    }
    settings.uid = daemon->is_system ? peer->uid : daemon->uid;
    settings.is_any_uid = hs_access_control_is_any_uid(&daemon->access, settings.uid);
    /* Only a user who may record the processes of every user may see which processes run. */
    settings.sources.scan_all_on_start &= !daemon->is_system || settings.is_any_uid;
    struct hs_recording_job *job =
        hs_recording_job_new(peer->uid, peer->gid, peer->groups, peer->group_count);
    why = job ? take_file(daemon, request, message, job) : "out of memory";
    if (job && request->is_owned) {
        hs_recording_job_expect_owner(job, peer->pid, hs_daemon_mono_ns());
    }
    if (why) {
        hs_recording_job_free(job);
        hs_session_settings_deinit(&settings);
        return hs_peer_refuse(peer, "the session cannot begin: %s", why);
    }
    return begin(daemon, peer, job, &settings, message);
}

int hs_request_start(struct hs_daemon *daemon, struct hs_peer *peer, struct hs_ctl_message *message)
{
    ProtobufCMessage *body = hs_ctl_unpack(message, &hs__ctl__start__descriptor);
    if (!body) {
        return -EPROTO;
    }
    int r = start(daemon, peer, (const Hs__Ctl__Start *)(const void *)body, message);
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
