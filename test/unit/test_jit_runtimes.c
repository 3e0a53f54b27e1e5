/* Which files belong to a runtime that makes code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/jit_runtimes.h"

static const char *find(const char *file)
{
    const struct hs_jit_runtime *runtime = hs_jit_runtime_find(file, strlen(file));
    return runtime ? runtime->name : "none";
}

static void test_files(void **state)
{
    (void)state;
    assert_string_equal(find("node"), "node");
    assert_string_equal(find("node.sh"), "none");
    assert_string_equal(find("node20"), "none");
    assert_string_equal(find("nod"), "none");
    assert_string_equal(find(""), "none");
    assert_string_equal(find("libnode.so.108"), "node");
    assert_string_equal(find("libnode.so"), "node");
    assert_string_equal(find("libnode.sox"), "none");
    assert_string_equal(find("libjvm.so"), "the JVM");
    assert_string_equal(find("libluajit-5.1.so.2.1.0"), "LuaJIT");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
