/*
 * Parses the text of a policy: see policy.h.
 *
 * A line consists of words. A word that begins with '#' begins a comment. A backslash removes the
 * special meaning of the character that follows it, also of a blank; it stays in the word for the
 * glob.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "session/policy.h"
#include "util/array.h"
#include "util/parse.h"

#define LINE_BYTES_MAX 4096U
#define WORDS_MAX      64U
/* The largest number, 4294967295, is no user or group: system calls take it for "no change". */
#define ID_MAX 4294967294U

struct parse {
    struct hs_policy *policy;
    const struct hs_policy_lookup *lookup;
    struct hs_policy_error *error;
    unsigned line;
};

HS_PRINTF(2, 3)
static int fail(const struct parse *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->error->line = p->line;
    vsnprintf(p->error->text, sizeof(p->error->text), format, args);
    va_end(args);
    return -EINVAL;
}

static bool find_user(const char *name, uid_t *ret_uid)
{
    const struct passwd *user = getpwnam(name); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (user) {
        *ret_uid = user->pw_uid;
    }
    return user != NULL;
}

static bool find_group(const char *name, gid_t *ret_gid)
{
    const struct group *group = getgrnam(name); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (group) {
        *ret_gid = group->gr_gid;
    }
    return group != NULL;
}

static const struct hs_policy_lookup system_lookup = { find_user, find_group };

/* --- lists of users and groups ---------------------------------------------------------------- */

static int add_id(unsigned **ids, size_t *count, unsigned id)
{
    unsigned *more = reallocarray(*ids, *count + 1, sizeof(**ids));
    if (!more) {
        return -ENOMEM;
    }
    *ids = more;
    more[(*count)++] = id;
    return 0;
}

static int add_user(const struct parse *p, const char *name, uid_t **uids, size_t *count)
{
    uint64_t number;
    uid_t uid;
    if (hs_parse_number(name, &number) == 0) {
        return number <= ID_MAX ? add_id(uids, count, (uid_t)number)
                                : fail(p, "'%s' is not a user id", name);
    }
    return p->lookup->user(name, &uid) ? add_id(uids, count, uid)
                                       : fail(p, "there is no user '%s'", name);
}

static int add_group(const struct parse *p, const char *name, gid_t **gids, size_t *count)
{
    uint64_t number;
    gid_t gid;
    if (hs_parse_number(name, &number) == 0) {
        return number <= ID_MAX ? add_id(gids, count, (gid_t)number)
                                : fail(p, "'@%s' is not a group id", name);
    }
    return p->lookup->group(name, &gid) ? add_id(gids, count, gid)
                                        : fail(p, "there is no group '%s'", name);
}

/* Cuts the next item off a list with commas, in place; NULL: there is no further item. */
static char *next_item(char **rest)
{
    char *item = *rest;
    if (item) {
        size_t bytes = strcspn(item, ",");
        *rest = item[bytes] ? item + bytes + 1 : NULL;
        item[bytes] = '\0';
    }
    return item;
}

static int take_users(const struct parse *p, char *value, struct hs_policy_rule *rule)
{
    int r = 0;
    for (char *item; r == 0 && (item = next_item(&value)) != NULL;) {
        r = add_user(p, item, &rule->uids, &rule->uid_count);
    }
    return r;
}

static int take_by(const struct parse *p, char *value, struct hs_policy_rule *rule)
{
    int r = 0;
    for (char *item; r == 0 && (item = next_item(&value)) != NULL;) {
        if (strcmp(item, "*") == 0) {
            rule->is_by_anybody = true;
        } else if (item[0] == '@') {
            r = add_group(p, item + 1, &rule->by_gids, &rule->by_gid_count);
        } else {
            r = add_user(p, item, &rule->by_uids, &rule->by_uid_count);
        }
    }
    return r;
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Takes a glob for a path. A path begins with a slash, or with a wildcard that can match one. */
static int take_glob(const struct parse *p, const char *key, const char *value, char **ret_glob)
{
    if (*ret_glob) {
        return fail(p, "%s= is given twice; write a rule for each", key);
    }
    if (value[0] != '/' && value[0] != '*' && value[0] != '[' && value[0] != '?') {
        return fail(p, "%s=%s is not an absolute path", key, value);
    }
    *ret_glob = strdup(value);
    return *ret_glob ? 0 : -ENOMEM;
}

static int take_word(const struct parse *p, char *word, struct hs_policy_rule *rule)
{
    if (strcmp(word, "willing") == 0) {
        rule->is_willing = true;
        return 0;
    }
    char *value = strchr(word, '=');
    if (!value) {
        return fail(
            p, "'%s' is not a condition; there are user=, exe=, cgroup=, willing and *, and by=",
            word);
    }
    *value++ = '\0';
    if (*value == '\0') {
        return fail(p, "%s= has no value", word);
    }
    if (strcmp(word, "exe") == 0) {
        return take_glob(p, word, value, &rule->exe);
    }
    if (strcmp(word, "cgroup") == 0) {
        return take_glob(p, word, value, &rule->cgroup);
    }
    if (strcmp(word, "user") == 0) {
        return take_users(p, value, rule);
    }
    if (strcmp(word, "by") == 0) {
        return take_by(p, value, rule);
    }
    return fail(p, "'%s=' is not a condition; there are user=, exe=, cgroup=, and by=", word);
}

static bool has_condition(const struct hs_policy_rule *rule)
{
    return rule->uid_count > 0 || rule->exe || rule->cgroup || rule->is_willing;
}

static bool has_by(const struct hs_policy_rule *rule)
{
    return rule->is_by_anybody || rule->by_uid_count > 0 || rule->by_gid_count > 0;
}

static int take_class(const struct parse *p, const char *word, struct hs_policy_rule *rule)
{
    for (enum hs_policy_class c = HS_POLICY_NEVER; c <= HS_POLICY_DEBUGGABLE; c++) {
        if (strcmp(word, hs_policy_class_name(c)) == 0) {
            rule->class = c;
            return 0;
        }
    }
    return fail(p, "'%s' is not a class; there are never, profileable and debuggable", word);
}

static int take_rule(const struct parse *p, char **words, size_t count, struct hs_policy_rule *rule)
{
    bool is_for_all = false;
    int r = take_class(p, words[0], rule);
    for (size_t i = 1; r == 0 && i < count; i++) {
        if (strcmp(words[i], "*") == 0) {
            is_for_all = true;
        } else {
            r = take_word(p, words[i], rule);
        }
    }
    if (r == 0 && !is_for_all && !has_condition(rule)) {
        r = fail(p, "the rule has no condition; * matches every process");
    }
    if (r == 0 && is_for_all && has_condition(rule)) {
        r = fail(p, "* matches every process, and allows no other condition");
    }
    if (r == 0 && rule->class == HS_POLICY_NEVER && has_by(rule)) {
        r = fail(p, "never applies to all users; by= is for profileable and debuggable");
    }
    return r;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Splits a line into words, in place. Returns 0, or -E2BIG if there are too many words. */
static int split(char *line, char **words, size_t *ret_count)
{
    size_t count = 0;
    for (char *at = line;;) {
        while (is_blank(*at)) {
            at++;
        }
        if (*at == '\0' || *at == '#') {
            *ret_count = count;
            return 0;
        }
        if (count == WORDS_MAX) {
            return -E2BIG;
        }
        words[count++] = at;
        while (*at && !is_blank(*at)) {
            at += at[0] == '\\' && at[1] ? 2 : 1;
        }
        if (*at) {
            *at++ = '\0';
        }
    }
}

static char *join(char *const *words, size_t count)
{
    char *text = calloc(1, LINE_BYTES_MAX);
    char *at = text;
    for (size_t i = 0; text && i < count; i++) {
        at = stpcpy(stpcpy(at, i > 0 ? " " : ""), words[i]);
    }
    return text;
}

static int take_line(const struct parse *p, const char *text, size_t bytes)
{
    char line[LINE_BYTES_MAX], *words[WORDS_MAX];
    size_t count;
    if (bytes >= sizeof(line)) {
        return fail(p, "the line is too long");
    }
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && !is_blank((char)c)) || c == 127) {
            return fail(p, "there is a control character in the line");
        }
    }
    memcpy(line, text, bytes);
    line[bytes] = '\0';
    if (split(line, words, &count) < 0) {
        return fail(p, "the rule has too many words");
    }
    if (count == 0) {
        return 0;
    }
    struct hs_policy *policy = p->policy;
    if (policy->rule_count == HS_POLICY_RULES_MAX) {
        return fail(p, "there are more than %u rules", HS_POLICY_RULES_MAX);
    }
    int r = hs_array_reserve(&policy->rules, &policy->rule_capacity, policy->rule_count + 1,
                             sizeof(policy->rules[0]));
    if (r < 0) {
        return r;
    }
    struct hs_policy_rule *rule = &policy->rules[policy->rule_count++];
    *rule = (struct hs_policy_rule){ .line = p->line, .text = join(words, count) };
    return rule->text ? take_rule(p, words, count, rule) : -ENOMEM;
}

int hs_policy_parse(const char *path, const char *text, size_t text_bytes,
                    const struct hs_policy_lookup *lookup, struct hs_policy **ret_policy,
                    struct hs_policy_error *ret_error)
{
    *ret_error = (struct hs_policy_error){ 0 };
    struct parse p = { .policy = calloc(1, sizeof(*p.policy)),
                       .lookup = lookup ? lookup : &system_lookup,
                       .error = ret_error };
    int r = p.policy && (p.policy->path = strdup(path)) ? 0 : -ENOMEM;
    if (r == 0 && text_bytes > HS_POLICY_BYTES_MAX) {
        r = fail(&p, "it is too long");
    }
    for (size_t at = 0; r == 0 && at < text_bytes;) {
        const char *end = memchr(text + at, '\n', text_bytes - at);
        size_t bytes = end ? (size_t)(end - text) - at : text_bytes - at;
        p.line++;
        r = take_line(&p, text + at, bytes);
        at += bytes + 1;
    }
    if (r < 0) {
        if (ret_error->text[0] == '\0') {
            snprintf(ret_error->text, sizeof(ret_error->text), "%s", strerror(-r));
        }
        hs_policy_free(p.policy);
        return r;
    }
    *ret_policy = p.policy;
    return 0;
}
