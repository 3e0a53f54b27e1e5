/*
 * Compares the facts about a process with the rules of a policy: see policy.h. policy_parse.c reads
 * the rules.
 */
#include "session/policy.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "session/match.h"

#define DELETED " (deleted)"

/* The result of a condition. The result of a rule is the least of its conditions'. */
enum fit {
    FIT_NO,
    FIT_UNKNOWN,
    FIT_YES,
};

static enum fit of_bool(bool fits)
{
    return fits ? FIT_YES : FIT_NO;
}

static enum fit least(enum fit a, enum fit b)
{
    return a < b ? a : b;
}

/* Copies `bytes` bytes of a path of the kernel's, without the " (deleted)" at its end. False: too
 * long. */
static bool copy_path(const char *from, size_t bytes, char *ret_path)
{
    size_t mark_bytes = strlen(DELETED);
    if (bytes >= PATH_MAX) {
        return false;
    }
    memcpy(ret_path, from, bytes);
    ret_path[bytes] = '\0';
    if (bytes > mark_bytes && strcmp(ret_path + bytes - mark_bytes, DELETED) == 0) {
        ret_path[bytes - mark_bytes] = '\0';
    }
    return true;
}

static enum fit fits_user(const struct hs_policy_rule *rule, const struct hs_policy_facts *facts)
{
    for (size_t i = 0; facts->is_uid_known && i < rule->uid_count; i++) {
        if (rule->uids[i] == facts->uid) {
            return FIT_YES;
        }
    }
    return rule->uid_count == 0 ? FIT_YES : facts->is_uid_known ? FIT_NO : FIT_UNKNOWN;
}

static enum fit fits_exe(const struct hs_policy_rule *rule, const struct hs_policy_facts *facts)
{
    char path[PATH_MAX];
    if (!rule->exe) {
        return FIT_YES;
    }
    if (!facts->exe || facts->exe[0] != '/' || !copy_path(facts->exe, strlen(facts->exe), path)) {
        return FIT_UNKNOWN;
    }
    return of_bool(hs_match_glob(rule->exe, path));
}

/* Does the pattern match the control group, or a group above it? Cuts `path` on its way up. */
static bool fits_group(const char *pattern, char *path)
{
    for (;;) {
        if (hs_match_glob(pattern, path[0] ? path : "/")) {
            return true;
        }
        char *slash = strrchr(path, '/');
        if (!slash || path[0] == '\0' || path[1] == '\0') {
            return false;
        }
        *slash = '\0';
    }
}

/* The lines are like "0::/system.slice/ssh.service", or "4:cpu,cpuacct:/x" in cgroup v1
 * hierarchies. */
static enum fit fits_cgroup(const struct hs_policy_rule *rule, const struct hs_policy_facts *facts)
{
    char path[PATH_MAX];
    bool is_whole = true;
    if (!rule->cgroup) {
        return FIT_YES;
    }
    if (!facts->cgroups || facts->cgroups[0] == '\0') {
        return FIT_UNKNOWN;
    }
    for (const char *line = facts->cgroups; *line;) {
        size_t bytes = strcspn(line, "\n");
        const char *colon = memchr(line, ':', bytes);
        colon = colon ? memchr(colon + 1, ':', bytes - (size_t)(colon + 1 - line)) : NULL;
        const char *start = colon ? colon + 1 : line + bytes;
        if (!copy_path(start, bytes - (size_t)(start - line), path)) {
            is_whole = false;
        } else if (path[0] == '/' && fits_group(rule->cgroup, path)) {
            return FIT_YES;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return is_whole ? FIT_NO : FIT_UNKNOWN;
}

static enum fit fits_willing(const struct hs_policy_rule *rule, const struct hs_policy_facts *facts)
{
    if (!rule->is_willing) {
        return FIT_YES;
    }
    return facts->is_consent_known ? of_bool(facts->is_willing) : FIT_UNKNOWN;
}

const struct hs_policy_rule *hs_policy_find(const struct hs_policy *policy,
                                            const struct hs_policy_facts *facts, bool *ret_is_sure)
{
    *ret_is_sure = true;
    for (size_t i = 0; policy && i < policy->rule_count; i++) {
        const struct hs_policy_rule *rule = &policy->rules[i];
        enum fit fit = least(least(fits_user(rule, facts), fits_exe(rule, facts)),
                             least(fits_cgroup(rule, facts), fits_willing(rule, facts)));
        *ret_is_sure &= fit != FIT_UNKNOWN;
        if (fit == FIT_YES || (fit == FIT_UNKNOWN && rule->class == HS_POLICY_NEVER)) {
            return rule;
        }
    }
    return NULL;
}

bool hs_policy_asks(const struct hs_policy *policy)
{
    for (size_t i = 0; policy && i < policy->rule_count; i++) {
        const struct hs_policy_rule *rule = &policy->rules[i];
        if (rule->exe || rule->cgroup || rule->is_willing) {
            return true;
        }
    }
    return false;
}

bool hs_policy_gives(const struct hs_policy_rule *rule, uid_t uid, const gid_t *gids,
                     size_t gid_count)
{
    for (size_t i = 0; i < rule->by_uid_count; i++) {
        if (rule->by_uids[i] == uid) {
            return true;
        }
    }
    for (size_t i = 0; i < rule->by_gid_count; i++) {
        for (size_t k = 0; k < gid_count; k++) {
            if (rule->by_gids[i] == gids[k]) {
                return true;
            }
        }
    }
    return rule->is_by_anybody;
}

const char *hs_policy_class_name(enum hs_policy_class class)
{
    static const char *const names[] = { "default", "never", "profileable", "debuggable" };
    return names[class];
}

static void rule_deinit(struct hs_policy_rule *rule)
{
    free(rule->text);
    free(rule->uids);
    free(rule->exe);
    free(rule->cgroup);
    free(rule->by_uids);
    free(rule->by_gids);
}

struct hs_policy *hs_policy_free(struct hs_policy *policy)
{
    if (policy) {
        for (size_t i = 0; i < policy->rule_count; i++) {
            rule_deinit(&policy->rules[i]);
        }
        free(policy->rules);
        free(policy->path);
        free(policy);
    }
    return NULL;
}
