/*
 * Which function was called, by the code before a return address: our own code, and stubs as
 * linkers make them.
 */
#include <string.h>

#include "arch/call_site.h"
#include "inject/remote/remote_call.h"
#include "remote_self.h"

static struct remote_self self;
static uint64_t noted_va;

static int setup(void **state)
{
    (void)state;
    remote_self_init(&self, getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remote_self_deinit(&self);
    return 0;
}

static __attribute__((noinline)) void note(void)
{
    noted_va = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static uint64_t va_of(const void *bytes)
{
    return (uint64_t)(uintptr_t)bytes;
}

/* A call as the compiler makes it. */
static void test_call(void **state)
{
    (void)state;
    note();
    assert_int_equal(hs_remote_called(&self.memory, noted_va), (uint64_t)(uintptr_t)note);
}

struct code {
    uint8_t site[16]; /* ends with a call instruction */
    uint8_t stub[32]; /* entry of a procedure linkage table */
    uint64_t slot;
};

static void put_distance(uint8_t *field, uint64_t to_va)
{
    int32_t distance = (int32_t)(to_va - (va_of(field) + 4));
    memcpy(field, &distance, sizeof(distance));
}

static uint64_t called(const struct code *code)
{
    return hs_remote_called(&self.memory, va_of(code->site) + sizeof(code->site));
}

static void test_linkage_tables(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
    } stubs[] = { { "\xff\x25", 2 },
                  { "\xf2\xff\x25", 3 },
                  { "\xf3\x0f\x1e\xfa\xff\x25", 6 },
                  { "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7 } };
    (void)state;
    for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++) {
        static struct code code;
        code.slot = 0x123456789abc;
        code.site[11] = 0xe8;
        put_distance(code.site + 12, va_of(code.stub));
        memcpy(code.stub, stubs[i].bytes, stubs[i].count);
        put_distance(code.stub + stubs[i].count, va_of(&code.slot));
        assert_int_equal(called(&code), code.slot);
        code.stub[stubs[i].count - 1] = 0x24; /* any other jump: the result is the call's own
                                               * target */
        assert_int_equal(called(&code), va_of(code.stub));
    }
}

static void test_without_a_table(void **state)
{
    static struct code code = { .slot = 4711 };
    (void)state;
    code.site[10] = 0xff;
    code.site[11] = 0x15;
    put_distance(code.site + 12, va_of(&code.slot));
    assert_int_equal(called(&code), 4711);
    put_distance(code.site + 12, va_of(&code.slot) + 0x40000000); /* nothing is mapped there */
    assert_int_equal(called(&code), 0);
}

static void test_no_call(void **state)
{
    static struct code code;
    (void)state;
    assert_int_equal(called(&code), 0);
    assert_int_equal(hs_remote_called(&self.memory, 0), 0);
    assert_int_equal(hs_remote_called(&self.memory, 4096), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_linkage_tables),
        cmocka_unit_test(test_without_a_table),
        cmocka_unit_test(test_no_call),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
