/*
 * Tests of util/proc: the forms that the kernel writes, hostile names, cut text, and our own
 * process.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/proc.h"

static void test_stat_reads_the_fields_after_a_hostile_comm(void **state)
{
    (void)state;
    const char *text =
        "4711 (a) R 1 (b) S 12 13 14 0 -1 4194560 100 0 5 0 7 8 0 0 20 -5 3 0 987654 "
        "12345678 321 18446744073709551615 1 1 0";
    struct hs_proc_stat stat;
    assert_int_equal(hs_proc_parse_stat(text, strlen(text), &stat), 0);
    assert_int_equal(stat.pid, 4711);
    assert_string_equal(stat.comm, "a) R 1 (b");
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 12);
    assert_int_equal(stat.pgrp, 13);
    assert_int_equal(stat.session, 14);
    assert_int_equal(stat.start_ticks, 987654);
    assert_int_equal(stat.vsize_bytes, 12345678);
    assert_int_equal(stat.rss_pages, 321);
    assert_false(stat.is_exiting);
}

static void test_stat_tells_who_is_on_the_way_out(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool is_exiting;
    } cases[] = {
        { "1 (a) R 1 1 1 0 -1 4194304 0", false },
        { "1 (a) R 1 1 1 0 -1 4194308 0", true }, /* not a zombie yet, but its flags say that it
                                                   * exits */
        { "1 (a) Z 1 1 1 0 -1 4194304 0", true },
        { "1 (a) X 1 1 1 0 -1 4194304 0", true },
        { "2 (k) S 1 0 0 0 -1 2129984 0", false }, /* a kernel thread */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_proc_stat stat;
        assert_int_equal(hs_proc_parse_stat(cases[i].text, strlen(cases[i].text), &stat), 0);
        assert_int_equal(stat.is_exiting, cases[i].is_exiting);
        assert_int_equal(stat.is_kernel_thread, stat.pid == 2);
    }
}

static void test_stat_refuses_what_is_cut(void **state)
{
    (void)state;
    struct hs_proc_stat stat;
    const char *bad[] = { "", "x", "12", "12 (a", "12 (a)", "12 (a) ", "(a) S" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(hs_proc_parse_stat(bad[i], strlen(bad[i]), &stat), -EINVAL);
    }
}

static void test_status_takes_known_lines(void **state)
{
    (void)state;
    const char *text = "Name:\tweb\\x20server\nUmask:\t0022\nTgid:\t99\nPid:\t99\nPPid:\t7\n"
                       "ShdPnd:\t00000000f0004001\nVmHWM:\t    2048 kB\nVmRSS:\t1024 kB\nRssAnon: "
                       "512 kB\nThreads:\t12\n";
    struct hs_proc_status status;
    assert_int_equal(hs_proc_parse_status(text, strlen(text), &status), 0);
    assert_int_equal(status.tgid, 99);
    assert_int_equal(status.ppid, 7);
    assert_int_equal(status.thread_count, 12);
    assert_int_equal(status.vm_hwm_bytes, 2048 * 1024);
    assert_true(status.pending_mask == 0xf0004001);
    assert_int_equal(status.vm_rss_bytes, 1024 * 1024);
    assert_int_equal(status.rss_anon_bytes, 512 * 1024);
    assert_int_equal(status.vm_swap_bytes, 0);
    assert_int_equal(hs_proc_parse_status("VmRSS: 1 kB\n", 12, &status), -EINVAL);
}

static void test_huge_numbers_saturate(void **state)
{
    (void)state;
    const char *text = "Tgid:\t99999999999999999999999\nVmHWM: 18446744073709551615 kB\n";
    struct hs_proc_status status;
    assert_int_equal(hs_proc_parse_status(text, strlen(text), &status), 0);
    assert_int_equal(status.tgid, UINT32_MAX);
    assert_true(status.vm_hwm_bytes == UINT64_MAX);
}

static void test_comm_and_cmdline(void **state)
{
    (void)state;
    char comm[8], line[10];
    hs_proc_parse_comm("kworker/0:1\n", 12, comm, sizeof(comm));
    assert_string_equal(comm, "kworker");
    hs_proc_parse_comm(NULL, 0, comm, sizeof(comm));
    assert_string_equal(comm, "");
    hs_proc_join_cmdline("ls\0-\x1b\0x\0", 8, line, sizeof(line));
    assert_string_equal(line, "ls -? x");
    hs_proc_join_cmdline("abcdefghijkl\0", 13, line, sizeof(line));
    assert_string_equal(line, "abcdefghi");
}

static void test_our_own_process(void **state)
{
    (void)state;
    struct hs_proc_stat stat;
    struct hs_proc_status status;
    assert_int_equal(prctl(PR_SET_NAME, "a b) (c"), 0);
    assert_int_equal(hs_proc_read_stat(getpid(), &stat), 0);
    assert_string_equal(stat.comm, "a b) (c");
    assert_int_equal(stat.ppid, getppid());
    assert_int_equal(stat.session, getsid(0));
    assert_int_equal(hs_proc_read_status(getpid(), &status), 0);
    assert_true(status.vm_hwm_bytes >= status.vm_rss_bytes && status.vm_rss_bytes > 0);
    assert_true(hs_proc_read_stat(0x7ffffff0, &stat) == -ENOENT);
}

static void test_status_reads_rights(void **state)
{
    (void)state;
    const char *text = "Tgid:\t7\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNSpid:\t7\t1\n"
                       "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000080000\nSeccomp:\t2\n";
    struct hs_proc_status status;
    assert_int_equal(hs_proc_parse_status(text, strlen(text), &status), 0);
    assert_int_equal(status.uid.real, 1);
    assert_int_equal(status.uid.effective, 2);
    assert_int_equal(status.uid.saved, 3);
    assert_int_equal(status.gid.saved, 7);
    assert_int_equal(status.pid_ns_depth, 1);
    assert_int_equal(status.own_pid, 1);
    assert_int_equal(status.cap_permitted_mask, 0x1ffffffffff);
    assert_int_equal(status.cap_effective_mask, 0x80000);
    assert_int_equal(status.seccomp_mode, 2);
    /* Cut in the middle of the ids: no ids are better than half of them. */
    assert_int_equal(hs_proc_parse_status(text, 14, &status), 0);
    assert_int_equal(status.uid.real, 0);
}

static void test_variables_of_an_environment(void **state)
{
    (void)state;
    static const char text[] = "AB=1\0A=two\0A=3\0EMPTY=\0odd\0CUT=lon";
    char value[4];
    assert_true(hs_proc_find_env(text, sizeof(text) - 1, "A", value, sizeof(value)));
    assert_string_equal(value, "two");
    assert_true(hs_proc_find_env(text, sizeof(text) - 1, "EMPTY", value, sizeof(value)));
    assert_string_equal(value, "");
    assert_true(hs_proc_find_env(text, sizeof(text) - 1, "CUT", value, sizeof(value)));
    assert_string_equal(value, "lon");
    assert_false(hs_proc_find_env(text, sizeof(text) - 1, "odd", value, sizeof(value)));
    assert_false(hs_proc_find_env(text, sizeof(text) - 1, "B", value, sizeof(value)));
    assert_false(hs_proc_find_env("", 0, "A", value, sizeof(value)));
}

static void test_whole_files_of_a_folder(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT;
    prctl(PR_SET_NAME, "whole");
    assert_int_equal(hs_proc_read_whole("/proc/self", "comm", &text), 0);
    assert_string_equal(hs_buf_text(&text), "whole\n");
    assert_int_equal(hs_proc_read_whole("/proc/self", "no-such", &text), -ENOENT);
    hs_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_reads_the_fields_after_a_hostile_comm),
        cmocka_unit_test(test_stat_tells_who_is_on_the_way_out),
        cmocka_unit_test(test_stat_refuses_what_is_cut),
        cmocka_unit_test(test_status_takes_known_lines),
        cmocka_unit_test(test_huge_numbers_saturate),
        cmocka_unit_test(test_comm_and_cmdline),
        cmocka_unit_test(test_our_own_process),
        cmocka_unit_test(test_status_reads_rights),
        cmocka_unit_test(test_variables_of_an_environment),
        cmocka_unit_test(test_whole_files_of_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
