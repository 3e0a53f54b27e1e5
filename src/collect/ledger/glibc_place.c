/*
 * Finds glibc's data: see glibc_place.h.
 */
#include "collect/ledger/glibc_place.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/inspect/glibc_version.h"

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : "";
    return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

/* The writable data of the file that is mapped as `path`, up to the end of its zeroed data. */
static bool find_data(const struct hs_address_space *space, const char *path,
                      struct hs_glibc_place *place)
{
    for (size_t i = 0; i < space->count; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (!mapping->is_writable || mapping->is_shared ||
            strcmp(hs_mapping_path(space, mapping), path) != 0) {
            continue;
        }
        place->data_va = mapping->start_va;
        place->data_end_va = mapping->end_va;
        if (i + 1 < space->count && mapping[1].start_va == mapping->end_va &&
            mapping[1].inode == 0 && mapping[1].is_writable) {
            place->data_end_va = mapping[1].end_va;
        }
        return true;
    }
    return false;
}

static void find_release(pid_t pid, const char *path, struct hs_glibc_place *place)
{
    char file[PATH_MAX];
    struct hs_glibc_version version;
    int n = snprintf(file, sizeof(file), "/proc/%d/root%s", (int)pid, path);
    if (n > 0 && (size_t)n < sizeof(file) && hs_glibc_version_of(file, &version)) {
        place->major = version.major;
        place->minor = version.minor;
    }
}

/* A program that is linked statically contains glibc. */
static bool find_static(pid_t pid, const struct hs_address_space *space,
                        struct hs_glibc_place *place)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    if (bytes <= 0) {
        return false;
    }
    path[bytes] = '\0';
    find_release(pid, path, place);
    return place->major != 0 && find_data(space, path, place);
}

bool hs_glibc_place_find(pid_t pid, const struct hs_address_space *space,
                         struct hs_glibc_place *ret_place)
{
    struct hs_glibc_place place = { 0 };
    for (size_t i = 0; i < space->count; i++) {
        const char *path = hs_mapping_path(space, &space->items[i]);
        if (space->items[i].is_executable && is_libc(path) && find_data(space, path, &place)) {
            find_release(pid, path, &place);
            *ret_place = place;
            return true;
        }
    }
    if (find_static(pid, space, &place)) {
        *ret_place = place;
        return true;
    }
    return false;
}
