/* Tests of util/proc_maps: lines as the kernel writes them, unusual names, invalid lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/proc.h"
#include "util/proc_maps.h"

static struct hs_proc_map read_one(const char *line)
{
    const char *at = line, *end = line + strlen(line);
    struct hs_proc_map map;
    assert_true(hs_proc_maps_next(&at, end, &map));
    assert_ptr_equal(at, end);
    return map;
}

static void assert_path(const struct hs_proc_map *map, const char *path)
{
    char text[64];
    assert_true(hs_proc_map_path(map, text, sizeof(text)));
    assert_string_equal(text, path);
}

static void test_a_line(void **state)
{
    (void)state;
    struct hs_proc_map map = read_one("7f0c2a000000-7f0c2a021000 r-xp 00026000 fe:00 393234        "
                                      "             /usr/lib/x y.so\n");
    assert_int_equal(map.start_va, 0x7f0c2a000000);
    assert_int_equal(map.end_va, 0x7f0c2a021000);
    assert_int_equal(map.file_off, 0x26000);
    assert_int_equal(map.inode, 393234);
    assert_true(map.is_readable && map.is_executable);
    assert_false(map.is_writable || map.is_shared || map.is_deleted);
    assert_path(&map, "/usr/lib/x y.so");
}

static void test_lines_without_a_file(void **state)
{
    (void)state;
    struct hs_proc_map map = read_one("1000-2000 rw-s 00000000 00:00 0 \n");
    assert_true(map.is_shared && map.is_writable);
    assert_int_equal(map.inode, 0);
    assert_path(&map, "");
    map = read_one("1000-2000 rw-p 00000000 00:00 0");
    assert_path(&map, "");
    map = read_one("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n");
    assert_path(&map, "[vsyscall]");
}

static void test_names_that_are_odd(void **state)
{
    (void)state;
    struct hs_proc_map map = read_one("1000-2000 r-xp 0 fe:00 7 /a\\012b\\01 (deleted)\n");
    char text[5];
    assert_true(map.is_deleted);
    assert_path(&map, "/a\nb\\01");
    assert_false(hs_proc_map_path(&map, text, sizeof(text)));
    assert_string_equal(text, "");
    map = read_one("1000-2000 r-xp 0 fe:00 7  (deleted)\n");
    assert_path(&map, "(deleted)");
}

static void test_lines_that_are_none_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "\n"
                               "x\n"
                               "2000-1000 r-xp 0 fe:00 7 /backwards\n"
                               "1000-2000 r-xp\n"
                               "1000-2000 r-xp 0 fe:00\n"
                               "1000-2000 r-xp 0 fe:00 7/glued\n"
                               "10000000000000000-10000000000000001 r-xp 0 fe:00 7 /long\n"
                               "1000-2000 r-xp 0 fe:00 7 /good\n"
                               "1000-";
    const char *at = text, *end = text + strlen(text);
    struct hs_proc_map map;
    assert_true(hs_proc_maps_next(&at, end, &map));
    assert_path(&map, "/good");
    assert_false(hs_proc_maps_next(&at, end, &map));
}

static void test_ourselves(void **state)
{
    (void)state;
    struct hs_buf text = HS_BUF_INIT;
    uint64_t here = (uint64_t)(uintptr_t)test_ourselves;
    bool is_found = false;
    assert_int_equal(hs_proc_read_whole("/proc/self", "maps", &text), 0);
    const char *at = text.data;
    struct hs_proc_map map;
    while (hs_proc_maps_next(&at, text.data + text.bytes, &map)) {
        char path[4096];
        if (here >= map.start_va && here < map.end_va) {
            is_found = map.is_executable && hs_proc_map_path(&map, path, sizeof(path)) &&
                       strstr(path, "test_proc_maps");
        }
    }
    assert_true(is_found);
    hs_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line),
        cmocka_unit_test(test_lines_without_a_file),
        cmocka_unit_test(test_names_that_are_odd),
        cmocka_unit_test(test_lines_that_are_none_are_passed_over),
        cmocka_unit_test(test_ourselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
