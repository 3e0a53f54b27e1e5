/*
 * Fuzz target: mangled names, a line each, demangled by our own code and by libiberty.
 *
 * Holds     where our own code knows the form of a name, libiberty gives the same text; so it does
 *           for a buffer in which the text fits just, and ours refuses one that is a byte shorter.
 */
#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "symbol/cxx_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const char *name)
{
    static char text[65536];
    if (!hs_cxx_function_demangle(name, text, sizeof(text))) {
        return;
    }
    char *expected = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
    size_t bytes = strlen(text);
    char *tight = malloc(bytes + 1);
    check(expected && strcmp(text, expected) == 0);
    check(tight && hs_cxx_function_demangle(name, tight, bytes + 1));
    check(strcmp(tight, text) == 0 && !hs_cxx_function_demangle(name, tight, bytes));
    free(tight);
    free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *names = malloc(size + 1), *rest = NULL;
    if (names && size < 100000) {
        memcpy(names, data, size);
        names[size] = '\0';
        for (char *name = strtok_r(names, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest)) {
            compare(name);
        }
    }
    free(names);
    return 0;
}
