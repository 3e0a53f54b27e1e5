/*
 * See empty_words.h.
 */
#include "cli/empty_words.h"

#include "cli/message.h"
#include "profile/model/loss.h"
#include "profile/model/margin.h"
#include "trace/refusal.h"
#include "util/human.h"

/* How many processes get a message; the report lists all. */
#define SAID_MAX 3U

static bool has_allocations(const struct hs_profile *p)
{
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[i];
        if (dump->sample_count > 0 || dump->alloc.count > 0 || dump->alloc.bytes > 0 ||
            dump->live.bytes > 0) {
            return true;
        }
    }
    return false;
}

static void say_refused(const struct hs_profile *p, const struct hs_profile_process *process)
{
    const char *why = hs_profile_string(p, process->refusal_text);
    const char *remedy = hs_profile_string(p, process->refusal_remedy);
    if (!why[0]) {
        why = hs_loss_refusal_reason(process->refusal);
    }
    if (!remedy[0] && process->refusal == HS_REFUSAL_CONCURRENT) {
        remedy = "end that session, or wait for its end: 'heapscope list' shows it";
    } else if (!remedy[0] && process->refusal == HS_REFUSAL_GONE) {
        remedy = "start it with 'heapscope run' to record it from its first allocation on";
    }
    hs_message("process %u (%s) was not recorded: %s%s%s", process->pid,
               hs_profile_string(p, process->name), why, remedy[0] ? "; " : "", remedy);
}

/* Prints why a process that was recorded has no sample. */
static void say_silent(const struct hs_profile *p, const struct hs_profile_process *process)
{
    const char *name = hs_profile_string(p, process->name);
    uint64_t interval_bytes = process->last_dump < p->dump_count
                                  ? hs_dump_widest_bytes(&p->dumps[process->last_dump])
                                  : 0;
    char most[HS_HUMAN_BYTES], interval[HS_HUMAN_BYTES];
    if (process->has_own_malloc) {
        hs_message("process %u (%s) contains its own malloc, whose allocations cannot be recorded; "
                   "run 'heapscope doctor PROGRAM' for the reason",
                   process->pid, name);
    } else if (process->is_without_malloc) {
        hs_message("process %u (%s) was recorded without libc.malloc, and nothing was sampled in "
                   "another heap",
                   process->pid, name);
    } else if (interval_bytes > 1) {
        hs_human_bytes(most, HS_MARGIN_UNSEEN_SAMPLES * (double)interval_bytes);
        hs_human_bytes(interval, (double)interval_bytes);
        hs_message(
            "process %u (%s) was recorded, but none of its allocations was sampled%s: at a mean "
            "interval of %s, they were probably less than %s in total; -i 1 records every "
            "allocation",
            process->pid, name, process->is_from_startup ? "" : " since recording began", interval,
            most);
    } else if (process->is_from_startup) {
        hs_message("process %u (%s) was recorded, but called no allocation function: it may map "
                   "its memory itself (mmap), or it ended before its first allocation",
                   process->pid, name);
    } else {
        hs_message(
            "process %u (%s) was recorded, but allocated nothing after recording began; earlier "
            "allocations are not recorded: record for longer, or start it with 'heapscope run'",
            process->pid, name);
    }
}

bool hs_empty_words_say(const struct hs_profile *profile, const char *asked)
{
    uint32_t said_count = 0, unsaid_count = 0;
    if (has_allocations(profile)) {
        return false;
    }
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct hs_profile_process *process = &profile->processes[i];
        if (said_count == SAID_MAX) {
            unsaid_count++;
        } else if (process->refusal != HS_REFUSAL_NONE) {
            say_refused(profile, process);
            said_count++;
        } else {
            say_silent(profile, process);
            said_count++;
        }
    }
    if (unsaid_count > 0) {
        hs_message("%u more processes were not recorded; 'heapscope report' lists them",
                   unsaid_count);
    }
    if (profile->process_count == 0) {
        hs_message("no process %s ran or started during the recording. heapscope compares a name "
                   "with the command that 'ps -eo pid,args' shows, without its folder, with the "
                   "script that the process runs, and with the name that 'ps -eo pid,comm' shows",
                   asked);
    }
    return true;
}
