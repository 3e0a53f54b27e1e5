/*
 * The daemon's policy, and what it says of a process: see doctor.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "session/policy_file.h"

/* NULL: there is no policy to ask, and a finding says why, where that matters. */
static struct hs_policy *load(const char *path, struct hs_findings *findings)
{
    char words[HS_POLICY_WORDS_BYTES];
    struct hs_policy *policy = NULL;
    bool is_default = path == NULL;
    path = is_default ? HS_POLICY_SYSTEM_PATH : path;
    int r = hs_policy_load(path, is_default ? 0 : geteuid(), &policy, words);
    if (r == 0) {
        return policy;
    }
    if (r == -EACCES && is_default) {
        hs_findings_add(findings, HS_FINDING_NOTE, "policy", "run doctor as root", "%s", words);
    } else if (r != -ENOENT || !is_default) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "policy",
                        "correct the file: with it, no daemon starts, and a running daemon keeps "
                        "its old policy",
                        "%s", words);
    }
    return NULL;
}

void hs_doctor_policy(const char *path, struct hs_findings *findings)
{
    struct hs_policy *policy = load(path, findings);
    if (policy) {
        hs_findings_add(findings, HS_FINDING_OK, "policy", NULL, "%s: %zu rule%s", policy->path,
                        policy->rule_count, policy->rule_count == 1 ? "" : "s");
    }
    hs_policy_free(policy);
}

static void say(const struct hs_policy *policy, const struct hs_policy_rule *rule, bool is_sure,
                struct hs_findings *findings)
{
    const char *unsure =
        is_sure ? "" : "; heapscope is not permitted to read everything on which the rules depend";
    const char *remedy = is_sure ? NULL : "run doctor as root";
    if (!rule) {
        hs_findings_add(findings, is_sure ? HS_FINDING_OK : HS_FINDING_NOTE, "policy", remedy,
                        "no rule of %s matches the process: its user and root may profile it%s",
                        policy->path, unsure);
    } else if (rule->class == HS_POLICY_NEVER) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "policy",
                        is_sure ? "change the rule, if you may, and send SIGHUP to the daemon"
                                : remedy,
                        "%s:%u forbids the daemon to profile the process (%s)%s", policy->path,
                        rule->line, rule->text, unsure);
    } else if (rule->class == HS_POLICY_PROFILEABLE) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "policy",
            "start it with libheapscope_preload.so in LD_PRELOAD",
            "%s:%u lets the daemon profile the process if it loads heapscope's library itself, but "
            "not attach to it (%s)%s",
            policy->path, rule->line, rule->text, unsure);
    } else {
        hs_findings_add(findings, is_sure ? HS_FINDING_OK : HS_FINDING_NOTE, "policy", remedy,
                        "%s:%u lets the daemon profile the process (%s)%s", policy->path,
                        rule->line, rule->text, unsure);
    }
}

void hs_doctor_policy_of(const char *path, pid_t pid, struct hs_findings *findings)
{
    struct hs_policy *policy = load(path, findings);
    struct hs_policy_process *process = policy ? malloc(sizeof(*process)) : NULL;
    if (process) {
        bool is_sure;
        hs_policy_process_read("/proc", pid, true, process);
        const struct hs_policy_rule *rule = hs_policy_find(policy, &process->facts, &is_sure);
        say(policy, rule, is_sure, findings);
    }
    free(process);
    hs_policy_free(policy);
}
