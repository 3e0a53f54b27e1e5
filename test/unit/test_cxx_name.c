/* cxx_name.h: how long names are shortened, and that unusual brackets do not confuse it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rt/base.h"
#include "util/buf.h"
#include "util/cxx_name.h"
#include "util/utf8.h"

static const struct {
    const char *name;
    const char *want[HS_CXX_DETAIL_N];
    const char *last;
} cases[] = {
    { "main", { "main", "main", "main", "main" }, "main" },
    { "void std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&>(Row*, Row "
      "const&)",
      { "std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&>(Row*, Row const&)",
        "std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&>(…)",
        "std::vector<…>::_M_realloc_insert<…>(…)", "std::vector::_M_realloc_insert" },
      "_M_realloc_insert" },
    { "operator new(unsigned long)",
      { "operator new(unsigned long)", "operator new(…)", "operator new(…)", "operator new" },
      "operator new" },
    { "operator new[](unsigned long, std::nothrow_t const&)",
      { "operator new[](unsigned long, std::nothrow_t const&)", "operator new[](…)",
        "operator new[](…)", "operator new[]" },
      "operator new[]" },
    { "(anonymous namespace)::load(char const*)",
      { "(anonymous namespace)::load(char const*)", "(anonymous namespace)::load(…)",
        "(anonymous namespace)::load(…)", "(anonymous namespace)::load" },
      "load" },
    { "bool operator< <int>(A<int> const&, B const&)",
      { "operator< <int>(A<int> const&, B const&)", "operator< <int>(…)", "operator< <…>(…)",
        "operator< " },
      "operator< " },
    { "ns::S::operator()(int) const",
      { "ns::S::operator()(int) const", "ns::S::operator()(…) const", "ns::S::operator()(…) const",
        "ns::S::operator()" },
      "operator()" },
    { "A::operator unsigned long() const",
      { "A::operator unsigned long() const", "A::operator unsigned long() const",
        "A::operator unsigned long() const", "A::operator unsigned long" },
      "operator unsigned long" },
    { "P<T>::operator->() const",
      { "P<T>::operator->() const", "P<T>::operator->() const", "P<…>::operator->() const",
        "P::operator->" },
      "operator->" },
    { "std::ostream& std::operator<< <char>(std::ostream&, char)",
      { "std::operator<< <char>(std::ostream&, char)", "std::operator<< <char>(…)",
        "std::operator<< <…>(…)", "std::operator<< " },
      "operator<< " },
    { "run()::{lambda(int)#1}::operator()(int) const",
      { "run()::{lambda(int)#1}::operator()(int) const",
        "run()::{lambda(…)#1}::operator()(…) const", "run()::{lambda(…)#1}::operator()(…) const",
        "run::{lambda#1}::operator()" },
      "run" },
    { "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
      { "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
        "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
        "<alloc::vec::Vec<…> as core::ops::Drop>::drop",
        "<alloc::vec::Vec as core::ops::Drop>::drop" },
      "drop" },
    { "f(int", { "f(int", "f(…)", "f(…)", "f" }, "f" },
    { ">>x)(<", { ">>x)(<", ">>x)(…)", ">>x)(…)", ">>x)" }, ">>x)" },
};

static void details(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        for (enum hs_cxx_detail detail = HS_CXX_FULL; detail < HS_CXX_DETAIL_N; detail++) {
            struct hs_buf buf = HS_BUF_INIT;
            hs_cxx_write(&buf, cases[i].name, detail);
            assert_string_equal(hs_buf_text(&buf), cases[i].want[detail]);
            hs_buf_deinit(&buf);
        }
        size_t bytes;
        const char *last = hs_cxx_last_component(cases[i].name, &bytes);
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)bytes, last);
        assert_string_equal(text, cases[i].last);
    }
}

static const struct {
    const char *name, *want;
} short_names[] = {
    { "void std::vector<int, std::allocator<int> >::push_back(int&&)",
      "std::vector<…>::push_back" },
    { "std::map<int, std::set<int> >::at(int const&) const", "std::map<…>::at" },
    { "std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<< <…>" },
    { "bool operator<(a::B const&, a::B const&)", "operator<" },
    { "a::F<int>::operator()(int) const", "a::F<…>::operator()" },
    { "run(int)::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()" },
    { "(anonymous namespace)::load(char*)", "(anonymous namespace)::load" },
    { "decltype (f(0)) a::b<int>(int)", "a::b<…>" },
    { "a::b<decltype (x<y>(0))>::c(decltype (z))", "a::b<…>::c" },
    { "a::C<int>::grow(int) const [DEDUPED]", "a::C<…>::grow [DEDUPED]" },
    { "operator new(unsigned long)", "operator new" },
    { "operator new[](unsigned long)", "operator new[]" },
    { "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
      "<alloc::vec::Vec<…> as core::ops::Drop>::drop" },
    { "main", "main" },
    { "libfoo<1>.so+0x1a2b", "libfoo<1>.so+0x1a2b" },
    { "decltype (", "decltype (" },
};

static void are_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        struct hs_buf buf = HS_BUF_INIT;
        hs_cxx_write_short(&buf, short_names[i].name);
        assert_string_equal(hs_buf_text(&buf), short_names[i].want);
        hs_buf_deinit(&buf);
    }
}

static void check_fit(const char *name, size_t columns, const char *want)
{
    struct hs_buf buf = HS_BUF_INIT;
    hs_cxx_write_fit(&buf, name, columns);
    assert_string_equal(hs_buf_text(&buf), want);
    assert_true(hs_utf8_columns(buf.data, buf.bytes) <= columns);
    hs_buf_deinit(&buf);
}

static void fits(void **state)
{
    (void)state;
    const char *name = cases[1].name;
    check_fit(name, 200, cases[1].want[HS_CXX_FULL]);
    check_fit(name, 75, cases[1].want[HS_CXX_NO_ARGUMENTS]);
    check_fit(name, 40, cases[1].want[HS_CXX_NO_TEMPLATES]);
    check_fit(name, 30, cases[1].want[HS_CXX_BARE]);
    check_fit(name, 20, "…_M_realloc_insert");
    check_fit(name, 17, "_M_realloc_insert");
    check_fit(name, 10, "_M_reallo…");
    check_fit("outer::inner::function_name", 14, "function_name");
    check_fit("outer::inner::function_name", 16, "…function_name");
    check_fit("libfoo.so.1+0x1a2b", 12, "…so.1+0x1a2b");
    check_fit("we ird;$(x)::<y>+0x23b2", 40, "we ird;$(x)::<y>+0x23b2");
    check_fit("a_long_name_of_a_c_function", 10, "a_long_na…");
    check_fit("\x1b]0;title\x07", 20, "\xEF\xBF\xBD]0;title\xEF\xBF\xBD");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details),
        cmocka_unit_test(are_short),
        cmocka_unit_test(fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
