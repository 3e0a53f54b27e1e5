/* demangle.c: C++ and both kinds of Rust names, and names that expand without limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

static void expect(const char *mangled, const char *readable)
{
    char text[1024];
    assert_true(hs_demangle(mangled, text, sizeof(text)));
    assert_string_equal(text, readable);
}

static void cxx(void **state)
{
    (void)state;
    expect("_Z3fooi", "foo(int)");
    expect("_ZN5outer5TableIiLi3EE3addERKi", "outer::Table<int, 3>::add(int const&)");
    expect("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
    expect("_Z3fooi.cold", "foo(int) [clone .cold]");
    expect("_Znwm", "operator new(unsigned long)");
}

static void rust(void **state)
{
    (void)state;
    expect("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
    expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    expect("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
}

static void d(void **state)
{
    (void)state;
    expect("_D3std5stdio4File5closeMFZv", "std.stdio.File.close()");
    expect("_D6module4funcFiZv", "module.func(int)");
}

/* A name of D that refers back to its parts again and again: each step doubles the text. */
static void d_that_explodes(void **state)
{
    (void)state;
    char text[64] = "untouched", name[256];
    static const char start[] = "_D1fFHiiHQeQgHQgQi", step[] = "HQgQi";
    snprintf(name, sizeof(name), "%sZv", start);
    expect(name, "f(int[int], int[int][int[int]], int[int][int[int]][int[int][int[int]]])");
    snprintf(name, sizeof(name), "%s", start);
    for (int i = 0; i < 10; i++) {
        strcat(name, step);
    }
    strcat(name, "Zv");
    char *large = malloc(HS_DEMANGLED_BYTES_MAX * 16);
    assert_non_null(large);
    assert_false(hs_demangle(name, large, HS_DEMANGLED_BYTES_MAX * 16));
    assert_false(hs_demangle("_D1fFHiiHQeQgHQgQiZv", text, sizeof(text)));
    assert_string_equal(text, "untouched");
    free(large);
}

static void not_mangled(void **state)
{
    (void)state;
    char text[64] = "untouched";
    static const char *const names[] = { "main",   "",       "_",   "_Z",
                                         "_R",     "_start", "_Zx", "__libc_malloc",
                                         "GLOBAL", "_RZ" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_false(hs_demangle(names[i], text, sizeof(text)));
    }
    assert_false(hs_demangle("_Z3fooi", text, 0));
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    char text[9];
    assert_true(hs_demangle("_Z3fooi", text, 9));
    assert_string_equal(text, "foo(int)");
    assert_false(hs_demangle("_Z3fooi", text, 8));
}

/* void f(pair<int, int>, pair<that, that>, ...): each argument is twice as long as the previous
 * one. */
static void make_name(int doublings, char *name)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    strcpy(name, "_Z1fSt4pairIiiE");
    for (int i = 0; i < doublings; i++) {
        /* S_ is std::pair, S0_ is the first argument, S1_ the next one... */
        char next[32];
        snprintf(next, sizeof(next), "S_IS%c_S%c_E", digits[i], digits[i]);
        strcat(name, next);
    }
}

static void a_name_that_explodes(void **state)
{
    (void)state;
    char name[1024];
    char *text = malloc(HS_DEMANGLED_BYTES_MAX);
    assert_non_null(text);
    make_name(5, name);
    assert_true(hs_demangle(name, text, HS_DEMANGLED_BYTES_MAX));
    size_t five_bytes = strlen(text);
    make_name(6, name);
    assert_true(hs_demangle(name, text, HS_DEMANGLED_BYTES_MAX));
    assert_true(strlen(text) > five_bytes * 19 / 10);
    /* 500 bytes that stand for ten gigabytes of text: the demangler gives up at once. */
    make_name(30, name);
    assert_false(hs_demangle(name, text, HS_DEMANGLED_BYTES_MAX));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cxx),
        cmocka_unit_test(rust),
        cmocka_unit_test(d),
        cmocka_unit_test(d_that_explodes),
        cmocka_unit_test(not_mangled),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_name_that_explodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
