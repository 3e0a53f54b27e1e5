/* A program that embeds Python: python_host LIBPYTHON TIMES CODE loads the library late, and runs
 * the code, with an interpreter that begins anew each time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void (*initialize)(void) = (void (*)(void))dlsym(library, "Py_Initialize");
    int (*run)(const char *) = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
    for (int left = atoi(argv[2]); left > 0; left--) {
        initialize();
        if (run(argv[3]) != 0) {
            return 2;
        }
        if (left > 1) {
            finalize();
        }
    }
    _exit(0);
}
