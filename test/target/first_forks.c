/*
 * Preloaded: the first $FIRST_FORKS calls of fork() make no process and say "you are the child". So what a
 * program would do in its children it does itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

pid_t fork(void)
{
    static int count;
    const char *wanted = getenv("FIRST_FORKS");
    if (wanted && count < atoi(wanted)) {
        count++;
        return 0;
    }
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    return real();
}
