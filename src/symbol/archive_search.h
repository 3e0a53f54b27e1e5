/*
 * Looks for a module in an .apk file: "/data/app/x/base.apk!libfoo.so" is the library libfoo.so in
 * base.apk, which Android's loader maps from the archive without unpacking it. A path that only
 * names the archive is any library in it with the wanted build id.
 *
 * Where no build id is recorded, a library counts only if the archive has no other one of its name:
 * an archive has one for each processor.
 *
 * Threads   none.
 * Fails     never: what is not found is not there.
 */
#pragma once

#include "symbol/debug_search.h"

/* The name of a library that was mapped out of an archive, "base.apk!libfoo.so", without the
 * archive; NULL: there is none. `base` is the last part of a path. */
const char *hs_archive_search_inner(const char *base);

/* Looks into the module's archive: at its own path with `root` "", or below a given folder by path,
 * and by name. Does nothing for a module that is not in an archive. */
void hs_archive_search_try(struct hs_debug_search *search, const char *root);
