/*
 * Blocks under scopes and labels: each has a size of its own, by which the test knows it. With
 * -DNO_SCOPES the same blocks without scopes.
 */
#include <heapscope/heapscope.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NO_SCOPES
#define SCOPE(name)       (void)(name)
#define LABEL(key, value) (void)(key), (void)(value)
#define BEGIN(name)       ((void)(name), 0U)
#define BEGIN_LABEL(k, v) ((void)(k), (void)(v), 0U)
#define END()             (void)0
#define END_TO(depth)     (void)(depth)
#else
#define SCOPE(name)       HEAPSCOPE_SCOPE(name)
#define LABEL(key, value) HEAPSCOPE_LABEL(key, value)
#define BEGIN(name)       heapscope_scope_begin(name)
#define BEGIN_LABEL(k, v) heapscope_label_begin(k, v)
#define END()             heapscope_scope_end()
#define END_TO(depth)     heapscope_scope_end_to(depth)
#endif

void *blocks[100]; /* not static: the compiler keeps what is stored there */
static unsigned block_count;
static jmp_buf back;

/* All blocks have the same stack below main. */
static __attribute__((noinline)) void take(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    blocks[__atomic_fetch_add(&block_count, 1, __ATOMIC_RELAXED)] = block;
}

static void nested(void)
{
    take(1001);
    SCOPE("outer");
    take(1002);
    {
        LABEL("tenant", "a");
        take(1003);
        LABEL("tenant", "b=c");
        take(1004);
    }
    take(1005);
}

static void deep(void)
{
    for (int i = 0; i < 200; i++) {
        BEGIN("deep");
    }
    take(1011);
    for (int i = 0; i < 100; i++) {
        END();
    }
    take(1012);
    for (int i = 0; i < 100; i++) {
        END();
    }
    take(1013);
    END();
    END();
    BEGIN("after too many ends");
    take(1014);
    END();
}

static void leave(size_t size_bytes)
{
    SCOPE("left");
    BEGIN("left, too");
    take(size_bytes);
    longjmp(back, 1);
}

static void jump(void)
{
    SCOPE("stays");
    const uint32_t depth = BEGIN("ends by token");
    if (setjmp(back) == 0) {
        leave(1021);
    }
    END_TO(depth + 1);
    take(1022);
    END_TO(depth);
    take(1023);
    if (setjmp(back) == 0) {
        leave(1025);
    }
}

static void *work(void *arg)
{
    take(1031);
    BEGIN((const char *)arg);
    take(1032);
    return NULL; /* with an open scope */
}

static void in_thread(void)
{
    pthread_t thread;
    SCOPE("main thread");
    pthread_create(&thread, NULL, work, "worker");
    pthread_join(thread, NULL);
    take(1033);
}

static void copied(void)
{
    char name[8] = "one";
    BEGIN(name);
    memset(name, 'x', sizeof(name));
    take(1041);
    END();
    strcpy(name, "two");
    BEGIN(name);
    memset(name, 'x', sizeof(name));
    take(1042);
    END();
    BEGIN(NULL);
    BEGIN("below no name");
    take(1043);
    END();
    END();
}

static void handle(int signal)
{
    (void)signal;
    BEGIN("handler");
    take(1051);
    END();
}

static void interrupted(void)
{
    signal(SIGUSR1, handle);
    SCOPE("interrupted");
    raise(SIGUSR1);
    take(1052);
}

static void forked(void)
{
    SCOPE("before the fork");
    take(1061);
    pid_t pid = fork();
    if (pid == 0) {
        BEGIN("child");
        take(1062);
        END();
        take(1063);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void other_heaps(void)
{
    uint32_t heap = heapscope_heap_register(heapscope_heap_create("pool"));
    LABEL("job", "7");
    heapscope_report_alloc(heap, 16, 1071);
    void *mapped =
        mmap(NULL, 1072 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    blocks[99] = mapped;
}

/* Blocks that differ in their scopes, and not in their frames. */
static void at_one_place(void)
{
    for (unsigned i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "scope %u", i % 5);
        BEGIN(name);
        take(1081 + i);
        END();
    }
    free(blocks[block_count - 1]);
}

int main(int argc, char **argv)
{
    (void)argv;
    nested();
    deep();
    jump();
    take(1024);
    in_thread();
    copied();
    interrupted();
    other_heaps();
    at_one_place();
    if (argc > 1) {
        forked();
    }
    return fflush(NULL);
}
