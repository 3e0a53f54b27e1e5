/*
 * Opens a library that brings libheapscope.so, with which the program itself is not linked.
 *
 *     api_opens LIBRARY
 *
 * Waits for a line on standard input before, and for another one after. Prints how many of 10
 * reports the library could make.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char line[16];
    printf("ready\n");
    fflush(stdout);
    if (argc < 2 || !fgets(line, sizeof(line), stdin)) {
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    unsigned (*report)(unsigned count);
    *(void **)&report = library ? dlsym(library, "plugin_report") : NULL;
    if (!report) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("recorded %u\n", report(10));
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) ? 0 : 3;
}
