/*
 * Tests of session/snapshot_store and session/stored_name: names of files, limits, numbers, and
 * folders into which others have put something.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "remove_folder.h"
#include "session/snapshot_store.h"

static struct hs_stored make(const char *process, const char *name)
{
    struct hs_stored stored = { .id = 7, .time_ms = 1732543200123, .pid = 4711 };
    snprintf(stored.process, sizeof(stored.process), "%s", process);
    snprintf(stored.name, sizeof(stored.name), "%s", name);
    return stored;
}

/* --- names ------------------------------------------------------------------------------------ */

static void test_names_of_files(void **state)
{
    (void)state;
    static const struct {
        const char *process, *name, *file;
    } cases[] = {
        { "server", "after load", "7,1732543200123,4711,server,after load.pftrace" },
        { "", "x", "7,1732543200123,4711,,x.pftrace" },
        { "a/b", "100%, \n\x7f.", "7,1732543200123,4711,a%2Fb,100%25%2C %0A%7F..pftrace" },
        { "\xc3\xa9", "\xff", "7,1732543200123,4711,\xc3\xa9,\xff.pftrace" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hs_stored stored = make(cases[i].process, cases[i].name), back;
        char file[NAME_MAX + 1];
        assert_true(hs_stored_write_name(&stored, file));
        assert_string_equal(file, cases[i].file);
        assert_true(hs_stored_parse_name(file, &back));
        assert_memory_equal(&back, &stored, sizeof(back));
    }
}

/* The worst name still fits; it is the process that gives way. */
static void test_the_longest_names(void **state)
{
    (void)state;
    struct hs_stored stored = { .id = UINT64_MAX - 2, .time_ms = UINT64_MAX, .pid = UINT32_MAX };
    struct hs_stored back;
    char file[NAME_MAX + 1];
    memset(stored.process, ',', HS_STORE_PROCESS_MAX);
    memset(stored.name, '\n', HS_SNAP_NAME_MAX);
    assert_true(hs_stored_write_name(&stored, file));
    assert_true(strlen(file) <= NAME_MAX);
    assert_true(hs_stored_parse_name(file, &back));
    assert_string_equal(back.name, stored.name);
    assert_true(strlen(back.process) < strlen(stored.process));
    assert_true(back.id == stored.id && back.time_ms == stored.time_ms && back.pid == stored.pid);
}

static void test_what_is_no_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        ".pftrace",
        "x.pftrace",
        "7,1,2,p,n",
        "7,1,2,p,n.pb.gz",
        "7,1,2,p,.pftrace",
        "7,1,2,n.pftrace",
        "0,1,2,p,n.pftrace",
        "07,1,2,p,n.pftrace",
        "-7,1,2,p,n.pftrace",
        "7,,2,p,n.pftrace",
        "7,1,4294967296,p,n.pftrace",
        "99999999999999999999999,1,2,p,n.pftrace",
        "7,1,2,p,a,b.pftrace",
        "7,1,2,p,a%2.pftrace",
        "7,1,2,p,a%.pftrace",
        "7,1,2,p,a%41.pftrace", /* what needs no escape has none */
        "7,1,2,p,a%00.pftrace",
        "7,1,2,p,a%2c.pftrace",
        "7,1,2,p,1234567890123456789012345678901234567890123456789012345678901234.pftrace",
        ".new-7",
        ".last",
    };
    struct hs_stored stored;
    char file[NAME_MAX + 1];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_false(hs_stored_parse_name(names[i], &stored));
    }
    stored = make("p", "");
    assert_false(hs_stored_write_name(&stored, file));
    stored = make("p", "n");
    stored.id = 0;
    assert_false(hs_stored_write_name(&stored, file));
}

/* --- the folder ------------------------------------------------------------------------------- */

struct fixture {
    char root[64];
    int fd;
};

static const struct hs_store_limits wide = { .count_max = 100, .bytes_max = 1 << 20 };

static void open_fixture(struct fixture *fx)
{
    snprintf(fx->root, sizeof(fx->root), "/tmp/heapscope-test-store-XXXXXX");
    assert_non_null(mkdtemp(fx->root));
    fx->fd = hs_store_make(fx->root, false, geteuid(), getegid());
    assert_true(fx->fd >= 0);
}

static void close_fixture(struct fixture *fx)
{
    close(fx->fd);
    assert_int_equal(remove_folder(fx->root), 0);
}

static int put(struct fixture *fx, const char *name, size_t bytes,
               const struct hs_store_limits *limits, uint64_t *ret_id)
{
    struct hs_stored stored = make("prog", name);
    char *data = calloc(1, bytes + 1);
    stored.id = 0;
    int r = hs_store_put(fx->fd, &stored, data, bytes, limits);
    free(data);
    *ret_id = stored.id;
    return r;
}

/* "1:a 2:b": the numbers and names that are stored. */
static const char *listed(struct fixture *fx, char text[256])
{
    struct hs_stored_list list;
    assert_int_equal(hs_store_list(fx->fd, &list), 0);
    text[0] = '\0';
    for (size_t i = 0; i < list.count; i++) {
        size_t at = strlen(text);
        snprintf(text + at, 256 - at, "%s%u:%s", i ? " " : "", (unsigned)list.items[i].id,
                 list.items[i].name);
    }
    hs_stored_list_deinit(&list);
    return text;
}

static void test_oldest_first(void **state)
{
    (void)state;
    struct fixture fx;
    char text[256];
    uint64_t id;
    open_fixture(&fx);
    assert_string_equal(listed(&fx, text), "");
    for (const char *name = "abcd"; *name; name++) {
        assert_int_equal(put(&fx, (char[]){ *name, '\0' }, 100, &wide, &id), 0);
    }
    assert_string_equal(listed(&fx, text), "1:a 2:b 3:c 4:d");
    const struct hs_store_limits few = { .count_max = 3, .bytes_max = 1000 };
    assert_int_equal(put(&fx, "e", 100, &few, &id), 0);
    assert_int_equal(id, 5);
    assert_string_equal(listed(&fx, text), "3:c 4:d 5:e");
    assert_int_equal(put(&fx, "f", 850, &few, &id), 0); /* 950 bytes with "e" */
    assert_string_equal(listed(&fx, text), "5:e 6:f");
    assert_int_equal(put(&fx, "g", 1001, &few, &id), -EFBIG); /* and nothing makes room for it */
    assert_string_equal(listed(&fx, text), "5:e 6:f");
    assert_int_equal(put(&fx, "g", 1, &(struct hs_store_limits){ 0, 1000 }, &id), -EFBIG);
    assert_int_equal(put(&fx, "h", 1000, &few, &id), 0);
    assert_string_equal(listed(&fx, text), "7:h");
    close_fixture(&fx);
}

/* The age of a snapshot is its time, not its number. */
static void test_oldest_by_time(void **state)
{
    (void)state;
    struct fixture fx;
    char text[256];
    open_fixture(&fx);
    for (unsigned i = 0; i < 4; i++) {
        static const unsigned times_ms[] = { 300, 100, 200, 400 };
        struct hs_stored stored = make("prog", (char[]){ (char)('a' + i), '\0' });
        stored.time_ms = times_ms[i];
        assert_int_equal(hs_store_put(fx.fd, &stored, "x", 1, &(struct hs_store_limits){ 3, 1000 }),
                         0);
        assert_int_equal(stored.id, i + 1);
    }
    assert_string_equal(listed(&fx, text), "3:c 1:a 4:d");
    close_fixture(&fx);
}

static void test_numbers_are_used_once(void **state)
{
    (void)state;
    struct fixture fx;
    char text[256];
    uint64_t id;
    open_fixture(&fx);
    assert_int_equal(put(&fx, "a", 1, &wide, &id), 0);
    assert_int_equal(put(&fx, "b", 1, &wide, &id), 0);
    struct hs_stored stored = make("prog", "b");
    stored.id = 2;
    assert_int_equal(hs_store_remove(fx.fd, &stored), 0);
    assert_int_equal(hs_store_remove(fx.fd, &stored), -ENOENT);
    assert_int_equal(put(&fx, "c", 1, &wide, &id), 0);
    assert_string_equal(listed(&fx, text), "1:a 3:c");
    /* A damaged file of the last number does not make a number be used twice. */
    int last = openat(fx.fd, ".last", O_WRONLY | O_TRUNC);
    assert_int_equal(write(last, "rubbish", 7), 7);
    close(last);
    assert_int_equal(put(&fx, "d", 1, &wide, &id), 0);
    assert_string_equal(listed(&fx, text), "1:a 3:c 4:d");
    close_fixture(&fx);
}

static void test_many_writers(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_stored_list list;
    open_fixture(&fx);
    for (unsigned i = 0; i < 8; i++) {
        if (fork() == 0) {
            uint64_t id;
            int bad = 0;
            for (unsigned k = 0; k < 25; k++) {
                bad |= put(&fx, "x", 10, &(struct hs_store_limits){ 50, 10000 }, &id);
            }
            _exit(bad != 0);
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        int status;
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(hs_store_list(fx.fd, &list), 0);
    assert_int_equal(list.count, 50);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].id, 151 + i);
    }
    hs_stored_list_deinit(&list);
    close_fixture(&fx);
}

static void test_replaced(void **state)
{
    (void)state;
    struct fixture fx;
    struct hs_stored stored = make("prog", "a");
    char text[256], read_back[8] = "";
    uint64_t id;
    open_fixture(&fx);
    assert_int_equal(hs_store_put(fx.fd, &stored, "old", 3, &wide), 0);
    assert_int_equal(put(&fx, "b", 100, &wide, &id), 0);
    assert_int_equal(hs_store_replace(fx.fd, &stored, "newer", 5, &wide), 0);
    assert_int_equal(stored.bytes, 5);
    int fd = hs_store_read(fx.fd, &stored);
    assert_int_equal(read(fd, read_back, sizeof(read_back)), 5);
    close(fd);
    assert_memory_equal(read_back, "newer", 5);
    /* One that was removed meanwhile does not come back. */
    assert_int_equal(hs_store_remove(fx.fd, &stored), 0);
    assert_int_equal(hs_store_replace(fx.fd, &stored, "newest", 6, &wide), -ENOENT);
    assert_string_equal(listed(&fx, text), "2:b");
    close_fixture(&fx);
}

static void test_what_else_is_in_the_folder(void **state)
{
    (void)state;
    struct fixture fx;
    char text[256];
    uint64_t id;
    struct stat st;
    open_fixture(&fx);
    close(openat(fx.fd, ".new-1", O_CREAT | O_WRONLY, 0600));
    close(openat(fx.fd, ".new-2", O_CREAT | O_WRONLY, 0600));
    const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    assert_int_equal(utimensat(fx.fd, ".new-1", long_ago, 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", fx.fd, "1,1,1,p,link.pftrace"), 0);
    assert_int_equal(mkfifoat(fx.fd, "2,1,1,p,pipe.pftrace", 0600), 0);
    assert_int_equal(mkdirat(fx.fd, "3,1,1,p,folder.pftrace", 0700), 0);
    assert_int_equal(put(&fx, "good", 1, &wide, &id), 0);
    assert_string_equal(listed(&fx, text), "1:good");
    assert_int_equal(fstatat(fx.fd, ".new-1", &st, 0), -1); /* a writer was killed */
    assert_int_equal(fstatat(fx.fd, ".new-2", &st, 0), 0);  /* it may be at work */
    struct hs_stored stored = { .id = 1, .time_ms = 1, .pid = 1, .process = "p", .name = "link" };
    assert_int_equal(hs_store_read(fx.fd, &stored), -ELOOP);
    stored = (struct hs_stored){ .id = 2, .time_ms = 1, .pid = 1, .process = "p", .name = "pipe" };
    assert_int_equal(hs_store_read(fx.fd, &stored), -EPERM);
    close_fixture(&fx);
}

static void test_folders(void **state)
{
    (void)state;
    struct fixture fx;
    char path[128], own[128];
    struct stat st;
    open_fixture(&fx);
    assert_int_equal(fstat(fx.fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    int again = hs_store_open(fx.root, geteuid());
    assert_true(again >= 0);
    close(again);
    assert_int_equal(hs_store_open(fx.root, 12345), -ENOENT);
    /* A folder of that name that belongs to another user, and a link in its place. */
    snprintf(path, sizeof(path), "%s/12345", fx.root);
    snprintf(own, sizeof(own), "%s/%u", fx.root, (unsigned)geteuid());
    assert_int_equal(symlink(own, path), 0);
    assert_true(hs_store_open(fx.root, 12345) < 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(hs_store_open(fx.root, 12345), -EPERM);
    if (geteuid() == 0) {
        again = hs_store_make(fx.root, true, 12345, 54321);
        assert_true(again >= 0 && fstat(again, &st) == 0);
        assert_true(st.st_uid == 12345 && st.st_gid == 54321);
        close(again);
    }
    snprintf(path, sizeof(path), "%s/a/b", fx.root);
    again = hs_store_make(path, true, geteuid(), getegid());
    assert_true(again >= 0 && stat(path, &st) == 0 && (st.st_mode & 0777) == (0755 & ~umask(022)));
    close(again);
    close_fixture(&fx);
}

/* The working folder is this user's home; HOME of another user does not count, as after sudo. */
static void test_where_it_is(void **state)
{
    (void)state;
    struct fixture fx;
    char others[PATH_MAX], found[PATH_MAX];
    open_fixture(&fx);
    assert_int_equal(chdir(fx.root), 0);
    static const struct {
        const char *own, *state, *home;
        bool is_system;
        int result;
        const char *path;
    } cases[] = {
        { "/s", "/x", "/proc/self/cwd", false, 0, "/s" },
        { "/s", "/x", "/proc/self/cwd", true, 0, "/s" },
        { "off", "/x", "/proc/self/cwd", true, -ENOENT, NULL },
        { "s", "/x", "/proc/self/cwd", false, -EINVAL, NULL },
        { "", "/x", "/proc/self/cwd", false, 0, "/x/heapscope" },
        { NULL, "x", "/proc/self/cwd", false, 0, "/proc/self/cwd/.local/state/heapscope" },
        { NULL, NULL, NULL, false, -ENOENT, NULL },
        { NULL, NULL, "/nowhere", false, -ENOENT, NULL },
        { NULL, NULL, NULL, true, 0, "/var/lib/heapscope/snapshots" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const names[] = { HS_ENV_STATE, "XDG_STATE_HOME", "HOME" };
        const char *const values[] = { cases[i].own, cases[i].state, cases[i].home };
        char path[PATH_MAX] = "";
        for (size_t k = 0; k < 3; k++) {
            values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]);
        }
        assert_int_equal(hs_store_find(cases[i].is_system, path, sizeof(path)), cases[i].result);
        assert_string_equal(path, cases[i].path ? cases[i].path : "");
    }
    if (geteuid() == 0) {
        snprintf(others, sizeof(others), "%s/others", fx.root);
        assert_true(mkdir(others, 0755) == 0 && chown(others, 12345, 12345) == 0);
        unsetenv(HS_ENV_STATE);
        setenv("HOME", others, 1);
        assert_int_equal(hs_store_find(false, found, sizeof(found)), -ENOENT);
        setenv("HOME", fx.root, 1);
        setenv("XDG_STATE_HOME", others, 1);
        assert_int_equal(hs_store_find(false, found, sizeof(found)), -ENOENT);
    }
    assert_int_equal(chdir("/"), 0);
    close_fixture(&fx);
    char small[4];
    setenv(HS_ENV_STATE, "/too/long", 1);
    assert_int_equal(hs_store_find(false, small, sizeof(small)), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_the_longest_names),
        cmocka_unit_test(test_what_is_no_name),
        cmocka_unit_test(test_oldest_first),
        cmocka_unit_test(test_oldest_by_time),
        cmocka_unit_test(test_numbers_are_used_once),
        cmocka_unit_test(test_many_writers),
        cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_what_else_is_in_the_folder),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
