/* A program that embeds Python: python_host LIBPYTHON TIMES CODE [close] loads the library late and
 * runs the code, with an interpreter that begins anew each time; with `close`, the library is also
 * unloaded and loaded again. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (int left = argc >= 4 ? atoi(argv[2]) : 0; left > 0; left--) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*initialize)(void) = (void (*)(void))dlsym(library, "Py_Initialize");
        int (*run)(const char *) = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
        int (*finalize)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
        initialize();
        if (run(argv[3]) != 0) {
            return 2;
        }
        if (left > 1) {
            finalize();
        }
        if (left > 1 && argc > 4) {
            dlclose(library);
        }
    }
    _exit(0);
}
