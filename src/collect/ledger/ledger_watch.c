/*
 * Decides when to read ledgers: see ledger_watch.h.
 */
#include "collect/ledger/ledger_watch.h"

#include <stddef.h>

#include "collect/ledger/ledger_read.h"

#define SHARE     200U              /* of the time that passes, one part is for ledgers */
#define CREDIT_NS UINT64_C(2000000) /* with which the collector begins */
/* Most processes end earlier, and would notice the milliseconds that a ledger takes. */
#define FIRST_NS    UINT64_C(250000000)
#define PERIOD_NS   UINT64_C(1000000000)
#define GROWN_SHARE 16U /* a resident set that grew by 1/16 is a reason to read */
#define RETRY_NS    UINT64_C(50000000)
/* Scheduled snapshots share a ledger, at least so long that reading takes 1/20 of the time. */
#define RECENT_FACTOR 20U

static void keep(struct hs_ledger_watch *watch, struct hs_ledger *ledger)
{
    if (!watch->rss_peak || ledger->rss_bytes >= watch->rss_peak->rss_bytes) {
        struct hs_ledger *copy = hs_ledger_copy(ledger);
        if (copy) {
            hs_ledger_free(watch->rss_peak);
            watch->rss_peak = copy;
        }
    }
    hs_ledger_free(watch->last);
    watch->last = ledger;
}

static bool is_allowed(struct hs_ledger_allowance *allowance, uint64_t now_ns)
{
    if (allowance->begin_ns == 0) {
        allowance->begin_ns = now_ns;
    }
    uint64_t earned_ns = CREDIT_NS + (now_ns - allowance->begin_ns) / SHARE;
    return allowance->spent_ns < earned_ns;
}

static bool has_grown(const struct hs_ledger_watch *watch, uint64_t rss_bytes)
{
    return watch->rss_peak &&
           rss_bytes > watch->rss_peak->rss_bytes + watch->rss_peak->rss_bytes / GROWN_SHARE;
}

uint64_t hs_ledger_watch_look(struct hs_ledger_watch *watch, struct hs_ledger_allowance *allowance,
                              pid_t pid, uint64_t rss_bytes, uint64_t now_ns)
{
    struct hs_ledger *ledger;
    if (watch->next_ns == 0) {
        watch->next_ns = now_ns + FIRST_NS;
    }
    if (now_ns < watch->next_ns && !has_grown(watch, rss_bytes)) {
        return watch->next_ns;
    }
    if (!is_allowed(allowance, now_ns)) {
        return now_ns + RETRY_NS;
    }
    watch->next_ns = now_ns + PERIOD_NS;
    if (hs_ledger_read(pid, &ledger) == 0) {
        allowance->spent_ns += ledger->cpu_ns;
        keep(watch, ledger);
    }
    return watch->next_ns;
}

void hs_ledger_watch_read(struct hs_ledger_watch *watch, pid_t pid, uint64_t now_ns)
{
    struct hs_ledger *ledger;
    uint64_t recent_ns = watch->last ? RECENT_FACTOR * watch->last->cpu_ns : 0;
    recent_ns = recent_ns > PERIOD_NS ? recent_ns : PERIOD_NS;
    bool is_recent = watch->last && now_ns < watch->last->time_mono_ns + recent_ns;
    if ((!is_recent || watch->is_asked_for) && hs_ledger_read(pid, &ledger) == 0) {
        keep(watch, ledger);
    }
    watch->is_asked_for = false;
}

void hs_ledger_watch_deinit(struct hs_ledger_watch *watch)
{
    hs_ledger_free(watch->last);
    hs_ledger_free(watch->rss_peak);
    *watch = (struct hs_ledger_watch){ 0 };
}
