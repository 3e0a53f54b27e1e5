/*
 * The policy: which processes may be profiled through a daemon, and by which users. It is an
 * ordered list of rules. The first rule that matches a process decides; a process that matches no
 * rule is treated as without a policy.
 *
 *     never       exe=/usr/bin/gpg-agent
 *     never       user=postgres,www-data
 *     debuggable  cgroup=/system.slice/app-* by=@developers
 *     profileable willing by=*
 *     profileable *
 *
 * A rule is a class, its conditions, and the users (by=) to whom it also gives the process. All
 * conditions must hold:
 *
 *     user=NAME,UID..   the effective user of the process
 *     exe=GLOB          the path of its executable as the kernel reports it, not the process
 *     cgroup=GLOB       one of its control groups, or a group above one
 *     willing           it was started with HEAPSCOPE_PROFILEABLE=1
 *     *                 every process; stands alone
 *
 * Ensures   an unknown fact counts against profiling: with it, a rule that forbids matches, and any
 *           other rule does not.
 * Threads   immutable once parsed.
 * Fails     parsing: -EINVAL with the line and what is wrong in it; -ENOMEM. No part of a wrong
 *           file is used.
 * See       policy_file.h, admission.h, docs/man/heapscope-policy.5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HS_POLICY_BYTES_MAX (1U << 20)
#define HS_POLICY_RULES_MAX 4096U

enum hs_policy_class {
    HS_POLICY_DEFAULT,     /* no rule matches: its user and root may, also by attaching */
    HS_POLICY_NEVER,       /* no user may, not even root */
    HS_POLICY_PROFILEABLE, /* its user, root and `by` may, if the process brings the client */
    HS_POLICY_DEBUGGABLE,  /* its user, root and `by` may, also by attaching */
};

/* The facts about a process that rules use. NULL or false: unknown. */
struct hs_policy_facts {
    bool is_uid_known, is_consent_known;
    uid_t uid;           /* effective */
    bool is_willing;     /* HEAPSCOPE_PROFILEABLE=1 */
    const char *exe;     /* a path, perhaps with " (deleted)" */
    const char *cgroups; /* as /proc/PID/cgroup has them */
};

/* Finds the number of a user or group by name: getpwnam() and getgrnam(), or a test's functions.
 * They return false if there is no such name. */
struct hs_policy_lookup {
    bool (*user)(const char *name, uid_t *ret_uid);
    bool (*group)(const char *name, gid_t *ret_gid);
};

struct hs_policy_error {
    unsigned line; /* 1-based; 0: the error concerns the whole file */
    char text[160];
};

struct hs_policy_rule {
    enum hs_policy_class class;
    unsigned line;
    char *text; /* the line's words, without extra blanks and comments */
    uid_t *uids;
    size_t uid_count; /* 0: any user */
    char *exe;        /* NULL: any */
    char *cgroup;     /* NULL: any */
    bool is_willing;  /* the process must be willing */
    bool is_by_anybody;
    uid_t *by_uids;
    size_t by_uid_count;
    gid_t *by_gids;
    size_t by_gid_count;
};

struct hs_policy {
    char *path; /* for messages */
    struct hs_policy_rule *rules;
    size_t rule_count, rule_capacity;
};

/* Parses a policy. `lookup` NULL: the system's users and groups. `path` is copied for messages.
 * Returns 0, -EINVAL with *ret_error, or -ENOMEM. */
int hs_policy_parse(const char *path, const char *text, size_t text_bytes,
                    const struct hs_policy_lookup *lookup, struct hs_policy **ret_policy,
                    struct hs_policy_error *ret_error);
/* Frees the policy. Accepts NULL; returns NULL. */
struct hs_policy *hs_policy_free(struct hs_policy *policy);

/* The first rule that matches, or NULL. A NULL policy has no rules. *ret_is_sure becomes whether
 * every fact that decided was known. */
const struct hs_policy_rule *hs_policy_find(const struct hs_policy *policy,
                                            const struct hs_policy_facts *facts, bool *ret_is_sure);

/* Does any rule ask for more than the user? If not, the other facts need not be read. */
bool hs_policy_asks(const struct hs_policy *policy);

/* Does the rule give its processes to this user, by uid or by one of the groups? */
bool hs_policy_gives(const struct hs_policy_rule *rule, uid_t uid, const gid_t *gids,
                     size_t gid_count);

/* The word that stands for this class in a policy; "default" for HS_POLICY_DEFAULT. */
const char *hs_policy_class_name(enum hs_policy_class class);
