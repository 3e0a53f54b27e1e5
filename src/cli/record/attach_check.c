/*
 * See attach_check.h.
 */
#include "cli/record/attach_check.h"

#include <stdint.h>
#include <time.h>

#include "cli/message.h"
#include "collect/inspect/eligibility.h"
#include "rt/clock.h"

#define STARTING_MAX_NS UINT64_C(1000000000)

/* Gives a program that was only just executed a moment to load its libraries. */
static void look_when_started(pid_t pid, struct hs_eligibility *ret_it)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC) + STARTING_MAX_NS;
    hs_eligibility_check(pid, ret_it);
    while (ret_it->verdict == HS_INELIGIBLE_STARTING && hs_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        nanosleep(&pause, NULL);
        hs_eligibility_check(pid, ret_it);
    }
}

static bool check_one(pid_t pid)
{
    struct hs_eligibility it;
    struct hs_eligibility_words words;
    look_when_started(pid, &it);
    if (it.verdict <= HS_ELIGIBLE_FOR_DAEMON || it.verdict == HS_INELIGIBLE_RECORDING) {
        return true;
    }
    hs_eligibility_words(&it, &words);
    hs_message("%s%s%s", words.what, words.remedy[0] ? "\n" : "", words.remedy);
    return false;
}

bool hs_attach_check(struct hs_session_settings *settings)
{
    size_t kept_count = 0;
    for (size_t i = 0; i < settings->pid_count; i++) {
        if (check_one(settings->pids[i])) {
            settings->pids[kept_count++] = settings->pids[i];
        }
    }
    bool is_any = kept_count > 0 || settings->pid_count == 0 || settings->name_count > 0;
    settings->pid_count = kept_count;
    return is_any;
}
