/*
 * parts COUNT MS: COUNT threads, named part-1, part-2 ..., allocate 100 blocks each; thread n takes
 * blocks of 100 + n bytes. After MS milliseconds each allocates 10 blocks of 1000 bytes through the
 * same function, and frees every other of its old ones. Prints "ready", waits for the end of
 * standard input, and ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLD_COUNT 100
#define NEW_COUNT 10

static pthread_barrier_t begun, over;
static useconds_t pause_us;
static void *volatile sink;

__attribute__((noinline)) static void *make(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    memset(block, 1, size_bytes);
    sink = block;
    return block;
}

static void *work(void *arg)
{
    size_t number = (size_t)arg;
    void *old[OLD_COUNT];
    char name[16];
    snprintf(name, sizeof(name), "part-%zu", number);
    pthread_setname_np(pthread_self(), name);
    for (size_t i = 0; i < OLD_COUNT; i++) {
        old[i] = make(100 + number);
    }
    usleep(pause_us);
    for (size_t i = 0; i < NEW_COUNT; i++) {
        make(1000);
    }
    for (size_t i = 0; i < OLD_COUNT; i += 2) {
        free(old[i]);
    }
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&over);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    size_t count = strtoul(argv[1], NULL, 10);
    pthread_attr_t attr;
    pause_us = (useconds_t)strtoul(argv[2], NULL, 10) * 1000;
    pthread_barrier_init(&begun, NULL, (unsigned)count + 1);
    pthread_barrier_init(&over, NULL, (unsigned)count + 1);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    for (size_t i = 1; i <= count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, work, (void *)i) != 0) {
            return 3;
        }
    }
    pthread_barrier_wait(&begun);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    pthread_barrier_wait(&over);
    return 0;
}
