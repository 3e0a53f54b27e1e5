/*
 * See symbol_folders.h.
 */
#include "symbol/symbol_folders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

void hs_symbol_folders_deinit(struct hs_symbol_folders *folders)
{
    while (folders->count > 0) {
        free(folders->paths[--folders->count]);
    }
    free(folders->paths);
    *folders = (struct hs_symbol_folders){ 0 };
}

int hs_symbol_folders_add(struct hs_symbol_folders *folders, const char *path, size_t bytes)
{
    int err = hs_array_reserve(&folders->paths, &folders->capacity, folders->count + 1,
                               sizeof(folders->paths[0]));
    char *copy = err == 0 ? strndup(path, bytes) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    folders->paths[folders->count++] = copy;
    return 0;
}

int hs_symbol_folders_add_variable(struct hs_symbol_folders *folders, const char *name)
{
    const char *at = getenv(name);
    int err = 0;
    while (at && *at && err == 0) {
        size_t bytes = strcspn(at, ":");
        if (bytes > 0) {
            err = hs_symbol_folders_add(folders, at, bytes);
        }
        at += bytes + (at[bytes] == ':');
    }
    return err;
}

bool hs_symbol_folders_are_indexed(void)
{
    const char *mode = getenv("PERFETTO_SYMBOLIZER_MODE");
    return !mode || strcmp(mode, "find") != 0;
}
