/*
 * The counters of recorded processes: what /proc says of each, and what its heaps hold. See
 * hub_targets.h.
 */
#include "session/hub_targets.h"

static bool read_live(void *ctx, uint64_t *ret_live_bytes)
{
    return hs_target_read_live(ctx, ret_live_bytes);
}

uint64_t hs_hub_look_at_counters(struct hs_target *target, uint64_t now_ns)
{
    const struct hs_session *session = target->session.owner;
    const struct hs_source_heap heap = { .read = read_live, .ctx = target };
    return hs_sources_look(session->sources, &target->session.source, target->process.pid, &heap,
                           now_ns);
}

void hs_hub_dump_counters(struct hs_target *target, uint64_t now_ns, bool is_last)
{
    const struct hs_session *session = target->session.owner;
    const struct hs_source_heap heap = { .read = read_live, .ctx = target };
    hs_sources_dump(session->sources, &target->session.source, target->process.pid, &heap, now_ns,
                    is_last);
}

void hs_hub_end_counters(struct hs_target *target, uint64_t end_ns)
{
    const struct hs_session *session = target->session.owner;
    target->session.source = hs_sources_end(session->sources, target->session.source, end_ns,
                                            &target->process.rss_peak_bytes);
}
