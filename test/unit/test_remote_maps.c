/* Lines of /proc/PID/maps, and those of this process. */
#include <string.h>

#include "remote_self.h"

static void test_lines(void **state)
{
    struct hs_remote_map map;
    (void)state;
    assert_true(hs_remote_maps_parse(
        "7ffd1000-7ffd3000 rw-p 00000000 00:00 0                          [stack]\n", &map));
    assert_int_equal(map.start_va, 0x7ffd1000);
    assert_int_equal(map.end_va, 0x7ffd3000);
    assert_true(map.is_readable && map.is_writable && !map.is_executable && map.is_growing);
    assert_true(
        hs_remote_maps_parse("55aa-55bb r-xp 00002000 fe:00 5383094    /usr/bin/x y\n", &map));
    assert_true(map.is_readable && !map.is_writable && map.is_executable && !map.is_growing);
    static const char *const bad[] = { "",          "\n",          "55aa",         "55aa-",
                                       "55aa-55bb", "55aa-55bb r", "bb-aa rw-p 0", "x-y rw-p 0",
                                       "0-0 rw-p" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(hs_remote_maps_parse(bad[i], &map));
    }
}

static void test_own(void **state)
{
    struct remote_self self;
    int local = 0;
    (void)state;
    remote_self_init(&self, getpid());
    const struct hs_remote_map *stack =
        hs_remote_maps_find(&self.maps, (uint64_t)(uintptr_t)&local);
    assert_non_null(stack);
    assert_true(stack->is_growing && stack->is_writable);
    const struct hs_remote_map *code =
        hs_remote_maps_find(&self.maps, (uint64_t)(uintptr_t)test_own);
    assert_non_null(code);
    assert_true(code->is_executable && !code->is_writable);
    assert_null(hs_remote_maps_find(&self.maps, 1));
    assert_null(hs_remote_maps_find(&self.maps, UINT64_MAX));
    for (size_t i = 1; i < self.maps.count; i++) {
        assert_true(self.maps.items[i - 1].end_va <= self.maps.items[i].start_va);
    }
    remote_self_deinit(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
