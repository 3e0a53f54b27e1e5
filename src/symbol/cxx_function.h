/*
 * Demangles the forms that most names of C++ functions have, in one pass over the name: nested
 * names, constructors, destructors and operators, with template arguments and parameters that are
 * types or integers.
 *
 * libiberty's demangler makes a tree of a name, walks through it twice, and prints it in pieces.
 * That is most of the time that names of a stripped library take. A name of any other form
 * (function templates, lambdas, expressions, types of functions and arrays) is left to it.
 *
 * Ensures   the text is the one that libiberty gives; `fuzz_cxx_function` compares them.
 * Threads   none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the demangled form of `name` to out[0 .. out_bytes), with a NUL. False: the name has
 * another form, or its text is too long.
 */
bool hs_cxx_function_demangle(const char *name, char *out, size_t out_bytes);
