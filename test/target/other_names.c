/*
 * Calls the C library's functions in other ways than by their usual names: other_names WAY.
 *
 *     handle    dlsym and dlvsym with a handle of the C library
 *     next      dlsym(RTLD_NEXT), dlvsym(RTLD_NEXT)
 *     default   dlsym(RTLD_DEFAULT)
 *     libc      __libc_malloc, __libc_free and so on
 *     mixed     a block allocated in one way is freed in another
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>

#include "truth.h"

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void *__libc_valloc(size_t n);
void *__libc_pvalloc(size_t n);
void __libc_free(void *p);

struct family {
    void *(*malloc)(size_t n);
    void *(*calloc)(size_t count, size_t n);
    void *(*realloc)(void *p, size_t n);
    void *(*memalign)(size_t align, size_t n);
    void *(*valloc)(size_t n);
    void *(*pvalloc)(size_t n);
    void (*free)(void *p);
};

static struct family used;
static void *small;

SITE(site_named_malloc, used.malloc(n))
SITE(site_named_calloc, used.calloc(2, n / 2))
SITE(site_named_first, used.malloc(n))
SITE(site_named_realloc, used.realloc(small, n))
SITE(site_named_memalign, used.memalign(512, n))
SITE(site_named_valloc, used.valloc(n))
SITE(site_named_pvalloc, used.pvalloc(n))

static struct family look_up(void *handle, int is_versioned)
{
    struct family f;
#define LOOK(name)                                                                                 \
    *(void **)&f.name = is_versioned ? dlvsym(handle, #name, "GLIBC_2.2.5") : dlsym(handle, #name)
    LOOK(malloc);
    LOOK(calloc);
    LOOK(realloc);
    LOOK(memalign);
    LOOK(valloc);
    LOOK(pvalloc);
    LOOK(free);
    return f;
}

#define FREED(site, p, n)                                                                          \
    do {                                                                                           \
        SITE_LOST(site, n);                                                                        \
        release(p);                                                                                \
    } while (0)

static void work(void (*release)(void *))
{
    for (size_t n = 2; n < 5000; n += 998) {
        void *p = site_named_malloc(n);
        site_named_malloc(n);
        FREED(site_named_malloc, p, n);
        p = site_named_calloc(n);
        site_named_calloc(n);
        FREED(site_named_calloc, p, n);
        small = site_named_first(10);
        SITE_LOST(site_named_first, 10);
        p = site_named_realloc(n);
        FREED(site_named_realloc, p, n);
        p = site_named_memalign(n);
        site_named_memalign(n);
        FREED(site_named_memalign, p, n);
        site_named_valloc(n);
        site_named_pvalloc(n);
    }
}

int main(int argc, char **argv)
{
    const struct family by_libc = {
        __libc_malloc, __libc_calloc,  __libc_realloc, __libc_memalign,
        __libc_valloc, __libc_pvalloc, __libc_free,
    };
    const char *way = argc > 1 ? argv[1] : "";
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    for (int is_versioned = 0; is_versioned < 2; is_versioned++) {
        if (strcmp(way, "handle") == 0) {
            used = look_up(libc, is_versioned);
        } else if (strcmp(way, "next") == 0) {
            used = look_up(RTLD_NEXT, is_versioned);
        } else if (strcmp(way, "default") == 0) {
            used = look_up(RTLD_DEFAULT, is_versioned);
        } else {
            used = by_libc;
        }
        work(strcmp(way, "mixed") == 0 ? free : used.free);
    }
    return 0;
}
