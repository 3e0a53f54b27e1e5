/*
 * Says of what type blocks of malloc are: for C++11 and later, without a library to link.
 *
 *     std::vector<Order, heapscope::typed_allocator<Order>> orders;
 *     Order *order = heapscope::make_typed<Order>(1, "tea");    // as: new Order(1, "tea")
 *     delete order;
 *
 * A block gets its type by the function that allocates it, which has the type in its name and is
 * never inlined: `heapscope report --by type` finds the function in the stacks of blocks. So it
 * works in optimized programs without debug information; a program whose symbols are stripped needs
 * them in a file of their own. The memory is that of operator new, with a profiler and without.
 *
 * Threads   any.
 * Fails     std::bad_alloc, as operator new, and what constructors throw.
 * See       typed.hpp(3)
 */
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#define HEAPSCOPE_OUT_OF_LINE __attribute__((noinline))
/* The function goes on behind the call, so that it is in the stack during the call. It refers to a
 * variable of the type, so that compilers and linkers do not merge it with that of another type. */
#define HEAPSCOPE_KEEP_FRAME(block, T)                                                             \
    __asm__ volatile("" : "+r"(block) : "r"(&heapscope::detail::type_mark<T>::mark))
#else
#define HEAPSCOPE_OUT_OF_LINE
#define HEAPSCOPE_KEEP_FRAME(block, T) ((void)(block))
#endif

namespace heapscope
{

namespace detail
{

/* Aligned forms of operator new exist since C++17; before, they are not needed either: `new` of an
 * object that needs more than the usual alignment is not supported there. */
template <class T> inline void *get_storage(std::size_t size_bytes)
{
#if defined(__cpp_aligned_new)
    if (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        return ::operator new(size_bytes, std::align_val_t(alignof(T)));
    }
#else
    static_assert(alignof(T) <= alignof(std::max_align_t), "this alignment needs C++17");
#endif
    return ::operator new(size_bytes);
}

template <class T> inline void put_storage(void *block) noexcept
{
#if defined(__cpp_aligned_new)
    if (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete(block, std::align_val_t(alignof(T)));
        return;
    }
#endif
    ::operator delete(block);
}

template <class T> struct type_mark {
    static char mark;
};
template <class T> char type_mark<T>::mark;

/* Memory for one T. */
template <class T> HEAPSCOPE_OUT_OF_LINE void *typed_storage()
{
    void *block = get_storage<T>(sizeof(T));
    HEAPSCOPE_KEEP_FRAME(block, T);
    return block;
}

/* Gives memory back if a constructor throws. */
template <class T> struct storage_guard {
    void *block;
    ~storage_guard()
    {
        if (block) {
            put_storage<T>(block);
        }
    }
};

/* In a program that is compiled without exceptions, ends the program. */
[[noreturn]] inline void refuse()
{
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

template <class T> struct has_own_new {
    template <class U> static char test(decltype(U::operator new(sizeof(int))) *);
    template <class U> static long test(...);
    static const bool value = sizeof(test<T>(nullptr)) == sizeof(char);
};

} // namespace detail

/* Makes a T in memory that is known to be of type T. `delete` frees it. */
template <class T, class... Args> T *make_typed(Args &&...args)
{
    static_assert(!std::is_array<T>::value, "for arrays, use a container with a typed_allocator");
    static_assert(!detail::has_own_new<T>::value, "T has an operator new of its own");
    detail::storage_guard<T> guard = { detail::typed_storage<T>() };
    T *made = ::new (guard.block) T(std::forward<Args>(args)...);
    guard.block = nullptr;
    return made;
}

/* An allocator for all containers. All objects of it are equal. */
template <class T> class typed_allocator
{
  public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_move_assignment = std::true_type;
    using is_always_equal = std::true_type;

    typed_allocator() noexcept = default;
    template <class U> typed_allocator(const typed_allocator<U> &) noexcept
    {
    }

    HEAPSCOPE_OUT_OF_LINE T *allocate(std::size_t count)
    {
        if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) {
            detail::refuse();
        }
        void *block = detail::get_storage<T>(count * sizeof(T));
        HEAPSCOPE_KEEP_FRAME(block, T);
        return static_cast<T *>(block);
    }
    void deallocate(T *block, std::size_t) noexcept
    {
        detail::put_storage<T>(block);
    }

    template <class U> friend bool operator==(const typed_allocator &, const typed_allocator<U> &)
    {
        return true;
    }
    template <class U> friend bool operator!=(const typed_allocator &, const typed_allocator<U> &)
    {
        return false;
    }
};

} // namespace heapscope

#undef HEAPSCOPE_OUT_OF_LINE
#undef HEAPSCOPE_KEEP_FRAME
