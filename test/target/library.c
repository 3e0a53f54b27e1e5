/*
 * A small library that is opened and closed again and again: see libraries.c. Its number is NUMBER.
 * WITH_... say what else it has: thread-local storage, handlers of fork(), and a library that it
 * opens itself (OPENED, a path).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *kept;
static void *(*volatile table[4])(size_t) = { malloc, valloc, malloc,
                                              malloc }; /* pointers in read-only data */

#ifdef WITH_TLS
static __thread volatile int tls_word = NUMBER;
static __thread volatile char tls_bytes[200];
#define TLS_SUM (tls_bytes[NUMBER] = 0, tls_word)
#else
#define TLS_SUM NUMBER
#endif

#ifdef WITH_ATFORK
static volatile int fork_count;

static void on_fork(void)
{
    fork_count++;
}
#endif

#ifdef OPENED
static void *opened;
#endif

static __attribute__((constructor)) void begin(void)
{
    kept = malloc(100 + NUMBER);
    memset(kept, NUMBER, 100 + NUMBER);
#ifdef WITH_ATFORK
    pthread_atfork(on_fork, on_fork, on_fork);
#endif
#ifdef OPENED
    opened = dlopen(OPENED, RTLD_LAZY);
#endif
}

static __attribute__((destructor)) void end(void)
{
    free(kept);
    kept = NULL;
#ifdef OPENED
    if (opened) {
        dlclose(opened);
    }
#endif
}

/*
 * Returns the sum of its argument and of the value that the constructor wrote, which the caller can
 * check.
 */
int library_run(int given)
{
    unsigned char *first = calloc(1, 64), *second = table[given & 1](300), *third = strdup("third");
    int sum = given + TLS_SUM + (kept ? ((unsigned char *)kept)[99] : 1000000) + third[4] - 'd';
    first = realloc(first, 5000);
    second[299] = first[0];
    sum += second[299];
    free(third);
    free(second);
    free(first);
    return sum;
}
