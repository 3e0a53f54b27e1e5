/*
 * The program that callgrind measures: the client's work for one allocation, in functions of their
 * own.
 *
 *     instructions DEPTH COUNT
 *
 * Allocates and frees COUNT blocks at the end of a chain of DEPTH calls. callgrind collects only
 * inside counted_malloc or counted_free. Work that is done once per process, or at the first walk
 * of a stack, is the same for every COUNT: bench/instructions.py subtracts the counts of two runs.
 */
#include <stdlib.h>

void *counted_malloc(size_t size_bytes);
void counted_free(void *ptr);

__attribute__((noinline)) void *counted_malloc(size_t size_bytes)
{
    void *ptr = malloc(size_bytes);
    __asm__ volatile("" : "+r"(ptr)); /* prevents a tail call */
    return ptr;
}

__attribute__((noinline)) void counted_free(void *ptr)
{
    free(ptr);
    __asm__ volatile("");
}

static __attribute__((noinline)) long chain(long depth, long count)
{
    if (depth > 0) {
        long result = chain(depth - 1, count);
        __asm__ volatile("" : "+r"(result)); /* prevents a tail call and a loop */
        return result + 1;
    }
    for (long i = 0; i < count; i++) {
        counted_free(counted_malloc(64));
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    return chain(strtol(argv[1], NULL, 10), strtol(argv[2], NULL, 10)) < 0;
}
