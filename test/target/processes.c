/*
 * Processes that make others.
 *
 *     processes fork        children without exec allocate, free what they inherited, and exit
 *     processes tree        children of children
 *     processes vfork       vfork and exec; posix_spawn; system
 *     processes exec COUNT  this program again, COUNT times, in the same process
 *     processes daemon      a double fork; the grandchild continues and reports through a pipe
 *     processes threads     forks while other threads allocate
 *     processes vfork_malloc  a vfork child that allocates before it executes
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#include "truth.h"

SITE(site_parent, malloc(n))
SITE(site_child, malloc(n))
SITE(site_thread, malloc(n))
SITE(site_image, malloc(n))
SITE(site_vfork_child, malloc(n))

#define BLOCKS 200

static void *blocks[BLOCKS];
static int are_changed; /* the blocks of site_parent were freed or replaced */
extern char **environ;

static void allocate(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = site_parent(10 + i);
    }
}

/* Runs in a child: does everything that could disturb the parent's figures. */
static void child(void)
{
    void *mine[500];
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (!are_changed) {
            SITE_LOST(site_parent, 10 + i);
        }
        blocks[i] = i % 2 ? realloc(blocks[i], 500 + i) : (free(blocks[i]), NULL);
    }
    are_changed = 1;
    for (unsigned i = 0; i < 500; i++) {
        mine[i] = site_child(i * 10);
    }
    for (unsigned i = 0; i < 500; i += 2) {
        SITE_FREE(site_child, mine[i], i * 10);
    }
}

static int wait_for(pid_t pid)
{
    int status = -1;
    if (waitpid(pid, &status, 0) != pid) {
        abort();
    }
    return status;
}

static void forks(void)
{
    for (unsigned i = 0; i < 20; i++) {
        pid_t pid = truth_fork();
        if (pid == 0) {
            child();
            if (i % 3 == 0) {
                exit((int)i);
            } else if (i % 3 == 1) {
                _exit((int)i);
            }
            kill(getpid(), SIGKILL);
        }
        printf("%x ", (unsigned)wait_for(pid));
        site_parent(1000);
    }
    puts("");
}

static void tree(unsigned depth)
{
    for (unsigned i = 0; i < 2 && depth > 0; i++) {
        pid_t pid = truth_fork();
        if (pid == 0) {
            child();
            tree(depth - 1);
            _exit((int)depth);
        }
        printf("%x ", (unsigned)wait_for(pid));
    }
}

static void vforks(void)
{
    char *const args[] = { (char *)"true", NULL };
    for (unsigned i = 0; i < 5; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            execv("/bin/true", args);
            _exit(1);
        }
        int status = wait_for(pid);
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) != 0) {
            abort();
        }
        printf("%x %x %x ", (unsigned)status, (unsigned)wait_for(pid), (unsigned)system("exit 3"));
        site_parent(100);
    }
    puts("");
}

/*
 * The child shares the parent's memory, so its allocations count for the parent: no observer can
 * tell them apart.
 */
static void vfork_malloc(void)
{
    char *const args[] = { (char *)"true", NULL };
    for (unsigned i = 0; i < 50; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            void *p = site_vfork_child(64);
            SITE_FREE(site_vfork_child, p, 64);
            site_vfork_child(65);
            execv("/bin/true", args);
            _exit(1);
        }
        wait_for(pid);
        site_parent(100);
    }
}

static volatile int is_over;

static void *allocate_on(void *arg)
{
    (void)arg;
    while (!is_over) {
        void *p = site_thread(30);
        SITE_FREE(site_thread, p, 30);
    }
    return NULL;
}

static void *vfork_thread(void *arg)
{
    (void)arg;
    vfork_malloc();
    return NULL;
}

static void with_threads(void (*what)(void), void *(*run)(void *))
{
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, i == 2 ? run : allocate_on, NULL);
    }
    what();
    if (run != allocate_on) {
        pthread_join(threads[2], NULL);
    }
    is_over = 1;
    for (unsigned i = 0; i < (run == allocate_on ? 3 : 2); i++) {
        pthread_join(threads[i], NULL);
    }
}

static void nothing(void)
{
}

static void daemonize(void)
{
    int ends[2];
    char word[16] = "";
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t pid = truth_fork();
    if (pid == 0) {
        child();
        setsid();
        if (truth_fork() == 0) {
            close(0);
            close(1);
            close(2);
            child();
            usleep(50000); /* by now its parent, and perhaps its grandparent, have exited */
            if (write(ends[1], "alive", 5) != 5) {
                abort();
            }
        }
        _exit(0);
    }
    wait_for(pid);
    if (read(ends[0], word, 5) != 5) {
        abort();
    }
    puts(word);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "fork";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(what, "exec") == 0) {
        unsigned count = (unsigned)atoi(argv[2]);
        site_image(100 + count);
        if (count > 0) {
            char next[16];
            snprintf(next, sizeof(next), "%u", count - 1);
            execl("/proc/self/exe", argv[0], "exec", next, (char *)NULL);
            return 1;
        }
        puts("done");
        return 0;
    }
    allocate();
    if (strcmp(what, "fork") == 0) {
        forks();
    } else if (strcmp(what, "tree") == 0) {
        tree(5);
    } else if (strcmp(what, "vfork") == 0) {
        vforks();
    } else if (strcmp(what, "daemon") == 0) {
        daemonize();
    } else if (strcmp(what, "threads") == 0) {
        with_threads(forks, allocate_on);
    } else if (strcmp(what, "vfork_malloc") == 0) {
        vfork_malloc();
        with_threads(nothing, vfork_thread);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        SITE_FREE(site_parent, blocks[i], 10 + i);
    }
    puts("done");
    return 0;
}
