/*
 * See heap_patterns.h.
 */
#include "profile/model/heap_patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int hs_heap_patterns_each(const struct hs_heap_patterns *patterns,
                          int (*use)(void *ctx, const char *glob), void *ctx)
{
    int r = 0;
    for (size_t i = 0; i < patterns->count && r == 0; i++) {
        char *list = strdup(patterns->texts[i]);
        char *rest = list;
        r = list ? 0 : -ENOMEM;
        for (char *glob; r == 0 && (glob = strsep(&rest, ",")) != NULL;) {
            r = use(ctx, glob);
        }
        free(list);
    }
    return r;
}

bool hs_heap_glob_matches(const char *glob, const char *name)
{
    return strcmp(name, glob) == 0 || fnmatch(glob, name, 0) == 0;
}

static int matches(void *ctx, const char *glob)
{
    return hs_heap_glob_matches(glob, ctx);
}

int hs_heap_patterns_match(const struct hs_heap_patterns *patterns, const char *name)
{
    return hs_heap_patterns_each(patterns, matches, (void *)(uintptr_t)name);
}
