/*
 * System calls that touch memory which the client must not touch: memory beside the arguments of
 * syscall(). And a program that treats every system call from outside its libc as one of a foreign
 * system.
 *
 *   calls word       another thread counts in the word where syscall() would have its last
 *                    argument; syscall() is called without that argument
 *   calls six        all six arguments arrive
 *   calls dispatch   counts the system calls that come neither from libc nor from the program
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

SITE(site_before, malloc(n))
SITE(site_after, malloc(n))

static uint64_t *volatile word;
static volatile uint64_t counted;
static volatile int is_over;

static void *count(void *arg)
{
    (void)arg;
    while (!word) {
    }
    while (!is_over) {
        __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
        counted++;
    }
    return NULL;
}

/*
 * Makes each call with `word` directly behind its return address, where a local variable of the
 * caller can be.
 */
static void call_beside_word(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, count, NULL);
    for (unsigned i = 0; i < 600000; i++) {
        static uint64_t frame[64] __attribute__((aligned(64)));
        word = &frame[32];
        __asm__ volatile("movq %%rsp, %%rbx\n\t"
                         "movq %0, %%rsp\n\t"
                         "call syscall@PLT\n\t"
                         "movq %%rbx, %%rsp"
                         :
                         : "r"(&frame[32]), "D"((long)SYS_getppid)
                         : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory",
                           "cc");
    }
    is_over = 1;
    pthread_join(thread, NULL);
    printf("%s\n", *word == counted ? "nothing is lost" : "another thread's writes are lost");
}

static void six(void)
{
    FILE *file = tmpfile();
    char *map;
    fprintf(file, "%4096s%s", "", "here");
    fflush(file);
    map = (char *)syscall(SYS_mmap, NULL, 4096UL, PROT_READ, MAP_PRIVATE, fileno(file), 4096UL);
    printf("%s\n", map != MAP_FAILED ? map : strerror(errno));
    long status = syscall(SYS_close, -1);
    printf("%ld %s\n", status, strerror(errno));
}

/* --- system calls from elsewhere -------------------------------------------------------------- */

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON           1
#endif

static volatile unsigned foreign;
static char selector = 1; /* SYSCALL_DISPATCH_FILTER_BLOCK */

static void on_foreign(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    (void)context;
    foreign++;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret_range)
{
    uintptr_t *range = (uintptr_t *)ret_range;
    (void)size;
    for (unsigned i = 0; strstr(info->dlpi_name, "/libc.so") && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_X) {
            range[0] = info->dlpi_addr + ph->p_vaddr;
            range[1] = ph->p_memsz;
        }
    }
    return 0;
}

static void dispatch(void)
{
    uintptr_t range[2] = { 0, 0 };
    dl_iterate_phdr(find_libc, range);
    struct sigaction action = { .sa_flags = SA_SIGINFO };
    action.sa_sigaction = on_foreign;
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, range[0], range[1], &selector)) {
        puts("no such thing here");
        exit(77);
    }
    static void *p[20000];
    for (unsigned i = 0; i < 20000; i++) {
        p[i] = site_after(100 + i % 300);
    }
    for (unsigned i = 0; i < 20000; i += 2) {
        SITE_FREE(site_after, p[i], 100 + i % 300);
    }
    unsigned seen = foreign;
    selector = 0;
    printf("%u foreign calls\n", seen);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "six";
    for (unsigned i = 0; i < 10; i++) {
        site_before(5 + i);
    }
    if (strcmp(what, "word") == 0) {
        call_beside_word();
    } else if (strcmp(what, "dispatch") == 0) {
        dispatch();
    } else {
        six();
    }
    return 0;
}
