/*
 * Answers `list`: the programs that announced themselves, and the sessions, with what each of them
 * costs. See requests.h.
 */
#include "daemon/requests.h"

#include "session/answer_watch.h"

static void add_session(struct hs_listing *listing, const struct hs_recording_job *job)
{
    static const char *const states[] = { "running", "finishing", "done" };
    const struct hs_session *session = job->session;
    Hs__Ctl__Session *out =
        hs_listing_add_session(listing, job->name, session ? &session->settings : &job->settings);
    out->has_uid = out->has_start_real_ns = true;
    out->uid = job->rights.uid;
    out->start_real_ns = job->start_real_ns;
    out->has_end_real_ns = job->end_real_ns != 0;
    out->end_real_ns = job->end_real_ns;
    out->path = job->file.path;
    out->state = (char *)(uintptr_t)(job->result.error ? "failed" : states[job->state]);
    out->error = (char *)(uintptr_t)hs_recording_job_why(job);
    out->process_count = session ? session->process_count : job->process_count;
    out->rejected_count = session ? session->rejected_count : job->rejected_count;
    out->dump_count = session ? session->dump_count : job->dump_count;
    out->sample_count = session ? session->ended_sample_count : job->sample_count;
    out->file_bytes = session ? session->bytes : job->result.file_bytes;
    if (session) {
        hs_listing_add_up(listing, out);
    }
}

int hs_request_list(const struct hs_requests *requests, struct hs_peer *peer)
{
    const struct hs_recording_jobs *jobs = requests->jobs;
    const struct hs_recorded recorded = HS_RECORDED_OF(requests, peer);
    struct hs_listing *listing = hs_listing_new(&recorded, jobs->count);
    if (!listing) {
        return hs_peer_refuse(peer, "out of memory");
    }
    listing->listed.has_start_real_ns = listing->listed.has_is_system = true;
    listing->listed.start_real_ns = requests->start_real_ns;
    listing->listed.is_system = requests->is_system;
    for (size_t i = 0; i < jobs->count; i++) {
        if (hs_peer_may(peer, jobs->list[i]->rights.uid)) {
            add_session(listing, jobs->list[i]);
        }
    }
    hs_answer_watches_list(requests->watches, listing);
    int r = hs_peer_reply(peer, HS_CTL_LISTED, &listing->listed.base, NULL, 0);
    hs_listing_free(listing);
    return r;
}
