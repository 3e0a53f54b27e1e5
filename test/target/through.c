/*
 * Allocates through three functions, which may be in a library or in the program itself.
 *
 *   through [fork|open LIBRARY|threads]
 *
 * Prints "allocating", and allocates until a line comes on stdin. Then it allocates WORK_COUNT
 * blocks with second() among the callers, and ends. `fork`: two generations of children do so.
 * `open`: at a first line, it opens LIBRARY, which has the functions. `threads`: four threads
 * allocate all the time.
 *
 * -DLIBRARY: only the functions; -DPROGRAM: only the rest.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORK_COUNT 1000
#define FAR_CALL   __attribute__((noinline, noclone))

void *work_a(int n);
void *work_b(int n);
void *work_c(int n);
void second(void);

#ifndef PROGRAM

/* Frames of different sizes, which a frame pointer or a guess does not find by chance. */
FAR_CALL void *work_c(int n)
{
    volatile char room[72];
    memset((void *)room, n, sizeof(room));
    char *block = malloc((size_t)(1000 + n));
    block[0] = room[3];
    return block;
}

FAR_CALL void *work_b(int n)
{
    volatile char room[136];
    memset((void *)room, 0, sizeof(room));
    char *block = work_c(n + room[n & 15]);
    block[1] = room[5];
    return block;
}

FAR_CALL void *work_a(int n)
{
    volatile char room[40];
    memset((void *)room, 0, sizeof(room));
    char *block = work_b(n + room[n & 7]);
    block[2] = room[5];
    return block;
}

#endif
#ifndef LIBRARY

static void *(*work)(int n);

FAR_CALL void second(void)
{
    for (int i = 0; i < WORK_COUNT; i++) {
        free(work(i & 7));
    }
    asm volatile("");
}

static void allocate_until_line(char *line, size_t line_bytes)
{
    struct pollfd in = { .fd = 0, .events = POLLIN };
    while (poll(&in, 1, 1) == 0) {
        for (int i = 0; i < 20; i++) {
            free(work ? work(i & 7) : malloc(100));
        }
    }
    ssize_t got = read(0, line, line_bytes - 1);
    line[got > 0 ? got : 0] = '\0';
}

static void *allocate_always(void *arg)
{
    for (;;) {
        free(work(3));
    }
    return arg;
}

static void fork_twice(int generations)
{
    pid_t pid = generations > 0 ? fork() : -1;
    if (pid == 0) {
        second();
        fork_twice(generations - 1);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    char line[64];
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "open") != 0) {
        work = (void *(*)(int))dlsym(RTLD_DEFAULT, "work_a");
    }
    puts("allocating");
    fflush(stdout);
    if (!work) {
        allocate_until_line(line, sizeof(line));
        work = (void *(*)(int))dlsym(dlopen(argv[2], RTLD_NOW), "work_a");
    }
    for (int i = 0; i < 4 && strcmp(how, "threads") == 0; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate_always, NULL);
    }
    allocate_until_line(line, sizeof(line));
    if (strcmp(how, "fork") == 0) {
        fork_twice(2);
    } else {
        second();
    }
    _exit(0);
}

#endif
