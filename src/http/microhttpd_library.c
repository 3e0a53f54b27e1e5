/*
 * Loads libmicrohttpd: see microhttpd_library.h.
 */
#include "http/microhttpd_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY "libmicrohttpd.so.12"

/* dlsym() returns a pointer to data, which C does not convert to one to a function. */
static bool take_symbol(void *handle, const char *name, void *ret_function)
{
    void *symbol = dlsym(handle, name);
    *(void **)ret_function = symbol;
    return symbol != NULL;
}

const struct hs_microhttpd *hs_microhttpd_load(void)
{
    static struct hs_microhttpd library;
    static bool is_loaded;
    if (is_loaded) {
        return &library;
    }
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return NULL;
    }
    is_loaded = true;
#define TAKE(name) is_loaded = take_symbol(handle, "MHD_" #name, &library.name) && is_loaded;
    HS_MICROHTTPD_FUNCTIONS(TAKE)
#undef TAKE
    return is_loaded ? &library : NULL;
}
