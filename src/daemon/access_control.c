/*
 * Loads the policy's file, and applies it: see access_control.h.
 */
#include "daemon/access_control.h"

#include <errno.h>
#include <linux/capability.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon_log.h"
#include "session/admission.h"
#include "session/policy_file.h"

/* --- the file --------------------------------------------------------------------------------- */

/* Loads the policy. If the default file does not exist, there is no policy. */
static int load(const struct hs_access_control *access, struct hs_policy **ret_policy)
{
    char words[HS_POLICY_WORDS_BYTES];
    int r = hs_policy_load(access->path, access->owner, ret_policy, words);
    if (r == -ENOENT && !access->is_needed) {
        *ret_policy = NULL;
        return 0;
    }
    if (r < 0) {
        hs_daemon_log("%s", words);
    }
    return r;
}

int hs_access_control_open(const char *path, bool is_system, struct hs_access_control *ret_access)
{
    struct hs_proc_status self;
    bool is_known = hs_proc_read_status(getpid(), &self) == 0;
    *ret_access = (struct hs_access_control){
        .owner = is_system ? 0 : geteuid(),
        .is_needed = path != NULL,
        .has_sys_ptrace = is_known && (self.cap_effective_mask >> CAP_SYS_PTRACE & 1) != 0,
        .is_system = is_system,
    };
    if (!path && !is_system) {
        return 0;
    }
    ret_access->path = strdup(path ? path : HS_POLICY_SYSTEM_PATH);
    int r = ret_access->path ? load(ret_access, &ret_access->policy) : -ENOMEM;
    if (r < 0) {
        hs_access_control_close(ret_access);
    }
    return r;
}

void hs_access_control_close(struct hs_access_control *access)
{
    hs_policy_free(access->policy);
    free(access->path);
    *access = (struct hs_access_control){ 0 };
}

bool hs_access_control_reload(struct hs_access_control *access)
{
    struct hs_policy *policy = NULL;
    if (load(access, &policy) < 0) {
        hs_daemon_log("the policy stays as it was");
        return false;
    }
    hs_policy_free(access->policy);
    access->policy = policy;
    hs_daemon_log("policy %s: %zu rule%s", access->path, policy ? policy->rule_count : 0,
                  policy && policy->rule_count == 1 ? "" : "s");
    return true;
}

bool hs_access_control_is_hiding_others(void)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    const struct mntent *mount;
    bool is_hiding = false;
    /* The last mount at a path hides the others. */
    while (mounts && (mount = getmntent(mounts)) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
        if (strcmp(mount->mnt_dir, "/proc") == 0) {
            const char *option = hasmntopt(mount, "hidepid");
            is_hiding = option && strncmp(option, "hidepid=0", 9) != 0 &&
                        strncmp(option, "hidepid=off", 11) != 0;
        }
    }
    if (mounts) {
        endmntent(mounts);
    }
    return is_hiding;
}

/* --- decisions -------------------------------------------------------------------------------- */

bool hs_access_control_is_any_uid(const struct hs_access_control *access, uid_t uid)
{
    /* A user's daemon that has the capability CAP_SYS_PTRACE uses it for its user. */
    return uid == 0 || (!access->is_system && access->has_sys_ptrace);
}

/* The path of the executable as the process announced it; for a process that has ended nothing else
 * is left. NULL: unknown. */
static char *read_exe(struct hs_target *target)
{
    char *exe = NULL;
    const struct hs_region_header_v2 *header = &target->region.header;
    return hs_region_read_text(&target->region, header->exe_off, PATH_MAX, &exe) == 0 ? exe : NULL;
}

static struct hs_admission_process describe(const struct hs_process_facts *process,
                                            const struct hs_target *target, const char *exe)
{
    return (struct hs_admission_process){
        .pid = process->facts.pid,
        .uid = process->facts.uid,
        .is_attaching = !target || (target->process.hello_flags & HS_HELLO_LATE) != 0,
        .is_willing = target && (target->process.hello_flags & HS_HELLO_WILLING) != 0,
        .has_ended = target && target->process.has_ended,
        .exe = exe,
    };
}

uid_t hs_access_control_find_owner(const struct hs_access_control *access,
                                   const struct hs_user_rights *rights, struct hs_target *target)
{
    struct hs_process_facts facts;
    struct hs_refusal_words words;
    hs_process_facts_of_target(target, &facts);
    char *exe = hs_policy_asks(access->policy) ? read_exe(target) : NULL;
    const struct hs_admission_asker asker = { .uid = facts.facts.uid };
    const struct hs_admission_process what = describe(&facts, target, exe);
    enum hs_refusal refusal = hs_admission_check(access->policy, "/proc", &asker, &what, &words);
    free(exe);
    return refusal == HS_REFUSAL_NONE ? facts.facts.uid : rights->uid;
}

enum hs_refusal hs_access_control_authorize(const struct hs_access_control *access,
                                            const struct hs_session *session,
                                            const struct hs_user_rights *rights,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words)
{
    const struct hs_policy *policy = access->policy;
    char *exe = target && hs_policy_asks(policy) ? read_exe(target) : NULL;
    const struct hs_admission_asker asker = {
        .uid = session->settings.uid,
        .gids = rights->groups,
        .gid_count = rights->group_count + 1, /* with the primary group */
        .is_any_uid = session->settings.is_any_uid,
    };
    const struct hs_admission_process what = describe(process, target, exe);
    enum hs_refusal refusal = hs_admission_check(policy, "/proc", &asker, &what, ret_words);
    free(exe);
    return refusal;
}

bool hs_access_control_may_bind(const struct hs_access_control *access,
                                const struct hs_process_facts *process, struct hs_target *target)
{
    const struct hs_policy *policy = access->policy;
    struct hs_refusal_words words;
    char *exe = hs_policy_asks(policy) ? read_exe(target) : NULL;
    /* The process itself asks. So only a rule of the policy can forbid it. */
    const struct hs_admission_asker asker = { .uid = process->facts.uid, .is_any_uid = true };
    const struct hs_admission_process what = {
        .pid = process->facts.pid,
        .uid = process->facts.uid,
        .is_willing = true,
        .has_ended = target->process.has_ended,
        .exe = exe,
    };
    enum hs_refusal refusal = hs_admission_check(policy, "/proc", &asker, &what, &words);
    if (refusal != HS_REFUSAL_NONE) {
        hs_daemon_log("process %d may not record without a session: %s", (int)process->facts.pid,
                      words.what);
    }
    free(exe);
    return refusal == HS_REFUSAL_NONE;
}
