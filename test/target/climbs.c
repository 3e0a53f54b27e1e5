/*
 * A heap of a commanded height. For each number N on standard input, it allocates N blocks of
 * 100,000 bytes above 50,000 bytes that stay, frees them all, and then prints N.
 */
#include <stdio.h>

#include "truth.h"

SITE(site_base, malloc(n))
SITE(site_summit, malloc(n))

#define BLOCKS 1000

static void *blocks[BLOCKS];

int main(void)
{
    char line[64];
    void *base = NULL;
    while (fgets(line, sizeof(line), stdin)) {
        unsigned count = (unsigned)atoi(line);
        base = base ? base : site_base(50000);
        for (unsigned i = 0; i < count && i < BLOCKS; i++) {
            blocks[i] = site_summit(100000);
        }
        for (unsigned i = 0; i < count && i < BLOCKS; i++) {
            SITE_FREE(site_summit, blocks[i], 100000);
        }
        printf("%u\n", count);
        fflush(stdout);
    }
    SITE_FREE(site_base, base, 50000);
    return 0;
}
