/*
 * Calls libdebuginfod, which is loaded when it is first needed: see debuginfod.h.
 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"

#define LIBRARY      "libdebuginfod.so.1"
#define CONNECT_MS   20000U
#define ID_BYTES_MAX 64U
#define NS_PER_MS    UINT64_C(1000000)

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
    uint64_t until_ns;               /* when its answer must be here; 0: no limit */
    bool is_given_up;                /* the question */
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

static uint64_t connect_limit_ns(const struct hs_symbol_options *options)
{
    unsigned limit_ms = options->server_timeout_ms ? options->server_timeout_ms : CONNECT_MS;
    const char *value = getenv("DEBUGINFOD_TIMEOUT");
    char *end = NULL;
    unsigned long seconds = value ? strtoul(value, &end, 10) : 0;
    bool is_given = value && end != value && *end == '\0' && seconds > 0 && seconds < INT_MAX;
    return is_given ? seconds * 1000 * NS_PER_MS : limit_ms * NS_PER_MS;
}

/* Called while an answer is awaited. `all` is 0 until one begins. Other than 0: give up. */
static int is_too_late(client *asked, long done, long all)
{
    (void)asked;
    (void)done;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    library.is_given_up |= (all <= 0 && now_ns - library.started_ns > library.connect_ns) ||
                           (library.until_ns != 0 && now_ns > library.until_ns);
    return library.is_given_up;
}

/* The library keeps its files here, as its documentation says. False: nowhere that we know. */
static bool find_cache(char *ret_path, size_t bytes)
{
    const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    struct stat st;
    int length;
    if (path && path[0]) {
        length = snprintf(ret_path, bytes, "%s", path);
    } else {
        length = home ? snprintf(ret_path, bytes, "%s/.debuginfod_client_cache", home) : -1;
        bool is_old = length > 0 && (size_t)length < bytes && stat(ret_path, &st) == 0;
        if (!is_old && xdg && xdg[0]) {
            length = snprintf(ret_path, bytes, "%s/debuginfod_client", xdg);
        } else if (!is_old && home) {
            length = snprintf(ret_path, bytes, "%s/.cache/debuginfod_client", home);
        }
    }
    return length > 0 && (size_t)length < bytes;
}

/* The library notes a question that was given up as one to which no server has the answer, and
 * asks nobody for ten minutes. The note is an empty file. */
static void forget_note(const uint8_t *id, size_t id_bytes)
{
    char path[PATH_MAX];
    struct stat st;
    if (!find_cache(path, sizeof(path) - 2 * id_bytes - sizeof("//debuginfo"))) {
        return;
    }
    size_t at = strlen(path);
    path[at++] = '/';
    for (size_t i = 0; i < id_bytes; i++) {
        at += (size_t)snprintf(path + at, 3, "%02x", id[i]);
    }
    snprintf(path + at, sizeof(path) - at, "/debuginfo");
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0) {
        unlink(path);
    }
}

int hs_debuginfod_find(const struct hs_symbol_options *options, const uint8_t *id, size_t id_bytes,
                       char **ret_path)
{
    if (library.err != 0 || id_bytes == 0 || id_bytes > ID_BYTES_MAX) {
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
    library.connect_ns = connect_limit_ns(options);
    library.until_ns = options->servers_until_ns;
    library.is_given_up = false;
    if (library.until_ns != 0 && library.started_ns > library.until_ns) {
        return library.err = -ETIME;
    }
    library.set_progress(library.connection, is_too_late);
    int fd = library.find_debuginfo(library.connection, id, (int)id_bytes, &path);
    if (fd >= 0) {
        close(fd);
        *ret_path = path;
        return path ? 0 : -ENOENT;
    }
    free(path);
    if (library.is_given_up) {
        forget_note(id, id_bytes);
        fd = -ETIME;
    }
    if (fd != -ENOENT) {
        library.err = fd;
    }
    return fd;
}
