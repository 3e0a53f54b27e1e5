/* Half of its blocks stay, and half are freed and allocated again without a pause. Each block is
 * full of the time at which it was allocated (CLOCK_MONOTONIC, nanoseconds). Ends with its standard
 * input. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 4000

static uint64_t *blocks[BLOCKS];

static void make(size_t i)
{
    struct timespec now;
    size_t words = 8 + i % 64;
    blocks[i] = malloc(words * 8);
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (size_t k = 0; k < words; k++) {
        blocks[i][k] = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
}

int main(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    for (size_t i = 0; i < BLOCKS; i++) {
        make(i);
    }
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 0) == 0) {
        for (size_t i = 1; i < BLOCKS; i += 2) {
            free(blocks[i]);
            make(i);
        }
    }
    return 0;
}
