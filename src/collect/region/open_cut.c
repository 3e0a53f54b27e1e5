/*
 * Saves and loads an open cut: see open_cut.h.
 */
#include "collect/region/open_cut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/write_all.h"

#define MAGIC UINT64_C(0x3130545543504f48) /* "HOPCUT01" read as little-endian */

/* The file: this, and behind it before_count elements of `before`. */
struct saved {
    uint64_t magic;
    uint64_t saved_bytes; /* sizeof(struct saved): another version may have another size */
    char name[HS_OPEN_CUT_NAME_BYTES];
    struct hs_open_cut cut; /* its pointer means nothing */
};

static int write_saved(int fd, const struct hs_open_cut *cut, const char *name)
{
    struct saved *saved = calloc(1, sizeof(*saved));
    if (!saved) {
        return -ENOMEM;
    }
    saved->magic = MAGIC;
    saved->saved_bytes = sizeof(*saved);
    snprintf(saved->name, sizeof(saved->name), "%s", name);
    saved->cut = *cut;
    saved->cut.before = NULL;
    int r = hs_write_all(fd, saved, sizeof(*saved));
    free(saved);
    return r < 0 ? r : hs_write_all(fd, cut->before, cut->before_count * sizeof(*cut->before));
}

int hs_open_cut_save(const struct hs_open_cut *cut, const char *name, int *ret_fd)
{
    int fd = memfd_create("heapscope-cut", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : write_saved(fd, cut, name);
    if (r < 0 && fd >= 0) {
        close(fd);
    }
    *ret_fd = r < 0 ? -1 : fd;
    return r;
}

static int read_whole(int fd, void *data, size_t bytes, off_t off)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)data + done, bytes - done, off + (off_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : -EBADMSG;
        }
        done += (size_t)got;
    }
    return 0;
}

/* Is it what this version writes, in a file of this size? */
static bool is_valid(const struct saved *saved, uint64_t file_bytes)
{
    uint64_t before_bytes = file_bytes - sizeof(*saved);
    return saved->magic == MAGIC && saved->saved_bytes == sizeof(*saved) &&
           saved->cut.heaps.count <= HS_REGION_HEAPS && saved->cut.cut_epoch != 0 &&
           before_bytes % sizeof(*saved->cut.before) == 0 &&
           saved->cut.before_count == before_bytes / sizeof(*saved->cut.before) &&
           memchr(saved->name, '\0', sizeof(saved->name));
}

static int load(int fd, struct saved *saved)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    uint64_t file_bytes = st.st_size > 0 ? (uint64_t)st.st_size : 0;
    int r = file_bytes >= sizeof(*saved) ? read_whole(fd, saved, sizeof(*saved), 0) : -EBADMSG;
    if (r < 0 || !is_valid(saved, file_bytes)) {
        return r < 0 ? r : -EBADMSG;
    }
    size_t before_bytes = saved->cut.before_count * sizeof(*saved->cut.before);
    saved->cut.before = malloc(before_bytes + 1);
    r = saved->cut.before ? read_whole(fd, saved->cut.before, before_bytes, sizeof(*saved))
                          : -ENOMEM;
    if (r < 0) {
        free(saved->cut.before);
    }
    return r;
}

int hs_open_cut_load(int fd, struct hs_open_cut *ret_cut, char ret_name[HS_OPEN_CUT_NAME_BYTES])
{
    struct saved *saved = malloc(sizeof(*saved));
    int r = saved ? load(fd, saved) : -ENOMEM;
    if (r == 0) {
        *ret_cut = saved->cut;
        memcpy(ret_name, saved->name, sizeof(saved->name));
    }
    free(saved);
    return r;
}
