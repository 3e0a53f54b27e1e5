/*
 * A program with its own malloc in the executable: a preloaded library sees none of its
 * allocations.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t n)
{
    size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (n > sizeof(arena) || at + n + 16 > sizeof(arena)) {
        return NULL;
    }
    memcpy(arena + at, &n, sizeof(n));
    return arena + at + 16;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t count, size_t n)
{
    return malloc(count * n);
}

void *realloc(void *p, size_t n)
{
    size_t old = 0;
    void *q = malloc(n);
    if (p && q) {
        memcpy(&old, (char *)p - 16, sizeof(old));
        memcpy(q, p, old < n ? old : n);
    }
    return q;
}

int main(void)
{
    char *text = strdup("hello from my own heap");
    puts(text);
    free(text);
    return 0;
}
