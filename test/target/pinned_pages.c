/*
 * Has live blocks that keep nearly empty pages: pinned_pages PATTERN. It prints "ready", and then
 * answers each line of standard input with the bytes that are resident after it:
 *
 *     trim              calls malloc_trim(0)
 *     free SITE ...     frees the blocks that the functions with these names allocated, and calls
 *                       malloc_trim(0)
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resident_bytes.h"

#define THREADS  4
#define KEPT     (1 << 20)
#define NOINLINE __attribute__((noinline))

struct site {
    const char *name;
    char **blocks;
    size_t count;
};

enum { HEADERS, NAMES, PAGES, GROWN, DENSE, SITES };

static struct site sites[SITES] = {
    { .name = "keep_header" }, { .name = "keep_name" },  { .name = "keep_page" },
    { .name = "keep_grown" },  { .name = "keep_dense" },
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void keep(struct site *site, char *block, size_t bytes)
{
    memset(block, 1, bytes);
    pthread_mutex_lock(&lock);
    site->blocks[site->count++] = block;
    pthread_mutex_unlock(&lock);
}

static NOINLINE void keep_header(size_t bytes)
{
    keep(&sites[HEADERS], malloc(bytes), bytes);
}

static NOINLINE void keep_name(size_t bytes)
{
    keep(&sites[NAMES], malloc(bytes), bytes);
}

static NOINLINE void keep_page(size_t bytes)
{
    keep(&sites[PAGES], malloc(bytes), bytes);
}

static NOINLINE void keep_dense(size_t bytes)
{
    keep(&sites[DENSE], malloc(bytes), bytes);
}

static NOINLINE char *start_growing(size_t bytes)
{
    return malloc(bytes);
}

static NOINLINE void keep_grown(char *block, size_t bytes)
{
    keep(&sites[GROWN], realloc(block, bytes), bytes);
}

static NOINLINE char *make_temporary(size_t bytes)
{
    char *block = malloc(bytes);
    memset(block, 2, bytes);
    return block;
}

static void drop_all(char **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
    }
    free(blocks);
}

/* Blocks of one site among many that are freed. */
static void make_comb(size_t count, size_t bytes)
{
    char **temporary = malloc(count * sizeof(*temporary));
    for (size_t i = 0; i < count; i++) {
        temporary[i] = make_temporary(200);
        if (i % 16 == 0) {
            keep_header(bytes);
        }
    }
    drop_all(temporary, count);
}

/* Two sites on the same pages, and pages that are full. */
static void make_two(size_t name_bytes)
{
    size_t count = 60000;
    char **temporary = malloc(count * sizeof(*temporary));
    for (size_t i = 0; i < count; i++) {
        temporary[i] = make_temporary(256);
        if (i % 24 == 0) {
            keep_header(72);
        }
        if (i % 24 == 3) {
            keep_name(name_bytes);
        }
    }
    for (size_t i = 0; i < 40000; i++) {
        keep_dense(72);
    }
    drop_all(temporary, count);
}

/* Large blocks, of which each eighth stays. */
static void make_large(void)
{
    size_t count = 1200;
    char **temporary = malloc(count * sizeof(*temporary));
    for (size_t i = 0; i < count; i++) {
        temporary[i] = make_temporary(20000 + i % 7 * 1000);
        if (i % 8 == 0) {
            keep_page(6000);
        }
        if (i % 8 == 4) {
            keep_header(100);
        }
    }
    drop_all(temporary, count);
}

static void *work(void *arg)
{
    make_comb(12000, *(size_t *)arg);
    pthread_barrier_wait(&barrier);
    pause();
    return NULL;
}

static void make_arenas(size_t bytes)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, work, &bytes);
    }
    pthread_barrier_wait(&barrier);
}

/* Blocks that grew between those that are freed. */
static void make_grown(void)
{
    size_t count = 40000;
    char **temporary = malloc(count * sizeof(*temporary));
    char **grown = malloc(count * sizeof(*grown));
    for (size_t i = 0; i < count; i++) {
        temporary[i] = make_temporary(300);
        grown[i] = i % 20 == 0 ? start_growing(24) : NULL;
    }
    for (size_t i = 0; i < count; i += 20) {
        keep_grown(grown[i], i % 40 == 0 ? 24 : 400);
    }
    free(grown);
    drop_all(temporary, count);
}

/* Each eighth block stays; another thread frees the others. */
static char **crossed;
static const size_t crossed_count = 80000;

static void *drop_crossed(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < crossed_count; i++) {
        free(crossed[i]);
    }
    return NULL;
}

static void make_crossed(void)
{
    pthread_t thread;
    crossed = calloc(crossed_count, sizeof(*crossed));
    for (size_t i = 0; i < crossed_count; i++) {
        if (i % 8 == 0) {
            keep_name(150 + i % 64);
        } else {
            crossed[i] = make_temporary(150 + i % 64);
        }
    }
    pthread_create(&thread, NULL, drop_crossed, NULL);
    pthread_join(thread, NULL);
}

/* Threads that need much memory one after the other, each while the others still run. */
static void *work_in_turn(void *arg)
{
    size_t count = 80000;
    char **temporary = malloc(count * sizeof(*temporary));
    pthread_mutex_lock(&turn);
    for (size_t i = 0; i < count; i++) {
        temporary[i] = make_temporary(100);
    }
    drop_all(temporary, count);
    pthread_mutex_unlock(&turn);
    pthread_barrier_wait(&barrier);
    pause();
    return arg;
}

static void make_turns(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2 * THREADS + 1);
    for (size_t i = 0; i < 2 * THREADS; i++) {
        pthread_create(&thread, NULL, work_in_turn, NULL);
    }
    pthread_barrier_wait(&barrier);
}

static void make(const char *pattern)
{
    if (strcmp(pattern, "comb") == 0) {
        make_comb(160000, 48);
    } else if (strcmp(pattern, "two") == 0) {
        make_two(40);
    } else if (strcmp(pattern, "alike") == 0) {
        make_two(72);
    } else if (strcmp(pattern, "large") == 0) {
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
        make_large();
    } else if (strcmp(pattern, "arenas") == 0) {
        make_arenas(300);
    } else if (strcmp(pattern, "arenas of fast blocks") == 0) {
        make_arenas(48);
    } else if (strcmp(pattern, "grown") == 0) {
        make_grown();
    } else if (strcmp(pattern, "crossed") == 0) {
        make_crossed();
    } else if (strcmp(pattern, "turns") == 0) {
        make_turns();
    } else {
        fprintf(stderr, "no such pattern: %s\n", pattern);
        exit(2);
    }
}

static void drop(const char *name)
{
    for (size_t i = 0; i < SITES; i++) {
        if (strcmp(sites[i].name, name) == 0) {
            for (size_t k = 0; k < sites[i].count; k++) {
                free(sites[i].blocks[k]);
            }
            sites[i].count = 0;
        }
    }
}

int main(int argc, char **argv)
{
    char line[256];
    static char *kept[SITES][KEPT];
    for (size_t i = 0; i < SITES; i++) {
        sites[i].blocks = kept[i];
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    resident_bytes();
    make(argc > 1 ? argv[1] : "");
    printf("ready\n");
    while (fgets(line, sizeof(line), stdin)) {
        strtok(line, " \n");
        for (char *name; (name = strtok(NULL, " \n"));) {
            drop(name);
        }
        malloc_trim(0);
        printf("%lld\n", resident_bytes());
    }
    return 0;
}
