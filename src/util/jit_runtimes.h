/*
 * Runtimes that make code while a program runs, and how a user gets names for that code.
 *
 * A runtime is recognized by the name of the program, or of a library that it has mapped.
 *
 * Threads   pure functions.
 * See       docs/SYMBOLS.md, "Code made at run time"
 */
#pragma once

#include <stddef.h>

struct hs_jit_runtime {
    const char *file;   /* name of the program; of a library, without the version at its end */
    const char *name;   /* "node", "the JVM" */
    const char *remedy; /* what a user does so that the code has names: an imperative */
    /* Functions that have names without that, because the client reads them; NULL: none. */
    const char *named;
};

/* What helps with a runtime that is not known. */
#define HS_JIT_REMEDY_ANY                                                                          \
    "have its runtime write a perf map, as node --perf-basic-prof or python3.12 -X perf do"

/* The runtime of which a file with this name (without folders) is a part; NULL: none that is known.
 */
const struct hs_jit_runtime *hs_jit_runtime_find(const char *file, size_t bytes);
