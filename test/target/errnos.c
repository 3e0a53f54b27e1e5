/*
 * Prints what the allocation functions return and leave in errno: it must be the same with and
 * without a profiler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t sizes[] = {
    0, 1, 24, 100, 4096, 70000, 1 << 22, PTRDIFF_MAX, SIZE_MAX / 2 + 9, SIZE_MAX
};
static volatile size_t aligns[] = { 0, 1, 3, 8, 16, 48, 64, 4096, 1 << 20, SIZE_MAX / 2 + 1 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void *volatile got;

/* errno is 77 before each call. Prints whether it still is, and whether the result is usable. */
#define SHOW(words, call)                                                                          \
    do {                                                                                           \
        errno = 77;                                                                                \
        got = (call);                                                                              \
        int err_ = errno;                                                                          \
        size_t usable_ = got ? malloc_usable_size(got) : 0;                                        \
        errno = 77;                                                                                \
        free(got);                                                                                 \
        printf("%s: %s errno %d usable %zu after free %d\n", words, got ? "block" : "NULL", err_,  \
               usable_, errno);                                                                    \
    } while (0)

static void *posix(size_t align, size_t n)
{
    void *p = (void *)0x77;
    int err = posix_memalign(&p, align, n);
    printf("posix_memalign(%zu, %zu) = %d%s: ", align, n, err,
           p == (void *)0x77 ? " untouched" : "");
    return err ? NULL : p;
}

int main(void)
{
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    char words[64];
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t n = sizes[i];
        snprintf(words, sizeof(words), "size %zu", n);
        printf("malloc: ");
        SHOW(words, malloc(n));
        printf("calloc 1: ");
        SHOW(words, calloc(1, n));
        printf("calloc 3: ");
        SHOW(words, calloc(3, n));
        printf("realloc NULL: ");
        SHOW(words, realloc(NULL, n));
        printf("reallocarray 2: ");
        SHOW(words, reallocarray(NULL, 2, n));
        printf("valloc: ");
        SHOW(words, valloc(n));
        printf("pvalloc: ");
        SHOW(words, pvalloc(n));
        void *old = malloc(40);
        printf("realloc: ");
        errno = 77;
        void *volatile moved = realloc(old, n);
        int err = errno;
        printf("%s errno %d\n", moved ? "block" : "NULL", err);
        if (moved) {
            free(moved);
        } else if (n != 0) {
            free(old);
        }
        old = malloc(40);
        errno = 77;
        moved = reallocarray(old, n, 3);
        err = errno;
        printf("reallocarray: %s errno %d\n", moved ? "block" : "NULL", err);
        if (moved) {
            free(moved);
        } else if (n != 0) {
            free(old);
        }
        for (size_t a = 0; a < COUNT(aligns); a++) {
            size_t align = aligns[a];
            snprintf(words, sizeof(words), "align %zu size %zu", align, n);
            if (align <= 4096 && n <= 1 << 22) { /* memalign rounds invalid alignments up */
                printf("memalign: ");
                SHOW(words, memalign(align, n));
                printf("aligned_alloc: ");
                SHOW(words, aligned_alloc(align, n));
            }
            SHOW(words, posix(align, n));
        }
    }
    errno = 77;
    free(NULL);
    printf("free(NULL): %d\n", errno);
    char *text = strdup("abc");
    printf("strdup: %s\n", text);
    free(text);
    return 0;
}
