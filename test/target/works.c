/*
 * Allocates and frees a little all the time, from one function, until it is killed. Its first line
 * of output says that it has begun.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 500

static void *kept[KEPT];

__attribute__((noinline)) static void work_on(unsigned i)
{
    free(kept[i % KEPT]);
    kept[i % KEPT] = malloc(10000);
    if (kept[i % KEPT]) {
        memset(kept[i % KEPT], 1, 10);
    }
}

int main(void)
{
    for (unsigned i = 0;; i++) {
        work_on(i);
        if (i == KEPT) {
            puts("works");
            fflush(stdout);
        }
        if (i > KEPT) {
            usleep(500);
        }
    }
}
