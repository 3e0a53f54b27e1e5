/*
 * A toy allocator to link into a program: free lists of powers of two, behind a mutex. Its
 * functions call each other by name, as in many allocators.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CLASSES 48
#define HEAD    16

struct block {
    size_t class_idx;    /* size class of the piece */
    struct block *start; /* start of the piece; an aligned block has a second head inside it */
};

static struct block *lists[CLASSES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct block *take(size_t class_idx)
{
    pthread_mutex_lock(&mutex);
    struct block *found = lists[class_idx];
    if (found) {
        memcpy(&lists[class_idx], found + 1, sizeof(struct block *));
    }
    pthread_mutex_unlock(&mutex);
    if (!found) {
        found = mmap(NULL, (size_t)1 << class_idx, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return found == MAP_FAILED ? NULL : found;
}

__attribute__((noinline)) static void clear(void *p, size_t n)
{
    memset(p, 0, n);
}

static __attribute__((noinline)) void *allocate(size_t n)
{
    size_t class_idx = 6;
    while (class_idx < CLASSES && ((size_t)1 << class_idx) - HEAD < n) {
        class_idx++;
    }
    struct block *found = class_idx < CLASSES ? take(class_idx) : NULL;
    if (!found) {
        errno = ENOMEM;
        return NULL;
    }
    found->class_idx = class_idx;
    found->start = found;
    return found + 1;
}

void *malloc(size_t n)
{
    return allocate(n);
}

void free(void *p)
{
    if (p) {
        struct block *start = ((struct block *)p - 1)->start;
        size_t class_idx = start->class_idx;
        pthread_mutex_lock(&mutex);
        memcpy(start + 1, &lists[class_idx], sizeof(struct block *));
        lists[class_idx] = start;
        pthread_mutex_unlock(&mutex);
    }
}

void *calloc(size_t count, size_t n)
{
    size_t total;
    if (__builtin_mul_overflow(count, n, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = malloc(total);
    if (p) {
        clear(p, total);
    }
    return p;
}

static size_t room_of(void *p)
{
    struct block *start = ((struct block *)p - 1)->start;
    return (size_t)((char *)start + ((size_t)1 << start->class_idx) - (char *)p);
}

void *realloc(void *p, size_t n)
{
    if (p && n > 0 && room_of(p) >= n) {
        return p;
    }
    void *moved = malloc(n);
    if (moved && p) {
        memcpy(moved, p, room_of(p) < n ? room_of(p) : n);
        free(p);
    }
    return moved;
}

void *memalign(size_t align, size_t n)
{
    char *p = allocate(n + align + HEAD);
    if (!p) {
        return NULL;
    }
    char *moved = (char *)(((uintptr_t)p + HEAD + align - 1) / align * align);
    ((struct block *)(void *)moved - 1)->start = (struct block *)(void *)p - 1;
    return moved;
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **ret, size_t align, size_t n)
{
    void *p = memalign(align, n);
    *ret = p ? p : *ret;
    return p ? 0 : ENOMEM;
}

void *valloc(size_t n)
{
    return memalign(4096, n);
}

void *pvalloc(size_t n)
{
    return memalign(4096, (n + 4095) / 4096 * 4096);
}
