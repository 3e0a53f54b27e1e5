/*
 * Reads a target's memory: see target_memory.h.
 */
#include "collect/target_memory.h"

#include <stdbool.h>
#include <time.h>

#include "rt/clock.h"

/* Of the collector's time, at one reading: for a snapshot, and at other times, in addition to four
 * times what the ledger took. Blocks that are not reached have no type. */
#define TYPES_NS_MAX   UINT64_C(15000000)
#define TYPES_LOOK_NS  UINT64_C(5000000)
#define TYPES_A_LEDGER 4U
/* So many times what the last reading took, snapshots take its types. */
#define TYPES_REST 10U

/* Is its memory that of the program that is recorded? */
static bool has_memory(const struct hs_target *target)
{
    return !target->process.has_ended && !target->state.is_dormant &&
           hs_target_process_has_memory(&target->process);
}

/* Returns how long that took; 0: they are not to be read. */
static uint64_t read_types(struct hs_target *target, uint64_t time_ns_max)
{
    struct hs_target_session *session = &target->session;
    if (session->is_without_types) {
        return 0;
    }
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    (void)hs_typed_records_read(target->process.pid, &target->region, time_ns_max, &session->types);
    target->region.types = hs_typed_records_view(&session->types);
    session->types_cost_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    return session->types_cost_ns;
}

uint64_t hs_target_look_at_ledger(struct hs_target *target, struct hs_ledger_allowance *allowance,
                                  uint64_t now_ns)
{
    uint64_t later_ns = hs_target_budget_pressing_ns(&target->session.budget, now_ns);
    if (!has_memory(target) || later_ns > 0) {
        return has_memory(target) ? later_ns : UINT64_MAX;
    }
    uint64_t next_ns = hs_ledger_watch_look(&target->session.ledgers, allowance,
                                            target->process.pid, &target->region, now_ns);
    /* Types are read when a ledger was: both are allowed the same share of the time. */
    const struct hs_ledger *ledger = target->session.ledgers.last;
    if (ledger && ledger->time_mono_ns > target->session.types.time_mono_ns) {
        uint64_t most_ns = TYPES_LOOK_NS + TYPES_A_LEDGER * ledger->cpu_ns;
        allowance->spent_ns += read_types(target, most_ns < TYPES_NS_MAX ? most_ns : TYPES_NS_MAX);
    }
    return next_ns;
}

void hs_target_read_memory(struct hs_target *target, uint64_t now_ns)
{
    struct hs_target_session *session = &target->session;
    uint64_t rest_ns = session->ledgers.is_asked_for ? 0 : session->types_cost_ns * TYPES_REST;
    if (has_memory(target)) {
        hs_ledger_watch_read(&session->ledgers, target->process.pid, &target->region, now_ns);
        if (now_ns >= session->types.time_mono_ns + rest_ns) {
            (void)read_types(target, TYPES_NS_MAX);
        }
    }
}

void hs_target_add_ledgers(const struct hs_target *target, struct hs_snapshot *snap)
{
    const struct hs_ledger_watch *watch = &target->session.ledgers;
    /* A snapshot without a ledger is complete, too. */
    snap->ledger = watch->last ? hs_ledger_copy(watch->last) : NULL;
    snap->pins = snap->ledger && watch->pins ? hs_pinned_pages_copy(watch->pins) : NULL;
    if (snap->ledger && watch->rss_peak && watch->rss_peak->rss_bytes > snap->ledger->rss_bytes) {
        snap->rss_peak_ledger = hs_ledger_copy(watch->rss_peak);
    }
}

void hs_target_forget_memory(struct hs_target *target)
{
    target->region.types = NULL;
    hs_ledger_watch_deinit(&target->session.ledgers);
    hs_typed_records_deinit(&target->session.types);
}
