/*
 * Forked children, each with its own heap, which begins with the inherited blocks.
 *
 *   forked late      the parent frees and allocates again before the child does anything
 *   forked flood     the same with more blocks than are kept for a child
 *   forked frees N   the child frees N blocks before its first allocation
 *   forked realloc   the child's first action is to enlarge an inherited block
 *   forked thread    a thread forks, and in the child threads allocate at once
 *   forked double    the child forks before it allocates, and exits; the grandchild continues
 *   forked handler   a signal handler forks
 *   forked forget    the program has overwritten its environment
 *   forked never     the child does nothing
 *   forked crowd     40 children at once, while the parent continues
 *   forked torn      300 times, a signal handler forks at whatever point it interrupted, and
 *                    returns in both processes
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "truth.h"

SITE(site_early, malloc(n))
SITE(site_late, malloc(n))
SITE(site_child, malloc(n))
SITE(site_grown, malloc(n))
SITE(site_thread, malloc(n))
SITE_OF(site_again)

#define BLOCKS 6000
#define FLOOD  200000

extern char **environ;

static void *blocks[FLOOD];
static unsigned count = BLOCKS;
static const char *what;
static unsigned amount;

static size_t size_of(unsigned i)
{
    return 24 + i * 7 % 400;
}

static void free_early(unsigned first, unsigned step)
{
    for (unsigned i = first; i < count; i += step) {
        if (blocks[i]) {
            SITE_FREE(site_early, blocks[i], size_of(i));
            blocks[i] = NULL;
        }
    }
}

NOINLINE static void *site_again(void *block, size_t old_bytes, size_t n)
{
    SITE_LOST(site_early, old_bytes);
    void *volatile moved = realloc(block, n);
    SITE_GOT(site_again, n);
    return moved;
}

static void *work(void *arg)
{
    for (unsigned i = 0; i < 500; i++) {
        void *block = site_thread(40 + (uintptr_t)arg);
        if (i % 2) {
            SITE_FREE(site_thread, block, 40 + (uintptr_t)arg);
        }
    }
    return NULL;
}

static void allocate(void)
{
    for (unsigned i = 0; i < 300; i++) {
        void *block = site_child(100 + i);
        if (i % 3 == 0) {
            SITE_FREE(site_child, block, 100 + i);
        }
    }
}

static void child(void)
{
    if (strcmp(what, "frees") == 0) {
        for (unsigned i = 0; i < amount; i++) {
            SITE_FREE(site_early, blocks[i], size_of(i));
            blocks[i] = NULL;
        }
    } else if (strcmp(what, "realloc") == 0) {
        site_again(blocks[7], size_of(7), 5000);
        blocks[7] = NULL;
    } else if (strcmp(what, "thread") == 0) {
        pthread_t threads[4];
        for (uintptr_t i = 0; i < 4; i++) {
            pthread_create(&threads[i], NULL, work, (void *)i);
        }
        for (unsigned i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    allocate();
    free_early(3, 5);
    allocate();
}

/* Forks; the child waits until the parent has continued. */
static pid_t fork_one(void)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t pid = truth_fork();
    if (pid == 0) {
        close(ends[1]);
        if (strcmp(what, "double") == 0 && truth_fork() != 0) {
            wait(NULL);
            _exit(0);
        }
        if (read(ends[0], &byte, 1) < 0) {
            abort();
        }
        if (strcmp(what, "never") != 0) {
            child();
        }
        _exit(0);
    }
    free_early(0, strcmp(what, "flood") == 0 ? 1 : 2);
    for (unsigned i = 0; i < count; i += 2) {
        blocks[i] = site_late(size_of(i));
    }
    for (unsigned i = 0; i < count; i += 2) {
        SITE_FREE(site_late, blocks[i], size_of(i));
        blocks[i] = site_early(size_of(i));
    }
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static volatile pid_t forked_pid;

static void on_signal(int number)
{
    (void)number;
    forked_pid = fork_one();
}

static void *fork_in_thread(void *arg)
{
    (void)arg;
    forked_pid = fork_one();
    return NULL;
}

static void crowd(void)
{
    for (unsigned i = 0; i < 40; i++) {
        if (truth_fork() == 0) {
            free_early(i, 40);
            usleep(1000 * (i % 7));
            child();
            _exit(0);
        }
        free_early(i, 200);
        for (unsigned k = i; k < count; k += 200) {
            blocks[k] = site_early(size_of(k));
        }
    }
    while (wait(NULL) > 0) {
    }
}

static volatile int is_child, fork_count;

static void on_alarm(int number)
{
    (void)number;
    if (!is_child && fork_count < 300) {
        fork_count++;
        if (fork() == 0) {
            is_child = 1;
            truth_detach();
        }
    }
}

static void torn(void)
{
    struct itimerval often = { { 0, 500 }, { 0, 500 } };
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    signal(SIGCHLD, SIG_IGN);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned after = 0; fork_count < 300 || is_child; after += (unsigned)is_child) {
        allocate();
        if (after > 2) {
            _exit(0);
        }
    }
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "late";
    amount = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    count = strcmp(what, "flood") == 0 ? FLOOD : BLOCKS;
    for (unsigned i = 0; i < count; i++) {
        blocks[i] = site_early(size_of(i));
    }
    if (strcmp(what, "handler") == 0) {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    } else if (strcmp(what, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, fork_in_thread, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "torn") == 0) {
        torn();
        return 0;
    } else if (strcmp(what, "crowd") == 0) {
        crowd();
        return 0;
    } else {
        if (strcmp(what, "forget") == 0) {
            char *truth = strdup(getenv("TRUTH_FILE") ? getenv("TRUTH_FILE") : "/dev/null");
            for (char **entry = environ; *entry; entry++) {
                memset(*entry, 'x', strlen(*entry));
            }
            clearenv();
            setenv("TRUTH_FILE", truth, 1);
        }
        forked_pid = fork_one();
    }
    waitpid(forked_pid, NULL, 0);
    return 0;
}
