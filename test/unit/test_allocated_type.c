/*
 * profile/model/allocated_type: which type frames allocate, by their demangled names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/model/allocated_type.h"
#include "rt/base.h"

#define FRAMES_MAX 3U

static const struct {
    const char *frames[FRAMES_MAX];
    const char *type; /* "": the frames do not say */
} cases[] = {
    { { "operator new(unsigned long)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)" },
      "int[]" },
    { { "std::__new_allocator<std::_Rb_tree_node<std::pair<long const, a::Foo*> > >"
        "::allocate(unsigned long, void const*)" },
      "std::_Rb_tree_node<std::pair<long const, a::Foo*> >" },
    { { "malloc", "operator new(unsigned long)",
        "std::allocator_traits<std::allocator<(anonymous namespace)::Foo> >::allocate("
        "std::allocator<(anonymous namespace)::Foo>&, unsigned long)" },
      "(anonymous namespace)::Foo[]" },
    { { "operator new(unsigned long)",
        "std::__detail::_MakeUniq<Foo>::__single_object std::make_unique<Foo, int>(int&&)" },
      "Foo" },
    { { "operator new(unsigned long)",
        "std::unique_ptr<Foo, std::default_delete<Foo> > std::make_unique<Foo>()" },
      "Foo" },
    { { "operator new[](unsigned long)",
        "std::__detail::_MakeUniq<char []>::__array std::make_unique<char []>(unsigned long)" },
      "char []" },
    { { "std::shared_ptr<a::Foo<1, 2> > std::make_shared<a::Foo<1, 2>, int, char const*>(int&&)" },
      "a::Foo<1, 2>" },
    { { "operator new(unsigned long)",
        "void* std::__1::__libcpp_operator_new<unsigned long>(unsigned long)",
        "std::__1::allocator<std::__1::pair<int, int> >::allocate[abi:v15006](unsigned long)" },
      "std::__1::pair<int, int>[]" },
    { { "__gnu_cxx::__alloc_traits<std::allocator<int (*)(char, long)>, int (*)(char, long)>"
        "::allocate(std::allocator<int (*)(char, long)>&, unsigned long)" },
      "int (*)(char, long)[]" },
    { { "operator new(unsigned long)",
        "std::__new_allocator<decltype ((a)->b)>::allocate(unsigned long, void const*)" },
      "decltype ((a)->b)[]" },
    { { "operator new(unsigned long)",
        "std::__new_allocator<Foo<(1>2), Bar> >::allocate(unsigned long, void const*)" },
      "Foo<(1>2), Bar>[]" },
    { { "operator new(unsigned long)",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
        "::_M_create(unsigned long&, unsigned long)" },
      "char[]" },
    { { "std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, "
        "std::__1::allocator<wchar_t> >::__grow_by_and_replace(unsigned long)" },
      "wchar_t[]" },
    { { "operator new(unsigned long)",
        "std::__1::allocator<std::__1::__tree_node<int, void*> >::allocate[abi:v15006]"
        "(unsigned long)" },
      "std::__1::__tree_node<int, void*>" },
    /* Functions that the compiler has made one of: the callers tell. */
    { { "std::__new_allocator<a::Foo>::allocate(unsigned long, void const*)",
        "std::_Vector_base<a::Foo, std::allocator<a::Foo> >::_M_create_storage(unsigned long)",
        "std::vector<a::Foo2, std::allocator<a::Foo2> >::vector(unsigned long)" },
      "" },
    { { "std::__new_allocator<a::Foo>::allocate(unsigned long, void const*)",
        "std::_Vector_base<a::Foo, std::allocator<a::Foo> >::_M_create_storage(unsigned long)",
        "f(std::vector<int, std::allocator<int> >)" },
      "a::Foo[]" },
    { { "std::__new_allocator<std::_List_node<a::Foo> >::allocate(unsigned long, void const*)",
        "std::__cxx11::list<a::Foo, std::allocator<a::Foo> >::push_back(a::Foo&&)" },
      "std::_List_node<a::Foo>" },
    /* Frames that do not allocate what they name. */
    { { "operator new(unsigned long)",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
        "std::operator+<char>(char const*, int)" },
      "" },
    { { "operator new(unsigned long)",
        "void std::vector<Foo, std::allocator<Foo> >::_M_realloc_insert<Foo>(Foo&&)" },
      "" },
    { { "operator new(unsigned long)", "main" }, "" },
    { { "operator new(unsigned long)" }, "" },
    { { "malloc_trim", "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)" },
      "" },
    { { "operator new(unsigned long)", "make<Foo>()",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)" },
      "" },
    { { "operator new(unsigned long)",
        "__gnu_cxx::new_allocator<int>::deallocate(int*, unsigned long)" },
      "" },
    { { "operator new(unsigned long)", "f(std::allocator<int>::allocate)" }, "" },
    { { "operator new(unsigned long)", "mystd::make_shared<Foo>(int)" }, "" },
    { { "operator new(unsigned long)", "Foo<std::make_shared<Foo>(int)>::f()" }, "" },
    /* Names that are cut or make no sense. */
    { { "operator new(unsigned long)", "std::make_shared<" }, "" },
    { { "operator new(unsigned long)", "std::make_shared<>()" }, "" },
    { { "operator new(unsigned long)", "std::make_shared<Foo" }, "" },
    { { "operator new(unsigned long)", "std::make_shared<Foo<int>(" }, "" },
    { { "operator new(unsigned long)", "std::make_shared<)>(" }, "" },
    { { "operator new(unsigned long)", "std::allocator_traits<int>::allocate()" }, "" },
    { { "operator new(unsigned long)", ">>)) std::make_shared<Foo>()" }, "Foo" },
    { { "" }, "" },
};

static void test_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        char name[128] = "";
        size_t count = 0;
        while (count < FRAMES_MAX && cases[i].frames[count]) {
            count++;
        }
        struct hs_allocating_frame frames[FRAMES_MAX];
        for (size_t f = 0; f < count; f++) {
            frames[f] = (struct hs_allocating_frame){ cases[i].frames[f], true };
        }
        bool is_found =
            HS_ALLOCATED_UNKNOWN != hs_allocated_type(frames, count, name, sizeof(name));
        assert_int_equal(is_found, cases[i].type[0] != '\0');
        assert_string_equal(is_found ? name : "", cases[i].type);
    }
}

static void test_room(void **state)
{
    struct hs_allocating_frame frame = { "std::make_shared<Foo>()", true };
    char name[8];
    (void)state;
    assert_int_equal(hs_allocated_type(&frame, 1, name, 3), HS_ALLOCATED_UNKNOWN);
    assert_int_equal(hs_allocated_type(&frame, 1, name, 4), HS_ALLOCATED_NAMED);
    assert_string_equal(name, "Foo");
    assert_int_equal(hs_allocated_type(&frame, 0, name, sizeof(name)), HS_ALLOCATED_UNKNOWN);
    assert_int_equal(hs_allocated_type(&frame, 1, name, 0), HS_ALLOCATED_UNKNOWN);
    frame.is_exact = false; /* Foo's constructor may be inlined there, and allocate */
    assert_int_equal(hs_allocated_type(&frame, 1, name, sizeof(name)), HS_ALLOCATED_UNKNOWN);
    frame.name = "std::allocator<Foo>::allocate(unsigned long)";
    assert_int_equal(hs_allocated_type(&frame, 1, name, 6), HS_ALLOCATED_NAMED);
    assert_string_equal(name, "Foo[]");
    frame.name = "heapscope::typed_allocator<int>::allocate(unsigned long)";
    assert_int_equal(hs_allocated_type(&frame, 1, name, sizeof(name)), HS_ALLOCATED_GIVEN);
    assert_string_equal(name, "int[]");
    frame.name = "void* heapscope::detail::typed_storage<Foo>()";
    assert_int_equal(hs_allocated_type(&frame, 1, name, sizeof(name)), HS_ALLOCATED_GIVEN);
    assert_string_equal(name, "Foo");
    frame.name = "std::allocator<Foo>::allocate(unsigned long)";
    assert_int_equal(hs_allocated_type(&frame, 1, name, 5), HS_ALLOCATED_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
