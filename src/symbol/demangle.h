/*
 * Demangles names of C++ (Itanium ABI), Rust (legacy and v0) and D. Names of Swift stay as they
 * are: no library here demangles them.
 *
 * libiberty does the work. Its callback interface is used, because it needs no memory of its own
 * and can be left half way: a mangled name of a hundred bytes can stand for gigabytes of text. Such
 * a name is shown mangled.
 *
 * Threads   pure, except for the buffer that the caller passes.
 * See       symbol_builder.h, which demangles each name once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longer texts are not made, since they are of no use to a reader. */
#define HS_DEMANGLED_BYTES_MAX 65536U

/*
 * Writes the demangled form of `name` to out[0 .. out_bytes), NUL-terminated. False when the name
 * is not mangled, or its demangled form does not fit.
 */
bool hs_demangle(const char *name, char *out, size_t out_bytes);
