/*
 * The build for browsers in the npm package speedscope: looked for, and read into memory.
 *
 * Its files run as scripts in a page that has the profile. So they are taken only from folders of
 * the user or of root: a node_modules in a folder of another user is not looked at.
 *
 * Threads   main thread only.
 * Fails     -ENOENT: there is none; -EACCES: it belongs to another user; -errno.
 */
#pragma once

#include <stddef.h>

#include "http/http_route.h"

#define HS_SPEEDSCOPE_FILES_MAX 64

struct hs_speedscope_build {
    /* One for each file; that of the page itself is "/". They own their paths and data. */
    struct hs_http_route routes[HS_SPEEDSCOPE_FILES_MAX];
    size_t count;
};

/* Reads the build. `folder` NULL: looks in the usual places. 0 or -errno; then there is nothing to
 * free. */
int hs_speedscope_build_read(const char *folder, struct hs_speedscope_build *ret_build);
/* Frees it. */
void hs_speedscope_build_deinit(struct hs_speedscope_build *build);
