/*
 * What scopes cost, for callgrind: scope_cost WHAT COUNT.
 *
 * Allocates COUNT blocks in counted_malloc, and opens and ends COUNT scopes in counted_scopes, in a
 * thread that has never opened a scope (SCOPES=none), has opened and ended one (ended), or has one
 * open (open).
 */
#include <heapscope/heapscope.h>

#include <stdlib.h>
#include <string.h>

void *counted_malloc(size_t size_bytes);
void counted_scopes(long count);

__attribute__((noinline)) void *counted_malloc(size_t size_bytes)
{
    void *ptr = malloc(size_bytes);
    __asm__ volatile("" : "+r"(ptr)); /* prevents a tail call */
    return ptr;
}

__attribute__((noinline)) void counted_scopes(long count)
{
    for (long i = 0; i < count; i++) {
        heapscope_scope_begin("counted");
        __asm__ volatile("" ::: "memory");
        heapscope_scope_end();
    }
}

int main(int argc, char **argv)
{
    const char *scopes = getenv("SCOPES");
    if (argc != 3 || !scopes) {
        return 2;
    }
    long count = strtol(argv[2], NULL, 10);
    if (strcmp(scopes, "none") != 0) {
        heapscope_scope_begin("first");
    }
    if (strcmp(scopes, "ended") == 0) {
        heapscope_scope_end();
    }
    for (long i = 0; i < count; i++) {
        free(counted_malloc(64));
    }
    counted_scopes(count);
    return 0;
}
