/*
 * A program with an embedded allocator, for test_inject.py: waits (sleep) or computes (run) for
 * five seconds at most.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static char heap[1 << 22];
static size_t used;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size_bytes)
{
    pthread_mutex_lock(&mutex);
    void *p = &heap[used];
    used += (size_bytes + 31) / 16 * 16;
    pthread_mutex_unlock(&mutex);
    return used < sizeof(heap) ? p : NULL;
}

void free(void *p)
{
    (void)p;
}

void *calloc(size_t count, size_t size_bytes)
{
    return malloc(count * size_bytes); /* fresh memory is zero */
}

void *realloc(void *old, size_t size_bytes)
{
    void *p = malloc(size_bytes);
    if (p && old) {
        memcpy(p, old, size_bytes);
    }
    return p;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, 9);
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("ready\n");
    if (argc > 1 && strcmp(argv[1], "sleep") == 0) {
        sleep(5);
        return 0;
    }
    volatile uint64_t sum = 0;
    for (time_t end = time(NULL) + 5; time(NULL) < end;) {
        for (int i = 0; i < 1000000; i++) {
            sum = sum + (uint64_t)i;
        }
    }
    return 0;
}
