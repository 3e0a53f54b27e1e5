/* diff_name.c: which names of two builds mean the same function, and which must stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/analyse/diff_internal.h"
#include "rt/base.h"
#include "util/buf.h"

static const struct {
    const char *name, *shared;
} names[] = {
    /* Clones that gcc and clang make. */
    { "parse.isra.0", "parse" },
    { "parse.constprop.12", "parse" },
    { "parse.part.0", "parse" },
    { "parse.cold", "parse" },
    { "parse.isra.0.part.3.cold", "parse" },
    { "parse.lto_priv.0", "parse" },
    { "parse.llvm.7243915503", "parse" },
    { "parse.__uniq.183.llvm.9", "parse" },
    { "parse.localalias", "parse" },
    { "parse.42", "parse" },
    { "ns::parse(char const*) [clone .isra.0] [clone .cold]", "ns::parse(char const*)" },
    /* Closures. */
    { "f(int)::{lambda(char)#2}::operator()(char) const",
      "f(int)::{lambda}::operator()(char) const" },
    { "f(int)::$_1::operator()(char) const", "f(int)::{lambda}::operator()(char) const" },
    { "g<f()::{lambda({lambda()#1})#2}>()", "g<f()::{lambda}>()" },
    { "std::function<void ()>::f()::$_0::__invoke()",
      "std::function<void ()>::f()::{lambda}::__invoke()" },
    /* Rust. */
    { "alloc::vec::Vec<T>::push::h0123456789abcdef", "alloc::vec::Vec<T>::push" },
    { "mine[1f2e3d4c5b6a7980]::run::{closure#0}", "mine::run::{closure#0}" },
    { "<alloc[1f2e3d4c5b6a79]::vec::Vec<u8>>::push", "<alloc::vec::Vec<u8>>::push" },
    /* Templates and tags. */
    { "std::set<std::pair<int, int> >::insert(int)", "std::set<std::pair<int, int>>::insert(int)" },
    { "a<b<c<d> > >", "a<b<c<d>>>" },
    { "name[abi:cxx11](int)", "name(int)" },
};

static const char *const kept[] = {
    "parse",
    "parse.colder",
    "parse.partial",
    "parse.isra2",
    ".part.0",
    "main.(*T).run.func1.2",
    "main.run.func1.1",
    "a::b::h0123456789abcde",
    "a::b::g0123456789abcdef",
    "a::b::h0123456789abcdeX",
    "::h0123456789abcdef",
    "f(char (&) [4])",
    "first[8]",
    "operator new[](unsigned long)",
    "operator>> (int)",
    "a > b",
    "{lambda(int)#1",
    "cash$_",
    "$_1x",
    "[1f2e3d4c5b6a7980]",
    "call[abi:open",
    "",
};

static void check(const char *name, const char *shared)
{
    struct hs_buf buf = HS_BUF_INIT;
    hs_diff_write_name(name, &buf);
    assert_string_equal(hs_buf_text(&buf), shared);
    hs_buf_deinit(&buf);
}

static void test_shared(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        check(names[i].name, names[i].shared);
        check(names[i].shared, names[i].shared);
    }
}

static void test_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(kept); i++) {
        check(kept[i], kept[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
