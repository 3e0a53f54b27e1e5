/*
 * Opens a library with RTLD_DEEPBIND and uses it: deep_bound LIBRARY [crossing] [wait].
 *
 *   crossing   the program frees blocks of the library and the reverse; both must have the same
 *              allocator
 *   wait       prints "ready", waits for a line, opens the library, works, prints "done", and waits
 *              again
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "truth.h"

SITE(site_main, malloc(n))
SITE(site_main_realloc, malloc(n))

static void *find(void *library, const char *name)
{
    void *va = dlsym(library, name);
    if (!va) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return va;
}

static int is_told(int argc, char **argv, const char *word)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], word) == 0) {
            return 1;
        }
    }
    return 0;
}

static void say_and_wait(const char *word)
{
    char line[16];
    puts(word);
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin)) {
        exit(1);
    }
}

static void work(void *library, int is_crossing)
{
    unsigned (*count)(void);
    void *(*make)(unsigned i, size_t n);
    void (*lost)(unsigned i, size_t n);
    void (*release)(void *p);
    *(void **)&count = find(library, "deep_count");
    *(void **)&make = find(library, "deep_make");
    *(void **)&lost = find(library, "deep_lost");
    *(void **)&release = find(library, "deep_free");
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < count(); i++) {
            size_t n = 64 * (i + 1) + round;
            void *kept = make(i, n), *freed = make(i, n), *crossed = make(i, n);
            (void)kept;
            lost(i, n);
            release(freed);
            if (is_crossing) {
                lost(i, n);
                free(crossed);
                void *p = site_main(n);
                SITE_LOST(site_main, n);
                release(p);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int is_waiting = is_told(argc, argv, "wait");
    if (is_waiting) {
        say_and_wait("ready");
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    work(library, is_told(argc, argv, "crossing"));
    if (!is_told(argc, argv, "open")) {
        dlclose(library);
    }
    if (is_waiting) {
        say_and_wait("done");
    }
    return 0;
}
