/*
 * Finds the release of a C library: see glibc_version.h.
 */
#include "collect/inspect/glibc_version.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME             "GNU C Library ("
#define RELEASE          " release version "
#define SENTENCE_BYTES   256U
#define VERSION_PART_MAX 9999U
#define FILE_BYTES_MAX   (16U << 20) /* a libc is 2 MiB large */

static bool take_number(const char **at, const char *end, unsigned *ret_number)
{
    unsigned number = 0;
    const char *p = *at;
    for (; p < end && *p >= '0' && *p <= '9' && number <= VERSION_PART_MAX; p++) {
        number = number * 10 + (unsigned)(*p - '0');
    }
    if (p == *at || number > VERSION_PART_MAX) {
        return false;
    }
    *at = p;
    *ret_number = number;
    return true;
}

bool hs_glibc_version_parse(const char *bytes, size_t byte_count,
                            struct hs_glibc_version *ret_version)
{
    const char *end = bytes + byte_count;
    const char *name = bytes;
    while ((name = memmem(name, (size_t)(end - name), NAME, strlen(NAME))) != NULL) {
        name += strlen(NAME);
        size_t left = (size_t)(end - name);
        left = left < SENTENCE_BYTES ? left : SENTENCE_BYTES;
        const char *at = memmem(name, left, RELEASE, strlen(RELEASE));
        struct hs_glibc_version version;
        if (!at) {
            continue;
        }
        at += strlen(RELEASE);
        if (take_number(&at, end, &version.major) && at < end && *at++ == '.' &&
            take_number(&at, end, &version.minor)) {
            *ret_version = version;
            return true;
        }
    }
    return false;
}

/* A file that was read: most processes use the same C library. */
struct read_file {
    struct stat stat;
    struct hs_glibc_version version;
    bool is_libc;
};

static bool is_same(const struct stat *left, const struct stat *right)
{
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino &&
           left->st_size == right->st_size && left->st_mtim.tv_sec == right->st_mtim.tv_sec &&
           left->st_mtim.tv_nsec == right->st_mtim.tv_nsec;
}

static bool read_version(int fd, struct hs_glibc_version *ret_version)
{
    char *bytes = malloc(FILE_BYTES_MAX);
    size_t n = 0;
    ssize_t got = 0;
    while (bytes && n < FILE_BYTES_MAX && (got = read(fd, bytes + n, FILE_BYTES_MAX - n)) > 0) {
        n += (size_t)got;
    }
    bool is_found = bytes && got >= 0 && hs_glibc_version_parse(bytes, n, ret_version);
    free(bytes);
    return is_found;
}

bool hs_glibc_version_of(const char *path, struct hs_glibc_version *ret_version)
{
    static _Thread_local struct read_file last;
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    if (stat.st_size == 0 || !is_same(&stat, &last.stat)) {
        last = (struct read_file){ .stat = stat };
        last.is_libc = read_version(fd, &last.version);
    }
    close(fd);
    *ret_version = last.is_libc ? last.version : *ret_version;
    return last.is_libc;
}
