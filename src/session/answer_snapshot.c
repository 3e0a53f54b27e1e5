/*
 * Answers `snapshot` with the heap of a recorded process as it is now: see answers.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "session/answers.h"
#include "session/frame_names.h"
#include "session/match.h"
#include "session/process_facts.h"
#include "sources/sources.h"
#include "trace/trace_writer.h"

#define HS_CANDIDATES_TOLD 20

/* --- which process ---------------------------------------------------------------------------- */

/* The processes that match a request. */
struct choice {
    struct hs_target *target; /* the last one that matches */
    const char *session;
    size_t count;
    bool has_client; /* a process of this pid has a client; it may be dormant */
    Hs__Ctl__Candidate candidates[HS_CANDIDATES_TOLD];
    Hs__Ctl__Candidate *pointers[HS_CANDIDATES_TOLD];
    char processes[HS_CANDIDATES_TOLD][64];
    char process[64]; /* the name of the target */
};

static bool is_by_pid(const Hs__Ctl__Snapshot *request)
{
    return request->has_pid && request->pid != 0;
}

static void remember(struct choice *choice, const struct hs_process_facts *facts)
{
    size_t i = choice->count++;
    hs_match_display(&facts->facts, choice->process, sizeof(choice->process));
    if (i < HS_CANDIDATES_TOLD) {
        Hs__Ctl__Candidate *it = choice->pointers[i] = &choice->candidates[i];
        hs__ctl__candidate__init(it);
        memcpy(choice->processes[i], choice->process, sizeof(choice->process));
        it->has_pid = true;
        it->pid = (uint32_t)facts->facts.pid;
        it->process = choice->processes[i];
        it->session = (char *)(uintptr_t)choice->session;
    }
}

static void consider(const struct hs_recorded *recorded, const Hs__Ctl__Snapshot *request,
                     struct hs_target *target, struct choice *choice)
{
    struct hs_process_facts facts;
    if (target->process.has_ended || !recorded->may_see(recorded->ctx, target) ||
        (is_by_pid(request) && target->process.pid != (pid_t)request->pid)) {
        return;
    }
    choice->has_client = true;
    const char *session = recorded->session_of(recorded->ctx, target);
    if (!session) {
        return;
    }
    hs_process_facts_of_target(target, &facts);
    if (request->name && !hs_match_name(request->name, &facts.facts)) {
        return;
    }
    choice->target = target;
    choice->session = session;
    remember(choice, &facts);
}

static int refuse(int sock, const Hs__Ctl__Snapshot *request, const struct choice *choice)
{
    if (choice->count > 1) {
        return hs_ctl_refuse(sock, "%zu processes are recorded; name one with -p PID",
                             choice->count);
    }
    if (is_by_pid(request)) {
        return hs_ctl_refuse(sock, "process %u is not recorded any more", request->pid);
    }
    return hs_ctl_refuse(sock, "no such process is recorded any more");
}

static int send_candidates(int sock, const Hs__Ctl__Snapshot *request, struct choice *choice)
{
    Hs__Ctl__Snapped answer = HS__CTL__SNAPPED__INIT;
    answer.candidates = choice->pointers;
    answer.n_candidates = choice->count < HS_CANDIDATES_TOLD ? choice->count : HS_CANDIDATES_TOLD;
    answer.has_candidate_count = answer.has_is_dormant = true;
    answer.candidate_count = choice->count;
    answer.is_dormant = choice->count == 0 && is_by_pid(request) && choice->has_client;
    return hs_ctl_send(sock, HS_CTL_SNAPPED, &answer.base, NULL, 0);
}

/* --- its heap --------------------------------------------------------------------------------- */

/* Writes the counters of the process as they are now, with its threads and its PSS. */
static void write_counters(struct hs_trace_writer *writer, pid_t pid, uint64_t now_ns)
{
    const struct hs_sources_settings settings = hs_sources_default();
    struct hs_source_process *state = NULL;
    struct hs_sources *sources;
    if (hs_sources_new(&settings, writer, &sources) == 0) {
        hs_sources_dump(sources, &state, pid, now_ns, true);
        hs_source_process_free(state);
        hs_sources_free(sources);
    }
}

/* The session's own snapshots have types and blocks or not, whatever this one has. */
static int capture(struct hs_target *target, const Hs__Ctl__Snapshot *request, uint64_t now_ns,
                   struct hs_snapshot **ret_snap)
{
    const struct hs_record_types *types = target->region.types;
    bool was_without_types = target->session.is_without_types;
    bool had_blocks = target->region.has_blocks;
    /* Which blocks live is asked many times, and needs no ledger. */
    if (request->is_without_types) {
        target->session.is_without_types = true;
        target->region.types = NULL;
    }
    target->session.ledgers.is_asked_for |= request->block_epoch_max == 0;
    target->region.has_blocks = request->wants_blocks;
    target->region.block_epoch_max = request->block_epoch_max;
    int r = hs_target_capture(target, now_ns, false, ret_snap);
    if (request->is_without_types) {
        target->session.is_without_types = was_without_types;
        target->region.types = types;
    }
    target->region.has_blocks = had_blocks;
    target->region.block_epoch_max = 0;
    return r;
}

/* *ret_epoch: of the cut. */
static int write_trace(struct hs_target *target, const Hs__Ctl__Snapshot *request, uint64_t now_ns,
                       int fd, uint64_t *ret_epoch)
{
    const struct hs_session *session = target->session.owner;
    struct hs_frame_names names = { .files = session ? session->files : NULL };
    const struct hs_trace_writer_config config = { .sink = hs_trace_write_fd,
                                                   .sink_ctx = (void *)(intptr_t)fd,
                                                   .name_frames = request->wants_names
                                                                      ? hs_frame_names_find
                                                                      : NULL,
                                                   .name_frames_ctx = &names };
    struct hs_trace_writer *writer = NULL;
    struct hs_snapshot *snap = NULL;
    int r = capture(target, request, now_ns, &snap);
    if (r < 0) {
        return r;
    }
    *ret_epoch = snap->cut_epoch;
    r = hs_trace_writer_new(&config, &writer);
    if (r == 0) {
        r = hs_trace_writer_begin(writer);
    }
    if (r == 0) {
        if (request->block_epoch_max == 0) {
            write_counters(writer, target->process.pid, now_ns);
        }
        r = hs_trace_writer_dump(writer, snap);
    }
    if (r == 0) {
        r = hs_trace_writer_finish(writer);
    }
    hs_trace_writer_free(writer);
    hs_frame_names_deinit(&names);
    hs_snapshot_free(snap);
    return r;
}

static int send_trace(int sock, const Hs__Ctl__Snapshot *request, struct choice *choice,
                      uint64_t now_ns)
{
    Hs__Ctl__Snapped answer = HS__CTL__SNAPPED__INIT;
    int fd = memfd_create("heapscope-snapshot", MFD_CLOEXEC);
    int r = fd >= 0 ? 0 : -errno;
    if (r == 0) {
        r = write_trace(choice->target, request, now_ns, fd, &answer.cut_epoch);
    }
    if (r < 0) {
        r = hs_ctl_refuse(sock, "process %d (%s) could not be read: %s",
                          (int)choice->target->process.pid, choice->process, strerror(-r));
    } else {
        answer.has_pid = answer.has_cut_epoch = true;
        answer.pid = (uint32_t)choice->target->process.pid;
        answer.process = choice->process;
        answer.session = (char *)(uintptr_t)choice->session;
        r = hs_ctl_send(sock, HS_CTL_SNAPPED, &answer.base, &fd, 1);
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

int hs_answer_snapshot(const struct hs_recorded *recorded, int sock,
                       const Hs__Ctl__Snapshot *request, uint64_t now_ns)
{
    struct choice choice = { .target = NULL };
    for (size_t i = 0; i < recorded->registry->target_count; i++) {
        consider(recorded, request, recorded->registry->targets[i], &choice);
    }
    if (request->is_query) {
        return send_candidates(sock, request, &choice);
    }
    return choice.count == 1 ? send_trace(sock, request, &choice, now_ns)
                             : refuse(sock, request, &choice);
}
