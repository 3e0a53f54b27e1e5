/* /proc/PID/smaps, which is read in chunks: the same as its whole text. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ledger/address_space.h"

#define MAPPINGS       3000U
#define TEXT_BYTES_MAX (16U << 20)

/* A process that does nothing, with many mappings. */
static pid_t start(void)
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        char *memory =
            mmap(NULL, MAPPINGS * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < MAPPINGS; i++) {
            memory[i * 8192] = 1;
            mprotect(memory + i * 8192 + 4096, 4096, PROT_READ);
        }
        if (write(ends[1], &byte, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static size_t read_text(pid_t pid, char *text)
{
    char path[64];
    size_t text_bytes = 0;
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (ssize_t got = 1; got > 0 && text_bytes < TEXT_BYTES_MAX; text_bytes += (size_t)got) {
        got = read(fd, text + text_bytes, TEXT_BYTES_MAX - text_bytes);
        assert_true(got >= 0);
    }
    close(fd);
    return text_bytes;
}

static void check_equal(const struct hs_address_space *left, const struct hs_address_space *right)
{
    assert_int_equal(left->count, right->count);
    for (size_t i = 0; i < left->count; i++) {
        const struct hs_mapping *a = &left->items[i], *b = &right->items[i];
        assert_int_equal(a->start_va, b->start_va);
        assert_int_equal(a->end_va, b->end_va);
        assert_int_equal(a->rss_bytes, b->rss_bytes);
        assert_int_equal(a->anonymous_bytes, b->anonymous_bytes);
        assert_string_equal(hs_mapping_path(left, a), hs_mapping_path(right, b));
    }
}

/* The kernel's reads end with a mapping, those of another file anywhere. */
static void test_chunks(void **state)
{
    struct hs_address_space whole, of_process, of_file;
    char *text = malloc(TEXT_BYTES_MAX);
    int fd = memfd_create("smaps", MFD_CLOEXEC);
    (void)state;
    assert_true(text && fd >= 0);
    pid_t pid = start();
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    size_t text_bytes = read_text(pid, text);
    assert_true(text_bytes > 20 * 65536);
    assert_int_equal(hs_address_space_parse(text, text_bytes, &whole), 0);
    assert_int_equal(hs_address_space_read(pid, &of_process), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(write(fd, text, text_bytes), text_bytes);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(hs_address_space_read_file(fd, &of_file), 0);
    assert_true(whole.count >= 2 * MAPPINGS);
    check_equal(&whole, &of_process);
    check_equal(&whole, &of_file);
    hs_address_space_deinit(&whole);
    hs_address_space_deinit(&of_process);
    hs_address_space_deinit(&of_file);
    close(fd);
    free(text);
}

/* A line that fills a chunk is left out, and those behind it are read. */
static void test_long_line(void **state)
{
    static const char last[] = "\n7f0000000000-7f0000001000 rw-p 00000000 00:00 0\nRss: 4 kB\n";
    static char line[200000];
    struct hs_address_space space;
    int fd = memfd_create("smaps", MFD_CLOEXEC);
    (void)state;
    memset(line, 'x', sizeof(line));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, line, sizeof(line)), sizeof(line));
    assert_int_equal(write(fd, last, sizeof(last) - 1), sizeof(last) - 1);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(hs_address_space_read_file(fd, &space), 0);
    assert_int_equal(space.count, 1);
    assert_int_equal(space.items[0].rss_bytes, 4096);
    hs_address_space_deinit(&space);
    close(fd);
}

static void test_no_process(void **state)
{
    struct hs_address_space space;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    assert_int_equal(hs_address_space_read(pid, &space), -ESRCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
