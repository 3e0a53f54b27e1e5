/*
 * How heapscope.h and heap_profile.h declare their functions: as functions of libheapscope.so, or,
 * if HEAPSCOPE_WEAK is defined before they are included, as functions that are called if the
 * library is loaded and do nothing otherwise. A program then need not link the library.
 *
 * In the second form each function is a weak reference, and the name that the program uses stands
 * for an inline function that tests the reference first. The loader fills the references in when it
 * loads the program or shared library that contains the calls: a library that is loaded later is
 * not called.
 */
#pragma once

#if !defined(HEAPSCOPE_WEAK)

#define HEAPSCOPE_API __attribute__((visibility("default")))

#else

#define HEAPSCOPE_API __attribute__((visibility("default"), weak))

#if defined(__x86_64__) && !defined(__PIC__)
/* In a program that is not position-independent, the compiler would write the address into the
 * code, and the linker would make it 0 for good. An entry of the global offset table is filled in
 * by the loader. */
#define HEAPSCOPE_WEAK_LOAD(pointer, name)                                                         \
    __asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" : "=r"(pointer))
#else
#define HEAPSCOPE_WEAK_LOAD(pointer, name) (pointer) = (name)
#endif

#ifdef __cplusplus
#define HEAPSCOPE_WEAK_INLINE inline __attribute__((visibility("hidden")))
#else
#define HEAPSCOPE_WEAK_INLINE static inline __attribute__((unused))
#endif

/* The inline function that stands for `name`: returns `absent` if there is no library. */
#define HEAPSCOPE_WEAK_CALL(type, name, parameters, arguments, absent)                             \
    HEAPSCOPE_WEAK_INLINE type heapscope_weak_##name parameters                                    \
    {                                                                                              \
        __typeof__(&name) function;                                                                \
        HEAPSCOPE_WEAK_LOAD(function, name);                                                       \
        return function ? function arguments : absent;                                             \
    }
#define HEAPSCOPE_WEAK_CALL_VOID(name, parameters, arguments)                                      \
    HEAPSCOPE_WEAK_INLINE void heapscope_weak_##name parameters                                    \
    {                                                                                              \
        __typeof__(&name) function;                                                                \
        HEAPSCOPE_WEAK_LOAD(function, name);                                                       \
        if (function) {                                                                            \
            function arguments;                                                                    \
        }                                                                                          \
    }

#endif
