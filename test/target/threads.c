/*
 * Threads.
 *
 *   threads churn COUNT   COUNT short threads; each allocates, frees, and leaves blocks behind
 *   threads cross         blocks allocated by one thread and freed by another
 *   threads storm         all threads allocate and free the smallest blocks as fast as they can
 *   threads pairs         each thread has one such block (with toy_pairs.c: side by side)
 *   threads names         named threads
 *   threads keys          destructors of thread-specific data and of thread_local, after the thread
 *   threads cancel        threads are cancelled at any moment
 *   threads tiny          stacks of 16 KiB
 *   threads raw           a thread made by clone(2) directly, without thread-local storage of its
 *                         own
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>

#include "truth.h"

SITE(site_short, malloc(n))
SITE(site_short_freed, calloc(1, n))
SITE(site_producer, malloc(n))
SITE(site_storm, malloc(n))
SITE(site_pairs, malloc(n))
SITE(site_named, malloc(n))
SITE(site_key, malloc(n))
SITE(site_key_destructor, malloc(n))
SITE(site_cancelled, malloc(n))
SITE(site_tiny, malloc(n))
SITE(site_after, malloc(n))

static void start_all(unsigned count, unsigned at_once, void *(*run)(void *),
                      const pthread_attr_t *attr)
{
    pthread_t threads[64];
    for (unsigned done = 0; done < count;) {
        unsigned n = 0;
        while (n < at_once && done + n < count) {
            if (pthread_create(&threads[n], attr, run, (void *)(uintptr_t)(done + n)) != 0) {
                abort();
            }
            n++;
        }
        for (unsigned i = 0; i < n; i++) {
            pthread_join(threads[i], NULL);
        }
        done += n;
    }
}

static void *short_run(void *arg)
{
    size_t i = (uintptr_t)arg;
    void *p = site_short_freed(8 + i % 50);
    site_short(16 + i % 30);
    SITE_FREE(site_short_freed, p, 8 + i % 50);
    return NULL;
}

/* --- cross ------------------------------------------------------------------------------------ */

#define RING 256
static void *volatile ring[RING];

static void *producer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 200000; i++) {
        void *p = site_producer(24);
        void *old = __atomic_exchange_n(&ring[(i * 7) % RING], p, __ATOMIC_ACQ_REL);
        if (old) {
            SITE_FREE(site_producer, old, 24);
        }
    }
    return NULL;
}

/* --- storm ------------------------------------------------------------------------------------ */

/* 8-byte blocks: some allocators put two of them into 16 bytes. */
static void *storm_run(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *mine[64] = { NULL };
    for (unsigned i = 0; i < 150000; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned at = seed >> 16 & 63;
        if (mine[at]) {
            SITE_FREE(site_storm, mine[at], 8);
            mine[at] = NULL;
        } else {
            mine[at] = site_storm(8);
        }
    }
    for (unsigned i = 0; i < 64; i += 2) {
        if (mine[i]) {
            SITE_FREE(site_storm, mine[i], 8);
        }
    }
    return NULL;
}

static void *pairs_run(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 300000; i++) {
        void *p = site_pairs(8);
        SITE_FREE(site_pairs, p, 8);
    }
    return NULL;
}

/* --- names, keys, tiny stacks ----------------------------------------------------------------- */

static void *named_run(void *arg)
{
    char name[16];
    site_named(10);
    snprintf(name, sizeof(name), "worker %u", (unsigned)(uintptr_t)arg);
    pthread_setname_np(pthread_self(), name);
    for (unsigned i = 0; i < 5; i++) {
        site_named(100);
    }
    return NULL;
}

static pthread_key_t keys[3];

static void key_destructor(void *p)
{
    SITE_FREE(site_key, p, 48);
    site_key_destructor(80);
    void *again = site_key_destructor(16);
    SITE_FREE(site_key_destructor, again, 16);
}

static void *key_run(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        pthread_setspecific(keys[i], site_key(48));
    }
    return NULL;
}

static void *tiny_run(void *arg)
{
    void *p = site_tiny(64 + (uintptr_t)arg % 7);
    SITE_FREE(site_tiny, p, 64 + (uintptr_t)arg % 7);
    site_tiny(33);
    return NULL;
}

/* --- cancel ----------------------------------------------------------------------------------- */

static void *cancel_run(void *arg)
{
    (void)arg;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) {
        void *p = site_cancelled(40);
        SITE_FREE(site_cancelled, p, 40);
    }
    return NULL;
}

static void cancel(void)
{
    for (unsigned i = 0; i < 300; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, cancel_run, NULL);
        usleep(i * 10);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
}

/* --- raw clone -------------------------------------------------------------------------------- */

static int raw_run(void *arg)
{
    for (unsigned i = 0; i < 1000000; i++) {
        __atomic_fetch_add((unsigned *)arg, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

static void raw(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    unsigned counter = 0;
    for (unsigned i = 0; i < 20; i++) {
        int pid = clone(raw_run, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
                        &counter);
        for (unsigned k = 0; k < 100; k++) {
            site_after(12);
        }
        waitpid(pid, NULL, 0);
    }
    printf("%u\n", counter);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "churn";
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 2000;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (strcmp(what, "churn") == 0) {
        start_all(count, 16, short_run, NULL);
    } else if (strcmp(what, "cross") == 0) {
        start_all(4, 4, producer, NULL);
    } else if (strcmp(what, "storm") == 0) {
        start_all(4, 4, storm_run, NULL);
    } else if (strcmp(what, "pairs") == 0) {
        start_all(4, 4, pairs_run, NULL);
    } else if (strcmp(what, "names") == 0) {
        start_all(10, 10, named_run, NULL);
    } else if (strcmp(what, "keys") == 0) {
        for (unsigned i = 0; i < 3; i++) {
            pthread_key_create(&keys[i], key_destructor);
        }
        start_all(200, 8, key_run, NULL);
    } else if (strcmp(what, "cancel") == 0) {
        cancel();
    } else if (strcmp(what, "tiny") == 0) {
        pthread_attr_setstacksize(&attr, 16384);
        start_all(200, 8, tiny_run, &attr);
        pthread_attr_setguardsize(&attr, 0);
        start_all(200, 8, tiny_run, &attr);
    } else if (strcmp(what, "raw") == 0) {
        raw();
    }
    site_after(123);
    puts("done");
    return 0;
}
