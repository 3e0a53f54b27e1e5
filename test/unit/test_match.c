/* Tests of session/match: globs, names as in heapprofd, scripts, pids, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session/match.h"

static void test_globs(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } cases[] = {
        { "", "", true },
        { "", "a", false },
        { "a", "", false },
        { "nginx", "nginx", true },
        { "nginx", "nginx2", false },
        { "nginx", "ngin", false },
        { "*", "", true },
        { "*", "anything/at all", true },
        { "**", "x", true },
        { "ngi*", "nginx", true },
        { "*nx", "nginx", true },
        { "n*x", "nginx", true },
        { "n*i*x", "nginx", true },
        { "n*z*x", "nginx", false },
        { "/usr/*/nginx", "/usr/local/sbin/nginx", true },
        { "?", "a", true },
        { "?", "", false },
        { "??", "a", false },
        { "worker-?", "worker-7", true },
        { "worker-[0-9]", "worker-7", true },
        { "worker-[0-9]", "worker-a", false },
        { "worker-[!0-9]", "worker-a", true },
        { "worker-[^0-9]", "worker-7", false },
        { "[]]", "]", true },
        { "[!]]", "]", false },
        { "[a-]", "-", true },
        { "[a-c]x", "bx", true },
        { "[abc", "[abc", true }, /* a set without its closing bracket is no set */
        { "[abc", "a", false },
        { "[", "[", true },
        { "a[", "a[", true },
        { "[]", "[]", true },
        { "\\*", "*", true },
        { "\\*", "x", false },
        { "\\", "\\", true },
        { "a\\[b]", "a[b]", true },
        { "[\xc3-\xc4]", "\xc3", true },
        { "*a*b*c*", "xxaxxbxxcxx", true },
        { "*a*b*c*", "xxaxxcxxbxx", false },
        { "a*", "b", false },
        { "*.py", "server.py", true },
        { "*.py", ".pyc", false },
        { "*[0-9][0-9]", "x123", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (hs_match_glob(cases[i].pattern, cases[i].text) != cases[i].fits) {
            fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].text);
        }
    }
}

/* A pattern of many stars must not take exponential time. */
static void test_a_glob_that_means_harm(void **state)
{
    (void)state;
    char pattern[201], text[4001];
    for (size_t i = 0; i < 200; i += 2) {
        memcpy(pattern + i, "*a", 2);
    }
    pattern[199] = 'b';
    pattern[200] = '\0';
    memset(text, 'a', 4000);
    text[4000] = '\0';
    assert_false(hs_match_glob(pattern, text));
}

static void test_normalized_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/usr/sbin/nginx", "nginx" },
        { "nginx", "nginx" },
        { "nginx@1", "nginx" },
        { "/usr/bin/app@/etc/x", "app" },
        { "./a/b/", "" },
        { "@x", "" },
        { "", "" },
        { "com.example.app:service", "com.example.app:service" },
        { "nginx: worker process", "nginx: worker process" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[64];
        hs_match_normalize(cases[i][0], name, sizeof(name));
        assert_string_equal(name, cases[i][1]);
    }
    char small[4];
    hs_match_normalize("/bin/something", small, sizeof(small));
    assert_string_equal(small, "som");
}

#define CMDLINE(text) .cmdline = (text), .cmdline_bytes = sizeof(text)

static void test_names_of_processes(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        struct hs_match_facts facts;
        bool fits;
    } cases[] = {
        { "nginx", { CMDLINE("/usr/sbin/nginx\0-g\0daemon off;"), .comm = "nginx" }, true },
        { "/usr/sbin/nginx", { CMDLINE("/usr/sbin/nginx"), .comm = "nginx" }, true },
        { "/usr/bin/nginx", { CMDLINE("/usr/sbin/nginx"), .comm = "nginx" }, false },
        { "/usr/*/nginx", { CMDLINE("/usr/sbin/nginx"), .comm = "nginx" }, true },
        { "sbin/nginx", { CMDLINE("/usr/sbin/nginx"), .comm = "x" }, true },
        { "*nginx", { CMDLINE("/usr/sbin/nginx"), .comm = "x" }, true },
        { "app", { CMDLINE("/opt/app@7"), .comm = "x" }, true },
        { "app@9", { CMDLINE("/opt/app@7"), .comm = "x" }, true },
        { "ngin", { CMDLINE("nginx"), .comm = "nginx" }, false },
        { "daemon off;", { CMDLINE("nginx\0-g\0daemon off;"), .comm = "nginx" }, false },
        /* Scripts. */
        { "server.py", { CMDLINE("python3\0/opt/app/server.py\0-v"), .comm = "python3" }, true },
        { "python3", { CMDLINE("python3\0/opt/app/server.py"), .comm = "python3" }, true },
        { "server.py", { CMDLINE("/usr/bin/python3.11\0-u\0server.py"), .comm = "p" }, true },
        { "/opt/app/*.py", { CMDLINE("python3\0/opt/app/server.py"), .comm = "python3" }, true },
        { "server.py", { CMDLINE("python3\0-c\0server.py"), .comm = "python3" }, false },
        { "server.py", { CMDLINE("python3\0-m\0server.py"), .comm = "python3" }, false },
        { "server.py", { CMDLINE("vim\0server.py"), .comm = "vim" }, false },
        { "run.sh", { CMDLINE("/bin/sh\0/opt/run.sh"), .comm = "run.sh" }, true },
        { "app.js", { CMDLINE("node\0--max-old-space-size=100\0app.js"), .comm = "node" }, true },
        { "x", { CMDLINE("python3\0-u\0"), .comm = "python3" }, false },
        /* Process titles. */
        { "redis-rdb-bgsave",
          { CMDLINE("redis-rdb-bgsave *:6379"), .comm = "redis-server" },
          true },
        { "redis-*", { CMDLINE("redis-rdb-bgsave unixsocket:/r"), .comm = "redis-server" }, true },
        { "*/r", { CMDLINE("redis-rdb-bgsave unixsocket:/r"), .comm = "redis-server" }, true },
        { "postgres: writer", { CMDLINE("postgres: writer "), .comm = "postgres" }, true },
        { "my", { CMDLINE("/opt/my app/server"), .comm = "server" }, false },
        { "my", { CMDLINE("my app/server"), .comm = "server" }, false },
        { "", { CMDLINE(" x"), .comm = "y" }, false },
        /* comm is used last. */
        { "worker", { CMDLINE("postgres: writer"), .comm = "worker" }, true },
        { "work*", { .comm = "worker" }, true },
        { "/worker", { .comm = "worker" }, false },
        { "x", { .comm = "" }, false },
        { "x", { .comm = NULL }, false },
        { "", { CMDLINE(""), .comm = "" }, false },
        { "*", { CMDLINE("a"), .comm = "a" }, true },
        { "@", { CMDLINE("a"), .comm = "" }, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (hs_match_name(cases[i].pattern, &cases[i].facts) != cases[i].fits) {
            fail_msg("case %zu: '%s'", i, cases[i].pattern);
        }
    }
}

/*
 * The kernel returns what the process wrote: no NUL at the end, nothing but NULs, one long
 * argument.
 */
static void test_strange_command_lines(void **state)
{
    (void)state;
    char text[64], lines[5000];
    const struct hs_match_facts open_end = { .cmdline = "abcdef", .cmdline_bytes = 3 };
    assert_true(hs_match_name("abc", &open_end));
    assert_false(hs_match_name("abcdef", &open_end));
    const struct hs_match_facts nuls = { .cmdline = "\0\0\0", .cmdline_bytes = 3, .comm = "c" };
    assert_true(hs_match_name("c", &nuls));
    memset(lines, 'x', sizeof(lines));
    const struct hs_match_facts longest = { .cmdline = lines, .cmdline_bytes = sizeof(lines) };
    assert_true(hs_match_name("x*x", &longest));
    hs_match_argument("a\0bc\0", 5, 1, text, sizeof(text));
    assert_string_equal(text, "bc");
    hs_match_argument("a\0bc\0", 5, 2, text, sizeof(text));
    assert_string_equal(text, "");
    const struct hs_match_facts loud = { CMDLINE("a\nb\033[1m") };
    hs_match_display(&loud, text, sizeof(text));
    assert_string_equal(text, "a?b?[1m");
    hs_match_display(&nuls, text, sizeof(text));
    assert_string_equal(text, "c");
}

static void test_titles(void **state)
{
    static const struct {
        const char *title, *comm, *name;
    } rows[] = {
        { "redis-server unixsocket:/tmp/r.sock", "redis-server", "redis-server" },
        { "/usr/bin/redis-server *:6379", "redis-server", "redis-server" },
        { "nginx: master process /usr/sbin/nginx -g x", "nginx", "nginx" },
        { "a-name-of-twenty-char: worker/1", "a-name-of-twent", "a-name-of-twenty-char" },
        /* A folder with a blank in its name, and a title without the program's name. */
        { "/opt/my app/bin/server", "server", "server" },
        { "worker 7/idle", "server", "worker" },
        { "my app/server", "server", "server" },
        { "redis-rdb-bgsave unixsocket:/tmp/r.sock", "redis-server", "redis-rdb-bgsave" },
        { "first: second ", "third", "first: second" },
        { "serve r", "server", "serve r" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        const struct hs_match_facts facts = { .pid = 1,
                                              .cmdline = rows[i].title,
                                              .cmdline_bytes = strlen(rows[i].title) + 1,
                                              .comm = rows[i].comm };
        hs_match_display(&facts, text, sizeof(text));
        assert_string_equal(text, rows[i].name);
        assert_true(hs_match_name(rows[i].name, &facts));
    }
}

static void test_scripts_by_their_own_name(void **state)
{
    (void)state;
    char text[64];
    const struct hs_match_facts service = {
        CMDLINE("/usr/bin/python3\0/usr/bin/gunicorn\0-w\0002\0app"), .comm = "gunicorn"
    };
    hs_match_display(&service, text, sizeof(text));
    assert_string_equal(text, "gunicorn");
    const struct hs_match_facts lent = { CMDLINE("python3\0app.py"), .comm = "python3" };
    hs_match_display(&lent, text, sizeof(text));
    assert_string_equal(text, "python3");
}

static void test_what_a_session_means(void **state)
{
    (void)state;
    const pid_t pids[] = { 7, 12 };
    const char *const names[] = { "nginx", "*.py" };
    const struct hs_match match = { pids, 2, names, 2, .min_anon_bytes = 1000 };
    struct hs_match_facts facts = { .pid = 12, CMDLINE("foo"), .comm = "foo", .anon_bytes = 999 };
    assert_true(hs_match_starting(&match, &facts));
    assert_false(hs_match_running(&match, &facts));
    facts.anon_bytes = 1000;
    assert_true(hs_match_running(&match, &facts));
    facts.pid = 13;
    assert_false(hs_match_running(&match, &facts));
    facts.comm = "nginx";
    assert_true(hs_match_running(&match, &facts));
    assert_true(hs_match_waits(&match));
    const struct hs_match by_pid = { .pids = pids, .pid_count = 2 };
    assert_false(hs_match_waits(&by_pid));
    facts.pid = 0; /* pid 0 means unknown, so no pattern matches it */
    assert_false(hs_match_starting(&by_pid, &facts));
    const struct hs_match all = { .is_all = true };
    assert_true(hs_match_waits(&all) && hs_match_starting(&all, &facts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_globs),
        cmocka_unit_test(test_a_glob_that_means_harm),
        cmocka_unit_test(test_normalized_names),
        cmocka_unit_test(test_names_of_processes),
        cmocka_unit_test(test_strange_command_lines),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_scripts_by_their_own_name),
        cmocka_unit_test(test_what_a_session_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
