/*
 * Four threads that are always inside the allocator. Signals interrupt them a thousand times a
 * second, with handlers that take a while; two of the threads have signal stacks of their own. For
 * test_attach_inline.py.
 *
 *     check     on standard input: prints "ok" if no block has changed and all threads still run
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define BLOCKS  64

static uint64_t rounds[THREADS];

static void on_signal(int number)
{
    (void)number;
    for (volatile int i = 0; i < 20000; i++) {
    }
}

static void begin_storm(void)
{
    struct sigevent event;
    timer_t timer;
    const struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &each, NULL) != 0) {
        abort();
    }
}

static void *work(void *arg)
{
    static char stacks[THREADS][65536];
    size_t self = (size_t)(uintptr_t)arg;
    uint8_t *blocks[BLOCKS] = { NULL };
    size_t sizes[BLOCKS] = { 0 };
    const stack_t stack = { .ss_sp = stacks[self], .ss_size = sizeof(stacks[self]) };
    if (self % 2 == 1) {
        sigaltstack(&stack, NULL);
    }
    begin_storm();
    for (uint32_t n = (uint32_t)self + 1;; n = n * 1103515245 + 12345) {
        size_t i = n >> 16 & (BLOCKS - 1);
        for (size_t at = 0; at < sizes[i]; at++) {
            if (blocks[i][at] != (uint8_t)(i + self)) {
                abort();
            }
        }
        free(blocks[i]);
        sizes[i] = n >> 8 & 31;
        blocks[i] = malloc(sizes[i]);
        memset(blocks[i], (int)(i + self), sizes[i]);
        __atomic_fetch_add(&rounds[self], 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void check(void)
{
    for (size_t i = 0; i < THREADS; i++) {
        uint64_t before = __atomic_load_n(&rounds[i], __ATOMIC_RELAXED);
        while (__atomic_load_n(&rounds[i], __ATOMIC_RELAXED) == before) {
            usleep(1000);
        }
    }
}

int main(void)
{
    char line[64];
    pthread_t thread;
    struct sigaction action;
    sigset_t mask;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, work, (void *)(uintptr_t)i);
    }
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    while (fgets(line, sizeof(line), stdin)) {
        check();
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
