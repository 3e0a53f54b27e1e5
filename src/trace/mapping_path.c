/*
 * See mapping_path.h.
 */
#include "trace/mapping_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

size_t hs_mapping_component(const char **path, const char **ret_start)
{
    const char *start = *path + strspn(*path, "/");
    size_t bytes = strcspn(start, "/");
    *path = start + bytes;
    *ret_start = start;
    return bytes;
}

char *hs_mapping_name(const char *path)
{
    /* The result has one slash more than the path: the leading one. */
    char *name = malloc(strlen(path) + 2);
    if (!name) {
        return NULL;
    }
    char *end = name;
    const char *start;
    size_t bytes;
    while ((bytes = hs_mapping_component(&path, &start)) > 0) {
        *end++ = '/';
        memcpy(end, start, bytes);
        end += bytes;
    }
    *end = '\0';
    return name;
}

const char *hs_mapping_shown(const char *name)
{
    size_t bytes = strlen(name);
    bool is_bracketed = bytes > 2 && name[0] == '/' && name[1] == '[' && name[bytes - 1] == ']' &&
                        !strchr(name + 1, '/');
    return is_bracketed ? name + 1 : name;
}
