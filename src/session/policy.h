/*
 * The policy: which processes may be profiled through a daemon, and by whom. Ordered rules; the first one that
 * fits a process decides, and what fits none is as without a policy.
 *
 *     never       exe=/usr/bin/gpg-agent
 *     never       user=postgres,www-data
 *     debuggable  cgroup=/system.slice/app-* by=@developers
 *     profileable willing by=*
 *     profileable *
 *
 * A rule is a class, its conditions, and to whom else it gives the process. All conditions must hold:
 *
 *     user=NAME,UID..   whom the process acts for
 *     exe=GLOB          the path of its executable as the kernel has it, not what it calls itself
 *     cgroup=GLOB       one of its control groups, or a group above one
 *     willing           it was started with HEAPSCOPE_PROFILEABLE=1
 *     *                 every process; alone
 *
 * Holds     what is not known of a process is held against it: a rule that forbids fits, any other does not.
 * Threads   immutable once parsed.
 * Fails     parsing: -EINVAL with the line and what is wrong with it; -ENOMEM. No part of a wrong file is used.
 * See       policy_file.h, admission.h, docs/man/heapscope-policy.5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HS_POLICY_BYTES_MAX (1U << 20)
#define HS_POLICY_RULES_MAX 4096U

enum hs_policy_class {
    HS_POLICY_DEFAULT,     /* no rule fits: its user and root, by attaching too */
    HS_POLICY_NEVER,       /* nobody, not even root */
    HS_POLICY_PROFILEABLE, /* its user, root, and `by`; not by attaching: it has to bring the client */
    HS_POLICY_DEBUGGABLE, /* its user, root, and `by`; by attaching too */
};

/* What rules ask of a process. NULL, false: unknown. */
struct hs_policy_facts {
    bool is_uid_known, is_wish_known;
    uid_t uid;           /* effective */
    bool is_willing;     /* HEAPSCOPE_PROFILEABLE=1 */
    const char *exe;     /* a path, perhaps with " (deleted)" */
    const char *cgroups; /* as /proc/PID/cgroup has them */
};

/* Names to numbers: getpwnam() and getgrnam(), or what a test has. False: there is none. */
struct hs_policy_lookup {
    bool (*user)(const char *name, uid_t *ret_uid);
    bool (*group)(const char *name, gid_t *ret_gid);
};

struct hs_policy_error {
    unsigned line; /* 1-based; 0: of the file as a whole */
    char text[160];
};

struct hs_policy_rule {
    enum hs_policy_class class;
    unsigned line;
    char *text; /* as it stands there, blanks and comments apart */
    uid_t *uids;
    size_t uid_count; /* 0: any user */
    char *exe;        /* NULL: any */
    char *cgroup;     /* NULL: any */
    bool is_willing;  /* it has to be */
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

/* NULL lookup: the system's. `path` is kept for messages. */
int hs_policy_parse(const char *path, const char *text, size_t text_bytes,
                    const struct hs_policy_lookup *lookup, struct hs_policy **ret_policy,
                    struct hs_policy_error *ret_error);
/* NULL is fine. Returns NULL. */
struct hs_policy *hs_policy_free(struct hs_policy *policy);

/* NULL: none fits. A NULL policy has no rules. *ret_is_sure: every fact that counted was known. */
const struct hs_policy_rule *hs_policy_find(const struct hs_policy *policy,
                                            const struct hs_policy_facts *facts, bool *ret_is_sure);

/* Does any rule ask for more than the user? Else nothing needs to be read. */
bool hs_policy_asks(const struct hs_policy *policy);

/* Does the rule give its processes to this user, beyond their own and root? */
bool hs_policy_gives(const struct hs_policy_rule *rule, uid_t uid, const gid_t *gids,
                     size_t gid_count);

const char *hs_policy_class_name(enum hs_policy_class class);
