/* The functions of our own libc: which kind each is, and what is between them. */
#include <dlfcn.h>
#include <string.h>

#include "inject/remote/known_functions.h"
#include "remote_self.h"

static struct remote_self self;
static struct hs_known_functions functions;

static int setup(void **state)
{
    (void)state;
    remote_self_init(&self, getpid());
    struct hs_remote_symbol symbol;
    const struct hs_remote_object *libc =
        hs_remote_objects_search(&self.memory, &self.objects, "gnu_get_libc_version", &symbol);
    assert_non_null(libc);
    assert_int_equal(hs_known_functions_add(&self.memory, libc, &functions), 0);
    hs_known_functions_sort(&functions);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hs_known_functions_deinit(&functions);
    remote_self_deinit(&self);
    return 0;
}

static enum hs_function_kind kind_of(const char *name)
{
    /* Not RTLD_DEFAULT, because a sanitizer has a malloc of its own. */
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *va = dlsym(libc, name);
    assert_non_null(va);
    dlclose(libc);
    return hs_known_functions_at(&functions, (uint64_t)(uintptr_t)va + 1);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_true(functions.count > 1000);
    assert_int_equal(kind_of("malloc"), HS_FUNCTION_FORBIDDEN);
    assert_int_equal(kind_of("free"), HS_FUNCTION_FORBIDDEN);
    assert_int_equal(kind_of("fork"), HS_FUNCTION_FORBIDDEN);
    assert_int_equal(kind_of("exit"), HS_FUNCTION_FORBIDDEN);
    assert_int_equal(kind_of("pthread_cond_wait"), HS_FUNCTION_MEETING);
    assert_int_equal(kind_of("sem_wait"), HS_FUNCTION_WAITING);
    assert_int_equal(kind_of("poll"), HS_FUNCTION_PLAIN);
    assert_int_equal(kind_of("getpid"), HS_FUNCTION_PLAIN);
    assert_int_equal(hs_known_functions_at(&functions, 0), HS_FUNCTION_UNKNOWN);
    assert_int_equal(hs_known_functions_at(&functions, UINT64_MAX), HS_FUNCTION_UNKNOWN);
}

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 1; i < functions.count; i++) {
        assert_true(functions.items[i - 1].start_va < functions.items[i].start_va);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
