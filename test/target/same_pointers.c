/*
 * Compares pointers to the C library's functions that were obtained in different ways. Prints a
 * line for each: the name, and 1 or 0 for each way, 1 for the same pointer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define SAY(name)                                                                                  \
    printf("%s %d %d %d\n", #name, dlsym(libc, #name) == (void *)name,                             \
           dlvsym(libc, #name, "GLIBC_2.2.5") == (void *)name,                                     \
           dlsym(RTLD_DEFAULT, #name) == (void *)name)

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    SAY(malloc);
    SAY(calloc);
    SAY(realloc);
    SAY(free);
    SAY(memalign);
    SAY(posix_memalign);
    SAY(valloc);
    printf("%d %d %d\n", dlsym(libc, "no_such_function") == NULL, dlerror() != NULL,
           dlvsym(libc, "malloc", "GLIBC_9.9") == NULL);
    return 0;
}
