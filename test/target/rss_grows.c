/*
 * Grows on command: rss_grows FILE. It reads words from standard input, one a line, and prints
 * "done" after each. Each makes the resident memory grow for another reason.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB     (1UL << 20)
#define BLOCK   200
#define BLOCKS  60000
#define THREADS 8

static const char *path;
static char *blocks[BLOCKS];
static void *volatile large; /* the compiler may not leave it out */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_there;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Fills `count` blocks, and frees all but one in `kept`. */
static void comb(char **of, size_t count, size_t bytes, size_t kept)
{
    for (size_t i = 0; i < count; i++) {
        of[i] = malloc(bytes);
        memset(of[i], 1, bytes);
    }
    for (size_t i = 0; i < count; i++) {
        if (i % kept != 0) {
            free(of[i]);
        }
    }
}

static void hold(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        memset(malloc(BLOCK), 1, BLOCK);
    }
}

static void scatter(void)
{
    comb(blocks, BLOCKS, BLOCK, 8);
}

/*
 * malloc gives the end of its heap back when it is large, unless large blocks come and go. These
 * blocks do not fit into the gaps that scatter() leaves.
 */
static void retain(void)
{
    large = malloc(24 * MIB);
    free(large);
    comb(blocks, BLOCKS / 10, 10 * BLOCK, BLOCKS);
}

/* Each call needs more at once than the one before, and frees it. */
static void retain_more(void)
{
    static size_t calls;
    large = malloc(24 * MIB);
    free(large);
    comb(blocks, ++calls * BLOCKS / 40, 10 * BLOCK, BLOCKS);
}

static void *one_thread(void *arg)
{
    static __thread char *own[BLOCKS / 4];
    pthread_barrier_wait(&all_there); /* each has an arena while the others live */
    pthread_mutex_lock(&turn);
    comb(own, BLOCKS / 4, BLOCK, 16);
    pthread_mutex_unlock(&turn);
    pthread_barrier_wait(&all_there);
    pause();
    return arg;
}

/* Threads that work one after the other, each with what it got. */
static void arenas(void)
{
    pthread_barrier_init(&all_there, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, one_thread, NULL) != 0) {
            fail("pthread_create");
        }
    }
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
}

static char *mapped_early; /* before heapscope is attached */

static void share(void)
{
    int id = shmget(IPC_PRIVATE, 12 * MIB, 0600);
    char *p = id < 0 ? (char *)-1 : shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL); /* when the process has ended */
    if (p == (char *)-1) {
        fail("shmget");
    }
    memset(p, 1, 12 * MIB);
}

static char *map(void)
{
    char *p = mmap(NULL, 12 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        fail("mmap");
    }
    return p;
}

static void *deep_thread(void *arg)
{
    volatile char bytes[3 * MIB];
    for (size_t i = 0; i < sizeof(bytes); i += 4096) {
        bytes[i] = 1;
    }
    pthread_barrier_wait(arg);
    pause();
    return NULL;
}

static void stacks(void)
{
    static pthread_barrier_t done;
    pthread_barrier_init(&done, NULL, 5);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, deep_thread, &done) != 0) {
            fail("pthread_create");
        }
    }
    pthread_barrier_wait(&done);
}

static void read_file(void)
{
    struct stat file;
    unsigned sum = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &file) != 0) {
        fail(path);
    }
    volatile char *bytes = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    for (off_t i = 0; i < file.st_size; i += 4096) {
        sum += (unsigned char)bytes[i];
    }
    close(fd);
    fprintf(stderr, "%u\n", sum);
}

static void act(const char *word)
{
    if (strcmp(word, "held") == 0) {
        hold();
    } else if (strcmp(word, "scattered") == 0) {
        scatter();
    } else if (strcmp(word, "retained") == 0) {
        retain();
    } else if (strcmp(word, "more") == 0) {
        retain_more();
    } else if (strcmp(word, "arenas") == 0) {
        arenas();
    } else if (strcmp(word, "mapped") == 0) {
        memset(map(), 1, 12 * MIB);
    } else if (strcmp(word, "anonymous") == 0) {
        memset(mapped_early, 1, 12 * MIB);
    } else if (strcmp(word, "shared") == 0) {
        share();
    } else if (strcmp(word, "stacks") == 0) {
        stacks();
    } else if (strcmp(word, "files") == 0) {
        read_file();
    } else if (strcmp(word, "trim") == 0) {
        malloc_trim(0);
    }
}

int main(int argc, char **argv)
{
    char word[64];
    path = argc > 1 ? argv[1] : "";
    mapped_early = map();
    setbuf(stdin, NULL);
    printf("ready\n");
    fflush(stdout);
    while (fgets(word, sizeof(word), stdin)) {
        word[strcspn(word, "\n")] = '\0';
        act(word);
        printf("done\n");
        fflush(stdout);
    }
    return 0;
}
