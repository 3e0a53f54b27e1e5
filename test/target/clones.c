/*
 * Processes made without libc's help, and unusually many of them.
 *
 *   clones raw       syscall(SYS_clone): a fork that libc does not know about
 *   clones three     the same by clone3
 *   clones vfork     clone(CLONE_VM | CLONE_VFORK): a child in the parent's memory, on a stack of
 *                    its own, that allocates and frees
 *   clones shared    clone(CLONE_VM): the same without stopping the parent, which waits for the
 *                    child
 *   clones bomb      a tree of 340 processes; each allocates, and frees what it inherited
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

SITE(site_parent, malloc(n))
SITE(site_child, malloc(n))
SITE(site_guest, malloc(n))

#define BLOCKS 100

static void *blocks[BLOCKS];
static int are_changed; /* the blocks of site_parent were freed or replaced */
static char stack[262144] __attribute__((aligned(16)));

/* A child with its own memory: its parent's figures must not change. */
static void child(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (!are_changed) {
            SITE_LOST(site_parent, 10 + i);
        }
        blocks[i] = i % 2 ? realloc(blocks[i], 700 + i) : (free(blocks[i]), NULL);
        site_child(30 + i);
    }
    are_changed = 1;
}

static int wait_for(long pid)
{
    int status = -1;
    if (pid <= 0 || waitpid((pid_t)pid, &status, 0) != pid) {
        abort();
    }
    return status;
}

static long clone_three(void)
{
    struct clone_args args = { .exit_signal = SIGCHLD };
    return syscall(SYS_clone3, &args, sizeof(args));
}

static void forks(int is_three)
{
    for (int i = 0; i < 20; i++) {
        long pid = is_three ? clone_three() : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            truth_detach();
            child();
            syscall(SYS_exit_group, i);
        }
        printf("%x ", (unsigned)wait_for(pid));
        site_parent(50);
    }
    puts("");
}

/* A child in its parent's memory: its blocks count for the parent. */
static int guest(void *arg)
{
    for (unsigned i = 0; i < 200; i++) {
        void *p = site_guest(20 + i);
        if (i % 2) {
            SITE_FREE(site_guest, p, 20 + i);
        }
    }
    site_guest(*(unsigned *)arg);
    return 7;
}

static void guests(int flags)
{
    for (unsigned i = 0; i < 20; i++) {
        printf("%x ", (unsigned)wait_for(clone(guest, stack + sizeof(stack), flags | SIGCHLD, &i)));
        site_parent(60);
    }
    puts("");
}

static int bomb(unsigned depth)
{
    long pids[4];
    int sum = 1;
    for (unsigned i = 0; i < 4 && depth > 0; i++) {
        pids[i] = truth_fork();
        if (pids[i] == 0) {
            child();
            _exit(bomb(depth - 1));
        }
    }
    for (unsigned i = 0; i < 4 && depth > 0; i++) {
        int status = wait_for(pids[i]);
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "raw";
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = site_parent(10 + i);
    }
    if (strcmp(what, "bomb") == 0) {
        printf("%d processes\n", bomb(4));
    } else if (strcmp(what, "vfork") == 0) {
        guests(CLONE_VM | CLONE_VFORK);
    } else if (strcmp(what, "shared") == 0) {
        guests(CLONE_VM);
    } else {
        forks(strcmp(what, "three") == 0);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        SITE_FREE(site_parent, blocks[i], 10 + i);
    }
    puts("done");
    return 0;
}
