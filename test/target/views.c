/*
 * A heap whose every view is known, for the tests of report and export.
 *
 *     main -> load -> parse      1000 blocks of 100 bytes, 400 of them freed
 *          -> fib -> fib -> fib  one block of 64 bytes at each of 3 levels (recursion)
 *          -> burst              10 blocks of 100000 bytes, all freed: makes the peak
 */
#include <stdlib.h>

#define KEEP __attribute__((noinline))

static void *volatile kept[2000];
static int kept_count;

KEEP static void parse(void)
{
    for (int i = 0; i < 1000; i++) {
        kept[kept_count++] = malloc(100);
    }
    for (int i = 0; i < 400; i++) {
        free(kept[i]);
    }
}

KEEP static void load(void)
{
    parse();
    __asm__ volatile("");
}

KEEP static void fib(int level)
{
    kept[kept_count++] = malloc(64);
    if (level > 1) {
        fib(level - 1);
    }
    __asm__ volatile("");
}

KEEP static void burst(void)
{
    void *volatile blocks[10];
    for (int i = 0; i < 10; i++) {
        blocks[i] = malloc(100000);
    }
    for (int i = 0; i < 10; i++) {
        free(blocks[i]);
    }
}

int main(void)
{
    load();
    fib(3);
    burst();
    return 0;
}
