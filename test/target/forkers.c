/*
 * Threads that fork without a pause: forkers COUNT LIBRARY. Each child allocates in
 * child_allocate(), opens a library that is open already (the C library) and LIBRARY, which is not,
 * and ends. The threads allocate in parent_allocate().
 *
 * For each line on standard input it prints how many children have ended as they should, and how
 * many have not. At the end of its input it ends, with 0 if none has not.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 16
#define FINE        7
/* A child that still runs after this time hangs. */
#define CHILD_S 60

static const char *library;
static atomic_bool is_over;
static atomic_ulong fine_count, bad_count;

static __attribute__((noinline)) void child_allocate(void)
{
    void *volatile p;
    for (size_t i = 1; i <= 100; i++) {
        p = malloc(i);
        free(p);
    }
}

static __attribute__((noinline)) void parent_allocate(void)
{
    void *volatile p = malloc(100);
    free(p);
}

static int live(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(CHILD_S);
    child_allocate();
    if (!dlopen("libc.so.6", RTLD_NOW) || !dlopen(library, RTLD_NOW)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    child_allocate();
    return FINE;
}

static void *fork_many(void *arg)
{
    (void)arg;
    while (!is_over) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            _exit(live());
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0) {
        }
        atomic_fetch_add(
            WIFEXITED(status) && WEXITSTATUS(status) == FINE ? &fine_count : &bad_count, 1);
        parent_allocate();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX];
    int count = argc == 3 ? atoi(argv[1]) : 0;
    char line[8];
    if (count < 1 || count > THREADS_MAX) {
        return 2;
    }
    library = argv[2];
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, fork_many, NULL);
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        printf("%lu %lu\n", fine_count, bad_count);
        fflush(stdout);
    }
    is_over = true;
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return bad_count == 0 ? 0 : 1;
}
