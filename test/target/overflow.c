/*
 * Stacks that run into their guard page, and a signal handler on a stack of its own that recovers
 * the program, as interpreters do. The handler allocates on its signal stack, which is small and
 * guarded too.
 *
 *     overflow THREADS ROUNDS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "truth.h"

SITE(site_deep, malloc(n))
SITE(site_rescue, malloc(n))

#define STACK_BYTES  131072
#define SIGNAL_BYTES 16384
#define PAGE         4096

static __thread sigjmp_buf back;
static __thread unsigned depth_reached;
static unsigned rounds;

static volatile int is_endless = 1;

static NOINLINE void fall(unsigned depth)
{
    volatile char room[200];
    room[depth % 200] = 1;
    depth_reached = depth;
    if (depth % 16 == 0 && depth < 200) {
        site_deep(20);
    }
    if (is_endless) {
        fall(depth + 1);
    }
    room[0] = room[1];
}

static void rescue(int signal)
{
    (void)signal;
    void *p = site_rescue(50);
    SITE_FREE(site_rescue, p, 50);
    siglongjmp(back, 1);
}

static void *guarded(size_t bytes)
{
    char *map = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + PAGE, bytes, PROT_READ | PROT_WRITE) != 0) {
        abort();
    }
    return map + PAGE;
}

static void *run(void *arg)
{
    (void)arg;
    stack_t alt = { .ss_sp = guarded(SIGNAL_BYTES), .ss_size = SIGNAL_BYTES };
    sigaltstack(&alt, NULL);
    for (volatile unsigned i = 0; i < rounds; i++) {
        if (sigsetjmp(back, 1) == 0) {
            fall(0);
        }
        site_rescue(30);
    }
    return (void *)(uintptr_t)(depth_reached > 100);
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 2, good = 0;
    pthread_t threads[16];
    rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    struct sigaction action = { .sa_flags = SA_ONSTACK };
    action.sa_handler = rescue;
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned i = 0; i < count; i++) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, guarded(STACK_BYTES), STACK_BYTES);
        pthread_create(&threads[i], &attr, run, NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good += (unsigned)(uintptr_t)result;
    }
    printf("%u threads fell and came back\n", good);
    return good == count ? 0 : 1;
}
