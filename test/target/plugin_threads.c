/*
 * Threads open and close plugins while others allocate. Each opens its own plugin, so the code at
 * an address changes all the time.
 *
 *     plugin_threads ROUNDS FILE...    one thread for each FILE, and as many that only allocate
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "truth.h"

SITE(site_open, malloc(n))
SITE(site_busy, malloc(n))

static unsigned rounds;
static volatile int is_over;

static void *open_and_close(void *path)
{
    for (unsigned i = 0; i < rounds; i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *(*run)(size_t);
        *(void **)&run = handle ? dlsym(handle, "plugin_run") : NULL;
        if (!run) {
            fprintf(stderr, "%s\n", dlerror());
            abort();
        }
        run(48 + i % 100);
        dlclose(handle);
        site_open(30);
    }
    return NULL;
}

static NOINLINE void nest(unsigned depth)
{
    void *p = site_busy(24 + depth);
    if (depth > 0) {
        nest(depth - 1);
    }
    SITE_FREE(site_busy, p, 24 + depth);
}

static void *allocate(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !is_over; i++) {
        nest(i % 20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t openers[16], busy[16];
    unsigned count = 0;
    rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    while ((int)count + 2 < argc && count < 16) {
        pthread_create(&busy[count], NULL, allocate, NULL);
        pthread_create(&openers[count], NULL, open_and_close, argv[2 + count]);
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(openers[i], NULL);
    }
    is_over = 1;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(busy[i], NULL);
    }
    printf("%u threads\n", count);
    return 0;
}
