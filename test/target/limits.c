/*
 * A program under limits, some of which it sets itself. The client must work within them or switch
 * itself off, and the program must behave as without it.
 *
 *   limits none|as|data|fsize|nofile|fds|range|chroot|stack|std|mask|user|hidden|seccomp|
 *          seccomp_errno|seccomp_strict|mlock
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "truth.h"

SITE(site_before, malloc(n))
SITE(site_after, malloc(n))
SITE(site_thread, malloc(n))
SITE(site_deep, malloc(n))

static void limit(int resource, rlim_t bytes)
{
    struct rlimit l = { bytes, bytes };
    if (setrlimit(resource, &l) != 0) {
        abort();
    }
}

/* Allows what an allocator, the truth and the exit need; `action` for everything else. */
static void filter(uint32_t action)
{
    static const unsigned allowed[] = {
        SYS_brk,   SYS_mmap,           SYS_munmap,     SYS_mremap,   SYS_madvise,
        SYS_futex, SYS_write,          SYS_exit_group, SYS_mprotect, SYS_rt_sigreturn,
        SYS_exit,  SYS_rt_sigprocmask, SYS_newfstatat,
    };
    enum { COUNT = sizeof(allowed) / sizeof(allowed[0]) };
    struct sock_filter code[COUNT + 3];
    unsigned n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < COUNT; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                                 (uint8_t)(COUNT - i), 0);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { (unsigned short)n, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        abort();
    }
}

static NOINLINE void deep(unsigned depth)
{
    volatile char room[500];
    room[0] = (char)depth;
    if (depth == 0) {
        site_deep(50);
    } else {
        deep(depth - 1);
    }
    room[1] = room[0];
}

static void *thread_run(void *arg)
{
    (void)arg;
    void *p = site_thread(300);
    SITE_FREE(site_thread, p, 300);
    site_thread(20);
    return NULL;
}

static void threads(size_t stack_bytes)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (stack_bytes) {
        pthread_attr_setstacksize(&attr, stack_bytes);
    }
    for (unsigned i = 0; i < 20; i++) {
        if (pthread_create(&thread, &attr, thread_run, NULL) != 0) {
            abort();
        }
        pthread_join(thread, NULL);
    }
}

static void work(void)
{
    static void *p[20000];
    for (unsigned i = 0; i < 20000; i++) {
        p[i] = site_after(100 + i % 50);
    }
    for (unsigned i = 0; i < 20000; i += 2) {
        SITE_FREE(site_after, p[i], 100 + i % 50);
    }
    void *big = site_after(40 << 20);
    SITE_FREE(site_after, big, 40 << 20);
    for (unsigned i = 0; i < 50; i++) {
        deep(i);
    }
}

/* Sets the limits that need only one call; false: `what` is another limit. */
static int restrict_self(const char *what)
{
    sigset_t all;
    if (strcmp(what, "as") == 0) {
        limit(RLIMIT_AS, (rlim_t)256 << 20);
    } else if (strcmp(what, "data") == 0) {
        limit(RLIMIT_DATA, (rlim_t)64 << 20);
    } else if (strcmp(what, "fsize") == 0) {
        limit(RLIMIT_FSIZE, 0);
    } else if (strcmp(what, "nofile") == 0) {
        limit(RLIMIT_NOFILE, 0);
    } else if (strcmp(what, "fds") == 0) {
        for (int fd = 3; fd < 1024; fd++) {
            close(fd);
        }
    } else if (strcmp(what, "range") == 0) {
        syscall(SYS_close_range, 3U, ~0U, 0U);
    } else if (strcmp(what, "std") == 0) {
        close(0);
        close(1);
        close(2);
    } else if (strcmp(what, "mask") == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    } else if (strcmp(what, "user") == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) {
            abort();
        }
    } else if (strcmp(what, "hidden") == 0) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "none";
    static char buffer[100];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    for (unsigned i = 0; i < 10; i++) {
        site_before(5 + i);
    }
    int has_threads = 1;
    size_t stack_bytes = 0;
    if (restrict_self(what)) {
    } else if (strcmp(what, "chroot") == 0) {
        if (chdir("/tmp") != 0 || (chroot("/proc/self") != 0 && errno != EPERM)) {
            return 3;
        }
    } else if (strcmp(what, "stack") == 0) {
        limit(RLIMIT_STACK, 16384 * 8);
        stack_bytes = 16384;
    } else if (strcmp(what, "seccomp") == 0) {
        filter(SECCOMP_RET_KILL_PROCESS);
        has_threads = 0;
    } else if (strcmp(what, "seccomp_errno") == 0) {
        filter(SECCOMP_RET_ERRNO | EPERM);
        has_threads = 0;
    } else if (strcmp(what, "seccomp_strict") == 0) {
        /* Allows read, write and exit only: memory must be allocated before. */
        void *room[100];
        for (unsigned i = 0; i < 100; i++) {
            room[i] = site_before(200);
        }
        for (unsigned i = 0; i < 100; i++) {
            SITE_FREE(site_before, room[i], 200);
        }
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
            abort();
        }
        for (unsigned i = 0; i < 100; i++) {
            room[i] = site_after(200);
        }
        for (unsigned i = 0; i < 100; i++) {
            SITE_FREE(site_after, room[i], 200);
        }
        fputs("done\n", stdout);
        fflush(stdout);
        syscall(SYS_exit, 0);
    } else if (strcmp(what, "mlock") == 0) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            return 4;
        }
    }
    work();
    if (has_threads) {
        threads(stack_bytes);
    }
    puts("done");
    fflush(stdout);
    _exit(0);
}
