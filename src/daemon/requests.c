/*
 * Finds out which request a message is, and answers the short ones: stop, dump and snapshot. See
 * requests.h.
 */
#include "daemon/requests.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "ctl/ctl.pb-c.h"
#include "rt/clock.h"
#include "util/buf.h"

/* --- stop, dump ------------------------------------------------------------------------------- */

/* Finds the job of this name, or the only one that is not done if `name` is NULL. Returns NULL if
 * there is not exactly one; the peer then has a refusal, whose result is in *ret_result. */
static struct hs_recording_job *find_job(const struct hs_recording_jobs *jobs, struct hs_peer *peer,
                                         const char *name, int *ret_result)
{
    struct hs_recording_job *found = NULL;
    struct hs_buf others = HS_BUF_INIT;
    size_t count = 0;
    for (size_t i = 0; i < jobs->count; i++) {
        struct hs_recording_job *job = jobs->list[i];
        bool is_meant = name ? strcmp(job->name, name) == 0 : job->state != HS_RECORDING_JOB_DONE;
        if (!hs_peer_may(peer, job->rights.uid)) {
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
static struct hs_recording_job *take_job(const struct hs_recording_jobs *jobs, struct hs_peer *peer,
                                         const char *session, int *ret_result)
{
    const char *name = session && session[0] ? session : NULL;
    if (name && !hs_session_is_name(name)) {
        *ret_result = hs_peer_refuse(peer, "that is not the name of a session");
        return NULL;
    }
    return find_job(jobs, peer, name, ret_result);
}

/* Sends a peer the result of a job that is done. Returns as hs_peer_reply() does. */
static int tell_stopped(struct hs_peer *peer, const struct hs_recording_job *job)
{
    Hs__Ctl__Stopped stopped = HS__CTL__STOPPED__INIT;
    stopped.session = (char *)(uintptr_t)job->name;
    stopped.path = job->file.path;
    stopped.has_file_bytes = stopped.has_process_count = stopped.has_dump_count =
        stopped.has_rejected_count = true;
    stopped.file_bytes = job->result.file_bytes;
    stopped.process_count = job->process_count;
    stopped.dump_count = job->dump_count;
    stopped.rejected_count = job->rejected_count;
    stopped.error = (char *)(uintptr_t)hs_recording_job_why(job);
    stopped.heap_note = job->heap_note[0] ? (char *)(uintptr_t)job->heap_note : NULL;
    stopped.note = job->note[0] ? (char *)(uintptr_t)job->note : NULL;
    return hs_peer_reply(peer, HS_CTL_STOPPED, &stopped.base, NULL, 0);
}

void hs_request_answer_waiting(struct hs_peers *peers, const struct hs_recording_job *job)
{
    for (size_t i = peers->count; i > 0; i--) {
        struct hs_peer *peer = peers->list[i - 1];
        if (peer->awaited == job) {
            hs_peer_end_await(peer, hs_clock_ns(CLOCK_MONOTONIC));
            if (tell_stopped(peer, job) < 0) {
                hs_peer_drop(peer);
            }
        }
    }
}

static int stop(const struct hs_requests *requests, struct hs_peer *peer,
                const Hs__Ctl__Stop *request)
{
    int r = 0;
    struct hs_recording_job *job = take_job(requests->jobs, peer, request->session, &r);
    if (!job) {
        return r;
    }
    if (job->state == HS_RECORDING_JOB_RUNNING && !request->is_only_waiting) {
        hs_hub_stop(requests->hub, job->session, hs_clock_ns(CLOCK_MONOTONIC));
    }
    if (job->state == HS_RECORDING_JOB_DONE) {
        return tell_stopped(peer, job); /* long ago, or just now: no finalizer could start */
    }
    hs_peer_await(peer, job);
    if (job->state == HS_RECORDING_JOB_FINISHING && request->is_without_names) {
        hs_finalizer_skip_names(&job->finalizer);
    }
    return 0;
}

static int dump(const struct hs_requests *requests, struct hs_peer *peer,
                const Hs__Ctl__Dump *request)
{
    int r = 0;
    struct hs_recording_job *job = take_job(requests->jobs, peer, request->session, &r);
    if (!job) {
        return r;
    }
    if (job->state != HS_RECORDING_JOB_RUNNING) {
        return hs_peer_refuse(peer, "session %s has ended", job->name);
    }
    Hs__Ctl__Dumped dumped = HS__CTL__DUMPED__INIT;
    dumped.has_process_count = true;
    dumped.process_count = hs_hub_target_count(requests->hub, job->session);
    hs_hub_dump_session(requests->hub, job->session, hs_clock_ns(CLOCK_MONOTONIC));
    return hs_peer_reply(peer, HS_CTL_DUMPED, &dumped.base, NULL, 0);
}

/* --- snapshot --------------------------------------------------------------------------------- */

const char *hs_request_session_of(const void *ctx, const struct hs_target *target)
{
    const struct hs_session *session = hs_hub_session_of(target);
    (void)ctx;
    return session ? session->settings.name : hs_target_is_bound(target) ? HS_BOUND_SESSION : NULL;
}

bool hs_request_may_see(const void *ctx, const struct hs_target *target)
{
    const struct hs_peer *peer = ctx;
    const struct hs_session *session = hs_hub_session_of(target);
    const struct hs_recording_job *job = session ? session->owner : NULL;
    return hs_peer_may(peer, target->process.uid) || (job && job->rights.uid == peer->rights.uid);
}

static int snapshot(const struct hs_requests *requests, struct hs_peer *peer,
                    const Hs__Ctl__Snapshot *request)
{
    const struct hs_recorded recorded = HS_RECORDED_OF(requests, peer);
    return hs_answer_snapshot(&recorded, peer->fd, request, hs_clock_ns(CLOCK_MONOTONIC));
}

/* --- all -------------------------------------------------------------------------------------- */

int hs_request_handle(void *ctx, struct hs_peer *peer, struct hs_ctl_message *message)
{
    const struct hs_requests *requests = ctx;
    const ProtobufCMessageDescriptor *descriptor = NULL;
    if (message->kind == HS_CTL_START) {
        return hs_request_start(requests, peer, message);
    }
    descriptor = message->kind == HS_CTL_STOP       ? &hs__ctl__stop__descriptor
                 : message->kind == HS_CTL_LIST     ? &hs__ctl__list__descriptor
                 : message->kind == HS_CTL_DUMP     ? &hs__ctl__dump__descriptor
                 : message->kind == HS_CTL_SNAPSHOT ? &hs__ctl__snapshot__descriptor
                 : message->kind == HS_CTL_WATCH    ? &hs__ctl__watch__descriptor
                                                    : NULL;
    ProtobufCMessage *body = descriptor ? hs_ctl_unpack(message, descriptor) : NULL;
    if (!body) {
        return -EPROTO;
    }
    int r = 0;
    if (message->kind == HS_CTL_STOP) {
        r = stop(requests, peer, (const Hs__Ctl__Stop *)(const void *)body);
    } else if (message->kind == HS_CTL_LIST) {
        r = hs_request_list(requests, peer);
    } else if (message->kind == HS_CTL_DUMP) {
        r = dump(requests, peer, (const Hs__Ctl__Dump *)(const void *)body);
    } else if (message->kind == HS_CTL_WATCH) {
        r = hs_request_watch(requests, peer, (const Hs__Ctl__Watch *)(const void *)body);
    } else {
        r = snapshot(requests, peer, (const Hs__Ctl__Snapshot *)(const void *)body);
    }
    protobuf_c_message_free_unpacked(body, NULL);
    return r;
}
