/* Tests of session/admission: which user may profile a process. Processes are folders of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "rt/base.h"
#include "session/admission.h"

#define PID 42

struct world {
    char proc[32];
    char folder[48];
    uid_t uid; /* the user that runs the test and owns the files */
    struct hs_policy *policy;
    struct hs_refusal_words words;
};

static void put(const struct world *world, const char *name, const char *text, size_t bytes)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/%s", world->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void set_users(const struct world *world, unsigned real, unsigned effective, unsigned saved)
{
    char text[200];
    int bytes = snprintf(text, sizeof(text),
                         "Name:\tx\nTgid:\t%d\nUid:\t%u\t%u\t%u\t%u\nGid:\t1\t1\t1\t1\n", PID, real,
                         effective, saved, effective);
    put(world, "status", text, (size_t)bytes);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    strcpy(world->proc, "/tmp/hs-admission-XXXXXX");
    assert_non_null(mkdtemp(world->proc));
    snprintf(world->folder, sizeof(world->folder), "%s/%d", world->proc, PID);
    assert_int_equal(mkdir(world->folder, 0755), 0);
    /* Root's files do not look undumpable, so root uses the id of another user here. */
    world->uid = geteuid() ? geteuid() : 4242;
    set_users(world, world->uid, world->uid, world->uid);
    put(world, "environ", "A=B", 4);
    put(world, "cgroup", "0::/a/b\n", 8);
    char path[80];
    snprintf(path, sizeof(path), "%s/exe", world->folder);
    assert_int_equal(symlink("/opt/prog", path), 0);
    snprintf(path, sizeof(path), "%s/status", world->folder);
    assert_int_equal(chown(path, world->uid, (gid_t)-1), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    static const char *const names[] = { "status", "environ", "cgroup", "exe" };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        char path[80];
        snprintf(path, sizeof(path), "%s/%s", world->folder, names[i]);
        unlink(path);
    }
    rmdir(world->folder);
    rmdir(world->proc);
    hs_policy_free(world->policy);
    free(world);
    return 0;
}

static void set_policy(struct world *world, const char *text)
{
    struct hs_policy_error error;
    world->policy = hs_policy_free(world->policy);
    assert_int_equal(hs_policy_parse("P", text, strlen(text), NULL, &world->policy, &error), 0);
}

static enum hs_refusal judge(struct world *world, const struct hs_admission_asker *asker,
                             const struct hs_admission_process *process)
{
    return hs_admission_check(world->policy, world->proc, asker, process, &world->words);
}

static struct hs_admission_asker user(uid_t uid)
{
    return (struct hs_admission_asker){ .uid = uid, .is_any_uid = uid == 0 };
}

static void test_users(void **state)
{
    struct world *world = *state;
    const struct hs_admission_asker owner = user(world->uid), other = user(7), root = user(0);
    const struct hs_admission_process process = { .pid = PID, .uid = world->uid };
    assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_NONE);
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_OTHER_USER);
    assert_non_null(strstr(world->words.what, "the session to user 7"));
    /* A process with such ids can become the other user again. */
    static const int others[][3] = { { 7, -1, -1 }, { -1, 7, -1 }, { -1, -1, 7 } };
    for (size_t i = 0; i < HS_COUNT_OF(others); i++) {
        unsigned ids[3];
        for (size_t k = 0; k < 3; k++) {
            ids[k] = others[i][k] < 0 ? world->uid : (unsigned)others[i][k];
        }
        set_users(world, ids[0], ids[1], ids[2]);
        assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_OTHER_USER);
        assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
    }
    /* A process that has ended still belongs to the user that it had. */
    const struct hs_admission_process ended = { .pid = PID, .uid = world->uid, .has_ended = true };
    assert_int_equal(judge(world, &owner, &ended), HS_REFUSAL_NONE);
    assert_int_equal(judge(world, &other, &ended), HS_REFUSAL_OTHER_USER);
}

static void test_not_dumpable(void **state)
{
    struct world *world = *state;
    char path[80];
    if (geteuid() != 0) {
        skip(); /* this needs files of another user */
    }
    snprintf(path, sizeof(path), "%s/status", world->folder);
    assert_int_equal(chown(path, 0, 0), 0);
    const struct hs_admission_asker owner = user(world->uid), root = user(0);
    struct hs_admission_process process = { .pid = PID, .uid = world->uid };
    assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_NOT_DUMPABLE);
    assert_non_null(strstr(world->words.remedy, "HEAPSCOPE_PROFILEABLE=1"));
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
    process.is_willing = true;
    assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_NONE);
    /*
     * The process did not choose its initial environment, so a setting there is not its own
     * consent.
     */
    put(world, "environ", "HEAPSCOPE_PROFILEABLE=1", 24);
    process = (struct hs_admission_process){ .pid = PID, .uid = world->uid, .is_attaching = true };
    assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_NOT_DUMPABLE);
    /* Being allowed to profile a process does not make the user root. */
    set_policy(world, "debuggable * by=7");
    const struct hs_admission_asker other = user(7);
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_NOT_DUMPABLE);
}

static void test_opted_out(void **state)
{
    struct world *world = *state;
    const struct hs_admission_asker owner = user(world->uid), root = user(0);
    struct hs_admission_process process = { .pid = PID, .uid = world->uid, .is_attaching = true };
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
    put(world, "environ", "A=B\0HEAPSCOPE_PROFILEABLE=off", 30);
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_OPTED_OUT);
    assert_int_equal(judge(world, &owner, &process), HS_REFUSAL_OPTED_OUT);
    set_policy(world, "debuggable user=1\ndebuggable exe=/opt/*");
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_OPTED_OUT);
}

static void test_policy(void **state)
{
    struct world *world = *state;
    const struct hs_admission_asker root = user(0), other = user(7);
    struct hs_admission_process process = { .pid = PID, .uid = world->uid };
    set_policy(world, "never exe=/opt/prog");
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_POLICY);
    assert_string_equal(world->words.what, "P:1 forbids it (never exe=/opt/prog)");
    set_policy(world, "never willing");
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
    process.is_willing = true;
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_POLICY);
    process.is_willing = false;
    set_policy(world, "profileable cgroup=/a by=7");
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_NONE);
    const struct hs_admission_asker by_group = { .uid = 8,
                                                 .gids = (const gid_t[]){ 9 },
                                                 .gid_count = 1 };
    assert_int_equal(judge(world, &by_group, &process), HS_REFUSAL_OTHER_USER);
    set_policy(world, "profileable cgroup=/a by=@9");
    assert_int_equal(judge(world, &by_group, &process), HS_REFUSAL_NONE);
    process.is_attaching = true;
    assert_int_equal(judge(world, &by_group, &process), HS_REFUSAL_POLICY);
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_POLICY);
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_OTHER_USER);
    set_policy(world, "debuggable cgroup=/a by=@9");
    assert_int_equal(judge(world, &by_group, &process), HS_REFUSAL_NONE);
}

static void test_policy_of_what_has_ended(void **state)
{
    struct world *world = *state;
    const struct hs_admission_asker root = user(0);
    struct hs_admission_process process = { .pid = PID, .uid = world->uid, .has_ended = true };
    set_policy(world, "never exe=/opt/prog");
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_POLICY);
    assert_non_null(strstr(world->words.what, "may forbid it"));
    process.exe = "/opt/prog";
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_POLICY);
    assert_non_null(strstr(world->words.what, ":1 forbids it"));
    process.exe = "/opt/another";
    assert_int_equal(judge(world, &root, &process), HS_REFUSAL_NONE);
}

static void test_attaching_to_root(void **state)
{
    struct world *world = *state;
    const struct hs_admission_asker other = user(7);
    struct hs_admission_process process = { .pid = PID, .uid = 0 };
    set_users(world, 0, 0, 0);
    set_policy(world, "debuggable * by=7");
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_NONE);
    process.is_attaching = true;
    assert_int_equal(judge(world, &other, &process), HS_REFUSAL_POLICY);
    assert_non_null(strstr(world->words.what, "only root may attach"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_users),
        TEST(test_not_dumpable),
        TEST(test_opted_out),
        TEST(test_policy),
        TEST(test_policy_of_what_has_ended),
        TEST(test_attaching_to_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
