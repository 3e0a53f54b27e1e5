/*
 * Which frames of a stack tell the user something?
 *
 * The innermost frames of most stacks are plumbing: operator new, std::allocator<T>::allocate, xmalloc.
 * They are kept in every stack, since they are the truth, but "operator new: 100 %" answers nothing. So
 * each function gets a class by its name and module, and a view picks the first frame of its own
 * program as what a stack is called. A wrong guess costs a better headline, never a byte.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hs_frame_class {
    HS_FRAME_CLASS_USER,      /* the program's own, or a library that is not the language's */
    HS_FRAME_CLASS_LIBRARY,   /* the C, C++ or Rust library */
    HS_FRAME_CLASS_ALLOCATOR, /* gives memory and does nothing else */
    HS_FRAME_CLASS_START,     /* what runs before main or under every thread */
    HS_FRAME_CLASS_MARKER,    /* no function: "[stack cut]" */
};

/* `name` and `module_path` may be "". */
enum hs_frame_class hs_frame_class_of(const char *name, const char *module_path);

/* Is that a function of a heap profiler, in which it takes the stacks of others? Both may be "". */
bool hs_frame_is_recorder(const char *name, const char *module_path);

/* Is that the library of an allocator that records allocations by itself? */
bool hs_frame_is_of_recording_allocator(const char *module_path);
