/*
 * unloaded ROUNDS FILE...: opens, calls and closes each library in turn, ROUNDS times; 0: until its
 * input ends. Prints "fine".
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int is_over(void)
{
    struct pollfd input = { .fd = 0, .events = POLLIN };
    return poll(&input, 1, 1) != 0;
}

/* Makes the libraries come to other addresses than in the round before. */
static void move(long round)
{
    void *page =
        mmap(NULL, 4096 * (size_t)(1 + round % 9), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && round % 2) {
        munmap(page, 4096);
    }
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? atol(argv[1]) : 1;
    puts("ready");
    fflush(stdout);
    for (long round = 0; rounds ? round < rounds : !is_over(); round++) {
        int number = (int)(round % (argc - 2));
        void *handle = dlopen(argv[number + 2], RTLD_LAZY);
        int (*run)(int) = NULL;
        *(void **)&run = handle ? dlsym(handle, "library_run") : NULL;
        if (!run || run((int)round) != (int)round + number) {
            return 1;
        }
        dlclose(handle);
        move(round % 100);
    }
    puts("fine");
    return 0;
}
