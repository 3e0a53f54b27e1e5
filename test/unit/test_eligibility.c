/*
 * Tests of collect/eligibility: every rule on made-up facts, facts from a made-up /proc, and real
 * processes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inspect/eligibility.h"

/* A sleeping process of user 1000, who also runs the collector. */
static struct hs_eligibility make_facts(void)
{
    return (struct hs_eligibility){
        .pid = 70,
        .exists = true,
        .name = "cat",
        .stat = { .pid = 70, .state = 'S' },
        .status = { .tgid = 70, .uid = { 1000, 1000, 1000 }, .gid = { 1000, 1000, 1000 } },
        .actor = { .uid = 1000, .gid = 1000 },
        .may_trace = HS_ANSWER_UNKNOWN,
        .is_dumpable = HS_ANSWER_YES,
        .exe = { .is_known = true, .is_64bit = true, .is_native = true },
        .is_maps_known = true,
        .runtimes = { .libc = HS_LIBC_GLIBC },
    };
}

static void assert_verdict(struct hs_eligibility *it, enum hs_eligibility_verdict verdict,
                           enum hs_eligibility_by by)
{
    struct hs_eligibility_words words;
    hs_eligibility_decide(it);
    assert_int_equal(it->verdict, verdict);
    assert_int_equal(it->by, by);
    hs_eligibility_words(it, &words);
    assert_true(strlen(words.what) > 10);
    assert_true(words.what[strlen(words.what) - 1] != '.');
}

static void test_nothing_against_it(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it.may_trace = HS_ANSWER_YES;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
}

static void test_no_such_program(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.exists = false;
    assert_verdict(&it, HS_INELIGIBLE_GONE, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.stat.is_kernel_thread = true;
    assert_verdict(&it, HS_INELIGIBLE_KERNEL, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.stat.is_exiting = true;
    it.may_trace = HS_ANSWER_NO; /* there is no process to trace */
    assert_verdict(&it, HS_INELIGIBLE_ZOMBIE, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.status.tgid = 60;
    assert_verdict(&it, HS_INELIGIBLE_THREAD, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.is_us = true;
    assert_verdict(&it, HS_INELIGIBLE_SELF, HS_ELIGIBLE_BY_NOBODY);
}

static void test_users(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.status.uid = (struct hs_proc_ids){ 5, 5, 5 };
    assert_verdict(&it, HS_INELIGIBLE_OTHER_USER, HS_ELIGIBLE_BY_OWNER);
    it.yama_scope = 1;
    assert_verdict(&it, HS_INELIGIBLE_OTHER_USER, HS_ELIGIBLE_BY_ROOT);
    it.actor.has_sys_ptrace = true;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    /* One foreign id is enough to refuse: the process may switch back to it. */
    struct hs_proc_ids odd[] = { { 0, 1000, 1000 }, { 1000, 0, 1000 }, { 1000, 1000, 0 } };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        it = make_facts();
        it.status.uid = odd[i];
        assert_verdict(&it, HS_INELIGIBLE_OTHER_USER, HS_ELIGIBLE_BY_OWNER);
        it = make_facts();
        it.status.gid = odd[i];
        assert_verdict(&it, HS_INELIGIBLE_OTHER_USER, HS_ELIGIBLE_BY_OWNER);
    }
    /* The kernel decides in the end. */
    it.may_trace = HS_ANSWER_YES;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
}

static void test_other_refusals(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.is_dumpable = HS_ANSWER_NO;
    assert_verdict(&it, HS_INELIGIBLE_NOT_DUMPABLE, HS_ELIGIBLE_BY_ROOT);
    it.actor.has_sys_ptrace = true;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it = make_facts();
    it.status.cap_permitted_mask = 6;
    it.actor.cap_permitted_mask = 2;
    assert_verdict(&it, HS_INELIGIBLE_MORE_RIGHTS, HS_ELIGIBLE_BY_ROOT);
    it.actor.cap_permitted_mask = 7;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it = make_facts();
    it.may_trace = HS_ANSWER_NO;
    assert_verdict(&it, HS_INELIGIBLE_REFUSED, HS_ELIGIBLE_BY_NOBODY);
}

static void test_yama(void **state)
{
    (void)state;
    static const struct {
        unsigned scope;
        bool is_descendant, is_capable, is_fine;
        enum hs_eligibility_by by;
    } cases[] = {
        { 0, false, false, true, HS_ELIGIBLE_BY_US },
        { 1, false, false, false, HS_ELIGIBLE_BY_ROOT },
        { 1, true, false, true, HS_ELIGIBLE_BY_US },
        { 1, false, true, true, HS_ELIGIBLE_BY_US },
        { 2, true, false, false, HS_ELIGIBLE_BY_ROOT },
        { 2, false, true, true, HS_ELIGIBLE_BY_US },
        { 3, true, true, false, HS_ELIGIBLE_BY_NOBODY },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_eligibility it = make_facts();
        it.yama_scope = cases[i].scope;
        it.is_descendant = cases[i].is_descendant;
        it.actor.has_sys_ptrace = cases[i].is_capable;
        assert_verdict(&it, cases[i].is_fine ? HS_ELIGIBLE : HS_INELIGIBLE_YAMA, cases[i].by);
    }
}

static void test_what_it_is(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.exe.is_64bit = false;
    assert_verdict(&it, HS_INELIGIBLE_32BIT, HS_ELIGIBLE_BY_NOBODY);
    it.exe.is_known = false;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it = make_facts();
    it.exe.is_native = false;
    assert_verdict(&it, HS_INELIGIBLE_OTHER_MACHINE, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.exe.is_static = true;
    assert_verdict(&it, HS_INELIGIBLE_STATIC, HS_ELIGIBLE_BY_NOBODY);
    it.runtimes.has_valgrind = true;
    assert_verdict(&it, HS_INELIGIBLE_VALGRIND, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.runtimes.libc = HS_LIBC_NONE;
    assert_verdict(&it, HS_INELIGIBLE_STARTING, HS_ELIGIBLE_BY_NOBODY);
    it.exe.is_known = false;
    assert_verdict(&it, HS_INELIGIBLE_STATIC, HS_ELIGIBLE_BY_NOBODY);
    it.runtimes.libc = HS_LIBC_MUSL;
    assert_verdict(&it, HS_INELIGIBLE_MUSL, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.exe.sanitizer = "AddressSanitizer";
    assert_verdict(&it, HS_INELIGIBLE_SANITIZER, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.status.seccomp_mode = 1;
    assert_verdict(&it, HS_INELIGIBLE_SECCOMP, HS_ELIGIBLE_BY_NOBODY);
}

static void test_filters(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.status.seccomp_mode = 2;
    assert_verdict(&it, HS_INELIGIBLE_FILTER, HS_ELIGIBLE_BY_ROOT);
    it.client.state = HS_CLIENT_WAITING; /* the client is already in the process */
    assert_verdict(&it, HS_ELIGIBLE_FOR_DAEMON, HS_ELIGIBLE_BY_US);
    it.client.state = HS_CLIENT_ACTIVE;
    assert_verdict(&it, HS_INELIGIBLE_RECORDING, HS_ELIGIBLE_BY_NOBODY);
    it.client.state = HS_CLIENT_ASLEEP;
    assert_verdict(&it, HS_INELIGIBLE_FILTER, HS_ELIGIBLE_BY_ROOT);
    it.actor.may_read_filters = true;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
}

static void test_not_now_and_not_wanted(void **state)
{
    (void)state;
    struct hs_eligibility it = make_facts();
    it.is_stopped = true;
    assert_verdict(&it, HS_INELIGIBLE_STOPPED, HS_ELIGIBLE_BY_NOBODY);
    it.status.tracer_pid = 8;
    assert_verdict(&it, HS_INELIGIBLE_TRACED, HS_ELIGIBLE_BY_NOBODY);
    it.client.state = HS_CLIENT_WAITING;
    assert_verdict(&it, HS_INELIGIBLE_TRACED, HS_ELIGIBLE_BY_NOBODY);
    it.client.state = HS_CLIENT_ACTIVE;
    assert_verdict(&it, HS_INELIGIBLE_RECORDING, HS_ELIGIBLE_BY_NOBODY);
    it.runtimes.profiler = "heaptrack";
    assert_verdict(&it, HS_INELIGIBLE_PROFILER, HS_ELIGIBLE_BY_NOBODY);
    it.is_profileable = HS_ANSWER_NO;
    assert_verdict(&it, HS_INELIGIBLE_OPTED_OUT, HS_ELIGIBLE_BY_NOBODY);
    it = make_facts();
    it.is_profileable = HS_ANSWER_YES;
    it.client.state = HS_CLIENT_ASLEEP;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it.client.state = HS_CLIENT_ORPHANED;
    assert_verdict(&it, HS_ELIGIBLE, HS_ELIGIBLE_BY_US);
    it.client.state = HS_CLIENT_WAITING;
    assert_verdict(&it, HS_ELIGIBLE_FOR_DAEMON, HS_ELIGIBLE_BY_US);
}

/* --- a made-up /proc -------------------------------------------------------------------------- */

struct folder {
    char path[64];
};

static void put(const struct folder *folder, const char *name, const char *text, size_t bytes)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    for (char *slash = path + strlen(folder->path) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
}

#define PUT(folder, name, text) put(folder, name, text, sizeof(text) - 1)

static struct folder make_proc(void)
{
    struct folder folder = { "/tmp/hs-eligibility-XXXXXX" };
    assert_non_null(mkdtemp(folder.path));
    PUT(&folder, "self/status",
        "Name:\theapscope\nTgid:\t50\nPPid:\t1\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\n"
        "CapPrm:\t0000000000080000\nCapEff:\t0000000000080000\n");
    PUT(&folder, "sys/kernel/yama/ptrace_scope", "1\n");
    PUT(&folder, "70/stat", "70 (a b) T 60 70 70 0 -1 4194304 0");
    PUT(&folder, "60/stat", "60 (sh) S 50 70 70 0 -1 4194304 0");
    PUT(&folder, "9/status", "Name:\tg\033db\nTgid:\t9\nPPid:\t1\n");
    PUT(&folder, "70/status",
        "Name:\ta\033b\nTgid:\t70\nPPid:\t60\nTracerPid:\t9\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\n"
        "NSpid:\t70\t3\t1\nVmRSS:\t2048 kB\nRssAnon:\t1024 kB\nVmSwap:\t512 kB\n"
        "CapPrm:\t0000000000000000\nSeccomp:\t2\n");
    PUT(&folder, "70/maps",
        "1000-2000 r-xp 00000000 fe:00 7 /lib/libc.so.6\n"
        "3000-4000 r-xp 00000000 fe:00 8 /lib/libjemalloc.so.2\n");
    PUT(&folder, "70/root/lib/libc.so.6",
        "\177ELF GNU C Library (GNU libc) stable release version 2.31.");
    PUT(&folder, "70/environ",
        "A=B\0HEAPSCOPE_PROFILEABLE=Off\0MALLOC_CONF=lg_x:1,prof:true\0"
        "HEAPSCOPE_COLLECTOR=heapscope-1\0");
    return folder;
}

static void remove_proc(const struct folder *folder)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder->path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own folder */
}

static void test_facts_of_a_folder(void **state)
{
    (void)state;
    struct folder proc = make_proc();
    struct hs_eligibility it;
    hs_eligibility_look(proc.path, 70, &it);
    assert_true(it.exists && it.is_stopped && it.is_descendant && !it.is_us);
    assert_string_equal(it.name, "a?b");
    assert_string_equal(it.tracer_name, "g?db");
    assert_int_equal(it.status.tracer_pid, 9);
    assert_int_equal(it.status.pid_ns_depth, 2);
    assert_int_equal(it.status.seccomp_mode, 2);
    assert_int_equal(it.yama_scope, 1);
    assert_int_equal(it.actor.uid, 7);
    assert_int_equal(it.actor.gid, 8);
    assert_true(it.actor.has_sys_ptrace && !it.actor.may_read_filters);
    assert_int_equal(it.may_trace, HS_ANSWER_UNKNOWN);
    assert_int_equal(it.shares_net_ns, HS_ANSWER_UNKNOWN);
    assert_int_equal(it.rss_bytes, 2 << 20);
    assert_int_equal(it.private_bytes, 1536 << 10);
    assert_true(it.is_maps_known && !it.exe.is_known);
    assert_int_equal(it.allocator, HS_ALLOCATOR_JEMALLOC);
    assert_string_equal(it.heap_profiler, "jemalloc's heap profiler");
    assert_int_equal(it.glibc.minor, 31);
    assert_int_equal(it.is_profileable, HS_ANSWER_NO);
    assert_string_equal(it.collector, "heapscope-1");
    remove_proc(&proc);
}

static void test_our_capability_counts_below_us_only(void **state)
{
    (void)state;
    struct folder proc = make_proc();
    struct hs_eligibility it;
    PUT(&proc, "self/ns/user", "");
    PUT(&proc, "70/ns/user", "");
    hs_eligibility_look(proc.path, 70, &it);
    assert_int_equal(it.shares_user_ns, HS_ANSWER_NO);
    assert_false(it.actor.has_sys_ptrace);
    remove_proc(&proc);
}

static void test_what_is_missing_is_unknown(void **state)
{
    (void)state;
    struct folder proc = make_proc();
    struct hs_eligibility it;
    hs_eligibility_check_in(proc.path, 71, &it);
    assert_int_equal(it.verdict, HS_INELIGIBLE_GONE);
    hs_eligibility_check_in(proc.path, -1, &it);
    assert_int_equal(it.verdict, HS_INELIGIBLE_GONE);
    PUT(&proc, "71/stat", "71 (x) S 1 70 70 0 -1 4194304 0");
    PUT(&proc, "71/status", "Name:\tx\nTgid:\t71\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\n");
    hs_eligibility_check_in(proc.path, 71, &it);
    assert_int_equal(it.verdict, HS_ELIGIBLE);
    assert_false(it.is_maps_known || it.exe.is_known);
    assert_int_equal(it.is_profileable, HS_ANSWER_UNKNOWN);
    remove_proc(&proc);
}

/* --- real processes --------------------------------------------------------------------------- */

/* Starts a child that waits to be killed. Returns when the child is ready. */
static pid_t start_child(void (*prepare)(void))
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prepare();
        if (write(ready[1], "", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_true(pid > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void do_nothing(void)
{
}

static void hide(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void test_real_child(void **state)
{
    (void)state;
    struct hs_eligibility it;
    pid_t pid = start_child(do_nothing);
    hs_eligibility_check(pid, &it);
    assert_true(it.exists && it.is_descendant && it.exe.is_known && it.is_maps_known);
    assert_true(it.exe.is_64bit && it.exe.is_native && !it.exe.is_static);
    assert_int_equal(it.shares_net_ns, HS_ANSWER_YES);
    assert_int_equal(it.glibc.major, 2);
    assert_true(it.rss_bytes > 0);
    kill(pid, SIGSTOP);
    waitpid(pid, NULL, WUNTRACED);
    hs_eligibility_check(pid, &it);
    assert_true(it.is_stopped);
    kill(pid, SIGKILL);
    while (it.exists && !it.stat.is_exiting) {
        hs_eligibility_check(pid, &it);
    }
    assert_int_equal(it.verdict, HS_INELIGIBLE_ZOMBIE);
    waitpid(pid, NULL, 0);
    hs_eligibility_check(pid, &it);
    assert_int_equal(it.verdict, HS_INELIGIBLE_GONE);
    hs_eligibility_check(getpid(), &it);
    assert_int_equal(it.verdict, HS_INELIGIBLE_SELF);
}

/* By kernel.yama.ptrace_scope 1, a process may trace the children of its children, and neither its
 * parent nor the other children of its parent. */
static void test_real_descendants(void **state)
{
    (void)state;
    struct hs_eligibility it;
    int pids[2];
    pid_t grandchild = 0;
    assert_int_equal(pipe(pids), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t pid = start_child(do_nothing);
        _exit(write(pids[1], &pid, sizeof(pid)) == sizeof(pid) ? pause() : 1);
    }
    assert_int_equal(read(pids[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
    hs_eligibility_check(child, &it);
    assert_true(it.is_descendant);
    hs_eligibility_check(grandchild, &it);
    assert_true(it.is_descendant);
    hs_eligibility_check(getppid(), &it);
    assert_true(it.exists && !it.is_descendant);
    /* Its parent is gone, so it is not below this process any more. */
    end_child(child);
    hs_eligibility_check(grandchild, &it);
    assert_true(it.exists && !it.is_descendant);
    kill(grandchild, SIGKILL);
    close(pids[0]);
    close(pids[1]);
}

static void test_real_child_that_hides(void **state)
{
    (void)state;
    struct hs_eligibility it;
    pid_t pid = start_child(hide);
    hs_eligibility_check(pid, &it);
    if (geteuid() != 0) {
        assert_int_equal(it.is_dumpable, HS_ANSWER_NO);
        assert_int_equal(it.may_trace, HS_ANSWER_NO);
        assert_int_equal(it.verdict, HS_INELIGIBLE_NOT_DUMPABLE);
    }
    end_child(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_against_it),
        cmocka_unit_test(test_no_such_program),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_other_refusals),
        cmocka_unit_test(test_yama),
        cmocka_unit_test(test_what_it_is),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_not_now_and_not_wanted),
        cmocka_unit_test(test_facts_of_a_folder),
        cmocka_unit_test(test_our_capability_counts_below_us_only),
        cmocka_unit_test(test_what_is_missing_is_unknown),
        cmocka_unit_test(test_real_child),
        cmocka_unit_test(test_real_descendants),
        cmocka_unit_test(test_real_child_that_hides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
