/* An allocator that a Python program puts in front of the interpreter's own by PyMem_SetAllocator,
 * as the documentation of that function describes. A library that the program loads by ctypes. */
#include <stddef.h>

struct allocator {
    void *ctx;
    void *(*malloc)(void *ctx, size_t bytes);
    void *(*calloc)(void *ctx, size_t count, size_t bytes);
    void *(*realloc)(void *ctx, void *ptr, size_t bytes);
    void (*free)(void *ctx, void *ptr);
};

void PyMem_GetAllocator(int domain, struct allocator *ret_allocator);
void PyMem_SetAllocator(int domain, struct allocator *allocator);

#define DOMAIN_OBJECT 2

static struct allocator inner;
static long alloc_count, free_count;

static void *count_malloc(void *ctx, size_t bytes)
{
    alloc_count++;
    return inner.malloc(((struct allocator *)ctx)->ctx, bytes);
}

static void *count_calloc(void *ctx, size_t count, size_t bytes)
{
    alloc_count++;
    return inner.calloc(((struct allocator *)ctx)->ctx, count, bytes);
}

static void *count_realloc(void *ctx, void *ptr, size_t bytes)
{
    return inner.realloc(((struct allocator *)ctx)->ctx, ptr, bytes);
}

static void count_free(void *ctx, void *ptr)
{
    free_count++;
    inner.free(((struct allocator *)ctx)->ctx, ptr);
}

void put_in_front(void);
void put_in_front(void)
{
    struct allocator counting = { &inner, count_malloc, count_calloc, count_realloc, count_free };
    PyMem_GetAllocator(DOMAIN_OBJECT, &inner);
    PyMem_SetAllocator(DOMAIN_OBJECT, &counting);
}

/* Returns how often it was called. */
long take_away(void);
long take_away(void)
{
    PyMem_SetAllocator(DOMAIN_OBJECT, &inner);
    return alloc_count + free_count;
}
