/* Where arenas are: what is noted, and forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "client/tables/python_arenas.h"

#define MIB   (UINT64_C(1) << 20)
#define GIB   (UINT64_C(1) << 30)
#define ARENA (UINT64_C(0x7f1234500000))

static unsigned count_in(uint64_t start_va, uint64_t end_va)
{
    unsigned count = 0;
    for (unsigned i = 0; i < HS_PYTHON_ARENAS; i++) {
        count += hs_python_arenas.va[i] >= start_va && hs_python_arenas.va[i] < end_va;
    }
    return count;
}

static void test_notes(void **state)
{
    (void)state;
    assert_false(hs_python_arenas_has_any);
    for (uint64_t va = ARENA; va < ARENA + 2 * MIB; va += 4096) {
        hs_python_arenas_note(va);
    }
    assert_true(hs_python_arenas_has_any);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 8);
    /* As far away as shares an element. */
    hs_python_arenas_note(ARENA + 4 * GIB);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 7);
    hs_python_arenas_note(ARENA + 16);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 8);
    assert_int_equal(count_in(ARENA + 4 * GIB, ARENA + 5 * GIB), 0);
}

static void test_forgets(void **state)
{
    (void)state;
    /* The middle of a piece, of which a neighbouring arena has the rest. */
    hs_python_arenas_forget(ARENA, 4096 * 16);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 7);
    hs_python_arenas_note(ARENA + 4096 * 16);
    hs_python_arenas_forget(ARENA, 4096 * 16);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 8);
    hs_python_arenas_forget(ARENA + MIB, MIB);
    assert_int_equal(count_in(ARENA, ARENA + 2 * MIB), 4);
    assert_int_equal(count_in(ARENA, ARENA + MIB), 4);
    hs_python_arenas_forget(ARENA + 4096 * 16, MIB / 4); /* begins and ends inside pieces */
    assert_int_equal(count_in(ARENA, ARENA + MIB), 2);
    hs_python_arenas_forget(0, UINT64_MAX);
    assert_int_equal(count_in(1, UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_notes),
                                        cmocka_unit_test(test_forgets) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
