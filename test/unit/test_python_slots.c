/*
 * Tests of client/patch/python_slots, with a library that looks like an interpreter
 * (fake_python.c).
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/patch/hook_table.h"
#include "client/patch/python_slots.h"
#include "fake_python.h"

/* No hooks of malloc here. */
const struct hs_hook hs_hooks[] = { { "", NULL } };
const uint32_t hs_hook_count = 0;

static unsigned seen;

static void *on_malloc(void *ctx, size_t bytes)
{
    seen++;
    return hs_python_real.malloc(ctx, bytes);
}

static void *on_calloc(void *ctx, size_t count, size_t bytes)
{
    seen++;
    return hs_python_real.calloc(ctx, count, bytes);
}

static void *on_realloc(void *ctx, void *ptr, size_t bytes)
{
    seen++;
    return hs_python_real.realloc(ctx, ptr, bytes);
}

static void on_free(void *ctx, void *ptr)
{
    seen++;
    hs_python_real.free(ctx, ptr);
}

const struct hs_python_functions hs_python_hooks = { on_malloc, on_calloc, on_realloc, on_free };

struct fake {
    void *library;
    void (*begin)(enum fake_python_mode, const void *);
    unsigned (*calls)(void);
    unsigned long (*arena_va)(void);
};

static struct fake load(enum fake_python_mode mode)
{
    struct fake fake = { .library = dlopen(HS_FAKE_PYTHON_PATH, RTLD_NOW) };
    assert_non_null(fake.library);
    fake.begin =
        (void (*)(enum fake_python_mode, const void *))dlsym(fake.library, "fake_python_begin");
    fake.calls = (unsigned (*)(void))dlsym(fake.library, "fake_python_calls");
    fake.arena_va = (unsigned long (*)(void))dlsym(fake.library, "fake_python_arena_va");
    fake.begin(mode, &hs_python_hooks);
    seen = 0;
    return fake;
}

/* Afterwards no interpreter is known. */
static void unload(struct fake *fake)
{
    hs_python_slots_before_unload();
    assert_int_equal(dlclose(fake->library), 0);
    hs_python_slots_after_unload();
    assert_false(hs_python_slots_find());
}

/* Whatever stands in front of pymalloc, its own calls are redirected, and back. */
static void test_layers(void **state)
{
    static const enum fake_python_mode modes[] = { FAKE_PYTHON_PLAIN, FAKE_PYTHON_DEBUG,
                                                   FAKE_PYTHON_TRACED, FAKE_PYTHON_BOTH };
    (void)state;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct fake fake = load(modes[i]);
        assert_true(hs_python_slots_find());
        assert_int_equal(fake.calls(), 5);
        assert_int_equal(seen, 0);
        hs_python_slots_set(HS_PYTHON_ALL);
        assert_int_equal(fake.calls(), 10);
        assert_int_equal(seen, 5);
        hs_python_slots_set(HS_PYTHON_ALL); /* nothing is redirected to itself */
        assert_int_equal(fake.calls(), 15);
        assert_int_equal(seen, 10);
        hs_python_slots_set(HS_PYTHON_NONE);
        assert_int_equal(fake.calls(), 20);
        assert_int_equal(seen, 10);
        unload(&fake);
    }
}

/* While samples are moved, free stays the interpreter's own. From each state there is a way to each
 * other one. */
static void test_only_allocations(void **state)
{
    /* fake_python_calls() makes three calls that allocate, and two that free. */
    static const unsigned seen_of[] = {
        [HS_PYTHON_NONE] = 0, [HS_PYTHON_ALLOCS] = 3, [HS_PYTHON_ALL] = 5
    };
    (void)state;
    struct fake fake = load(FAKE_PYTHON_BOTH);
    assert_true(hs_python_slots_find());
    for (unsigned from = HS_PYTHON_NONE; from <= HS_PYTHON_ALL; from++) {
        for (unsigned to = HS_PYTHON_NONE; to <= HS_PYTHON_ALL; to++) {
            assert_true(hs_python_slots_set((enum hs_python_redirect)from));
            assert_true(hs_python_slots_set((enum hs_python_redirect)to));
            seen = 0;
            fake.calls();
            assert_int_equal(seen, seen_of[to]);
        }
    }
    hs_python_slots_set(HS_PYTHON_NONE);
    unload(&fake);
    assert_false(hs_python_slots_set(HS_PYTHON_ALL));
}

/* An interpreter that begins anew sets its allocators itself. */
static void test_begins_anew(void **state)
{
    (void)state;
    struct fake fake = load(FAKE_PYTHON_PLAIN);
    assert_true(hs_python_slots_find());
    hs_python_slots_set(HS_PYTHON_ALL);
    fake.begin(FAKE_PYTHON_DEBUG, NULL);
    assert_int_equal(fake.calls(), 5);
    assert_int_equal(seen, 0);
    hs_python_slots_set(HS_PYTHON_ALL);
    assert_int_equal(fake.calls(), 10);
    assert_int_equal(seen, 5);
    hs_python_slots_set(HS_PYTHON_NONE);
    unload(&fake);
}

/* An interpreter that does not use pymalloc is left alone. */
static void test_left_alone(void **state)
{
    static const enum fake_python_mode modes[] = { FAKE_PYTHON_MALLOC, FAKE_PYTHON_FOREIGN };
    (void)state;
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct fake fake = load(modes[i]);
        assert_false(hs_python_slots_find());
        hs_python_slots_set(HS_PYTHON_ALL);
        if (modes[i] == FAKE_PYTHON_MALLOC) {
            fake.calls();
            assert_int_equal(seen, 0);
        }
        unload(&fake);
    }
}

/* While a library is being unloaded, nothing is stored in it. */
static void test_unloading(void **state)
{
    (void)state;
    struct fake fake = load(FAKE_PYTHON_PLAIN);
    assert_true(hs_python_slots_find());
    hs_python_slots_before_unload();
    assert_false(hs_python_slots_set(HS_PYTHON_ALL));
    fake.calls();
    assert_int_equal(seen, 0);
    hs_python_slots_after_unload(); /* it is still loaded: another library was unloaded */
    hs_python_slots_set(HS_PYTHON_ALL);
    fake.calls();
    assert_int_equal(seen, 5);
    hs_python_slots_set(HS_PYTHON_NONE);
    unload(&fake);
}

/* Only calls that return into the function of arenas, for the length of one. */
static void test_arenas(void **state)
{
    (void)state;
    assert_false(hs_python_slots_maps_arena(4096, 1 << 20));
    struct fake fake = load(FAKE_PYTHON_PLAIN);
    uint64_t va = fake.arena_va();
    assert_true(hs_python_slots_find());
    assert_true(hs_python_slots_maps_arena(va + 20, 1 << 20));
    assert_true(hs_python_slots_maps_arena(va + 20, 256 << 10));
    assert_false(hs_python_slots_maps_arena(va + 20, 16 << 10)); /* frames */
    assert_false(hs_python_slots_maps_arena(va - 1, 1 << 20));
    assert_false(hs_python_slots_maps_arena(va + 4096, 1 << 20));
    unload(&fake);
    assert_false(hs_python_slots_maps_arena(va + 20, 1 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),     cmocka_unit_test(test_begins_anew),
        cmocka_unit_test(test_left_alone), cmocka_unit_test(test_unloading),
        cmocka_unit_test(test_arenas),     cmocka_unit_test(test_only_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
