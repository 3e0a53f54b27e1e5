/*
 * Maps memory where a profiler may be in the way; prints what must be the same without one.
 *
 *     maps_oddly signals | vfork | cancel | forks | limit
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul

static volatile unsigned long failed, handled;

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Maps, splits, and unmaps. */
static void turn(void)
{
    char *at = map(8 * PAGE);
    errno = 77;
    if (at == MAP_FAILED || munmap(at + 2 * PAGE, PAGE) != 0 || errno != 77) {
        failed++;
    }
    at[0] = at[7 * PAGE] = 1;
    if (munmap(at + 1, PAGE) != -1 || errno != EINVAL || munmap(at, 8 * PAGE) != 0) {
        failed++;
    }
}

static void on_signal(int signal)
{
    int before = errno;
    (void)signal;
    turn();
    handled++;
    errno = before;
}

static void with_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 200 }, { 0, 200 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < 500) {
        turn();
        free(malloc(100));
    }
    setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
}

static void with_vfork(void)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = vfork();
        if (child == 0) {
            turn();
            _exit(i % 7);
        }
        int status;
        waitpid(child, &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != i % 7;
        turn();
    }
}

static void *turn_for_ever(void *arg)
{
    (void)arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        turn();
    }
    return NULL;
}

static void with_cancelled_threads(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn_for_ever, NULL);
        for (int j = 0; j < 20; j++) {
            turn();
        }
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    turn();
}

static volatile int is_over;

static void *turn_until_over(void *arg)
{
    while (!is_over) {
        turn();
    }
    return arg;
}

static void with_forks(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, turn_until_over, NULL);
    }
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            failed = 0;
            turn();
            free(malloc(100000));
            _exit(failed ? 1 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        failed += status != 0;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void with_a_limit(void)
{
    errno = 0;
    void *at = map(1ul << 30);
    printf("1 GiB: %d %s\n", at == MAP_FAILED, strerror(errno));
    for (int i = 0; i < 100; i++) {
        turn();
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "signals") == 0) {
        with_signals();
    } else if (strcmp(mode, "vfork") == 0) {
        with_vfork();
    } else if (strcmp(mode, "cancel") == 0) {
        with_cancelled_threads();
    } else if (strcmp(mode, "forks") == 0) {
        with_forks();
    } else {
        with_a_limit();
    }
    printf("%s: %lu failed\n", mode, failed);
    return 0;
}
