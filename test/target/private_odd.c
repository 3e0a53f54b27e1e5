/*
 * A program with an embedded allocator whose functions take their arguments in the unusual ways of
 * allocators other than malloc: in place, by count, by address, with a heap, and with failures that
 * free the block. Each function works on its own.
 *
 *     work      calls all of them, successfully and unsuccessfully
 */
#include <errno.h>

#include "truth.h"

#define HEAD 64
#define API  __attribute__((noipa))

static char *at, *end;
static int is_failing;

static void *give(size_t n, size_t align)
{
    if (is_failing) {
        return NULL;
    }
    if (!at) {
        at = mmap(NULL, 1 << 28, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = at + (1 << 28);
    }
    char *block = (char *)(((uintptr_t)at + HEAD + align - 1) / align * align);
    if (n > (size_t)(end - block)) {
        return NULL;
    }
    at = block + n + 16;
    memcpy(block - sizeof(n), &n, sizeof(n));
    return block;
}

static void *move(void *old, size_t n, size_t align)
{
    size_t was = 0;
    char *block = give(n, align);
    if (block && old) {
        memcpy(&was, (char *)old - sizeof(was), sizeof(was));
        memcpy(block, old, was < n ? was : n);
    }
    return block;
}

API void *mi_malloc(size_t n)
{
    return give(n, 16);
}

API void mi_free(void *p)
{
    if (p) {
        memset(p, 0x55, 1);
    }
}

API void mi_free_size_aligned(void *p, size_t n, size_t align)
{
    memset(p, 0x66, n && align);
}

API void *mi_malloc_aligned(size_t n, size_t align)
{
    return give(n, align);
}

API void *mi_mallocn(size_t count, size_t n)
{
    size_t total;
    return __builtin_mul_overflow(count, n, &total) ? NULL : give(total, 16);
}

API int mi_posix_memalign(void **ret, size_t align, size_t n)
{
    void *p = give(n, align);
    if (p) {
        *ret = p;
    }
    return p ? 0 : ENOMEM;
}

API void *mi_realloc_aligned(void *p, size_t n, size_t align)
{
    return move(p, n, align);
}

API void *mi_reallocf(void *p, size_t n)
{
    return move(p, n, 16);
}

API void *mi_recalloc(void *p, size_t count, size_t n)
{
    return move(p, count * n, 16);
}

API void *mi_expand(void *p, size_t n)
{
    if (is_failing) {
        return NULL;
    }
    memcpy((char *)p - sizeof(n), &n, sizeof(n));
    return p;
}

API int mi_reallocarr(void *ptr, size_t count, size_t n)
{
    void *old, *p;
    memcpy(&old, ptr, sizeof(old));
    p = move(old, count * n, 16);
    if (p) {
        memcpy(ptr, &p, sizeof(p));
    }
    return p ? 0 : ENOMEM;
}

API void *mi_heap_realloc(void *heap, void *p, size_t n)
{
    return heap ? move(p, n, 16) : NULL;
}

API void *mi_heap_recalloc_aligned_at(void *heap, void *p, size_t count, size_t n, size_t align,
                                      size_t off)
{
    return heap && off == 6 ? move(p, count * n, align) : NULL;
}

API void *mi_aligned_offset_recalloc(void *p, size_t count, size_t n, size_t align, size_t off)
{
    return off == 5 ? move(p, count * n, align) : NULL;
}

SITE(site_aligned, mi_malloc_aligned(n, 4096))
SITE(site_mallocn, mi_mallocn(n / 8, 8))
SITE(site_base, mi_malloc(n))
SITE_OF(site_posix)
SITE_OF(site_realloc_aligned)
SITE_OF(site_reallocf)
SITE_OF(site_recalloc)
SITE_OF(site_expand)

static NOINLINE void *site_posix(size_t n)
{
    void *p = (void *)1;
    volatile int error = mi_posix_memalign(&p, 256, n);
    if (error == 0) {
        SITE_GOT(site_posix, n);
    }
    return error ? NULL : p;
}

#define RESIZE(site, expression)                                                                   \
    static NOINLINE void *site(void *p, size_t n)                                                  \
    {                                                                                              \
        void *volatile block = (expression);                                                       \
        if (block) {                                                                               \
            SITE_GOT(site, n);                                                                     \
        }                                                                                          \
        return block;                                                                              \
    }
RESIZE(site_realloc_aligned, mi_realloc_aligned(p, n, 512))
RESIZE(site_reallocf, mi_reallocf(p, n))
RESIZE(site_recalloc, mi_recalloc(p, n / 2, 2))
RESIZE(site_expand, mi_expand(p, n))

static void check(int is_right)
{
    if (!is_right) {
        abort();
    }
}

/* Calls `by` for a new block that it takes over, and for one that it leaves unchanged. */
static void resize(void *(*by)(void *, size_t), size_t n, int is_freeing)
{
    void *p = site_base(n);
    check(by(p, 2 * n) != NULL);
    SITE_LOST(site_base, n);
    p = site_base(n);
    is_failing = 1;
    check(by(p, 2 * n) == NULL);
    is_failing = 0;
    if (is_freeing) {
        SITE_LOST(site_base, n);
    }
}

/* The client cannot see what becomes of the block; on failure the block stays where it was. */
static void lose(size_t n)
{
    int heap;
    void *blocks[4];
    for (int i = 0; i < 2; i++) {
        is_failing = 0;
        for (int k = 0; k < 4; k++) {
            blocks[k] = site_base(n);
        }
        is_failing = i;
        void *first = blocks[0];
        check(mi_reallocarr(&first, n, 4) == (i ? ENOMEM : 0));
        check((mi_heap_realloc(&heap, blocks[1], 2 * n) == NULL) == i);
        check((mi_heap_recalloc_aligned_at(&heap, blocks[2], n, 2, 64, 6) == NULL) == i);
        check((mi_aligned_offset_recalloc(blocks[3], n, 2, 64, 5) == NULL) == i);
        for (int k = 0; k < 4 && i == 0; k++) {
            SITE_LOST(site_base, n);
        }
    }
    is_failing = 0;
}

static void work(void)
{
    for (size_t n = 8; n <= 800; n += 8) {
        site_aligned(n);
        site_mallocn(n);
        check(mi_mallocn(SIZE_MAX / 2, 3) == NULL);
        check(site_posix(n) != NULL);
        is_failing = 1;
        check(site_posix(n) == NULL);
        is_failing = 0;
        void *p = site_base(n);
        SITE_LOST(site_base, n);
        mi_free_size_aligned(p, n, 16);
        p = site_base(n);
        SITE_LOST(site_base, n);
        mi_free(p);
        resize(site_realloc_aligned, n, 0);
        resize(site_reallocf, n, 1);
        resize(site_recalloc, n, 0);
        resize(site_expand, n, 0);
        lose(n);
    }
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "work\n") == 0) {
            work();
        }
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
