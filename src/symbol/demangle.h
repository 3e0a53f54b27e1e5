/*
 * Demangling: C++ (Itanium ABI) and Rust (legacy and v0) names as people write them.
 *
 * libiberty does the work. It is driven through its callback interface, which needs no memory of
 * its own and can be left half way: a mangled name of a hundred bytes can stand for gigabytes of
 * text, and such a name is shown as it is instead.
 *
 * Threads   pure, but for the buffer that the caller gives.
 * See       symbol_builder.h, which demangles each name once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longer texts are not made: nobody reads them. */
#define HS_DEMANGLED_BYTES_MAX 65536U

/*
 * Writes the readable form of `name` to out[0 .. out_bytes), NUL-terminated. False when the name is
 * not mangled, or its readable form does not fit.
 */
bool hs_demangle(const char *name, char *out, size_t out_bytes);
