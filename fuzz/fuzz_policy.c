/*
 * Fuzz target: a policy, and the facts of a process to which it is applied.
 *
 * The input is three texts with a NUL between them: the path of an executable, control groups, the
 * policy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find_user(const char *name, uid_t *ret_uid)
{
    *ret_uid = (uid_t)strlen(name);
    return name[0] != 'x';
}

static bool find_group(const char *name, gid_t *ret_gid)
{
    *ret_gid = (gid_t)strlen(name);
    return name[0] != 'x';
}

static void hold_against(const struct hs_policy *policy, const struct hs_policy_facts *facts)
{
    const gid_t groups[] = { 1, 2 };
    bool is_sure;
    const struct hs_policy_rule *rule = hs_policy_find(policy, facts, &is_sure);
    if (rule) {
        hs_policy_gives(rule, 3, groups, 2);
        /* A rule that grants something must not depend on a fact that is unknown. */
        if (rule->class != HS_POLICY_NEVER && !facts->is_uid_known && rule->uid_count > 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct hs_policy_lookup lookup = { find_user, find_group };
    struct hs_policy *policy;
    struct hs_policy_error error;
    char *text = calloc(1, size + 3);
    if (!text) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    const char *cgroups = text + strlen(text) + 1;
    const char *rules = cgroups <= text + size ? cgroups + strlen(cgroups) + 1 : text + size;
    size_t rules_bytes = rules < text + size ? (size_t)(text + size - rules) : 0;
    cgroups = cgroups <= text + size ? cgroups : "";
    if (hs_policy_parse("P", rules_bytes ? rules : "", rules_bytes, &lookup, &policy, &error) ==
        0) {
        hold_against(policy, &(struct hs_policy_facts){ 0 });
        hold_against(policy, &(struct hs_policy_facts){ .is_uid_known = true,
                                                        .uid = 3,
                                                        .is_consent_known = true,
                                                        .is_willing = true,
                                                        .exe = text,
                                                        .cgroups = cgroups });
        hs_policy_free(policy);
    }
    free(text);
    return 0;
}
