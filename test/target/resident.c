/*
 * A program that has been running for a while. It executes commands, one word per line on standard
 * input, and answers "ok".
 *
 *     before    1000 blocks from before the attach, site_before
 *     work      allocates in all ways and frees some; frees some of the blocks from before, and
 *               reallocates others
 *     plugin    loads the library $PLUGIN and runs it
 *     threads   four threads work, then stay
 *     fork      a child that works, and waits for the parent to end
 *     busy      four threads that are always inside malloc, until the end
 *     kill      SIGKILL
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "truth.h"

#define BEFORE 1000

SITE(site_before, malloc(n))
SITE(site_malloc, malloc(n))
SITE(site_calloc, calloc(1, n))
SITE(site_aligned, aligned_alloc(64, n))
SITE(site_memalign, memalign(256, n))
SITE(site_freed, malloc(n))
SITE(site_thread, malloc(n))
SITE_OF(site_moved)

static void *before[BEFORE];
static pthread_barrier_t barrier;

static NOINLINE void *site_moved(void *old, size_t n)
{
    void *volatile block = realloc(old, n);
    SITE_GOT(site_moved, n);
    return block;
}

static void prepare(void)
{
    for (size_t i = 0; i < BEFORE; i++) {
        before[i] = site_before(64 + i);
    }
}

static void work(void)
{
    for (size_t i = 1; i <= 500; i++) {
        site_malloc(i);
        site_calloc(i * 3);
        site_aligned(64 * (i % 7 + 1));
        site_memalign(i);
        void *p = site_freed(i * 2);
        SITE_FREE(site_freed, p, i * 2);
    }
    for (size_t i = 0; i < BEFORE; i++) {
        if (before[i] && i % 3 == 0) {
            SITE_FREE(site_before, before[i], 64 + i);
            before[i] = NULL;
        } else if (before[i] && i % 3 == 1) {
            SITE_LOST(site_before, 64 + i);
            site_moved(before[i], 5000 + i);
            before[i] = NULL;
        }
    }
}

static void *run_thread(void *arg)
{
    for (size_t i = 0; i < 1000; i++) {
        void *p = site_thread(i + 1);
        if (i % 2) {
            SITE_FREE(site_thread, p, i + 1);
        }
    }
    pthread_barrier_wait(&barrier);
    sleep(1000);
    return arg;
}

static void start_threads(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 5);
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, run_thread, NULL);
    }
    pthread_barrier_wait(&barrier);
}

static void *be_busy(void *arg)
{
    void *kept[32] = { NULL };
    for (unsigned n = 1;; n = n * 1103515245 + 12345) {
        unsigned i = n >> 16 & 31;
        free(kept[i]);
        kept[i] = malloc(n >> 8 & 2047);
    }
    return arg;
}

static void start_busy(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, be_busy, NULL);
    }
}

static void run_plugin(void)
{
    void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW);
    void *(*run)(size_t) = plugin ? (void *(*)(size_t))dlsym(plugin, "plugin_run") : NULL;
    if (!run) {
        printf("%s\n", dlerror());
        exit(1);
    }
    run(777);
}

static void start_child(void)
{
    if (truth_fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        printf("child\n");
        fflush(stdout);
        sleep(1000);
        _exit(0);
    }
}

static void obey(const char *order)
{
    static const struct {
        const char *word;
        void (*run)(void);
    } orders[] = { { "before", prepare },        { "work", work },        { "plugin", run_plugin },
                   { "threads", start_threads }, { "fork", start_child }, { "busy", start_busy } };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        if (strcmp(order, orders[i].word) == 0) {
            orders[i].run();
        }
    }
    if (strcmp(order, "kill") == 0) {
        kill(getpid(), SIGKILL);
    }
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        obey(line);
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
