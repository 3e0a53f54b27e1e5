/* outfile.h: a file is complete or does not appear, and nothing is left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
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

#include "util/outfile.h"

static char folder[] = "/tmp/hs-outfile-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static int entry_count(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

static void check_content(const char *name, const char *want)
{
    char got[64] = { 0 };
    FILE *f = fopen(path_of(name), "re");
    assert_non_null(f);
    size_t bytes = fread(got, 1, sizeof(got) - 1, f);
    fclose(f);
    assert_int_equal(bytes, strlen(want));
    assert_string_equal(got, want);
}

static void appears_only_when_committed(void **state)
{
    (void)state;
    struct hs_outfile file;
    assert_int_equal(hs_outfile_open(&file, path_of("a")), 0);
    assert_int_equal(hs_outfile_write(&file, "one", 3), 0);
    assert_int_not_equal(access(path_of("a"), F_OK), 0);
    assert_int_equal(hs_outfile_commit(&file), 0);
    check_content("a", "one");
    assert_int_equal(entry_count(), 1);

    /* The old file stays until the new one is complete. */
    assert_int_equal(hs_outfile_open(&file, path_of("a")), 0);
    assert_int_equal(hs_outfile_write(&file, "two", 3), 0);
    check_content("a", "one");
    hs_outfile_abort(&file);
    hs_outfile_abort(&file);
    check_content("a", "one");
    assert_int_equal(entry_count(), 1);
    unlink(path_of("a"));
}

/* A caller that passes the file on needs a name from the start. */
static void named_from_the_start(void **state)
{
    (void)state;
    struct hs_outfile file;
    assert_int_equal(hs_outfile_open_named(&file, path_of("a")), 0);
    assert_false(file.is_nameless);
    assert_int_equal(access(file.temp_path, F_OK), 0);
    assert_int_equal(hs_outfile_write(&file, "one", 3), 0);
    assert_int_equal(hs_outfile_commit(&file), 0);
    check_content("a", "one");
    assert_int_equal(entry_count(), 1);
    unlink(path_of("a"));
}

/* A writer that is killed leaves nothing behind, where files need no name. */
static void killed_while_writing(void **state)
{
    (void)state;
    int probe = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (probe < 0) {
        skip(); /* this file system has no files without a name */
    }
    close(probe);
    pid_t pid = fork();
    if (pid == 0) {
        struct hs_outfile file;
        bool is_open =
            hs_outfile_open(&file, path_of("a")) == 0 && hs_outfile_write(&file, "half", 4) == 0;
        kill(getpid(), is_open ? SIGKILL : SIGTERM);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(entry_count(), 0);
}

static void follows_links_and_writes_devices(void **state)
{
    (void)state;
    struct hs_outfile file;
    assert_int_equal(hs_outfile_open(&file, path_of("real")), 0);
    assert_int_equal(hs_outfile_commit(&file), 0);
    assert_int_equal(symlink("real", path_of("link")), 0);
    assert_int_equal(hs_outfile_open(&file, path_of("link")), 0);
    assert_int_equal(hs_outfile_write(&file, "x", 1), 0);
    assert_int_equal(hs_outfile_commit(&file), 0);
    struct stat st;
    assert_int_equal(lstat(path_of("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    check_content("real", "x");

    assert_int_equal(hs_outfile_open(&file, "/dev/null"), 0);
    assert_int_equal(hs_outfile_write(&file, "x", 1), 0);
    assert_int_equal(hs_outfile_commit(&file), 0);
    assert_int_equal(access("/dev/null", F_OK), 0);

    assert_int_equal(hs_outfile_open(&file, "/dev/full"), 0);
    assert_int_equal(hs_outfile_write(&file, "x", 1), -ENOSPC);
    hs_outfile_abort(&file);
    unlink(path_of("link"));
    unlink(path_of("real"));
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct hs_outfile file;
    assert_int_equal(hs_outfile_open(&file, folder), -EISDIR);
    assert_int_equal(hs_outfile_open(&file, path_of("no/such")), -ENOENT);
    hs_outfile_abort(&file);
    assert_int_equal(entry_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appears_only_when_committed),
        cmocka_unit_test(named_from_the_start),
        cmocka_unit_test(killed_while_writing),
        cmocka_unit_test(follows_links_and_writes_devices),
        cmocka_unit_test(says_what_is_wrong),
    };
    if (!mkdtemp(folder)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
