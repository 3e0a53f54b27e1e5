/*
 * Decides when to read ledgers: see ledger_watch.h.
 */
#include "collect/ledger/ledger_watch.h"

#include <stddef.h>
#include <stdlib.h>

#include "collect/ledger/ledger_read.h"
#include "rt/clock.h"
#include "util/proc.h"

#define PAGE_BYTES UINT64_C(4096)
/* One part of this many of the time that passes is for ledgers, and more of it at first: many
 * programs run for a second or less. */
#define SHARE        200U
#define SHARE_FIRST  32U
#define FIRST_MAX_NS UINT64_C(24000000)
#define CREDIT_NS    UINT64_C(2000000) /* with which the collector begins */
/* A ledger may take this many times what is left: many programs end before the whole is left. */
#define ADVANCE_FACTOR 2U
/* Most processes end earlier, and would notice the milliseconds that a ledger takes. */
#define FIRST_NS    UINT64_C(60000000)
#define PERIOD_NS   UINT64_C(1000000000)
#define RETRY_NS    UINT64_C(30000000)
#define LOOK_MIN_NS UINT64_C(15000000)
#define LOOK_MAX_NS UINT64_C(250000000)
/* A resident set that changed by 1/8 is a reason to read, if the newest ledger is so old that
 * reading takes 1/16 of the time, and is older than 1/6 of what was watched of the process. */
#define CHANGED_SHARE 8U
/* A ledger whose lines differ from the whole by more than this share is another reason. */
#define UNSTEADY_SHARE 64U
#define COST_FACTOR    16U
#define AGE_SHARE      6U
/* A snapshot reads a doubtful ledger again, and believes the last one. */
#define TRIES_MAX 3
/* Scheduled snapshots share a ledger, at least so long that reading takes 1/20 of the time. */
#define RECENT_FACTOR 20U

/* Notes whether malloc's memory could be read before, and now makes no sense or is forbidden: this
 * can be because the process changes much of it just now, or ends. Returns whether it is to be
 * doubted: what stays so is believed. */
static bool note_doubt(struct hs_ledger_watch *watch, const struct hs_ledger *ledger)
{
    bool is_unread = ledger->malloc_result == HS_LEDGER_MALLOC_BROKEN ||
                     ledger->malloc_result == HS_LEDGER_MALLOC_FORBIDDEN;
    if (!is_unread || !watch->last || watch->last->malloc_result != HS_LEDGER_MALLOC_READ) {
        watch->doubtful_ns = 0;
        return false;
    }
    if (watch->doubtful_ns == 0) {
        watch->doubtful_ns = ledger->time_mono_ns;
    }
    return ledger->time_mono_ns < watch->doubtful_ns + PERIOD_NS;
}

/* False: the ledger is doubtful, and was left out. */
static bool keep(struct hs_ledger_watch *watch, struct hs_ledger *ledger,
                 struct hs_pinned_pages *pins, bool is_believed)
{
    if (note_doubt(watch, ledger) && !is_believed) {
        hs_ledger_free(ledger);
        hs_pinned_pages_free(pins);
        return false;
    }
    if (!watch->rss_peak || ledger->rss_bytes >= watch->rss_peak->rss_bytes) {
        struct hs_ledger *copy = hs_ledger_copy(ledger);
        if (copy) {
            hs_ledger_free(watch->rss_peak);
            watch->rss_peak = copy;
        }
    }
    hs_ledger_free(watch->last);
    hs_pinned_pages_free(watch->pins);
    watch->last = ledger;
    watch->pins = pins;
    return true;
}

/* What the collector may still spend. `is_first`: nothing is known of the process yet, which is
 * worth more than a newer figure. */
static uint64_t find_left_ns(struct hs_ledger_allowance *allowance, bool is_first, uint64_t now_ns)
{
    if (allowance->begin_ns == 0) {
        allowance->begin_ns = now_ns;
    }
    uint64_t passed_ns = now_ns - allowance->begin_ns;
    uint64_t first_ns = passed_ns / SHARE_FIRST;
    uint64_t earned_ns = CREDIT_NS + passed_ns / SHARE +
                         (first_ns < FIRST_MAX_NS || is_first ? first_ns : FIRST_MAX_NS);
    return earned_ns > allowance->spent_ns ? earned_ns - allowance->spent_ns : 0;
}

/* What reading takes now, if it grows with the resident set; 0: unknown. */
static uint64_t expect_ns(const struct hs_ledger_watch *watch, uint64_t rss_bytes)
{
    const struct hs_ledger *last = watch->last;
    if (!last || last->rss_bytes == 0) {
        return 0;
    }
    return (uint64_t)((double)last->cpu_ns * (double)rss_bytes / (double)last->rss_bytes);
}

/* The resident set now, roughly; 0: the process is gone. */
static uint64_t read_rss(pid_t pid)
{
    char text[128], *at;
    size_t bytes;
    if (hs_proc_read(pid, "statm", text, sizeof(text) - 1, &bytes) < 0) {
        return 0;
    }
    text[bytes] = '\0';
    strtoull(text, &at, 10);
    return strtoull(at, NULL, 10) * PAGE_BYTES;
}

/* Is the newest ledger old enough for another one that shows what changed? */
static bool may_follow(const struct hs_ledger_watch *watch, uint64_t now_ns)
{
    uint64_t least_ns = COST_FACTOR * watch->last->cpu_ns;
    uint64_t share_ns = (now_ns - watch->begin_ns) / AGE_SHARE;
    least_ns = least_ns > share_ns ? least_ns : share_ns;
    return now_ns >= watch->last->time_mono_ns + (least_ns < PERIOD_NS ? least_ns : PERIOD_NS);
}

/* Did so much change while the ledger was read that its lines do not add up? */
static bool is_unsteady(const struct hs_ledger *ledger)
{
    uint64_t sum_bytes = 0;
    for (uint32_t i = 0; i < ledger->line_count; i++) {
        sum_bytes += ledger->lines[i].rss_bytes;
    }
    uint64_t by_bytes = sum_bytes > ledger->rss_bytes ? sum_bytes - ledger->rss_bytes
                                                      : ledger->rss_bytes - sum_bytes;
    return by_bytes > ledger->rss_bytes / UNSTEADY_SHARE;
}

static bool has_changed(const struct hs_ledger_watch *watch, uint64_t rss_bytes)
{
    uint64_t last_bytes = watch->last->rss_bytes;
    uint64_t by_bytes = rss_bytes > last_bytes ? rss_bytes - last_bytes : last_bytes - rss_bytes;
    return rss_bytes != 0 && (by_bytes > last_bytes / CHANGED_SHARE || is_unsteady(watch->last));
}

static uint64_t next_look_ns(const struct hs_ledger_watch *watch, uint64_t now_ns)
{
    uint64_t wait_ns = (now_ns - watch->begin_ns) / CHANGED_SHARE;
    wait_ns = wait_ns > LOOK_MIN_NS ? wait_ns : LOOK_MIN_NS;
    return now_ns + (wait_ns < LOOK_MAX_NS ? wait_ns : LOOK_MAX_NS);
}

static void read_and_pay(struct hs_ledger_watch *watch, struct hs_ledger_allowance *allowance,
                         pid_t pid, struct hs_region *region, uint64_t now_ns)
{
    struct hs_ledger *ledger;
    struct hs_pinned_pages *pins;
    uint64_t begin_ns = hs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    watch->next_ns = now_ns + PERIOD_NS;
    if (hs_ledger_read(pid, region, &ledger, &pins) == 0 && !keep(watch, ledger, pins, false)) {
        watch->next_ns = now_ns + RETRY_NS;
    }
    allowance->spent_ns += hs_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

uint64_t hs_ledger_watch_look(struct hs_ledger_watch *watch, struct hs_ledger_allowance *allowance,
                              pid_t pid, struct hs_region *region, uint64_t now_ns)
{
    if (watch->next_ns == 0) {
        watch->begin_ns = now_ns;
        watch->next_ns = now_ns + FIRST_NS;
    }
    if (now_ns < watch->look_ns) {
        return watch->look_ns;
    }
    watch->look_ns = next_look_ns(watch, now_ns);
    bool is_late = now_ns >= watch->next_ns;
    if (!is_late && (!watch->last || !may_follow(watch, now_ns))) {
        return watch->look_ns;
    }
    uint64_t left_ns = find_left_ns(allowance, watch->last == NULL, now_ns);
    uint64_t rss_bytes = left_ns > 0 ? read_rss(pid) : 0;
    bool is_allowed = left_ns > 0 && expect_ns(watch, rss_bytes) <= ADVANCE_FACTOR * left_ns;
    if (is_allowed && (is_late || has_changed(watch, rss_bytes))) {
        read_and_pay(watch, allowance, pid, region, now_ns);
    } else if (is_late) {
        watch->look_ns = now_ns + RETRY_NS;
    }
    return watch->look_ns;
}

void hs_ledger_watch_read(struct hs_ledger_watch *watch, pid_t pid, struct hs_region *region,
                          uint64_t now_ns)
{
    struct hs_ledger *ledger;
    struct hs_pinned_pages *pins;
    uint64_t recent_ns = watch->last ? RECENT_FACTOR * watch->last->cpu_ns : 0;
    recent_ns = recent_ns > PERIOD_NS ? recent_ns : PERIOD_NS;
    bool is_recent = watch->last && now_ns < watch->last->time_mono_ns + recent_ns;
    bool is_wanted = !is_recent || watch->is_asked_for;
    for (int left = TRIES_MAX - 1; is_wanted && left >= 0; left--) {
        is_wanted = hs_ledger_read(pid, region, &ledger, &pins) == 0 &&
                    !keep(watch, ledger, pins, left == 0);
    }
    watch->is_asked_for = false;
}

void hs_ledger_watch_deinit(struct hs_ledger_watch *watch)
{
    hs_ledger_free(watch->last);
    hs_ledger_free(watch->rss_peak);
    hs_pinned_pages_free(watch->pins);
    *watch = (struct hs_ledger_watch){ 0 };
}
