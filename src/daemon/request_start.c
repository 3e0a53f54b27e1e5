/*
 * A session is asked for: settings, its file, and what is said of the processes it means. See requests.h.
 *
 * The file comes as a descriptor, and is looked at before it is believed: a regular file, that can be written,
 * on a file system that answers. A daemon for everybody takes none on FUSE, where another user's process would
 * decide how long a write takes.
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
#include "daemon/handover_save.h"
#include "daemon/recording_job.h"
#include "daemon/requests.h"
#include "daemon/start_settings.h"

/* Each is about a hundred bytes on the wire. */
#define HS_VERDICTS_TOLD 256

/* --- the file ---------------------------------------------------------------------------------- */

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
        return "the file is on a FUSE file system; choose a place on a local one";
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

/* --- what is said ------------------------------------------------------------------------------ */

struct telling {
    Hs__Ctl__Started started;
    uint64_t counts[HS_HUB_ANSWER_N];
    Hs__Ctl__Verdict verdicts[HS_VERDICTS_TOLD];
    Hs__Ctl__Verdict *pointers[HS_VERDICTS_TOLD];
    char names[HS_VERDICTS_TOLD][64];
    char holders[HS_VERDICTS_TOLD][HS_SESSION_NAME_MAX + 1];
    char reasons[HS_VERDICTS_TOLD][sizeof(((struct hs_refusal_words *)NULL)->what)];
};

static void say(void *ctx, const struct hs_hub_verdict *verdict)
{
    struct telling *telling = ctx;
    size_t i = telling->started.n_verdicts;
    telling->counts[verdict->answer]++;
    if (i == HS_VERDICTS_TOLD) {
        return;
    }
    telling->started.n_verdicts++;
    Hs__Ctl__Verdict *out = telling->pointers[i] = &telling->verdicts[i];
    hs__ctl__verdict__init(out);
    hs_match_display(&verdict->process->facts, telling->names[i], sizeof(telling->names[i]));
    out->has_pid = out->has_answer = out->has_is_named = true;
    out->pid = (uint32_t)verdict->process->facts.pid;
    out->process = telling->names[i];
    out->answer = verdict->answer;
    out->is_named = verdict->is_named;
    if (verdict->words) {
        snprintf(telling->reasons[i], sizeof(telling->reasons[i]), "%s", verdict->words->what);
        out->why = telling->reasons[i];
    }
    if (verdict->holder) {
        snprintf(telling->holders[i], sizeof(telling->holders[i]), "%s",
                 verdict->holder->settings.name);
        out->holder = telling->holders[i];
    }
}

/* --- all --------------------------------------------------------------------------------------- */

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

/* Programs that start from now on may be this session's. */
static void announce(struct hs_daemon *daemon, const struct hs_session *session)
{
    uint64_t least = hs_hub_startup_interval(daemon->hub);
    uint64_t interval = session->settings.interval_bytes;
    if (hs_session_waits(session) && (least == 0 || interval < least)) {
        hs_daemon_socket_write_hint(&daemon->daemon_socket, interval);
    }
}

/* Begins it, and tells. Takes over recording job and settings. */
static int begin(struct hs_daemon *daemon, struct hs_peer *peer, struct hs_recording_job *job,
                 struct hs_session_settings *settings, const struct hs_ctl_message *message)
{
    struct telling *telling = calloc(1, sizeof(*telling));
    uint64_t now_ns = hs_daemon_mono_ns();
    snprintf(job->name, sizeof(job->name), "%s", settings->name);
    int r = telling ? hs_recording_job_add(daemon, job) : -ENOMEM;
    if (r < 0) {
        r = refuse_job(peer, job->name, r);
        hs_recording_job_free(job);
        hs_session_settings_deinit(settings);
        free(telling);
        return r;
    }
    snprintf(settings->name, sizeof(settings->name), "%s", job->name);
    hs__ctl__started__init(&telling->started);
    telling->started.verdicts = telling->pointers;
    r = hs_session_new(settings, hs_trace_write_fd, (void *)(intptr_t)job->file_fd, now_ns,
                       &job->session);
    hs_session_settings_deinit(settings);
    if (r == 0) {
        off_t end = lseek(job->file_fd, 0, SEEK_CUR);
        job->session->owner = job;
        /* With what the command wrote in front of it. */
        job->session->bytes = end > 0 ? (uint64_t)end : job->session->bytes;
        hs_handover_save_job(daemon, job, message->body, message->body_bytes);
        /* Before what runs is looked for, which takes a moment: what starts meanwhile is not to be missed. */
        announce(daemon, job->session);
        r = hs_hub_start(daemon->hub, job->session, now_ns, say, telling);
    }
    if (r < 0) {
        r = refuse_job(peer, job->name, r);
        hs_handover_drop_job(daemon, job);
        hs_recording_job_remove(daemon, job);
        hs_daemon_write_startup_hint(daemon);
    } else {
        hs_daemon_write_startup_hint(daemon);
        hs_daemon_log("session %s of user %u begins: %s", job->name, job->uid, job->path);
        telling->started.session = job->name;
        telling->started.has_is_waiting = true;
        telling->started.is_waiting = hs_session_waits(job->session);
        telling->started.n_answer_count = HS_HUB_ANSWER_N;
        telling->started.answer_count = telling->counts;
        r = hs_peer_reply(peer, HS_CTL_STARTED, &telling->started.base, NULL, 0);
    }
    free(telling);
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
    /* Who else runs is told to those who may have everybody's processes. */
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
