/*
 * Heaps that are registered at awkward moments.
 *
 *     api_registers both             four threads register each of 200 heaps at once, and each
 *                                    reports a block of 7 bytes in it
 *     api_registers forks            a thread registers 200 heaps while another forks; each child
 *                                    registers all of them and reports a block in each
 *     api_registers pools            two threads make and destroy pools while another one forks;
 *                                    each child makes a pool of its own
 *     api_registers child [poll]     a child whose first call registers a heap (or polls), and
 *                                    which then reports two blocks of 10 bytes in it and one of
 *                                    5 bytes in its parent's; meanwhile the parent registers
 *                                    another one
 *     api_registers parent           a heap that was created before its parent; then waits for a
 *                                    line on standard input, and reports a block in each
 *     api_registers callbacks        200 heaps with callbacks that report; waits for a line, and
 *                                    lets a thread with a small stack report; prints how many
 *                                    callbacks were called, and how many at most in one another
 *     api_registers copy LIBRARY     200 heaps, and as many in a copy of the library that it opens
 *
 * Prints how many reports were not recorded.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heapscope/heapscope.h>

#define HEAPS    200
#define THREADS  4
#define CHILDREN 60

static heapscope_heap *heaps[HEAPS];
static pthread_barrier_t barrier;
static unsigned lost_count;

static void create_all(void)
{
    char name[32];
    for (unsigned i = 0; i < HEAPS; i++) {
        snprintf(name, sizeof(name), "heap %u", i);
        heaps[i] = heapscope_heap_create(name);
    }
}

static void report(uint32_t heap, uint64_t id, uint64_t size_bytes)
{
    if (!heapscope_report_alloc(heap, id, size_bytes)) {
        __atomic_fetch_add(&lost_count, 1, __ATOMIC_RELAXED);
    }
}

static void *register_at_once(void *number)
{
    for (unsigned i = 0; i < HEAPS; i++) {
        pthread_barrier_wait(&barrier);
        report(heapscope_heap_register(heaps[i]), (uintptr_t)number, 7);
    }
    return NULL;
}

static void use_both(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, register_at_once, (void *)i);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *register_all(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < HEAPS; i++) {
        heapscope_heap_register(heaps[i]);
    }
    return NULL;
}

/* How many of the children lost a report; one that hangs is killed by its alarm, and counts. */
static void use_forks(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, register_all, NULL);
    pthread_barrier_wait(&barrier);
    for (unsigned n = 0; n < CHILDREN; n++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (unsigned i = 0; i < HEAPS; i++) {
                report(heapscope_heap_register(heaps[i]), 1, 7);
            }
            _exit(lost_count != 0);
        }
    }
    pthread_join(thread, NULL);
    int status;
    while (wait(&status) > 0) {
        lost_count += status != 0;
    }
}

static int is_over;

static void *make_pools(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        heapscope_pool_destroy(heapscope_pool_create("of the parent", NULL));
    }
    return NULL;
}

static void use_pools(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, make_pools, NULL);
    pthread_create(&threads[1], NULL, make_pools, NULL);
    for (unsigned n = 0; n < 4 * CHILDREN && lost_count == 0; n++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            heapscope_pool *pool = heapscope_pool_create("of a child", NULL);
            void *block = heapscope_pool_alloc(pool, 100);
            heapscope_pool_free(pool, block);
            _exit(block == NULL);
        }
        int status;
        waitpid(child, &status, 0);
        lost_count += status != 0;
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void use_child(int does_poll)
{
    int go[2];
    uint32_t both = heapscope_heap_register(heapscope_heap_create("both"));
    report(both, 1, 100);
    if (pipe(go) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        char byte;
        read(go[0], &byte, 1); /* the parent has registered its heap */
        if (does_poll) {
            heapscope_poll();
        }
        uint32_t own = heapscope_heap_register(heapscope_heap_create("of the child"));
        report(own, 1, 10);
        report(own, 2, 10);
        report(both, 2, 5);
        lost_count += heapscope_interval(own) == 0;
        _exit((int)lost_count);
    }
    report(heapscope_heap_register(heapscope_heap_create("of the parent")), 1, 1000);
    write(go[1], "g", 1);
    int status;
    waitpid(child, &status, 0);
    lost_count += WEXITSTATUS(status);
}

static void use_parent(void)
{
    char line[16];
    heapscope_heap *inner = heapscope_heap_create("inner");
    uint32_t outer = heapscope_heap_register(heapscope_heap_create("outer"));
    heapscope_heap_set_parent(inner, outer);
    uint32_t inner_id = heapscope_heap_register(inner);
    printf("ready\n");
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin)) {
        report(outer, 1, 1000);
        report(inner_id, 1, 100);
    }
}

static uint32_t called_back[HEAPS];
static unsigned call_count, depth, deepest;

static void on_enabled(void *data, uint64_t interval_bytes)
{
    (void)interval_bytes;
    call_count++;
    depth++;
    deepest = depth > deepest ? depth : deepest;
    report(called_back[(uintptr_t)data], 1, 3);
    depth--;
}

static void *report_in_thread(void *unused)
{
    (void)unused;
    report(called_back[0], 2, 5);
    return NULL;
}

static void use_callbacks(void)
{
    char line[16];
    pthread_t thread;
    pthread_attr_t small_stack;
    for (uintptr_t i = 0; i < HEAPS; i++) {
        heapscope_heap_set_callbacks(heaps[i], on_enabled, NULL, (void *)i);
        called_back[i] = heapscope_heap_register(heaps[i]);
    }
    printf("ready\n");
    fflush(stdout);
    if (fgets(line, sizeof(line), stdin)) {
        pthread_attr_init(&small_stack);
        pthread_attr_setstacksize(&small_stack, 64 << 10);
        pthread_create(&thread, &small_stack, report_in_thread, NULL);
        pthread_join(thread, NULL);
    }
    printf("called %u, deepest %u\n", call_count, deepest);
}

static void use_copy(const char *path)
{
    heapscope_heap *(*create)(const char *name);
    uint32_t (*register_heap)(heapscope_heap * heap);
    bool (*report_alloc)(uint32_t heap, uint64_t id, uint64_t size_bytes);
    void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!copy) {
        return;
    }
    *(void **)&create = dlsym(copy, "heapscope_heap_create");
    *(void **)&register_heap = dlsym(copy, "heapscope_heap_register");
    *(void **)&report_alloc = dlsym(copy, "heapscope_report_alloc");
    for (unsigned i = 0; i < HEAPS; i++) {
        report(heapscope_heap_register(heaps[i]), 1, 7);
    }
    for (unsigned i = 0; i < HEAPS; i++) {
        lost_count += !report_alloc(register_heap(create("of the copy")), i, 9);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    create_all();
    if (strcmp(what, "both") == 0) {
        use_both();
    } else if (strcmp(what, "forks") == 0) {
        use_forks();
    } else if (strcmp(what, "child") == 0) {
        use_child(argc > 2);
    } else if (strcmp(what, "pools") == 0) {
        use_pools();
    } else if (strcmp(what, "copy") == 0 && argc > 2) {
        use_copy(argv[2]);
    } else if (strcmp(what, "callbacks") == 0) {
        use_callbacks();
    } else {
        use_parent();
    }
    printf("lost %u\n", lost_count);
    return 0;
}
