/*
 * A malloc that wraps the C library's: in a program (wrapping), or in a library (-DLIBRARY) that is
 * preloaded.
 *
 *     -DBY_NEXT   finds the C library's by dlsym(RTLD_NEXT); otherwise calls it by its second name
 *
 * Optimized, it jumps to the inner function and leaves no frame.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *__libc_malloc(size_t n);
void __libc_free(void *p);

#ifdef BY_NEXT
static void *(*next_malloc)(size_t n);
static void (*next_free)(void *p);

__attribute__((optimize("O2"))) void *malloc(size_t n)
{
    if (!next_malloc) {
        *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    }
    return next_malloc(n);
}

__attribute__((optimize("O2"))) void free(void *p)
{
    if (!next_free) {
        *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    }
    next_free(p);
}
#else
__attribute__((optimize("O2"))) void *malloc(size_t n)
{
    return __libc_malloc(n);
}

__attribute__((optimize("O2"))) void free(void *p)
{
    __libc_free(p);
}
#endif

#ifndef LIBRARY
#include "truth.h"

SITE(site_wrapped, malloc(n))
SITE(site_passed_by, __libc_malloc(n))

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
    for (size_t i = 0; i < count; i++) {
        void *p = site_wrapped(100);
        if (i % 2) {
            SITE_FREE(site_wrapped, p, 100);
        }
        if (i % 10 == 0) {
            site_passed_by(70);
        }
    }
    return 0;
}
#endif
