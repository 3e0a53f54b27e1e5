/* The bytes of a library's file that its segments map. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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

#include "inject/library_bytes.h"

static void test_own_program(void **state)
{
    struct hs_library_bytes library;
    struct stat st;
    Elf64_Ehdr head;
    (void)state;
    assert_int_equal(stat("/proc/self/exe", &st), 0);
    assert_int_equal(hs_library_bytes_load("/proc/self/exe", &library), 0);
    assert_true(library.size_bytes < (size_t)st.st_size); /* the file also has debug information */
    memcpy(&head, library.bytes, sizeof(head));
    assert_int_equal(head.e_shoff, 0);
    assert_int_equal(head.e_shnum, 0);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        memcpy(&part, library.bytes + head.e_phoff + i * sizeof(part), sizeof(part));
        assert_true(part.p_type != PT_LOAD || part.p_offset + part.p_filesz <= library.size_bytes);
    }
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char *bytes = malloc(library.size_bytes);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, library.size_bytes), library.size_bytes);
    assert_memory_equal(bytes + sizeof(head), library.bytes + sizeof(head),
                        library.size_bytes - sizeof(head));
    free(bytes);
    close(fd);
    hs_library_bytes_deinit(&library);
}

static void test_none(void **state)
{
    struct hs_library_bytes library = { 0 };
    (void)state;
    assert_int_equal(hs_library_bytes_load("/nowhere/at/all", &library), -ENOENT);
    assert_int_equal(hs_library_bytes_load("/dev/null", &library), -EINVAL);
    assert_int_equal(hs_library_bytes_load("/etc/passwd", &library), -EINVAL);
    assert_int_equal(hs_library_bytes_load("/", &library), -EINVAL);
    assert_null(library.bytes);
}

/* Cut at any place: refused, or complete as far as its headers say. */
static void test_cut(void **state)
{
    char path[] = "/tmp/hs_library_XXXXXX";
    struct hs_library_bytes whole, library;
    (void)state;
    assert_int_equal(hs_library_bytes_load("/proc/self/exe", &whole), 0);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, whole.bytes, whole.size_bytes), whole.size_bytes);
    assert_int_equal(hs_library_bytes_load(path, &library), 0);
    hs_library_bytes_deinit(&library);
    static const size_t sizes[] = { 0, 1, 63, 64, 65, 500, 4096 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(ftruncate(fd, (off_t)sizes[i]), 0);
        assert_int_equal(hs_library_bytes_load(path, &library), -EINVAL);
    }
    close(fd);
    unlink(path);
    hs_library_bytes_deinit(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_program),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
