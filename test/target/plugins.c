/*
 * Opens and closes plugins: plugins COUNT FILE... opens, runs and closes each file in turn, COUNT
 * times. -DOPENED=RTLD_DEEPBIND selects how they are opened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "truth.h"

#ifndef OPENED
#define OPENED RTLD_LOCAL
#endif

SITE(site_main, malloc(n))

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    void *last = NULL;
    int same = 0;
    for (int i = 0; i < count; i++) {
        const char *path = argv[2 + i % (argc - 2)];
        void *handle = dlopen(path, RTLD_NOW | OPENED);
        if (!handle) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void *(*run)(size_t);
        *(void **)&run = dlsym(handle, "plugin_run");
        run(128);
        same += (void *)run == last;
        last = (void *)run;
        dlclose(handle);
        site_main(10);
    }
    printf("%s\n", same > count / 2 ? "at the same address" : "at several addresses");
    return 0;
}
