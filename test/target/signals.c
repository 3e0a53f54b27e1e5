/*
 * Signal handlers that allocate, in the middle of allocations.
 *
 *   signals HANDLER USECONDS [static|frame]    with a signal stack, in static memory or in a frame
 *       storm   the handler allocates and frees
 *       jump    the handler leaves by siglongjmp
 *
 * An allocator is not safe in a signal handler unless it is made for that. These programs therefore
 * run with toy_bump.c preloaded, whose malloc is one atomic addition. It represents every safe
 * allocator; a failure here is the client's.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "truth.h"

SITE(site_main, malloc(n))
SITE(site_main_calloc, calloc(1, n))
SITE(site_handler, malloc(n))

SITE_OF(site_realloc)
NOINLINE void *site_realloc(void *old, size_t old_bytes, size_t n)
{
    void *volatile p = realloc(old, n);
    SITE_LOST(site_realloc, old_bytes);
    SITE_GOT(site_realloc, n);
    return p;
}

static volatile sig_atomic_t signals, jumps, is_over;
static struct itimerval pause_us;

/* Sends one signal at a time, so that the program makes progress however slow its handler is. */
static void arm(void)
{
    if (!is_over) {
        setitimer(ITIMER_REAL, &pause_us, NULL);
    }
}

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void storm(int sig)
{
    (void)sig;
    signals++;
    void *p[4];
    for (unsigned i = 0; i < 4; i++) {
        p[i] = site_handler(24 + 40 * i);
    }
    for (unsigned i = 1; i < 4; i++) {
        SITE_FREE(site_handler, p[i], 24 + 40 * i);
    }
    arm();
}

static void jump(int sig)
{
    (void)sig;
    signals++;
    arm();
    if (may_jump) {
        jumps++;
        siglongjmp(back, 1);
    }
}

static NOINLINE void work(unsigned depth)
{
    void *p = site_main(16 + depth * 8);
    void *q = site_main_calloc(16 + depth * 16);
    if (depth > 0) {
        work(depth - 1);
    }
    q = realloc(q, 1);
    SITE_LOST(site_main_calloc, 16 + depth * 16);
    free(q);
    SITE_FREE(site_main, p, 16 + depth * 8);
}

static NOINLINE void churn(void)
{
    for (unsigned i = 0; i < 200; i++) {
        work(i % 23);
    }
    void *p = site_main(100);
    SITE_LOST(site_main, 100);
    SITE_ADOPTED(site_realloc, 100);
    for (unsigned i = 100; i < 120; i++) {
        p = site_realloc(p, i, i + 1);
    }
    SITE_FREE(site_realloc, p, 120);
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char stack[65536];
    char frame[65536];
    int is_jump = argc > 1 && strcmp(argv[1], "jump") == 0;
    int us = argc > 2 ? atoi(argv[2]) : 100;
    struct sigaction action = { .sa_flags = SA_RESTART };
    action.sa_handler = is_jump ? jump : storm;
    if (argc > 3) {
        stack_t alt = { .ss_sp = argv[3][0] == 'f' ? frame : stack, .ss_size = sizeof(stack) };
        sigaltstack(&alt, NULL);
        action.sa_flags |= SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    pause_us.it_value.tv_usec = us;
    arm();
    double end = now() + 2;
    volatile unsigned rounds = 0;
    while (now() < end) {
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            churn();
            may_jump = 0;
        }
        may_jump = 0;
        rounds++;
    }
    is_over = 1;
    sleep(1); /* the last signal */
    void *after = NULL;
    for (unsigned i = 0; i < 1000; i++) {
        after = site_main(48); /* recording must still work after all that */
    }
    printf("%d signals %d jumps %u rounds %d\n", (int)signals, (int)jumps, rounds, after != NULL);
    return 0;
}
