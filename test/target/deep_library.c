/*
 * A library to open with RTLD_DEEPBIND: its calls of malloc are bound to the C library's, and
 * bypass a preloaded library. It allocates in a constructor, in all functions of the family, and in
 * a destructor.
 *
 * deep_make(i, n) allocates n bytes at its i-th site; deep_lost(i, n) subtracts such a block from
 * the truth.
 */
#include <malloc.h>

#include "truth.h"

SITE(site_deep_malloc, malloc(n))
SITE(site_deep_calloc, calloc(1, n))
SITE(site_deep_memalign, memalign(256, n))
SITE(site_deep_aligned_alloc, aligned_alloc(64, n))
SITE(site_deep_valloc, valloc(n))
SITE(site_deep_pvalloc, pvalloc(n))
#ifdef OTHER_ALLOCATOR /* needed: the C library's reallocarray calls its own realloc, but the
                        * block belongs to the other allocator */
SITE(site_deep_reallocarray, realloc(NULL, n))
#else
SITE(site_deep_reallocarray, reallocarray(NULL, 1, n))
#endif
SITE(site_deep_small, malloc(n))
SITE(site_deep_constructor, malloc(n))
SITE(site_deep_destructor, malloc(n))

static void *aligned(size_t n)
{
    void *p = NULL;
    return posix_memalign(&p, 128, n) == 0 ? p : NULL;
}

SITE(site_deep_posix_memalign, aligned(n))

static void *small;
SITE(site_deep_realloc, realloc(small, n))

static void *grown(size_t n)
{
    small = site_deep_small(24);
    SITE_LOST(site_deep_small, 24);
    return site_deep_realloc(n);
}

#define SITES(X)                                                                                   \
    X(site_deep_malloc, site_deep_malloc)                                                          \
    X(site_deep_calloc, site_deep_calloc)                                                          \
    X(site_deep_memalign, site_deep_memalign)                                                      \
    X(site_deep_aligned_alloc, site_deep_aligned_alloc)                                            \
    X(site_deep_valloc, site_deep_valloc)                                                          \
    X(site_deep_pvalloc, site_deep_pvalloc)                                                        \
    X(site_deep_reallocarray, site_deep_reallocarray)                                              \
    X(site_deep_posix_memalign, site_deep_posix_memalign)                                          \
    X(site_deep_realloc, grown)

#define MAKER(site, maker) maker,
#define LOSER(site, maker)                                                                         \
    static void lose_##site(size_t n)                                                              \
    {                                                                                              \
        SITE_LOST(site, n);                                                                        \
    }
#define ENTRY(site, maker) lose_##site,

SITES(LOSER)
static void *(*const makers[])(size_t) = { SITES(MAKER) };
static void (*const losers[])(size_t) = { SITES(ENTRY) };

unsigned deep_count(void);
void *deep_make(unsigned i, size_t n);
void deep_lost(unsigned i, size_t n);
void deep_free(void *p);

unsigned deep_count(void)
{
    return sizeof(makers) / sizeof(makers[0]);
}

void *deep_make(unsigned i, size_t n)
{
    return makers[i](n);
}

void deep_lost(unsigned i, size_t n)
{
    losers[i](n);
}

void deep_free(void *p)
{
    free(p);
}

__attribute__((constructor)) static void first(void)
{
    void *p = site_deep_constructor(1000);
    site_deep_constructor(3000);
    SITE_FREE(site_deep_constructor, p, 1000);
}

__attribute__((destructor)) static void last(void)
{
    site_deep_destructor(500);
}
