/*
 * Leaves free memory between blocks that stay: fragments PATTERN. It prints what glibc says of its
 * free memory, and answers each line of standard input with the bytes that are resident after
 * malloc_trim(0).
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resident_bytes.h"

#define BLOCKS  80000
#define THREADS 4

static char *blocks[THREADS][BLOCKS];
static pthread_barrier_t barrier;

static size_t least_bytes = 150;

static size_t size_of(size_t i)
{
    return least_bytes + i % 64;
}

static void fill(char **of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        of[i] = malloc(size_of(i));
        memset(of[i], 1, size_of(i));
    }
}

static void free_most(char **of, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i % 8 != 0) {
            free(of[i]);
        }
    }
}

/* malloc returns less memory at once when large blocks come and go. */
static void raise_thresholds(void)
{
    char *volatile large = malloc(24 << 20);
    large[0] = 1;
    free(large);
}

/* Large blocks, with small ones that stay between them. */
static void leave_pieces(void)
{
    for (size_t i = 0; i < 40; i++) {
        blocks[0][i] = malloc(400 << 10);
        memset(blocks[0][i], 1, 400 << 10);
        blocks[1][i] = malloc(1500);
    }
    for (size_t i = 0; i < 40; i++) {
        free(blocks[0][i]);
    }
}

static void *free_of_another(void *arg)
{
    free_most(arg, BLOCKS);
    return NULL;
}

static void *work(void *arg)
{
    fill(arg, BLOCKS / THREADS);
    free_most(arg, BLOCKS / THREADS);
    pthread_barrier_wait(&barrier);
    pause();
    return NULL;
}

static void start(void *(*run)(void *), void *arg, pthread_t *ret_thread)
{
    if (pthread_create(ret_thread, NULL, run, arg) != 0) {
        perror("pthread_create");
        exit(1);
    }
}

static void make(const char *pattern)
{
    pthread_t thread;
    if (strcmp(pattern, "arenas") == 0) {
        pthread_barrier_init(&barrier, NULL, THREADS + 1);
        for (size_t i = 0; i < THREADS; i++) {
            start(work, blocks[i], &thread);
        }
        pthread_barrier_wait(&barrier);
        return;
    }
    if (strcmp(pattern, "pieces") == 0) {
        raise_thresholds();
        leave_pieces();
        return;
    }
    if (strcmp(pattern, "ends") == 0) {
        raise_thresholds();
        fill(blocks[0], BLOCKS);
        for (size_t i = 0; i < BLOCKS; i++) {
            free(blocks[0][i]);
        }
        return;
    }
    bool is_large = strcmp(pattern, "large comb") == 0;
    size_t count = is_large ? BLOCKS / 40 : BLOCKS;
    least_bytes = is_large ? 10000 : least_bytes;
    fill(blocks[0], count);
    if (strcmp(pattern, "another thread") == 0) {
        start(free_of_another, blocks[0], &thread);
        pthread_join(thread, NULL);
    } else {
        free_most(blocks[0], count);
    }
}

int main(int argc, char **argv)
{
    char line[16], *text = NULL;
    size_t text_bytes;
    setvbuf(stdout, NULL, _IONBF, 0);
    make(argc > 1 ? argv[1] : "");
    struct mallinfo2 info = mallinfo2();
    FILE *file = open_memstream(&text, &text_bytes);
    if (!file || malloc_info(0, file) != 0 || fclose(file) != 0) {
        return 4;
    }
    for (char *at = text; *at; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    printf("%lld %zu %zu %s\n", resident_bytes(), info.fordblks, info.arena, text);
    while (fgets(line, sizeof(line), stdin)) {
        malloc_trim(0);
        printf("%lld\n", resident_bytes());
    }
    return 0;
}
