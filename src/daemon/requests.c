/*
 * Finds out which request a message is, and answers the short ones: stop, dump and snapshot. See
 * requests.h.
 */
#include "daemon/requests.h"

#include <errno.h>
#include <string.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/finalizer.h"
#include "daemon/recording_job.h"
#include "util/buf.h"

/* --- stop, dump ------------------------------------------------------------------------------- */

/* Finds the job of this name, or the only one that is not done if `name` is NULL. Returns NULL if
 * there is not exactly one; the peer then has a refusal, whose result is in *ret_result. */
static struct hs_recording_job *find_job(struct hs_daemon *daemon, struct hs_peer *peer,
                                         const char *name, int *ret_result)
{
    struct hs_recording_job *found = NULL;
    struct hs_buf others = HS_BUF_INIT;
    size_t count = 0;
    for (size_t i = 0; i < daemon->job_count; i++) {
        struct hs_recording_job *job = daemon->jobs[i];
        bool is_meant = name ? strcmp(job->name, name) == 0 : job->state != HS_RECORDING_JOB_DONE;
        if (!hs_peer_may(daemon, peer, job->uid)) {
            continue;
        }
        if (is_meant) {
            found = job;
            count++;
        }
        if (job->state != HS_RECORDING_JOB_DONE) {
            hs_buf_printf(&others, " %s", job->name);
        }
    }
    if (count == 0 && name) {
        *ret_result = hs_peer_refuse(peer, "there is no session '%s'; running:%s", name,
                                     others.bytes ? hs_buf_text(&others) : " none");
    } else if (count == 0) {
        *ret_result = hs_peer_refuse(peer, "no session is running");
    } else if (count > 1) {
        *ret_result = hs_peer_refuse(peer, "more than one session is running, name one:%s",
                                     hs_buf_text(&others));
    }
    hs_buf_deinit(&others);
    return count == 1 ? found : NULL;
}

/* The job that a request names, or the only one. Returns NULL as find_job() does. */
static struct hs_recording_job *take_job(struct hs_daemon *daemon, struct hs_peer *peer,
                                         const char *session, int *ret_result)
{
    const char *name = session && session[0] ? session : NULL;
    if (name && !hs_session_is_name(name)) {
        *ret_result = hs_peer_refuse(peer, "that is not the name of a session");
        return NULL;
    }
    return find_job(daemon, peer, name, ret_result);
}

static int stop(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Stop *request)
{
    int r = 0;
    struct hs_recording_job *job = take_job(daemon, peer, request->session, &r);
    if (!job) {
        return r;
    }
    if (job->state == HS_RECORDING_JOB_DONE) {
        return hs_recording_job_tell(peer, job);
    }
    peer->awaited = job;
    if (job->state == HS_RECORDING_JOB_RUNNING && !request->is_only_waiting) {
        hs_hub_stop(daemon->hub, job->session, hs_daemon_mono_ns());
    }
    if (job->state == HS_RECORDING_JOB_FINISHING && request->is_hurried) {
        hs_finalizer_hurry(job);
    }
    return 0;
}

static int dump(struct hs_daemon *daemon, struct hs_peer *peer, const Hs__Ctl__Dump *request)
{
    int r = 0;
    struct hs_recording_job *job = take_job(daemon, peer, request->session, &r);
    if (!job) {
        return r;
    }
    if (job->state != HS_RECORDING_JOB_RUNNING) {
        return hs_peer_refuse(peer, "session %s has ended", job->name);
    }
    Hs__Ctl__Dumped dumped = HS__CTL__DUMPED__INIT;
    dumped.has_process_count = true;
    dumped.process_count = hs_hub_target_count(daemon->hub, job->session);
    hs_hub_dump_session(daemon->hub, job->session, hs_daemon_mono_ns());
    return hs_peer_reply(peer, HS_CTL_DUMPED, &dumped.base, NULL, 0);
}

/* --- snapshot --------------------------------------------------------------------------------- */

const char *hs_request_session_of(const void *ctx, const struct hs_target *target)
{
    const struct hs_session *session = hs_hub_session_of(target);
    (void)ctx;
    return session ? session->settings.name : NULL;
}

bool hs_request_may_see(const void *ctx, const struct hs_target *target)
{
    const struct hs_asking *asking = ctx;
    return hs_recording_job_may_see(asking->daemon, asking->peer, target);
}

static int snapshot(struct hs_daemon *daemon, struct hs_peer *peer,
                    const Hs__Ctl__Snapshot *request)
{
    const struct hs_asking asking = { daemon, peer };
    const struct hs_recorded recorded = HS_RECORDED_OF(&asking);
    return hs_answer_snapshot(&recorded, peer->fd, request, hs_daemon_mono_ns());
}

/* --- all -------------------------------------------------------------------------------------- */

int hs_request_handle(struct hs_daemon *daemon, struct hs_peer *peer,
                      struct hs_ctl_message *message)
{
    const ProtobufCMessageDescriptor *descriptor = NULL;
    if (peer->awaited) {
        return -EPROTO; /* the peer must wait for its answer before it sends another request */
    }
    if (message->kind == HS_CTL_START) {
        return hs_request_start(daemon, peer, message);
    }
    descriptor = message->kind == HS_CTL_STOP       ? &hs__ctl__stop__descriptor
                 : message->kind == HS_CTL_LIST     ? &hs__ctl__list__descriptor
                 : message->kind == HS_CTL_DUMP     ? &hs__ctl__dump__descriptor
                 : message->kind == HS_CTL_SNAPSHOT ? &hs__ctl__snapshot__descriptor
                                                    : NULL;
    ProtobufCMessage *body = descriptor ? hs_ctl_unpack(message, descriptor) : NULL;
    if (!body) {
        return -EPROTO;
    }
    int r = 0;
    if (message->kind == HS_CTL_STOP) {
        r = stop(daemon, peer, (const Hs__Ctl__Stop *)(const void *)body);
    } else if (message->kind == HS_CTL_LIST) {
        r = hs_request_list(daemon, peer);
    } else if (message->kind == HS_CTL_DUMP) {
        r = dump(daemon, peer, (const Hs__Ctl__Dump *)(const void *)body);
    } else {
        r = snapshot(daemon, peer, (const Hs__Ctl__Snapshot *)(const void *)body);
    }
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
