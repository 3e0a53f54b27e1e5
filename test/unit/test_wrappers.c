/*
 * wrappers.h: stacks with and without allocation wrappers, and the function that the report names
 * for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/aggregate.h"
#include "profile/analyse/wrappers.h"
#include "profile/model/frame_class.h"
#include "rt/base.h"
#include "util/buf.h"

#define CALLS_MAX 8

/* A call chain below main, outermost first, and what its innermost function allocated. */
struct stack {
    const char *calls[CALLS_MAX];
    double bytes, count;
};

static bool is_stack_wrapper(const struct hs_agg *agg, const char *name)
{
    for (uint32_t i = 0; i < agg->function_count; i++) {
        if (strcmp(hs_profile_string(agg->profile, agg->functions[i].name), name) == 0) {
            if (agg->functions[i].is_wrapper) {
                assert_int_equal(agg->functions[i].class_, HS_FRAME_CLASS_ALLOCATOR);
            }
            return agg->functions[i].is_wrapper;
        }
    }
    fail_msg("no function %s", name);
    return false;
}

static void build(struct fixture *fx, const struct stack *stacks, size_t count,
                  struct hs_selection *ret_selection, struct hs_agg *ret_agg)
{
    *fx = fixture_new();
    uint32_t leaves[32];
    for (size_t i = 0; i < count; i++) {
        uint32_t at = fixture_call(fx, HS_NODE_NONE, "main");
        for (size_t c = 0; c < CALLS_MAX && stacks[i].calls[c]; c++) {
            at = fixture_call(fx, at, stacks[i].calls[c]);
            if (stacks[i].calls[c][0] == '\0') {
                fx->p.frames[fx->p.frame_count - 1].rel_pc = 0x900; /* a single call site */
            }
        }
        leaves[i] = at;
    }
    fixture_process(fx, 100, "prog");
    fixture_dump(fx, 5);
    for (size_t i = 0; i < count; i++) {
        struct hs_amount amount = fixture_exact(stacks[i].bytes, stacks[i].count);
        fixture_sample(fx, leaves[i], amount, amount, amount);
    }
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(&fx->p, &spec, ret_selection), 0);
    assert_int_equal(hs_agg_build(ret_selection, false, ret_agg), 0);
    assert_int_equal(hs_wrappers_find(ret_agg), 0);
}

static void check(const struct stack *stacks, size_t count, const char *function, bool is_wrapper)
{
    struct fixture fx;
    struct hs_selection selection;
    struct hs_agg agg;
    build(&fx, stacks, count, &selection, &agg);
    assert_int_equal(is_stack_wrapper(&agg, function), is_wrapper);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

static void names_that_say_it(void **state)
{
    (void)state;
    static const char *const yes[] = { "x264_malloc", "__zend_realloc", "stgMallocBytes",
                                       "ngx_calloc", "MyStrdup" };
    static const char *const no[] = { "parse", "preallocate_pages", "deallocate", "grow" };
    for (size_t i = 0; i < HS_COUNT_OF(yes); i++) {
        const struct stack stacks[] = { { { "load", yes[i], "malloc" }, 100, 1 } };
        check(stacks, 1, yes[i], true);
    }
    for (size_t i = 0; i < HS_COUNT_OF(no); i++) {
        const struct stack stacks[] = { { { "load", no[i], "malloc" }, 100, 1 } };
        check(stacks, 1, no[i], false);
    }
}

/* A function that does more than allocate wanted the memory that its callees allocate for it. */
static void names_that_do_more(void **state)
{
    (void)state;
    const struct stack stacks[] = { { { "load", "my_malloc_test", "malloc" }, 100, 1 },
                                    { { "load", "my_malloc_test", "parse", "malloc" }, 100, 1 } };
    check(stacks, 2, "my_malloc_test", false);
    /* Without a caller in the program, no other function can be named instead. */
    struct fixture fx = fixture_new();
    uint32_t only = fixture_call(&fx, HS_NODE_NONE, "my_malloc");
    uint32_t leaf = fixture_call(&fx, only, "malloc");
    fixture_process(&fx, 100, "prog");
    fixture_dump(&fx, 5);
    fixture_sample(&fx, leaf, fixture_exact(10, 1), fixture_exact(10, 1), fixture_exact(10, 1));
    struct hs_selection selection;
    struct hs_agg agg;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(&fx.p, &spec, &selection), 0);
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(hs_wrappers_find(&agg), 0);
    assert_false(is_stack_wrapper(&agg, "my_malloc"));
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

/* Lua's chain: the callback is called inside a function whose name says that it allocates. */
static void inside_an_allocator(void **state)
{
    (void)state;
    const struct stack stacks[] = {
        { { "luaH_resize", "luaM_realloc_", "l_callback", "realloc" }, 800, 1 },
        { { "newobject", "luaM_malloc_", "l_callback", "realloc" }, 56, 1 },
    };
    check(stacks, 2, "l_callback", true);
    check(stacks, 2, "luaM_realloc_", true);
    check(stacks, 2, "luaH_resize", false);
}

static void weak_names_want_different_sizes(void **state)
{
    (void)state;
    const struct stack mixed[] = { { { "a", "pool_alloc", "malloc" }, 100, 1 },
                                   { { "b", "pool_alloc", "malloc" }, 3000, 3 } };
    const struct stack equal[] = { { { "a", "node_alloc", "malloc" }, 640, 10 },
                                   { { "b", "node_alloc", "malloc" }, 64, 1 } };
    const struct stack alone[] = { { { "a", "image_alloc", "malloc" }, 640, 10 } };
    check(mixed, 2, "pool_alloc", true);
    check(equal, 2, "node_alloc", false);
    check(alone, 1, "image_alloc", false);
}

/* Six callers with sizes from 16 to 16384; then the same with one thing changed. */
static void shapes_without_a_name(void **state)
{
    (void)state;
    static const char *const callers[] = { "a", "b", "c", "d", "e", "f" };
    struct stack stacks[7];
    for (size_t i = 0; i < 6; i++) {
        double size = (double)(16 << (2 * i));
        stacks[i] = (struct stack){ { callers[i], "give", "malloc" }, 16384, 16384 / size };
    }
    check(stacks, 6, "give", true);
    check(stacks, 4, "give", false); /* too few callers */
    for (size_t i = 0; i < 6; i++) {
        stacks[i].count = 100;
    }
    check(stacks, 6, "give", false); /* all blocks have one size: it decides itself what it makes */
    for (size_t i = 0; i < 6; i++) {
        stacks[i].count = 16384.0 / (16 << (2 * i));
    }
    stacks[0].bytes *= 6;
    stacks[0].count *= 6;
    check(stacks, 6, "give", false); /* most of it belongs to one caller */
    stacks[0].bytes /= 6;
    stacks[0].count /= 6;
    stacks[6] = (struct stack){ { "a", "give", "calloc" }, 16384, 1 };
    check(stacks, 7, "give",
          false); /* through two allocating functions: it makes objects of its own */
    stacks[6] = (struct stack){ { "a", "give", "helper", "malloc" }, 16384, 1 };
    check(stacks, 7, "give", false); /* a function that it calls allocates, too */
}

/*
 * Code of a stripped program: one call of malloc, whose size the callers decide, though one of them
 * has nearly all.
 */
/* A wrapper around a wrapper: the callers of the outer one decide about both. */
static void wrappers_of_wrappers(void **state)
{
    (void)state;
    static const char *const callers[] = { "a", "b", "c", "d", "e", "f" };
    struct stack stacks[6];
    for (uint32_t i = 0; i < 6; i++) {
        stacks[i] = (struct stack){ { callers[i], "give", "give_zero", "grab", "malloc" },
                                    1000,
                                    1000 >> (2 * i) ? 1000 >> (2 * i) : 1 };
    }
    check(stacks, 6, "grab", true);
    check(stacks, 6, "give_zero", true);
    check(stacks, 6, "give", true);
    check(stacks, 6, "a", false);
    /* Not if the outer one wants memory by itself, too. */
    stacks[5] = (struct stack){ { "f", "give", "give_zero", "other", "malloc" }, 1000, 1 };
    check(stacks, 6, "grab", false);
    /* One caller at the end of the chain wanted it all. */
    for (uint32_t i = 0; i < 6; i++) {
        stacks[i] = (struct stack){ { "main", "load", "parse", "grab", "malloc" }, 100u << i, 1 };
    }
    check(stacks, 6, "grab", false);
    /* Functions that call each other. */
    stacks[0] = (struct stack){ { "main", "parse", "grab", "parse", "grab", "malloc" }, 100, 1 };
    check(stacks, 1, "grab", false);
}

static void nameless_code(void **state)
{
    (void)state;
    struct stack stacks[] = { { { "a", "", "malloc" }, 900000, 9000 },
                              { { "b", "", "malloc" }, 16, 1 },
                              { { "c", "", "malloc" }, 4096, 1 } };
    check(stacks, 3, "", true);
    check(stacks, 2, "", false); /* too few callers */
    for (size_t i = 0; i < 3; i++) {
        stacks[i].calls[1] = "give";
    }
    check(stacks, 3, "give", false);
    for (size_t i = 0; i < 3; i++) {
        stacks[i].calls[1] = "";
        stacks[i].count = stacks[i].bytes / 100;
    }
    check(stacks, 3, "", false); /* it decides itself what it makes */
}

static void callers_are_blamed(void **state)
{
    (void)state;
    const struct stack stacks[] = { { { "load", "x_malloc", "malloc" }, 100, 1 },
                                    { { "parse", "x_malloc", "malloc" }, 50, 1 },
                                    { { "parse", "malloc" }, 60, 1 } };
    struct fixture fx;
    struct hs_selection selection;
    struct hs_agg agg;
    struct hs_agg_row *rows;
    uint32_t count;
    build(&fx, stacks, 3, &selection, &agg);
    assert_int_equal(hs_agg_functions(&agg, HS_QUANTITY_LIVE, &rows, &count), 0);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = hs_profile_string(&fx.p, agg.functions[rows[i].function].name);
        double self = strcmp(name, "load") == 0 ? 100 : strcmp(name, "parse") == 0 ? 110 : 0;
        assert_true(rows[i].self.bytes == self);
        uint32_t through = hs_wrappers_through(&agg, rows[i].function, HS_VIEW_SPACE);
        if (strcmp(name, "load") == 0) {
            assert_string_equal(hs_profile_string(&fx.p, agg.functions[through].name), "x_malloc");
        } else {
            assert_int_equal(through, UINT32_MAX); /* of parse's 110 bytes only 50 */
        }
    }
    free(rows);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_say_it),     cmocka_unit_test(names_that_do_more),
        cmocka_unit_test(inside_an_allocator),   cmocka_unit_test(weak_names_want_different_sizes),
        cmocka_unit_test(shapes_without_a_name), cmocka_unit_test(wrappers_of_wrappers),
        cmocka_unit_test(nameless_code),         cmocka_unit_test(callers_are_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
