/* Tests of collect/loaded_runtimes: which runtimes are recognized by the files that are mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inspect/loaded_runtimes.h"

#define CODE(path)   "1000-2000 r-xp 00000000 fe:00 7   " path "\n"
#define DATA(path)   "3000-4000 r--p 00000000 fe:00 7   " path "\n"
#define SHARED(path) "5000-6000 rw-s 00000000 00:01 9   " path "\n"
#define LIBC         CODE("/lib/x86_64-linux-gnu/libc.so.6")

static struct hs_loaded_runtimes find(const char *maps)
{
    struct hs_loaded_runtimes runtimes;
    hs_loaded_runtimes_find(maps, strlen(maps), &runtimes);
    return runtimes;
}

static void test_c_libraries(void **state)
{
    (void)state;
    struct hs_loaded_runtimes it = find(CODE("/usr/bin/x") LIBC);
    assert_int_equal(it.libc, HS_LIBC_GLIBC);
    assert_string_equal(it.libc_path, "/lib/x86_64-linux-gnu/libc.so.6");
    assert_false(it.is_libc_deleted);
    it = find(CODE("/lib/libc-2.31.so (deleted)"));
    assert_int_equal(it.libc, HS_LIBC_GLIBC);
    assert_true(it.is_libc_deleted);
    /* Before the loader has loaded anything. */
    assert_int_equal(find(CODE("/lib64/ld-linux-x86-64.so.2")).libc, HS_LIBC_GLIBC);
    assert_int_equal(find(CODE("/lib/ld-musl-x86_64.so.1")).libc, HS_LIBC_MUSL);
    /* Debian's musl loader is a link to the library, and the kernel names the link's target. */
    assert_int_equal(find(CODE("/usr/lib/x86_64-linux-musl/libc.so")).libc, HS_LIBC_MUSL);
    assert_int_equal(find(CODE("/usr/local/musl/lib/libc.so")).libc, HS_LIBC_MUSL);
    assert_int_equal(find(CODE("/system/lib64/libc.so")).libc, HS_LIBC_NONE);
    assert_int_equal(find(CODE("/usr/bin/x")).libc, HS_LIBC_NONE);
    assert_int_equal(find("").libc, HS_LIBC_NONE);
    /* A linker maps it only to read it. */
    assert_int_equal(find(DATA("/lib/x86_64-linux-gnu/libc.so.6")).libc, HS_LIBC_NONE);
}

static void test_allocators(void **state)
{
    (void)state;
    static const struct {
        const char *maps;
        enum hs_allocator allocator;
    } cases[] = {
        { LIBC, HS_ALLOCATOR_LIBC },
        { LIBC CODE("/usr/lib/libjemalloc.so.2"), HS_ALLOCATOR_JEMALLOC },
        { LIBC CODE("/usr/lib/libtcmalloc_minimal.so.4"), HS_ALLOCATOR_TCMALLOC },
        { CODE("/usr/lib/libtcmalloc.so.4") LIBC, HS_ALLOCATOR_TCMALLOC },
        { LIBC CODE("/usr/lib/libmimalloc.so.2.0"), HS_ALLOCATOR_MIMALLOC },
        { LIBC DATA("/usr/lib/libjemalloc.so.2"), HS_ALLOCATOR_LIBC },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(find(cases[i].maps).allocator, cases[i].allocator);
    }
    for (int i = 0; i < HS_ALLOCATOR_N; i++) {
        assert_non_null(hs_allocator_name((enum hs_allocator)i));
    }
}

static void test_others_who_take_malloc(void **state)
{
    (void)state;
    assert_string_equal(find(LIBC CODE("/usr/lib/libasan.so.8")).sanitizer, "AddressSanitizer");
    assert_string_equal(find(CODE("/x/libclang_rt.tsan-x86_64.so")).sanitizer, "ThreadSanitizer");
    assert_null(find(LIBC CODE("/usr/lib/libasanx.so")).sanitizer);
    assert_string_equal(find(CODE("/usr/lib/heaptrack/libheaptrack_preload.so")).profiler,
                        "heaptrack");
    assert_string_equal(find(CODE("/v/memray/_memray.cpython-311-x86_64-linux-gnu.so")).profiler,
                        "Memray");
    assert_string_equal(find(CODE("/x/libheapprofd_glibc_preload.so")).profiler, "heapprofd");
    assert_null(find(LIBC).profiler);
    assert_true(find(CODE("/usr/libexec/valgrind/vgpreload_core-amd64-linux.so")).has_valgrind);
}

static void test_our_own_client(void **state)
{
    (void)state;
    struct hs_loaded_runtimes it = find(LIBC CODE("/opt/h/lib/libheapscope_preload.so"));
    assert_true(it.has_client && it.control_va == 0);
    it = find(LIBC CODE("/memfd:heapscope-client (deleted)") SHARED("/memfd:heapscope (deleted)"));
    assert_true(it.has_client && it.control_va == 0x5000);
    it = find(LIBC CODE("/opt/h/lib/libheapscope_malloc.so"));
    assert_true(it.has_client && !it.has_two_clients);
    it = find(CODE("/h/libheapscope_preload.so") CODE("/h/libheapscope_malloc.so") LIBC);
    assert_true(it.has_client && it.has_two_clients);
    it = find(CODE("/h/libheapscope_malloc.so") LIBC CODE("/memfd:heapscope-client (deleted)"));
    assert_true(it.has_two_clients);
    /* Another memfd whose name has the same beginning is not the region. */
    assert_true(find(SHARED("/memfd:heapscope-trace (deleted)")).control_va == 0);
    /* Nor are other parts of the region the control page. */
    assert_true(find("5000-6000 rw-s 00001000 00:01 9 /memfd:heapscope (deleted)\n").control_va ==
                0);
    /* Nor is the page that held forks: it stays when the library was not loaded. */
    assert_false(
        find("1000-2000 r-xs 4d000 00:01 7 /memfd:heapscope-client (deleted)\n").has_client);
    /* Nor is an anonymous mapping the client: it can be given any name. */
    assert_false(find("1000-2000 r-xp 0 00:00 0 [anon:/libheapscope_preload.so]\n").has_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c_libraries),
        cmocka_unit_test(test_allocators),
        cmocka_unit_test(test_others_who_take_malloc),
        cmocka_unit_test(test_our_own_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
