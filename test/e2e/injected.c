/*
 * The library that test_inject.py injects: it allocates, changes registers and errno, and counts.
 */
#define _GNU_SOURCE
#include "injected.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int call_count;
static __thread char some_thread_local[64];

/* Changes all vector registers in their full width. */
static void spoil_registers(void)
{
    __asm__ volatile(
        "pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1\n\tpcmpeqd %%xmm2, %%xmm2\n\t"
        "pcmpeqd %%xmm7, %%xmm7\n\tpcmpeqd %%xmm8, %%xmm8\n\tpcmpeqd %%xmm15, %%xmm15" ::
            : "xmm0", "xmm1", "xmm2", "xmm7", "xmm8", "xmm15");
    if (__builtin_cpu_supports("avx")) {
        __asm__ volatile("vzeroall" ::
                             : "xmm3", "xmm4", "xmm5", "xmm6", "xmm9", "xmm10", "xmm11", "xmm12",
                               "xmm13", "xmm14");
    }
}

static int work(struct injected_arg *arg)
{
    for (int i = 0; i < 20; i++) {
        void *volatile p = malloc((size_t)(i * 100 + 1));
        free(p);
    }
    some_thread_local[0] = 1;
    arg->word++;
    arg->call_count = ++call_count;
    spoil_registers();
    errno = EXDEV;
    return INJECTED_VALUE;
}

int injected(void *arg)
{
    return work(arg);
}

int injected_fd(void *arg)
{
    struct injected_arg *a = arg;
    int fd = memfd_create("hello", MFD_CLOEXEC);
    if (fd < 0 || write(fd, "hello", 5) != 5 || lseek(fd, 0, SEEK_SET) != 0) {
        return -1;
    }
    a->fd = fd;
    return work(a);
}

int injected_crash(void *arg)
{
    (void)arg;
    *(volatile int *)8 = 1;
    return 0;
}

int injected_signal(void *arg)
{
    /* Arrives in the middle of the call. */
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGSEGV);
    return work(arg);
}

int injected_stop(void *arg)
{
    kill(getpid(), SIGSTOP);
    return work(arg);
}

int injected_kill(void *arg)
{
    (void)arg;
    return kill(getpid(), SIGKILL);
}

int injected_exec(void *arg)
{
    (void)arg;
    return execlp("sleep", "sleep", "3", (char *)NULL);
}

int injected_work(void *arg)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 4);
    return work(arg);
}

int injected_hang(void *arg)
{
    (void)arg;
    for (;;) {
        pause();
    }
}
