/*
 * Answers `snapshot` with the heap of a recorded process as it is now: see answers.h.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/ctl_message.h"
#include "session/answer_choice.h"
#include "session/answers.h"
#include "session/frame_names.h"
#include "sources/sources.h"
#include "trace/trace_writer.h"

/* --- which process ---------------------------------------------------------------------------- */

static int send_candidates(int sock, const Hs__Ctl__Snapshot *request,
                           struct hs_answer_choice *choice)
{
    Hs__Ctl__Snapped answer = HS__CTL__SNAPPED__INIT;
    answer.candidates = choice->pointers;
    answer.n_candidates = choice->count < HS_CANDIDATES_TOLD ? choice->count : HS_CANDIDATES_TOLD;
    answer.has_candidate_count = answer.has_is_dormant = true;
    answer.candidate_count = choice->count;
    answer.is_dormant = choice->count == 0 && request->pid != 0 && choice->has_client;
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
        hs_sources_dump(sources, &state, pid, NULL, now_ns, true);
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

static int send_trace(int sock, const Hs__Ctl__Snapshot *request, struct hs_answer_choice *choice,
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
    struct hs_answer_choice choice;
    hs_answer_choose(recorded, request->pid, request->name, &choice);
    if (request->is_query) {
        return send_candidates(sock, request, &choice);
    }
    return choice.count == 1 ? send_trace(sock, request, &choice, now_ns)
                             : hs_answer_refuse_choice(sock, request->pid, &choice);
}
