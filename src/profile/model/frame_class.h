/*
 * Classifies functions: which frames of a stack help the user?
 *
 * The innermost frames of most stacks are allocation functions: operator new,
 * std::allocator<T>::allocate, xmalloc. Every stack keeps them, since they are true, but "operator
 * new: 100 %" answers no question. Each function therefore gets a class by its name and module, and
 * a view names a stack after its first frame in the program itself. A wrong class can give a stack
 * a bad headline, but changes no figure of the profile.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum hs_frame_class {
    HS_FRAME_CLASS_USER,      /* of the program, or of a library that is not the language's */
    HS_FRAME_CLASS_LIBRARY,   /* the standard library of a language */
    HS_FRAME_CLASS_RUNTIME,   /* the interpreter or virtual machine: analyse/runtimes.h */
    HS_FRAME_CLASS_ALLOCATOR, /* allocates memory and does nothing else */
    HS_FRAME_CLASS_START,     /* runs before main, or below every thread */
    HS_FRAME_CLASS_MARKER,    /* not a function: "[stack cut]" */
};

/* The class of a function. `name` and `module_path` may be "". */
enum hs_frame_class hs_frame_class_of(const char *name, const char *module_path);

/* True for a function of a heap profiler that takes the stack of its caller. Both may be "". */
bool hs_frame_is_recorder(const char *name, const char *module_path);

/* True for the library of an allocator that can record allocations by itself. */
bool hs_frame_is_of_recording_allocator(const char *module_path);
