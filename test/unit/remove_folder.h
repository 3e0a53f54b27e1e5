/*
 * For tests: removes a folder with all that is in it.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>

static inline int remove_each(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline int remove_folder(const char *path)
{
    return nftw(path, remove_each, 16, FTW_DEPTH | FTW_PHYS);
}
