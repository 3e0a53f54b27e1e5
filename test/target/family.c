/*
 * Calls every C function that allocates or frees, each at sites of its own, with all the ways in
 * which it can fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "truth.h"

#define MANY 100

static void *volatile kept[64][MANY];
static unsigned kept_count;

/* Keeps half of the blocks of a site and frees the others with `release`. */
typedef void *(*site_fn)(size_t n);
typedef void (*release_fn)(void *p, size_t n);

static void *aligned_by_posix(size_t align, size_t n)
{
    void *p = NULL;
    return posix_memalign(&p, align, n) == 0 ? p : NULL;
}

SITE(site_malloc, malloc(n))
SITE(site_calloc, calloc(1, n))
SITE(site_realloc_null, realloc(NULL, n))
SITE(site_reallocarray_null, reallocarray(NULL, 1, n))
SITE(site_memalign, memalign(64, n))
SITE(site_posix_memalign, aligned_by_posix(256, n))
SITE(site_aligned_alloc, aligned_alloc(64, n))
SITE(site_valloc, valloc(n))
SITE(site_pvalloc, pvalloc(n))
SITE(site_free_sized, malloc(n))
SITE(site_free_aligned_sized, aligned_alloc(128, n))
SITE(site_cfree, malloc(n))
SITE(site_zero, malloc(n))
SITE(site_zero_calloc, calloc(n, 8))
SITE(site_big, malloc(n))

static void (*free_sized_fn)(void *, size_t);
static void (*free_aligned_sized_fn)(void *, size_t, size_t);
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5");
void old_cfree(void *ptr);

#define RELEASE(site, call)                                                                        \
    static void site##_release(void *p, size_t n)                                                  \
    {                                                                                              \
        SITE_LOST(site, n);                                                                        \
        call;                                                                                      \
    }
RELEASE(site_malloc, free(p))
RELEASE(site_calloc, free(p))
RELEASE(site_realloc_null, free(p))
RELEASE(site_reallocarray_null, free(p))
RELEASE(site_memalign, free(p))
RELEASE(site_posix_memalign, free(p))
RELEASE(site_aligned_alloc, free(p))
RELEASE(site_valloc, free(p))
RELEASE(site_pvalloc, free(p))
RELEASE(site_free_sized, free_sized_fn ? free_sized_fn(p, n) : free(p))
RELEASE(site_free_aligned_sized, free_aligned_sized_fn ? free_aligned_sized_fn(p, 128, n) : free(p))
RELEASE(site_cfree, old_cfree(p))
RELEASE(site_zero, free(p))
RELEASE(site_zero_calloc, free(p))
RELEASE(site_big, free(p))

static void use(site_fn site, release_fn release, size_t first, size_t step)
{
    unsigned row = kept_count++;
    for (unsigned i = 0; i < MANY; i++) {
        kept[row][i] = site(first + i * step);
    }
    for (unsigned i = 0; i < MANY; i += 2) {
        release(kept[row][i], first + i * step);
    }
}

/* --- realloc ---------------------------------------------------------------------------------- */

SITE_OF(site_grow)
NOINLINE void *site_grow(void *old, size_t old_bytes, size_t n)
{
    SITE_LOST(site_grow, old_bytes);
    void *volatile p = realloc(old, n);
    SITE_GOT(site_grow, n);
    return p;
}

SITE_OF(site_array)
NOINLINE void *site_array(void *old, size_t old_count, size_t count)
{
    SITE_LOST(site_array, old_count * 24);
    void *volatile p = reallocarray(old, count, 24);
    SITE_GOT(site_array, count * 24);
    return p;
}

SITE(site_grow_first, malloc(n))

static void realloc_chains(void)
{
    /* A block belongs to the site that reallocated it last. */
    char *p = site_grow_first(10);
    SITE_LOST(site_grow_first, 10);
    SITE_ADOPTED(site_grow, 10);
    size_t bytes = 10;
    for (unsigned i = 0; i < 200; i++) {
        size_t next = i % 3 == 2 ? bytes / 2 + 1 : bytes + bytes / 2 + 7;
        p = site_grow(p, bytes, next);
        bytes = next;
        if (bytes > 8000000) {
            bytes = next = 100;
            p = site_grow(p, 8000001, 100);
        }
    }
    kept[kept_count++][0] = p;
    void *a = reallocarray(NULL, 0, 0);
    free(a);
    a = site_malloc(240);
    SITE_LOST(site_malloc, 240);
    SITE_ADOPTED(site_array, 240);
    for (size_t count = 10; count < 3000; count += 37) {
        a = site_array(a, count, count + 37);
        if (count > 2900) {
            break;
        }
    }
    kept[kept_count++][0] = a;
}

SITE(site_survivor, malloc(n))

/* realloc(p, 0) frees. It returns NULL, so its own site has no figures. */
SITE(site_shrunk_away, malloc(n))

static void failures(void)
{
    volatile size_t huge = PTRDIFF_MAX;
    volatile size_t most = SIZE_MAX;
    volatile size_t half = SIZE_MAX / 2 + 2;
    for (unsigned i = 0; i < 20; i++) {
        char *p = site_survivor(100 + i);
        p[0] = 'x';
        if (realloc(p, huge) || reallocarray(p, half, 2) || reallocarray(p, huge, 1) ||
            realloc(p, most) || p[0] != 'x') {
            abort();
        }
        if (i % 2) {
            SITE_FREE(site_survivor, p, 100 + i);
        } else {
            kept[kept_count][i] = p;
        }
    }
    kept_count++;
    for (unsigned i = 0; i < 20; i++) {
        void *p = site_shrunk_away(64);
        SITE_LOST(site_shrunk_away, 64);
        void *volatile none = realloc(p, 0);
        if (none) {
            abort();
        }
    }
    void *p = (void *)1;
    if (malloc(huge) || calloc(half, 2) || calloc(huge, 1) || memalign(64, huge) || malloc(most) ||
        valloc(huge) || pvalloc(most) || aligned_alloc(64, huge) ||
        posix_memalign(&p, 3, 8) != EINVAL || posix_memalign(&p, 64, huge) != ENOMEM ||
        p != (void *)1) {
        abort();
    }
    free(NULL);
    old_cfree(NULL);
    if (free_sized_fn) {
        free_sized_fn(NULL, 0);
        free_aligned_sized_fn(NULL, 8, 0);
    }
}

/* --- functions of libc that allocate through malloc ------------------------------------------- */

SITE(site_strdup, strdup(n == 6 ? "hello" : "good morning"))
SITE(site_strndup, strndup("0123456789abcdef", n - 1))

SITE_OF(site_asprintf)
NOINLINE char *site_asprintf(void)
{
    /* vasprintf allocates a buffer that is larger than the result, and then shrinks it. */
    char *volatile text = NULL;
    int len = asprintf((char **)&text, "%d bottles of %s", 99, "beer");
    SITE_GOT(site_asprintf, 100); /* glibc's first buffer size */
    SITE_LOST(site_asprintf, 100);
    SITE_GOT(site_asprintf, (size_t)len + 1);
    return text;
}

static void libc_functions(void)
{
    for (unsigned i = 0; i < 10; i++) {
        kept[kept_count][i] = site_strdup(6);
        kept[kept_count][20 + i] = site_strndup(8);
        kept[kept_count][40 + i] = site_strdup(13);
    }
    kept_count++;
    kept[kept_count++][0] = site_asprintf();
}

int main(void)
{
    *(void **)&free_sized_fn = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&free_aligned_sized_fn = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    use(site_malloc, site_malloc_release, 1, 13);
    use(site_calloc, site_calloc_release, 1, 17);
    use(site_realloc_null, site_realloc_null_release, 1, 19);
    use(site_reallocarray_null, site_reallocarray_null_release, 1, 23);
    use(site_memalign, site_memalign_release, 1, 29);
    use(site_posix_memalign, site_posix_memalign_release, 1, 31);
    use(site_aligned_alloc, site_aligned_alloc_release, 64, 64);
    use(site_valloc, site_valloc_release, 1, 37);
    use(site_pvalloc, site_pvalloc_release, 1, 41);
    use(site_free_sized, site_free_sized_release, 1, 43);
    use(site_free_aligned_sized, site_free_aligned_sized_release, 128, 128);
    use(site_cfree, site_cfree_release, 1, 47);
    use(site_zero, site_zero_release, 0, 0);
    use(site_zero_calloc, site_zero_calloc_release, 0, 0);
    use(site_big, site_big_release, 1 << 20, 4099);
    realloc_chains();
    failures();
    libc_functions();
    return 0;
}
