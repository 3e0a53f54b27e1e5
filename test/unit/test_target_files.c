/* target_files.c: files of a process stay at hand after they are deleted, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/target_files.h"

/* A file with a page of code, which this process has mapped at *ret_code. */
static void map_file(const char *path, char text, void **ret_code)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &text, 1), 1);
    *ret_code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(*ret_code != MAP_FAILED);
    close(fd);
}

static char first_char(int fd)
{
    char text = 0;
    assert_int_equal(pread(fd, &text, 1, 0), 1);
    return text;
}

static int count_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 4096; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void replaced_file_is_two_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/hs-files-XXXXXX", path[64];
    struct hs_target_files *files = NULL;
    void *old_code, *new_code;
    size_t at = 0;
    int before_count = count_fds();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/lib.so", folder);
    map_file(path, 'a', &old_code);
    hs_target_files_look(&files, getpid(), getuid(), true);
    assert_non_null(files);
    assert_int_equal(first_char(hs_target_files_only(files, path)), 'a');
    int count = count_fds();
    hs_target_files_look(&files, getpid(), getuid(), true); /* opens nothing again */
    assert_int_equal(count_fds(), count);

    unlink(path);
    assert_int_equal(first_char(hs_target_files_only(files, path)), 'a');
    map_file(path, 'b', &new_code);
    hs_target_files_look(&files, getpid(), getuid(), true);
    assert_int_equal(hs_target_files_only(files, path), -1);
    assert_true(hs_target_files_has(files, path));
    assert_int_equal(first_char(hs_target_files_next(files, "/elsewhere/lib.so", &at)), 'a');
    assert_int_equal(first_char(hs_target_files_next(files, "/elsewhere/lib.so", &at)), 'b');
    assert_int_equal(hs_target_files_next(files, "/elsewhere/lib.so", &at), -1);

    assert_false(hs_target_files_has_roots(files)); /* our own root is none */
    assert_int_equal(hs_target_files_open_in_root(files, 0, "etc/passwd"), -ERANGE);
    hs_target_files_free(files);
    assert_int_equal(count_fds(), before_count);
    munmap(old_code, 4096);
    munmap(new_code, 4096);
    unlink(path);
    rmdir(folder);
}

static void lists_of_code(void **state)
{
    (void)state;
    char path[64];
    struct hs_target_files *files = NULL;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    hs_target_files_look(&files, getpid(), getuid(), false);
    assert_null(hs_target_files_jit(files, (uint32_t)getpid()));

    assert_int_equal(symlink("/etc/passwd", path), 0); /* every user can write to /tmp */
    hs_target_files_look(&files, getpid(), getuid(), false);
    assert_null(hs_target_files_jit(files, (uint32_t)getpid()));
    unlink(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    hs_target_files_look(&files, getpid(), getuid(), false);
    assert_null(hs_target_files_jit(files, (uint32_t)getpid()));
    unlink(path);

    FILE *map = fopen(path, "w");
    assert_non_null(map);
    fputs("1000 10 name\n", map);
    fclose(map);
    hs_target_files_look(&files, getpid(), getuid(), false);
    unlink(path);
    hs_target_files_look(&files, getpid(), getuid(), false);
    const struct hs_target_jit *jit = hs_target_files_jit(files, (uint32_t)getpid());
    assert_non_null(jit);
    assert_int_equal(first_char(jit->map_fd), '1');
    assert_int_equal(jit->dump_fd, -1);
    hs_target_files_free(files);
}

static void closes_others(void **state)
{
    (void)state;
    struct hs_target_files *files = NULL;
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    hs_target_files_look(&files, getpid(), getuid(), true);
    int last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int kept[] = { -1, last };
    size_t at = 0;
    int libc_fd = hs_target_files_next(files, "libc.so.6", &at);
    assert_true(first >= 0 && libc_fd > first && last > first);
    hs_target_files_close_others(files, first, kept, 2);
    assert_int_equal(fcntl(first, F_GETFD), -1);
    assert_true(fcntl(libc_fd, F_GETFD) >= 0 && fcntl(last, F_GETFD) >= 0);
    hs_target_files_close_others(NULL, first, kept, 2);
    assert_int_equal(fcntl(libc_fd, F_GETFD), -1);
    assert_true(fcntl(last, F_GETFD) >= 0);
    hs_target_files_free(files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaced_file_is_two_files),
        cmocka_unit_test(lists_of_code),
        cmocka_unit_test(closes_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
