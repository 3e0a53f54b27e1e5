/*
 * The code of the library that serves malloc, when that is not the C library.
 *
 * Such an allocator (jemalloc, mimalloc, tcmalloc) maps its memory through the C library, so its
 * calls come to our hooks. They are told from the program's own by the address that they return to.
 * (The C library's malloc makes its system calls without calling a function that has a hook.)
 *
 * Threads   any, once hs_allocator_code_find has been called.
 * Fails     without _dl_find_object (glibc before 2.35) nothing is known to be an allocator's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Looks for libraries that define malloc, free and calloc. Called while the list of loaded objects
 * does not change up to the last one that stays; once. */
void hs_allocator_code_find(void);

/* Does `pc` lie in such a library? */
bool hs_allocator_code_has(uint64_t pc);
