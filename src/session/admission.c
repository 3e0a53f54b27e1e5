/*
 * The checks, one by one: see admission.h.
 */
#include "session/admission.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "session/policy_file.h"

struct judging {
    const struct hs_policy *policy;
    const char *proc;
    const struct hs_admission_asker *asker;
    const struct hs_admission_process *process;
    struct hs_refusal_words *words;
    struct hs_policy_process facts;
    const struct hs_policy_rule *rule; /* the rule that decides; NULL: none */
    bool is_sure;
    bool is_owner;
};

static HS_PRINTF(4, 5) enum hs_refusal refuse(const struct judging *j, enum hs_refusal refusal,
                                              const char *remedy, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(j->words->what, sizeof(j->words->what), format, args);
    va_end(args);
    snprintf(j->words->remedy, sizeof(j->words->remedy), "%s", remedy);
    return refusal;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void look(struct judging *j)
{
    const struct hs_admission_process *process = j->process;
    struct hs_policy_process *facts = &j->facts;
    bool is_asked = j->policy != NULL || !j->asker->is_any_uid;
    if (is_asked && !process->has_ended) {
        hs_policy_process_read(j->proc, process->pid, hs_policy_asks(j->policy), facts);
    } else {
        memset(facts, 0, sizeof(*facts));
    }
    if (!facts->is_status_known) {
        /* The process has ended. It still counts as the user's whose it was when it was first
         * seen. */
        facts->facts.is_uid_known = true;
        facts->facts.uid = process->uid;
        facts->facts.exe = process->exe;
    }
    if (process->is_willing) {
        facts->facts.is_consent_known = facts->facts.is_willing = true;
    }
    const struct hs_proc_ids *ids = &facts->status.uid;
    uid_t uid = j->asker->uid;
    j->is_owner =
        process->uid == uid && (!facts->is_status_known ||
                                (ids->real == uid && ids->effective == uid && ids->saved == uid));
    j->rule = hs_policy_find(j->policy, &facts->facts, &j->is_sure);
}

/* In /proc/PID, the files of a process that is not dumpable belong to root; so status has another
 * owner than the process. */
static bool is_undumpable(const struct judging *j)
{
    char path[512];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%d/status", j->proc, (int)j->process->pid);
    return j->facts.is_status_known && j->facts.facts.uid != 0 && stat(path, &st) == 0 &&
           st.st_uid != j->facts.facts.uid;
}

static bool is_unwilling(const struct judging *j)
{
    bool is_willing, is_unwilling;
    if (j->facts.facts.is_consent_known) {
        return j->facts.is_unwilling;
    }
    return hs_policy_read_consent(j->proc, j->process->pid, &is_willing, &is_unwilling) &&
           is_unwilling;
}

/* --- checks ----------------------------------------------------------------------------------- */

static enum hs_refusal check_policy(const struct judging *j)
{
    const struct hs_policy_rule *rule = j->rule;
    if (rule && rule->class == HS_POLICY_NEVER) {
        return refuse(
            j, HS_REFUSAL_POLICY, "the administrator of the machine can change the daemon's policy",
            j->is_sure
                ? "%s:%u forbids it (%.200s)"
                : "%s:%u may forbid it (%.200s), and the daemon cannot check that condition for it",
            j->policy->path, rule->line, rule->text);
    }
    return HS_REFUSAL_NONE;
}

static enum hs_refusal check_user(const struct judging *j)
{
    const struct hs_admission_asker *asker = j->asker;
    if (asker->is_any_uid || j->is_owner) {
        return HS_REFUSAL_NONE;
    }
    bool is_given = j->rule && hs_policy_gives(j->rule, asker->uid, asker->gids, asker->gid_count);
    if (!is_given && j->process->uid == asker->uid) {
        return refuse(j, HS_REFUSAL_OTHER_USER, "begin the session as root",
                      "it also acts for users other than %u", asker->uid);
    }
    if (!is_given) {
        return refuse(j, HS_REFUSAL_OTHER_USER, "begin the session as that user, or as root",
                      "it belongs to user %u, and the session to user %u", j->process->uid,
                      asker->uid);
    }
    if (j->process->is_attaching && j->process->uid == 0) {
        return refuse(j, HS_REFUSAL_POLICY,
                      "begin the session as root, or start it with libheapscope_preload.so",
                      "only root may attach to processes of root, whatever %s:%u says",
                      j->policy->path, j->rule->line);
    }
    return HS_REFUSAL_NONE;
}

/* May we attach, or must the process bring the client itself? */
static enum hs_refusal check_attaching(const struct judging *j)
{
    const struct hs_policy_rule *rule = j->rule;
    if (rule && rule->class == HS_POLICY_PROFILEABLE && j->process->is_attaching) {
        return refuse(j, HS_REFUSAL_POLICY,
                      "start it with libheapscope_preload.so in LD_PRELOAD, or have the rule "
                      "changed to debuggable",
                      "%s:%u forbids attaching to it (%.200s)", j->policy->path, rule->line,
                      rule->text);
    }
    return HS_REFUSAL_NONE;
}

static enum hs_refusal check_process(const struct judging *j)
{
    const struct hs_admission_process *process = j->process;
    if (process->is_attaching && !process->has_ended && is_unwilling(j)) {
        return refuse(j, HS_REFUSAL_OPTED_OUT, "start it without that variable",
                      "it was started with " HS_ENV_PROFILEABLE "=0");
    }
    bool is_consenting = process->is_willing && !process->is_attaching;
    if (!j->asker->is_any_uid && !is_consenting && is_undumpable(j)) {
        return refuse(j, HS_REFUSAL_NOT_DUMPABLE,
                      process->is_attaching
                          ? "begin the session as root"
                          : "begin the session as root, or start it with " HS_ENV_PROFILEABLE "=1",
                      "it changed its user, gained privileges, or forbade access to its memory "
                      "(PR_SET_DUMPABLE)");
    }
    return HS_REFUSAL_NONE;
}

enum hs_refusal hs_admission_check(const struct hs_policy *policy, const char *proc,
                                   const struct hs_admission_asker *asker,
                                   const struct hs_admission_process *process,
                                   struct hs_refusal_words *ret_words)
{
    static enum hs_refusal (*const checks[])(
        const struct judging *) = { check_policy, check_user, check_attaching, check_process };
    struct judging j = {
        .policy = policy, .proc = proc, .asker = asker, .process = process, .words = ret_words
    };
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    look(&j);
    for (size_t i = 0; refusal == HS_REFUSAL_NONE && i < HS_COUNT_OF(checks); i++) {
        refusal = checks[i](&j);
    }
    return refusal;
}
