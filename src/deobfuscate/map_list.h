/*
 * Which maps of R8 or ProGuard the user named.
 *
 *     PERFETTO_PROGUARD_MAP=com.example.one=one.txt:two.txt
 *     --proguard-map com.example.one=one.txt --proguard-map two.txt
 *
 * A map without a package is one for all packages ("").
 *
 * Threads   one user.
 * Fails     -ENOMEM; -EINVAL: an element names no file.
 */
#pragma once

#include <stddef.h>

#include "deobfuscate/java_names.h"
#include "deobfuscate/java_wanted.h"
#include "deobfuscate/proguard_map.h"
#include "util/buf.h"

struct hs_map_file {
    char *package; /* "" for all */
    char *path;
};

/* Zeros are an empty list. */
struct hs_map_list {
    struct hs_map_file *files;
    size_t count, capacity;
};

/* Frees the list. */
void hs_map_list_deinit(struct hs_map_list *list);
/* Adds "PACKAGE=PATH" or "PATH". */
int hs_map_list_add(struct hs_map_list *list, const char *text);
/* Adds each of a list with colons between; empty elements are left out. */
int hs_map_list_add_all(struct hs_map_list *list, const char *text);

/* Adds those of PERFETTO_PROGUARD_MAP, if it is set. */
int hs_map_list_add_environment(struct hs_map_list *list);
/* Writes what is wrong with PERFETTO_PROGUARD_MAP, after this error. */
void hs_map_list_write_error(int err, struct hs_buf *words);
/* Writes why the map could not be read: err and *error are those of hs_map_file_read(). */
void hs_map_file_write_error(const struct hs_map_file *file, int err,
                             const struct hs_proguard_error *error, struct hs_buf *words);

/*
 * Reads a map and hands the methods that are wanted to the sink, with their classes; all classes
 * and members if `wanted` is NULL. Returns 0; -errno of the file; HS_PROGUARD_E_LINE with
 * *ret_error; what the sink returned.
 */
int hs_map_file_read(const struct hs_map_file *file, const struct hs_java_wanted *wanted,
                     const struct hs_proguard_sink *sink, struct hs_proguard_error *ret_error);

/* The same into a table of names. */
int hs_map_file_read_names(const struct hs_map_file *file, const struct hs_java_wanted *wanted,
                           struct hs_java_names *names, struct hs_proguard_error *ret_error);
