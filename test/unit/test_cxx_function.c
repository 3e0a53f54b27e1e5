/* cxx_function.c: the forms that it knows, and those that it leaves to libiberty. */
#include "symbol/cxx_function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *mangled, *readable; /* NULL: left to libiberty */
} names[] = {
    { "_Z3foov", "foo()" },
    { "_Z3fooiz", "foo(int, ...)" },
    { "_ZN1a1bE", "a::b" },
    { "_ZNK1A1bEPKcRS1_OS_", "A::b(char const*, char const*&, A&&) const" },
    { "_ZN5outer5TableIiLi3EE3addERKi", "outer::Table<int, 3>::add(int const&)" },
    { "_ZN3fooIiEC1ERKS0_", "foo<int>::foo(foo<int> const&)" },
    { "_ZN3foo3barD0Ev", "foo::bar::~bar()" },
    { "_ZN1AeqERKS_", "A::operator==(A const&)" },
    { "_ZN1AixEm", "A::operator[](unsigned long)" },
    { "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()" },
    { "_ZL3barv", "bar()" },
    { "_ZNSs4swapERSs", "std::string::swap(std::string&)" },
    { "_ZNSt6vectorI1ASaIS0_EE9push_backEOS0_",
      "std::vector<A, std::allocator<A> >::push_back(A&&)" },
    { "_Z1fN1AIiLb1ELj5EELl3EE", NULL },
    { "_Z1fN1AIiLb1ELj5ELl3ELmn4ELN1B1CE7EEE", "f(A<int, true, 5u, 3l, -4ul, (B::C)7>)" },
    { "_ZN4llvm10inlineCostB5cxx11EPNS_6ModuleE", "llvm::inlineCost[abi:cxx11](llvm::Module*)" },
    { "_Z1fP1AS_S0_", "f(A*, A, A*)" },
    /* Other forms: templates of functions, lambdas, types of functions, packs, conversions. */
    { "_Z3addIiEvT_", NULL },
    { "_ZZ4mainENKUlvE_clEv", NULL },
    { "_Z1fPFivE", NULL },
    { "_ZN1AIJicEE1bEv", NULL },
    { "_ZN1AcviEv", NULL },
    { "_ZTV1A", NULL },
    { "_Znwm", NULL },
    { "_Z3fooi.cold", NULL },
    { "_ZNSsC1Ev", NULL },
    /* No names. */
    { "", NULL },
    { "_", NULL },
    { "_Z", NULL },
    { "_ZN", NULL },
    { "_Z9foo", NULL },
    { "_Z03foov", NULL },
    { "_Z99999999999999999999foov", NULL },
    { "_Z3fooS0_", NULL },
    { "_ZNSE", NULL },
    { "_ZNStE", NULL },
    { "_ZN12_GLOBAL__N_1C1Ev", NULL },
    { "main", NULL },
};

static void forms(void **state)
{
    (void)state;
    char text[256], tight[256];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        strcpy(text, "untouched");
        bool is_known = hs_cxx_function_demangle(names[i].mangled, text, sizeof(text));
        if (is_known != (names[i].readable != NULL)) {
            fail_msg("%s: %s", names[i].mangled, is_known ? text : "not known");
        }
        if (!is_known) {
            continue;
        }
        assert_string_equal(text, names[i].readable);
        char *other = cplus_demangle_v3(names[i].mangled, DMGL_PARAMS | DMGL_ANSI);
        assert_non_null(other);
        assert_string_equal(text, other);
        free(other);
        /* The text needs its length and a NUL, and no byte more. */
        assert_true(hs_cxx_function_demangle(names[i].mangled, tight, strlen(text) + 1));
        assert_string_equal(tight, text);
        for (size_t bytes = 0; bytes <= strlen(text); bytes++) {
            assert_false(hs_cxx_function_demangle(names[i].mangled, tight, bytes));
        }
    }
}

/* What refers back may double the text at each step. */
static void limits(void **state)
{
    (void)state;
    char name[2048] = "_Z1f", text[65536];
    for (int i = 0; i < 1100; i++) {
        strcat(name, "P");
    }
    strcat(name, "i");
    assert_false(hs_cxx_function_demangle(name, text, sizeof(text)));
    name[strlen("_Z1f") + 60] = 'i';
    name[strlen("_Z1f") + 61] = '\0';
    assert_true(hs_cxx_function_demangle(name, text, sizeof(text)));
    assert_int_equal(strlen(text), strlen("f(int)") + 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(forms), cmocka_unit_test(limits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
