/* An allocator that a Python program puts in front of the interpreter's malloc by
 * PyMem_SetAllocator: it asks for more than it was asked for, and writes behind the block. A
 * library that the program loads by ctypes. */
#include <stddef.h>
#include <string.h>

struct allocator {
    void *ctx;
    void *(*malloc)(void *ctx, size_t bytes);
    void *(*calloc)(void *ctx, size_t count, size_t bytes);
    void *(*realloc)(void *ctx, void *ptr, size_t bytes);
    void (*free)(void *ctx, void *ptr);
};

void PyMem_GetAllocator(int domain, struct allocator *ret_allocator);
void PyMem_SetAllocator(int domain, struct allocator *allocator);

#define DOMAIN_RAW  0
#define GUARD_BYTES 32

static struct allocator inner;

static void *guard(void *ptr, size_t bytes)
{
    if (ptr) {
        memset((char *)ptr + bytes, 0xfd, GUARD_BYTES);
    }
    return ptr;
}

static void *guard_malloc(void *ctx, size_t bytes)
{
    (void)ctx;
    return guard(inner.malloc(inner.ctx, bytes + GUARD_BYTES), bytes);
}

static void *guard_calloc(void *ctx, size_t count, size_t bytes)
{
    (void)ctx;
    return guard(inner.calloc(inner.ctx, 1, count * bytes + GUARD_BYTES), count * bytes);
}

static void *guard_realloc(void *ctx, void *ptr, size_t bytes)
{
    (void)ctx;
    return guard(inner.realloc(inner.ctx, ptr, bytes + GUARD_BYTES), bytes);
}

static void guard_free(void *ctx, void *ptr)
{
    (void)ctx;
    inner.free(inner.ctx, ptr);
}

void put_in_front(void);
void put_in_front(void)
{
    struct allocator guarding = { NULL, guard_malloc, guard_calloc, guard_realloc, guard_free };
    PyMem_GetAllocator(DOMAIN_RAW, &inner);
    PyMem_SetAllocator(DOMAIN_RAW, &guarding);
}
