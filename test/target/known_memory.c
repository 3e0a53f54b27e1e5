/*
 * Has resident memory of known kinds and sizes: known_memory FILE, which it maps. It prints
 * "ready", and ends when standard input does.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB          (1UL << 20)
#define SMALL_BLOCKS 40000

static char zeroed[3 * MIB];
static char *small[SMALL_BLOCKS];
static pthread_barrier_t barrier;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *touched_map(size_t bytes, int flags, int fd)
{
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (map == MAP_FAILED) {
        fail("mmap");
    }
    memset(map, 1, bytes);
    return map;
}

/* 1 MiB of its stack. */
static void *use_stack(void *arg)
{
    volatile char bytes[MIB];
    (void)arg;
    for (size_t i = 0; i < sizeof(bytes); i += 4096) {
        bytes[i] = 1;
    }
    pthread_barrier_wait(&barrier);
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    struct stat file;
    pthread_t thread;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &file) != 0) {
        fail("a file is needed");
    }
    char *map = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
        fail("mmap");
    }
    unsigned sum = 0;
    for (off_t i = 0; i < file.st_size; i += 4096) {
        sum += (unsigned char)map[i];
    }
    memset(zeroed, 1, sizeof(zeroed));
    memset(malloc(10 * MIB), 1, 10 * MIB);
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        small[i] = malloc(200);
        memset(small[i], 1, 200);
    }
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        if (i % 8 != 0) {
            free(small[i]);
        }
    }
    touched_map(5 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    touched_map(2 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_setname_np(pthread_self(), "leader");
    if (pthread_create(&thread, NULL, use_stack, NULL) != 0) {
        fail("pthread_create");
    }
    pthread_setname_np(thread, "deep");
    pthread_barrier_wait(&barrier);
    printf("ready %u\n", sum);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
