/*
 * Tests of session/policy and policy_file: the syntax, which processes rules match, and which files
 * are trusted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/base.h"
#include "session/policy_file.h"

static bool find_user(const char *name, uid_t *ret_uid)
{
    static const char *const names[] = { "root", "ann", "bob", "db" };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_uid = i == 0 ? 0 : 1000 + (uid_t)i;
            return true;
        }
    }
    return false;
}

static bool find_group(const char *name, gid_t *ret_gid)
{
    *ret_gid = 2000;
    return strcmp(name, "dev") == 0;
}

static const struct hs_policy_lookup lookup = { find_user, find_group };

static struct hs_policy *parse(const char *text)
{
    struct hs_policy *policy = NULL;
    struct hs_policy_error error;
    if (hs_policy_parse("P", text, strlen(text), &lookup, &policy, &error) != 0) {
        fail_msg("%u: %s", error.line, error.text);
    }
    return policy;
}

/* --- syntax ----------------------------------------------------------------------------------- */

static void test_rules(void **state)
{
    (void)state;
    struct hs_policy *policy = parse("# a comment\n"
                                     "\n"
                                     "  never\texe=/usr/bin/gpg-agent   # and another\r\n"
                                     "never user=db,7 cgroup=/system.slice/*\n"
                                     "profileable willing by=ann,@dev,@9,8\n"
                                     "debuggable exe=/opt/My\\ App/#1 user=0 by=*\n"
                                     "profileable *");
    assert_int_equal(policy->rule_count, 5);
    const struct hs_policy_rule *r = policy->rules;
    assert_int_equal(r[0].line, 3);
    assert_int_equal(r[0].class, HS_POLICY_NEVER);
    assert_string_equal(r[0].exe, "/usr/bin/gpg-agent");
    assert_string_equal(r[0].text, "never exe=/usr/bin/gpg-agent");
    assert_int_equal(r[1].uid_count, 2);
    assert_int_equal(r[1].uids[0], 1003);
    assert_int_equal(r[1].uids[1], 7);
    assert_string_equal(r[1].cgroup, "/system.slice/*");
    assert_true(r[2].is_willing);
    assert_int_equal(r[2].by_uid_count, 2);
    assert_int_equal(r[2].by_gid_count, 2);
    assert_int_equal(r[2].by_gids[1], 9);
    assert_string_equal(r[2].text, "profileable willing by=ann,@dev,@9,8");
    assert_string_equal(r[3].exe, "/opt/My\\ App/#1");
    assert_true(r[3].is_by_anybody);
    assert_int_equal(r[4].line, 7);
    hs_policy_free(policy);
    policy = parse("");
    assert_int_equal(policy->rule_count, 0);
    hs_policy_free(policy);
    hs_policy_free(NULL);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        const char *words;
    } cases[] = {
        { "always *", 1, "'always' is not a class" },
        { "\n\nnever", 3, "no condition" },
        { "never *\nprofileable by=ann\n", 2, "no condition" },
        { "never * user=ann", 1, "every process" },
        { "never user=carl", 1, "no user 'carl'" },
        { "never user=", 1, "user= has no value" },
        { "never user=ann,,bob", 1, "no user ''" },
        { "never user=4294967295", 1, "is not a user id" },
        { "never user=99999999999999999999999", 1, "no user" },
        { "profileable * by=@carl", 1, "no group 'carl'" },
        { "profileable * by=@4294967295", 1, "is not a group id" },
        { "never * by=ann", 1, "never applies to all users" },
        { "never exe=gpg-agent", 1, "is not an absolute path" },
        { "never exe=/a exe=/b", 1, "given twice" },
        { "never cgroup=x", 1, "is not an absolute path" },
        { "never argv=/x", 1, "'argv=' is not a condition" },
        { "never gpg-agent", 1, "'gpg-agent' is not a condition" },
        { "never exe=/\x1b[31m", 1, "control character" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        struct hs_policy *policy;
        struct hs_policy_error error;
        assert_int_equal(
            hs_policy_parse("P", cases[i].text, strlen(cases[i].text), &lookup, &policy, &error),
            -EINVAL);
        assert_int_equal(error.line, cases[i].line);
        if (!strstr(error.text, cases[i].words)) {
            fail_msg("%s: %s", cases[i].text, error.text);
        }
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct hs_policy *policy;
    struct hs_policy_error error;
    const size_t bytes = HS_POLICY_BYTES_MAX + 2;
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, ' ', bytes);
    assert_int_equal(hs_policy_parse("P", text, bytes, &lookup, &policy, &error), -EINVAL);
    assert_int_equal(error.line, 0);
    assert_int_equal(hs_policy_parse("P", text, 5000, &lookup, &policy, &error), -EINVAL);
    assert_non_null(strstr(error.text, "too long"));
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        memcpy(text + i, "never *\n", 8);
    }
    assert_int_equal(
        hs_policy_parse("P", text, (size_t)HS_POLICY_RULES_MAX * 8, &lookup, &policy, &error), 0);
    hs_policy_free(policy);
    assert_int_equal(
        hs_policy_parse("P", text, (size_t)(HS_POLICY_RULES_MAX + 1) * 8, &lookup, &policy, &error),
        -EINVAL);
    assert_int_equal(error.line, HS_POLICY_RULES_MAX + 1);
    assert_int_equal(hs_policy_parse("P", "never \0 *", 9, &lookup, &policy, &error), -EINVAL);
    free(text);
}

/* --- matching --------------------------------------------------------------------------------- */

static unsigned line_of(const char *text, const struct hs_policy_facts *facts, bool *ret_is_sure)
{
    struct hs_policy *policy = parse(text);
    const struct hs_policy_rule *rule = hs_policy_find(policy, facts, ret_is_sure);
    unsigned line = rule ? rule->line : 0;
    hs_policy_free(policy);
    return line;
}

static void test_what_fits(void **state)
{
    (void)state;
    static const char cgroups[] = "12:cpu,cpuacct:/v1/a:b\n"
                                  "0::/system.slice/web.service/worker (deleted)\n";
    const struct hs_policy_facts facts = { .is_uid_known = true,
                                           .is_consent_known = true,
                                           .uid = 1001,
                                           .is_willing = true,
                                           .exe = "/usr/bin/web server (deleted)",
                                           .cgroups = cgroups };
    static const struct {
        const char *rule;
        bool fits;
    } cases[] = {
        { "never *", true },
        { "never user=ann", true },
        { "never user=bob", false },
        { "never user=bob,1001", true },
        { "never exe=/usr/bin/web\\ server", true },
        { "never exe=/usr/*", true },
        { "never exe=/usr/bin/web", false },
        { "never exe=*server", true },
        { "never cgroup=/system.slice/web.service/worker", true },
        { "never cgroup=/system.slice/web.service", true }, /* groups below it match too */
        { "never cgroup=/system.slice/*.service", true },
        { "never cgroup=/system.slice/web", false },
        { "never cgroup=/", true },
        { "never cgroup=/v1/a:b", true },
        { "never cgroup=/v1", true },
        { "never cgroup=/v2", false },
        { "never willing", true },
        { "never user=ann exe=/usr/bin/* cgroup=/system.slice/* willing", true },
        { "never user=ann exe=/bin/* cgroup=/system.slice/* willing", false },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        bool is_sure;
        if ((line_of(cases[i].rule, &facts, &is_sure) == 1) != cases[i].fits || !is_sure) {
            fail_msg("%s", cases[i].rule);
        }
    }
}

static void test_the_first_decides(void **state)
{
    (void)state;
    bool is_sure;
    const struct hs_policy_facts facts = { .is_uid_known = true, .uid = 1002, .exe = "/bin/b" };
    assert_int_equal(line_of("never user=ann\nprofileable exe=/bin/b\nnever *\n", &facts, &is_sure),
                     2);
    assert_true(is_sure);
    assert_int_equal(line_of("never user=ann\nprofileable exe=/bin/c\n", &facts, &is_sure), 0);
    assert_null(hs_policy_find(NULL, &facts, &is_sure));
}

static void test_the_unknown_forbids(void **state)
{
    (void)state;
    bool is_sure;
    const struct hs_policy_facts nothing = { 0 };
    const struct hs_policy_facts user = { .is_uid_known = true, .uid = 1002 };
    static const char *const conditions[] = { "user=ann", "exe=/bin/x", "cgroup=/x", "willing" };
    for (size_t i = 0; i < HS_COUNT_OF(conditions); i++) {
        char text[100];
        snprintf(text, sizeof(text), "never %s\n", conditions[i]);
        assert_int_equal(line_of(text, &nothing, &is_sure), 1);
        assert_false(is_sure);
        snprintf(text, sizeof(text), "debuggable %s by=*\nnever user=bob,db\n", conditions[i]);
        assert_int_equal(line_of(text, &user, &is_sure), 2);
        assert_true(is_sure == (i == 0)); /* it was known that it does not belong to ann */
    }
    /* The rule does not concern a process of another user, whatever its program. */
    assert_int_equal(line_of("never user=ann exe=/bin/x", &user, &is_sure), 0);
    assert_true(is_sure);
    const struct hs_policy_facts relative = { .exe = "x", .cgroups = "" };
    assert_int_equal(line_of("never exe=/bin/x", &relative, &is_sure), 1);
    assert_int_equal(line_of("never cgroup=/x", &relative, &is_sure), 1);
}

static void test_who_is_given(void **state)
{
    (void)state;
    struct hs_policy *policy = parse("profileable * by=ann,@dev\nprofileable *\ndebuggable * by=*");
    const struct hs_policy_rule *r = policy->rules;
    const gid_t groups[] = { 5, 2000 };
    assert_true(hs_policy_gives(&r[0], 1001, groups, 0));
    assert_false(hs_policy_gives(&r[0], 1002, groups, 1));
    assert_true(hs_policy_gives(&r[0], 1002, groups, 2));
    assert_false(hs_policy_gives(&r[1], 1001, groups, 2));
    assert_true(hs_policy_gives(&r[2], 77, NULL, 0));
    assert_false(hs_policy_asks(policy));
    assert_false(hs_policy_asks(NULL));
    hs_policy_free(policy);
    policy = parse("never user=ann\nnever willing");
    assert_true(hs_policy_asks(policy));
    hs_policy_free(policy);
}

/* --- files ------------------------------------------------------------------------------------ */

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void test_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/hs-policy-XXXXXX", path[64], words[HS_POLICY_WORDS_BYTES];
    struct hs_policy *policy = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/p", folder);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), -ENOENT);
    put(path, "never user=root\n", 0600);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), 0);
    assert_string_equal(policy->path, path);
    assert_int_equal(policy->rules[0].uids[0], 0);
    hs_policy_free(policy);
    put(path, "never *\nnever x\n", 0644);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), -EINVAL);
    assert_true(strncmp(words, path, strlen(path)) == 0 && strstr(words, "/p:2: "));
    put(path, "never *\n", 0620);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), -EPERM);
    put(path, "never *\n", 0602);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), -EPERM);
    assert_non_null(strstr(words, "chmod go-w"));
    assert_int_equal(hs_policy_load(folder, geteuid(), &policy, words), -EPERM);
    if (geteuid() == 0) {
        put(path, "never *\n", 0600);
        assert_int_equal(chown(path, 7, 7), 0);
        assert_int_equal(hs_policy_load(path, 0, &policy, words), -EPERM);
        assert_non_null(strstr(words, "chown root"));
        assert_int_equal(hs_policy_load(path, 7, &policy, words), 0);
        hs_policy_free(policy);
    }
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(hs_policy_load(path, geteuid(), &policy, words), -EPERM);
    unlink(path);
    rmdir(folder);
}

static void test_a_process(void **state)
{
    (void)state;
    struct hs_policy_process *process = malloc(sizeof(*process));
    char exe[PATH_MAX];
    assert_non_null(process);
    hs_policy_process_read("/proc", getpid(), true, process);
    ssize_t bytes = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    assert_true(bytes > 0);
    exe[bytes] = '\0';
    assert_true(process->facts.is_uid_known && process->facts.uid == geteuid());
    assert_string_equal(process->facts.exe, exe);
    assert_non_null(process->facts.cgroups);
    assert_true(process->facts.is_consent_known);
    hs_policy_process_read("/proc", getpid(), false, process);
    assert_true(process->is_status_known && !process->facts.exe &&
                !process->facts.is_consent_known);
    hs_policy_process_read("/proc", -1, true, process);
    assert_false(process->is_status_known || process->facts.exe || process->facts.cgroups);
    free(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_the_first_decides),
        cmocka_unit_test(test_the_unknown_forbids),
        cmocka_unit_test(test_who_is_given),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
