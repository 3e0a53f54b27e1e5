/* Finds this program's own files: see selfpath.h. */
#include "util/selfpath.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * realpath() needs PATH_MAX bytes. The result goes into LD_PRELOAD, so it must not contain links or
 * "..".
 */
static int try_path(const char *folder, const char *below, const char *name, char *ret_path,
                    size_t path_bytes)
{
    char joined[PATH_MAX], real[PATH_MAX];
    int len = snprintf(joined, sizeof(joined), "%s/%s%s", folder, below, name);
    if (len < 0 || (size_t)len >= sizeof(joined)) {
        return -ENAMETOOLONG;
    }
    if (!realpath(joined, real) || access(real, R_OK) != 0) {
        return -ENOENT;
    }
    size_t real_bytes = strlen(real) + 1;
    if (real_bytes > path_bytes) {
        return -ENAMETOOLONG;
    }
    memcpy(ret_path, real, real_bytes);
    return 0;
}

static bool find_own_folder(char *ret_folder, size_t folder_bytes)
{
    ssize_t len = readlink("/proc/self/exe", ret_folder, folder_bytes);
    if (len <= 0 || (size_t)len >= folder_bytes) {
        return false;
    }
    ret_folder[len] = '\0';
    char *slash = strrchr(ret_folder, '/');
    if (!slash) {
        return false;
    }
    *slash = '\0';
    return true;
}

int hs_selfpath_find_lib(const char *name, char *ret_path, size_t path_bytes)
{
    char own[PATH_MAX];
    const char *env = getenv("HEAPSCOPE_LIB");
    if (env && *env) {
        /* The user named this folder: falling back to another library would hide a mistake. */
        return try_path(env, "", name, ret_path, path_bytes);
    }
    int r = -ENOENT;
    if (find_own_folder(own, sizeof(own))) {
        r = try_path(own, "../" HS_LIB_BELOW_PREFIX "/", name, ret_path, path_bytes);
    }
    if (r == -ENOENT) {
        r = try_path(HS_LIBDIR, "", name, ret_path, path_bytes);
    }
    return r;
}
