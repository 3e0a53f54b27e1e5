/*
 * The type that the frames of a stack say they allocate.
 *
 *     operator new(unsigned long)
 *     std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long, void const*)
 *     ...
 *
 * Containers, smart pointers and other code of C++ libraries allocate through functions that have
 * the type among their template arguments. So these blocks have a type without one look at their
 * memory, whether they have virtual functions or not.
 *
 * Only a function that allocates nothing but objects of the type counts: what is inlined into
 * another function may allocate, too, and has no frame of its own unless the program has debug
 * information. So a frame says whether calls that were inlined there have frames.
 *
 * Threads   a pure function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hs_allocating_frame {
    const char *name; /* demangled */
    bool is_exact;    /* functions that were inlined into it have frames of their own */
};

enum hs_allocated {
    HS_ALLOCATED_UNKNOWN, /* the frames do not say */
    HS_ALLOCATED_NAMED,   /* a function of the C++ library says it */
    HS_ALLOCATED_GIVEN,   /* the program says it, by heapscope/typed.hpp */
};

/*
 * Writes the name of the type of what the stack with these frames, innermost first, allocates: one
 * object ("Foo", a node of a container), or any number in a row ("Foo[]"). Unknown also if the name
 * does not fit in `room_bytes` with its NUL.
 */
enum hs_allocated hs_allocated_type(const struct hs_allocating_frame *frames, size_t frame_count,
                                    char *ret_name, size_t room_bytes);
