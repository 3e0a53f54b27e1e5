/*
 * Allocates and frees on several threads until it is killed. Its first line of output is its pid.
 */
#include <pthread.h>
#include <stdio.h>

#include "truth.h"

SITE(site_kept, malloc(n))
SITE(site_churned, malloc(n))
SITE(site_grown, malloc(n))

SITE_OF(site_regrown)
NOINLINE void *site_regrown(void *old, size_t old_bytes, size_t n)
{
    SITE_LOST(site_regrown, old_bytes);
    void *volatile p = realloc(old, n);
    SITE_GOT(site_regrown, n);
    return p;
}

static void *run(void *arg)
{
    void *ring[100] = { NULL };
    for (unsigned i = 0;; i++) {
        unsigned at = i % 100;
        if (ring[at]) {
            SITE_FREE(site_churned, ring[at], 64);
        }
        ring[at] = site_churned(64);
        if (i % 500 == 0) {
            site_kept(40);
            void *p = site_grown(10);
            SITE_LOST(site_grown, 10);
            SITE_ADOPTED(site_regrown, 10);
            p = site_regrown(p, 10, 1000);
            p = site_regrown(p, 1000, 20);
        }
    }
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int count = argc > 1 ? atoi(argv[1]) : 0;
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        pthread_create(&thread, NULL, run, NULL);
    }
    run(NULL);
}
