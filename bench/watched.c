/*
 * A program that is watched: so many live blocks, from so many places, and then as many times frees
 * one of them and allocates another. Prints how much CPU time one such exchange took, in
 * nanoseconds, and ends.
 *
 *     watched BLOCKS EXCHANGES [PAUSE_US]
 *
 * With a pause it waits after each thousand exchanges, and prints nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACES 4
#ifndef DEPTH
#define DEPTH 10
#endif

static uint64_t state = 88172645463325252U;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Each of the functions is a frame of its own, so that there are 4 * 2^DEPTH stacks. */
#define KEEP_FRAME() __asm__ volatile("" : : : "memory")
#define PLACE(number)                                                                              \
    __attribute__((noinline)) static void *place##number(size_t bytes)                             \
    {                                                                                              \
        void *block = malloc(bytes + (number)*16);                                                 \
        KEEP_FRAME();                                                                              \
        return block;                                                                              \
    }

PLACE(0)
PLACE(1)
PLACE(2)
PLACE(3)

static void *turn(unsigned depth, uint64_t choice);

__attribute__((noinline)) static void *left(unsigned depth, uint64_t choice)
{
    void *block = turn(depth, choice);
    KEEP_FRAME();
    return block;
}

__attribute__((noinline)) static void *right(unsigned depth, uint64_t choice)
{
    void *block = turn(depth, choice);
    KEEP_FRAME();
    KEEP_FRAME();
    return block;
}

__attribute__((noinline)) static void *turn(unsigned depth, uint64_t choice)
{
    static void *(*const places[PLACES])(size_t) = { place0, place1, place2, place3 };
    void *block = depth == 0   ? places[choice % PLACES](24 + choice % 64)
                  : choice & 1 ? left(depth - 1, choice >> 1)
                               : right(depth - 1, choice >> 1);
    KEEP_FRAME();
    return block;
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 1000000;
    size_t exchanges = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    unsigned pause_us = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    void **blocks = malloc(count * sizeof(*blocks));
    if (!blocks) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        blocks[i] = turn(DEPTH, next_random());
    }
    double begin_ns = cpu_ns();
    for (size_t i = 0; i < exchanges; i++) {
        size_t k = next_random() % count;
        free(blocks[k]);
        blocks[k] = turn(DEPTH, next_random());
        if (pause_us > 0 && i % 1000 == 999) {
            usleep(pause_us);
        }
    }
    if (pause_us == 0) {
        printf("%.1f\n", (cpu_ns() - begin_ns) / (double)exchanges);
    }
    return 0;
}
