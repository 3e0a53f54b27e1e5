/*
 * A heap that rises and falls three times; the second peak is the highest. Prints what each site
 * held at that moment, as "site bytes count" lines.
 *
 *     peaks SCALE [end]     end: it rises once more at the end, higher than before, and stays there
 */
#include <stdio.h>

#include "truth.h"

SITE(site_base, malloc(n))
SITE(site_first, malloc(n))
SITE(site_second, malloc(n))
SITE(site_third, malloc(n))
SITE(site_end, malloc(n))

#define COUNT 1000
static void *base[COUNT], *first[COUNT], *second[COUNT], *third[COUNT];

static void rise(void *(*site)(size_t n), void **blocks, size_t bytes)
{
    for (unsigned i = 0; i < COUNT; i++) {
        blocks[i] = site(bytes);
    }
}

#define FALL(site, blocks, bytes, step)                                                            \
    for (unsigned i = 0; i < COUNT; i += (step)) {                                                 \
        SITE_FREE(site, blocks[i], bytes);                                                         \
        blocks[i] = NULL;                                                                          \
    }

static void *last[4 * COUNT];

int main(int argc, char **argv)
{
    size_t scale = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    rise(site_base, base, 10 * scale);
    rise(site_first, first, 40 * scale);
    FALL(site_first, first, 40 * scale, 2)
    rise(site_second, second, 60 * scale);
    FALL(site_second, second, 60 * scale, 1)
    rise(site_third, third, 30 * scale);
    FALL(site_third, third, 30 * scale, 1)
    if (argc > 2) {
        for (unsigned i = 0; i < 4 * COUNT; i++) {
            last[i] = site_end(50 * scale);
        }
        printf("site_base %zu %d\nsite_first %zu %d\nsite_end %zu %d\n", 10 * scale * COUNT, COUNT,
               40 * scale * COUNT / 2, COUNT / 2, 50 * scale * 4 * COUNT, 4 * COUNT);
    } else {
        printf("site_base %zu %d\nsite_first %zu %d\nsite_second %zu %d\n", 10 * scale * COUNT,
               COUNT, 40 * scale * COUNT / 2, COUNT / 2, 60 * scale * COUNT, COUNT);
    }
    return 0;
}
