/*
 * A library that dlopen needs RESOLVE_MS milliseconds for, in the middle of its relocation: there
 * it resolves an indirect function of it. Linked with -z now -z initfirst.
 */
#include <sys/syscall.h>
#include <time.h>

static int work(void *arg)
{
    (void)arg;
    return 0;
}

/* Makes the system call itself: the library's own calls are not bound yet. */
static __attribute__((used)) int (*resolve(void))(void *)
{
    const struct timespec while_ns = { .tv_nsec = RESOLVE_MS * 1000000L };
    long ret;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(SYS_nanosleep), "D"(&while_ns), "S"(0)
                     : "rcx", "r11", "memory");
    return work;
}

static int slow(void *arg) __attribute__((ifunc("resolve")));
static int (*volatile pointer)(void *) = slow;

int injected(void *arg)
{
    return pointer(arg);
}
