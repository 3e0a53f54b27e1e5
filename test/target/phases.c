/*
 * Works in phases on command: a line on standard input starts a phase, and a line on standard
 * output reports its end. Ends when its input ends.
 *
 * In phase N (0 to 3) it allocates 200 blocks of 100 + N bytes at site_phaseN and frees every
 * second one. It also frees the rest of the previous phase's blocks.
 */
#include <stdio.h>

#include "truth.h"

SITE(site_phase0, malloc(n))
SITE(site_phase1, malloc(n))
SITE(site_phase2, malloc(n))
SITE(site_phase3, malloc(n))

#define BLOCKS 200

static void *blocks[4][BLOCKS];

#define PHASE(number)                                                                              \
    for (unsigned i = 0; i < BLOCKS; i++) {                                                        \
        blocks[number][i] = site_phase##number(100 + (number));                                    \
    }                                                                                              \
    for (unsigned i = 0; i < BLOCKS; i += 2) {                                                     \
        SITE_FREE(site_phase##number, blocks[number][i], 100 + (number));                          \
        blocks[number][i] = NULL;                                                                  \
    }

static void free_phase(unsigned number)
{
    for (unsigned i = 1; i < BLOCKS; i += 2) {
        switch (number) {
        case 0:
            SITE_FREE(site_phase0, blocks[0][i], 100);
            break;
        case 1:
            SITE_FREE(site_phase1, blocks[1][i], 101);
            break;
        default:
            SITE_FREE(site_phase2, blocks[2][i], 102);
            break;
        }
    }
}

static void run_phase(unsigned number)
{
    switch (number) {
    case 0:
        PHASE(0)
        return;
    case 1:
        PHASE(1)
        break;
    case 2:
        PHASE(2)
        break;
    default:
        PHASE(3)
        break;
    }
    free_phase(number - 1);
}

int main(void)
{
    char line[64];
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (unsigned number = 0; fgets(line, sizeof(line), stdin) && number < 4; number++) {
        run_phase(number);
        printf("%u\n", number);
        fflush(stdout);
    }
    return 0;
}
