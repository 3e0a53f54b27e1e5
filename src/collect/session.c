/*
 * One image of one process: see session.h.
 */
#include "collect/session.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/capture.h"
#include "rt/atomic.h"
#include "util/proc.h"

#define HS_RSS_PERIOD_FIRST_NS UINT64_C(2000000)
#define HS_RSS_PERIOD_MAX_NS   UINT64_C(250000000)

/* A shell's child needs milliseconds from fork to exec; on a busy machine a hundred. */
#define HS_PRELUDE_NS UINT64_C(1000000000)

/* Without a pidfd of the connection itself: a process that started after the region was made is
 * another one under the same pid. */
static bool is_impostor(const struct hs_session *session)
{
    struct hs_proc_stat stat;
    long ticks = sysconf(_SC_CLK_TCK);
    if (session->pid <= 0 || ticks <= 0 || hs_proc_read_stat(session->pid, &stat) < 0) {
        return false;
    }
    uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)ticks;
    /* An exec keeps the start time, so only later is wrong. The clock of stat is a coarse one. */
    return stat.start_ticks * tick_ns > session->region.header.start_boot_ns + tick_ns;
}

int hs_session_open(struct hs_guest *guest, uint64_t now_ns, struct hs_session **ret_session,
                    const char **ret_why)
{
    struct hs_session *session = calloc(1, sizeof(*session));
    int r = session ? 0 : -ENOMEM;
    if (r == 0) {
        r = hs_region_open(guest->region_fd, guest->hello.region_bytes, &session->region, ret_why);
    }
    if (r < 0) {
        close(guest->region_fd);
        if (guest->pidfd >= 0) {
            close(guest->pidfd);
        }
        free(session);
        return r;
    }
    session->pid = guest->pid;
    session->pidfd = guest->pidfd;
    session->hello_flags = guest->hello.flags;
    session->rss_period_ns = HS_RSS_PERIOD_FIRST_NS;
    if (guest->is_gone || is_impostor(session)) {
        hs_session_end(session, now_ns, HS_EXIT_UNKNOWN, 0);
    } else {
        hs_session_look(session, now_ns);
    }
    *ret_session = session;
    return 0;
}

struct hs_session *hs_session_close(struct hs_session *session)
{
    if (session) {
        hs_region_close(&session->region);
        if (session->pidfd >= 0) {
            close(session->pidfd);
        }
        free(session);
    }
    return NULL;
}

bool hs_session_is_older(const struct hs_session *session, const struct hs_session *other)
{
    return session->region.header.start_mono_ns < other->region.header.start_mono_ns;
}

bool hs_session_is_prelude(const struct hs_session *session, const struct hs_session *next)
{
    const struct hs_region_header_v1 *header = &session->region.header;
    return header->forked_from_pid != 0 &&
           next->region.header.start_mono_ns < header->start_mono_ns + HS_PRELUDE_NS;
}

void hs_session_look(struct hs_session *session, uint64_t now_ns)
{
    struct hs_proc_status status;
    if (session->has_ended) {
        return;
    }
    uint64_t age_ns = now_ns - session->region.header.start_mono_ns;
    hs_store_relaxed(&session->region.control->collector_ms, (uint32_t)(age_ns / 1000000));
    if (now_ns < session->rss_next_ns) {
        return;
    }
    if (session->pid > 0 && hs_proc_read_status(session->pid, &status) == 0 &&
        status.vm_rss_bytes > 0) {
        session->rss_bytes = status.vm_rss_bytes;
        if (status.vm_hwm_bytes > session->rss_peak_bytes) {
            session->rss_peak_bytes = status.vm_hwm_bytes;
        }
    }
    session->rss_next_ns = now_ns + session->rss_period_ns;
    session->rss_period_ns += session->rss_period_ns / 2;
    if (session->rss_period_ns > HS_RSS_PERIOD_MAX_NS) {
        session->rss_period_ns = HS_RSS_PERIOD_MAX_NS;
    }
}

void hs_session_end(struct hs_session *session, uint64_t now_ns, enum hs_exit_kind exit_kind,
                    int exit_value)
{
    if (!session->has_ended) {
        session->has_ended = true;
        session->end_ns = now_ns;
        session->exit_kind = exit_kind;
        session->exit_value = exit_value;
    }
}

void hs_session_stop_recording(struct hs_session *session)
{
    struct hs_region_control_v1 *control = session->region.control;
    hs_store_relaxed(&control->interval_bytes, HS_INTERVAL_OFF);
    /* ORDER settings: the interval before its generation. */
    hs_store_release(&control->generation, hs_load_relaxed(&control->generation) + 1);
    /* Every thread takes the slow path once, sees the generation, and sleeps. */
    hs_add_relaxed(&control->floor_bytes, HS_FLOOR_STEP);
}

int hs_session_capture(struct hs_session *session, uint64_t now_ns, bool is_final,
                       struct hs_snapshot **ret_snapshot)
{
    struct hs_snapshot *snap;
    uint64_t time_ns = session->has_ended ? session->end_ns : now_ns;
    if (!session->has_ended) {
        session->rss_next_ns = 0;
        hs_session_look(session, now_ns);
    }
    int r = hs_capture(&session->region, session->has_ended, time_ns, &snap);
    if (r < 0) {
        return r;
    }
    /* In a pid namespace the process knows another pid: everybody else sees ours. */
    if (session->pid > 0 && (uint32_t)session->pid != snap->pid) {
        struct hs_proc_stat stat;
        snap->pid = (uint32_t)session->pid;
        snap->ppid = hs_proc_read_stat(session->pid, &stat) == 0 ? stat.ppid : 0;
        snap->forked_from_pid = snap->forked_from_pid ? snap->ppid : 0;
    }
    snap->is_final = is_final;
    snap->has_own_malloc = (session->hello_flags & HS_HELLO_OWN_MALLOC) != 0;
    snap->exit_kind = session->exit_kind;
    snap->exit_value = session->exit_value;
    snap->rss_bytes = session->has_ended ? 0 : session->rss_bytes;
    snap->rss_peak_bytes = session->rss_peak_bytes;
    session->dump_count++;
    *ret_snapshot = snap;
    return 0;
}
