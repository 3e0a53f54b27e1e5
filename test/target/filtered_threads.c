/*
 * Four threads, each with its own seccomp filter. Each filter allows everything except one call
 * that no thread makes; the filter of the last thread kills the process at mremap. Ends when its
 * input ends.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4

static pthread_barrier_t barrier;

static void *run(void *arg)
{
    uint32_t call = (uint32_t)(uintptr_t)arg;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        abort();
    }
    pthread_barrier_wait(&barrier);
    for (;;) {
        free(malloc(100));
        usleep(1000);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uintptr_t i = 0; i < THREADS; i++) {
        uintptr_t call = i == THREADS - 1 ? SYS_mremap : 1000 + i;
        if (pthread_create(&thread, NULL, run, (void *)call) != 0) {
            return 1;
        }
    }
    pthread_barrier_wait(&barrier);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
