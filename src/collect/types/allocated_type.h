/*
 * The type that the frames of a stack say they allocate.
 *
 *     operator new(unsigned long)
 *     std::__new_allocator<std::_Rb_tree_node<int> >::allocate(unsigned long, void const*)
 *     ...
 *
 * Containers, smart pointers and other code of C++ libraries allocate through functions that have
 * the type among their template arguments. So these blocks have a type without one look at their
 * memory, whether they have virtual functions or not. Where an allocator's function is inlined and
 * the frame is that of the function that called it, nothing is said.
 *
 * Threads   a pure function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the name of the type of what the stack with these demangled frames, innermost first,
 * allocates: one object of it, or several in a row. False: they do not say, or the name does not
 * fit in `room_bytes` with its NUL.
 */
bool hs_allocated_type(const char *const *frames, size_t frame_count, char *ret_name,
                       size_t room_bytes);
