/*
 * Calls libdebuginfod, which is loaded when it is first needed: see debuginfod.h.
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"

#define LIBRARY    "libdebuginfod.so.1"
#define CONNECT_MS 20000U
#define NS_PER_MS  UINT64_C(1000000)

/* The library's types, as in elfutils' header. */
typedef struct debuginfod_client client;
typedef int progress_fn(client *asked, long done, long all);

/* The library and this process's connection. */
static struct {
    bool is_tried;
    client *(*begin)(void);
    int (*find_debuginfo)(client *asked, const unsigned char *id, int id_bytes, char **ret_path);
    void (*set_progress)(client *asked, progress_fn *progress);
    client *connection;
    uint64_t started_ns, connect_ns; /* of the question; how long its answer may take to begin */
    int err;                         /* why no server is asked any more */
} library;

bool hs_debuginfod_is_wanted(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && urls[0] != '\0';
}

/* dlsym() returns a pointer to data, which C does not convert to one to a function. */
static void take_symbol(void *handle, const char *name, void *ret_function)
{
    *(void **)ret_function = handle ? dlsym(handle, name) : NULL;
}

bool hs_debuginfod_is_installed(void)
{
    if (!library.is_tried) {
        void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        library.is_tried = true;
        take_symbol(handle, "debuginfod_begin", &library.begin);
        take_symbol(handle, "debuginfod_find_debuginfo", &library.find_debuginfo);
        take_symbol(handle, "debuginfod_set_progressfn", &library.set_progress);
    }
    return library.begin && library.find_debuginfo && library.set_progress;
}

static uint64_t connect_limit_ns(void)
{
    const char *value = getenv("DEBUGINFOD_TIMEOUT");
    char *end = NULL;
    unsigned long seconds = value ? strtoul(value, &end, 10) : 0;
    bool is_given = value && end != value && *end == '\0' && seconds > 0 && seconds < INT_MAX;
    return is_given ? seconds * 1000 * NS_PER_MS : CONNECT_MS * NS_PER_MS;
}

/* Called while an answer is awaited. `all` is 0 until one begins. Other than 0: give up. */
static int is_too_late(client *asked, long done, long all)
{
    (void)asked;
    (void)done;
    return all <= 0 && hs_clock_ns(CLOCK_MONOTONIC) - library.started_ns > library.connect_ns;
}

int hs_debuginfod_find(const uint8_t *id, size_t id_bytes, char **ret_path)
{
    if (library.err != 0 || id_bytes == 0 || id_bytes > INT_MAX) {
        return library.err ? library.err : -ENOENT;
    }
    if (!hs_debuginfod_is_installed()) {
        return library.err = -ENOSYS;
    }
    library.connection = library.connection ? library.connection : library.begin();
    if (!library.connection) {
        return library.err = -ENOMEM;
    }
    char *path = NULL;
    library.started_ns = hs_clock_ns(CLOCK_MONOTONIC);
    library.connect_ns = connect_limit_ns();
    library.set_progress(library.connection, is_too_late);
    int fd = library.find_debuginfo(library.connection, id, (int)id_bytes, &path);
    if (fd >= 0) {
        close(fd);
        *ret_path = path;
        return path ? 0 : -ENOENT;
    }
    free(path);
    if (fd != -ENOENT) {
        library.err = fd;
    }
    return fd;
}
