/*
 * Finds and makes the folder of the cache. See cache_folder.h.
 */
#include "symbol/cache_folder.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/base.h"

static bool belongs_to_user(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

HS_PRINTF(3, 4)
static bool put_path(char *out, size_t out_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(out, out_bytes, format, args);
    va_end(args);
    return bytes > 0 && (size_t)bytes < out_bytes;
}

/* Makes `path` and the missing folders above it, each in a folder that belongs to the user. */
static bool make_folders(const char *path)
{
    char parent[PATH_MAX];
    if (access(path, F_OK) == 0) {
        return belongs_to_user(path);
    }
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path ||
        !put_path(parent, sizeof(parent), "%.*s", (int)(slash - path), path)) {
        return false;
    }
    return make_folders(parent) && (mkdir(path, 0700) == 0 || belongs_to_user(path));
}

/* The value of a variable if it is an absolute path, else NULL. */
static const char *path_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

bool hs_cache_folder_find(char *ret_path, size_t path_bytes)
{
    const char *own = getenv("HEAPSCOPE_CACHE");
    const char *base;
    bool is_put = false;
    if (own && *own) {
        is_put = own[0] == '/' && put_path(ret_path, path_bytes, "%s", own);
    } else if ((base = path_variable("XDG_CACHE_HOME")) != NULL) {
        is_put = put_path(ret_path, path_bytes, "%s/heapscope/symbols", base);
    } else if ((base = path_variable("HOME")) != NULL && belongs_to_user(base)) {
        is_put = put_path(ret_path, path_bytes, "%s/.cache/heapscope/symbols", base);
    }
    return is_put && make_folders(ret_path);
}
