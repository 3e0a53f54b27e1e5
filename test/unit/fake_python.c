/* What test_python_slots.c takes for a Python interpreter: allocators behind structures, and others
 * in front of them, as CPython has them. */
#include "fake_python.h"

#include <stdlib.h>
#include <string.h>

struct fake_functions {
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

struct fake_allocator {
    void *ctx;
    struct fake_functions functions;
};

/* The functions of one allocator: how often each was called is in `calls`. */
#define ALLOCATOR(NAME)                                                                            \
    static unsigned NAME##_calls;                                                                  \
    static void *NAME##_malloc(void *ctx, size_t n)                                                \
    {                                                                                              \
        NAME##_calls++;                                                                            \
        return ctx ? fake_inner(ctx)->functions.malloc(fake_inner(ctx)->ctx, n) : malloc(n);       \
    }                                                                                              \
    static void *NAME##_calloc(void *ctx, size_t k, size_t n)                                      \
    {                                                                                              \
        NAME##_calls++;                                                                            \
        return ctx ? fake_inner(ctx)->functions.calloc(fake_inner(ctx)->ctx, k, n) : calloc(k, n); \
    }                                                                                              \
    static void *NAME##_realloc(void *ctx, void *p, size_t n)                                      \
    {                                                                                              \
        NAME##_calls++;                                                                            \
        return ctx ? fake_inner(ctx)->functions.realloc(fake_inner(ctx)->ctx, p, n)                \
                   : realloc(p, n);                                                                \
    }                                                                                              \
    static void NAME##_free(void *ctx, void *p)                                                    \
    {                                                                                              \
        NAME##_calls++;                                                                            \
        if (ctx) {                                                                                 \
            fake_inner(ctx)->functions.free(fake_inner(ctx)->ctx, p);                              \
        } else {                                                                                   \
            free(p);                                                                               \
        }                                                                                          \
    }                                                                                              \
    static const struct fake_functions NAME = { NAME##_malloc, NAME##_calloc, NAME##_realloc,      \
                                                NAME##_free }

/* The context of debug hooks begins with a letter, that of tracemalloc is the allocator itself. */
struct fake_debug {
    char letter;
    struct fake_allocator inner;
};

static struct fake_allocator traced;
static struct fake_debug debugged;

static const struct fake_allocator *fake_inner(const void *ctx)
{
    return ctx == &debugged ? &debugged.inner : ctx;
}

ALLOCATOR(raw);
ALLOCATOR(pymalloc);
ALLOCATOR(debug);
ALLOCATOR(trace);

static struct fake_allocator domains[3];
/* As in CPython, it has pymalloc's functions before anything begins. */
static struct fake_debug debugged = {
    'o', { NULL, { pymalloc_malloc, pymalloc_calloc, pymalloc_realloc, pymalloc_free } }
};

static struct fake_functions foreign;

void PyMem_GetAllocator(int domain, struct fake_allocator *ret_allocator);
void PyMem_GetAllocator(int domain, struct fake_allocator *ret_allocator)
{
    *ret_allocator = domains[domain];
}

void PyObject_Calloc(void);
void PyObject_Calloc(void)
{
}

static void *map_arena(void *ctx, size_t bytes)
{
    (void)ctx;
    return malloc(bytes);
}

struct fake_arena_allocator {
    void *ctx;
    void *(*alloc)(void *, size_t);
    void (*free)(void *, void *, size_t);
};

void PyObject_GetArenaAllocator(struct fake_arena_allocator *ret_allocator);
void PyObject_GetArenaAllocator(struct fake_arena_allocator *ret_allocator)
{
    *ret_allocator = (struct fake_arena_allocator){ NULL, map_arena, NULL };
}

void fake_python_begin(enum fake_python_mode mode, const void *foreign_functions)
{
    domains[0] = (struct fake_allocator){ NULL, raw };
    domains[1] = domains[2] =
        (struct fake_allocator){ NULL, mode == FAKE_PYTHON_MALLOC ? raw : pymalloc };
    if (mode == FAKE_PYTHON_DEBUG || mode == FAKE_PYTHON_BOTH) {
        debugged.inner = domains[2];
        domains[2] = (struct fake_allocator){ &debugged, debug };
    }
    if (mode == FAKE_PYTHON_TRACED || mode == FAKE_PYTHON_BOTH) {
        traced = domains[2];
        domains[2] = (struct fake_allocator){ &traced, trace };
    }
    if (mode == FAKE_PYTHON_FOREIGN) {
        memcpy(&foreign, foreign_functions, sizeof(foreign));
        domains[2] = (struct fake_allocator){ NULL, foreign };
    }
    raw_calls = pymalloc_calls = debug_calls = trace_calls = 0;
}

unsigned fake_python_calls(void)
{
    void *block = domains[2].functions.malloc(domains[2].ctx, 10);
    block = domains[2].functions.realloc(domains[2].ctx, block, 20);
    domains[2].functions.free(domains[2].ctx, block);
    domains[2].functions.free(domains[2].ctx, domains[2].functions.calloc(domains[2].ctx, 1, 9));
    return pymalloc_calls;
}

unsigned long fake_python_arena_va(void)
{
    return (unsigned long)map_arena;
}
