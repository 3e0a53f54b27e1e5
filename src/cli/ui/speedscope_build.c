/*
 * Reads the build of speedscope: see speedscope_build.h.
 */
#include "cli/ui/speedscope_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/base.h"
#include "util/buf.h"

#define FILE_BYTES_MAX (16U << 20)
#define PAGE_NAME      "index.html"

/* Below the folder that was named, or that of the package. */
static const char *const build_folders[] = { "", "/dist/release", "/speedscope/dist/release" };

/* --- one file --------------------------------------------------------------------------------- */

static const char *type_of(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        { ".html", HS_HTTP_TYPE_HTML },
        { ".js", "text/javascript; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" },
        { ".woff2", "font/woff2" },
        { ".wasm", "application/wasm" },
        { ".png", "image/png" },
        { ".ico", "image/x-icon" },
        { ".svg", "image/svg+xml" },
        { ".json", HS_HTTP_TYPE_JSON },
    };
    const char *end = strrchr(name, '.');
    for (size_t i = 0; end && i < HS_COUNT_OF(types); i++) {
        if (strcmp(end, types[i].end) == 0) {
            return types[i].type;
        }
    }
    return NULL;
}

static bool is_trusted(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static int read_all(int fd, size_t bytes, struct hs_buf *out)
{
    char block[65536];
    ssize_t got;
    while (out->bytes <= bytes && (got = read(fd, block, sizeof(block))) != 0) {
        if (got < 0) {
            return -errno;
        }
        hs_buf_add(out, block, (size_t)got);
    }
    return out->err;
}

static int read_file(int folder_fd, const char *name, struct hs_speedscope_build *build)
{
    struct hs_buf data = HS_BUF_INIT;
    struct stat st = { 0 };
    const char *type = type_of(name);
    bool is_page = strcmp(name, PAGE_NAME) == 0;
    char *path = NULL;
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    int r = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
    if (r == 0 && (!S_ISREG(st.st_mode) || !is_trusted(&st) || st.st_size > FILE_BYTES_MAX)) {
        r = -EACCES;
    }
    r = r ? r : read_all(fd, (size_t)st.st_size, &data);
    if (r == 0) {
        r = asprintf(&path, "/%s", is_page ? "" : name) < 0 ? -ENOMEM : 0;
    }
    if (r == 0) {
        build->routes[build->count++] = (struct hs_http_route){ .method = HS_HTTP_GET,
                                                                .path = path,
                                                                .kind = HS_HTTP_BYTES,
                                                                .content_type = type,
                                                                .data = data.data,
                                                                .bytes = data.bytes,
                                                                .fd = -1 };
    } else {
        hs_buf_deinit(&data);
    }
    if (fd >= 0) {
        close(fd);
    }
    return r;
}

/* --- the folder ------------------------------------------------------------------------------- */

static int read_folder(DIR *folder, struct hs_speedscope_build *build)
{
    const struct dirent *entry;
    int r = 0;
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.' && type_of(entry->d_name) &&
            build->count < HS_SPEEDSCOPE_FILES_MAX) {
            r = read_file(dirfd(folder), entry->d_name, build);
        }
    }
    return r;
}

static int read_at(const char *path, struct hs_speedscope_build *build)
{
    struct stat st;
    DIR *folder = opendir(path);
    if (!folder) {
        return -errno;
    }
    int r = faccessat(dirfd(folder), PAGE_NAME, R_OK, 0) == 0 ? 0 : -ENOENT;
    if (r == 0) {
        r = fstat(dirfd(folder), &st) != 0 ? -errno : is_trusted(&st) ? 0 : -EACCES;
    }
    r = r ? r : read_folder(folder, build);
    closedir(folder);
    if (r != 0) {
        hs_speedscope_build_deinit(build);
    }
    return r;
}

static int read_below(const char *folder, struct hs_speedscope_build *build)
{
    int first = -ENOENT;
    for (size_t i = 0; i < HS_COUNT_OF(build_folders); i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s%s", folder, build_folders[i]);
        int r = n > 0 && (size_t)n < sizeof(path) ? read_at(path, build) : -ENAMETOOLONG;
        if (r == 0) {
            return 0;
        }
        first = first == -ENOENT ? r : first;
    }
    return first;
}

/* Where npm installs packages: in the current folder, in the user's, in those of NODE_PATH, and for
 * all users. */
static int read_usual(struct hs_speedscope_build *build)
{
    static const char *const machine[] = { "/usr/local/lib/node_modules", "/usr/lib/node_modules",
                                           "/usr/share/nodejs" };
    const char *home = getenv("HOME"), *list = getenv("NODE_PATH");
    char path[PATH_MAX];
    int r = read_below("node_modules", build);
    for (; r != 0 && list && *list; list += strspn(list, ":")) {
        size_t bytes = strcspn(list, ":");
        snprintf(path, sizeof(path), "%.*s", (int)(bytes < PATH_MAX ? bytes : 0), list);
        r = read_below(path, build);
        list += bytes;
    }
    if (r != 0 && home && home[0]) {
        snprintf(path, sizeof(path), "%s/node_modules", home);
        r = read_below(path, build);
    }
    for (size_t i = 0; r != 0 && i < HS_COUNT_OF(machine); i++) {
        r = read_below(machine[i], build);
    }
    return r;
}

int hs_speedscope_build_read(const char *folder, struct hs_speedscope_build *ret_build)
{
    ret_build->count = 0;
    return folder ? read_below(folder, ret_build) : read_usual(ret_build);
}

void hs_speedscope_build_deinit(struct hs_speedscope_build *build)
{
    for (size_t i = 0; i < build->count; i++) {
        free((void *)(uintptr_t)build->routes[i].path);
        free((void *)(uintptr_t)build->routes[i].data);
    }
    build->count = 0;
}
