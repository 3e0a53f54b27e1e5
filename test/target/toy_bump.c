/*
 * A toy allocator that is async-signal-safe: it only moves a pointer, and free does nothing.
 *
 * With -DBY_NAME, calloc, realloc and posix_memalign call malloc and free by name, as in some
 * allocators: those calls reach a library that is preloaded in front of it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA ((size_t)64 << 30)

static char *arena;
static size_t used;

static void *bump(size_t align, size_t n)
{
    char *base = __atomic_load_n(&arena, __ATOMIC_ACQUIRE);
    if (!base) {
        void *map = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map == MAP_FAILED) {
            return NULL;
        }
        if (!__atomic_compare_exchange_n(&arena, &base, (char *)map, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            munmap(map, ARENA);
        } else {
            base = map;
        }
    }
    if (n > ARENA / 2) {
        errno = ENOMEM;
        return NULL;
    }
    size_t room = n + align + 16;
    size_t at = __atomic_fetch_add(&used, (room + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + room > ARENA) {
        errno = ENOMEM;
        return NULL;
    }
    char *p = (char *)(((uintptr_t)base + at + 16 + align - 1) & ~(uintptr_t)(align - 1));
    ((size_t *)(void *)p)[-1] = n;
    return p;
}

void *malloc(size_t n)
{
    return bump(16, n);
}

void free(void *p)
{
    (void)p;
}

#ifdef BY_NAME
#define INNER_MALLOC malloc
#define INNER_FREE   free
#else
#define INNER_MALLOC(n) bump(16, n)
#define INNER_FREE(p)   ((void)(p))
#endif

void *calloc(size_t count, size_t n)
{
    size_t total;
    if (__builtin_mul_overflow(count, n, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *volatile p = INNER_MALLOC(total); /* a fresh mapping is zero */
    return p;
}

void *realloc(void *old, size_t n)
{
    if (!old) {
        void *volatile p = INNER_MALLOC(n);
        return p;
    }
    if (n == 0) {
        INNER_FREE(old);
        return NULL;
    }
    size_t old_bytes = ((size_t *)old)[-1];
    void *p = old;
    if (n > old_bytes) { /* otherwise it grows in place, so it calls malloc only now and then */
        p = INNER_MALLOC(n);
        if (p) {
            memcpy(p, old, old_bytes);
            INNER_FREE(old);
        }
    } else {
        ((size_t *)old)[-1] = n;
    }
    return p;
}

int posix_memalign(void **ret, size_t align, size_t n)
{
    if (align < sizeof(void *) || (align & (align - 1)) != 0) {
        return EINVAL;
    }
#ifdef BY_NAME
    void *volatile p = align <= 16 ? malloc(n) : bump(align, n);
#else
    void *p = bump(align, n);
#endif
    if (!p) {
        return ENOMEM;
    }
    *ret = p;
    return 0;
}
