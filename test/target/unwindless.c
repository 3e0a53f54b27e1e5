/*
 * Code without unwind information in the middle of a stack: unwindless COUNT.
 *
 * COUNT times: main -> outer -> middle -> site_inner -> malloc(100). The test compiles it without
 * unwind information and with or without frame pointers. The variant of `middle` that MIDDLE_RBP
 * selects puts a number into the frame pointer's register.
 */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static void *volatile sink;

void site_inner(void);

NOINLINE void site_inner(void)
{
    sink = malloc(100);
    __asm__ volatile("");
}

#ifdef MIDDLE_ELSEWHERE
void middle(volatile long *count);
#else
/* It writes after the call, so that the call is not a tail call. */
static NOINLINE void middle(volatile long *count)
{
#ifdef MIDDLE_RBP
    register long value __asm__("rbp") = 1;
    __asm__ volatile("" : "+r"(value));
    site_inner();
    __asm__ volatile("" : "+r"(value));
#else
    site_inner();
#endif
    *count += 1;
}
#endif

static NOINLINE void outer(volatile long *count)
{
    middle(count);
    *count += 1;
}

int main(int argc, char **argv)
{
    volatile long count = 0;
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--) {
        outer(&count);
    }
    return 0;
}
