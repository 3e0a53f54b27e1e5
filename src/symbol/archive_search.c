/*
 * Opens archives and the libraries in them: see archive_search.h.
 */
#include "symbol/archive_search.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/elf_file.h"
#include "symbol/zip_members.h"

#define ARCHIVE_END   ".apk"
#define ARCHIVE_MARK  ".apk!"
#define LIBRARY_END   ".so"
#define ARCHIVE_BYTES (UINT64_C(1) << 32) /* larger ones are no zip files without extensions */

const char *hs_archive_search_inner(const char *base)
{
    const char *mark = strstr(base, ARCHIVE_MARK);
    return mark && mark[strlen(ARCHIVE_MARK)] != '\0' ? mark + strlen(ARCHIVE_MARK) : NULL;
}

static bool has_end(const char *text, size_t bytes, const char *end)
{
    size_t end_bytes = strlen(end);
    return bytes > end_bytes && memcmp(text + bytes - end_bytes, end, end_bytes) == 0;
}

/* Is it the library? "libfoo.so" is one of this name in any folder, "/lib/x86_64/libfoo.so" this
 * one; without a name, each library may be it. */
static bool is_meant(const struct hs_zip_member *member, const char *inner)
{
    size_t bytes = inner ? strlen(inner) : 0;
    if (!inner) {
        return has_end(member->name, member->name_bytes, LIBRARY_END);
    }
    if (inner[0] == '/') {
        return member->name_bytes == bytes - 1 && memcmp(member->name, inner + 1, bytes - 1) == 0;
    }
    return member->name_bytes >= bytes &&
           memcmp(member->name + member->name_bytes - bytes, inner, bytes) == 0 &&
           (member->name_bytes == bytes || member->name[member->name_bytes - bytes - 1] == '/');
}

/* An archive that is mapped. */
struct archive {
    const char *path;
    int fd;
    const void *data;
    size_t bytes;
};

static unsigned count_meant(const struct archive *archive, const char *inner)
{
    struct hs_zip zip;
    struct hs_zip_member member;
    unsigned count = 0;
    bool is_zip = hs_zip_begin(&zip, archive->data, archive->bytes);
    while (is_zip && hs_zip_next(&zip, &member)) {
        count += is_meant(&member, inner);
    }
    return count;
}

static void try_member(struct hs_debug_search *search, const struct archive *archive,
                       const struct hs_zip_member *member, enum hs_debug_proof proof)
{
    char path[2 * PATH_MAX];
    struct hs_elf_file file;
    snprintf(path, sizeof(path), "%s!/%.*s", archive->path, (int)member->name_bytes, member->name);
    if (hs_elf_file_open_part(archive->fd, path, member->off, member->bytes, &file) == 0) {
        hs_debug_search_take(search, proof, 0, &file);
    }
}

static void look_into(struct hs_debug_search *search, const struct archive *archive,
                      const char *inner)
{
    struct hs_zip zip;
    struct hs_zip_member member;
    bool is_known = search->wanted_id_bytes > 0;
    bool is_only_one = inner && count_meant(archive, inner) == 1;
    if ((!is_known && !is_only_one) || !hs_zip_begin(&zip, archive->data, archive->bytes)) {
        return;
    }
    while (!hs_debug_search_is_done(search) && hs_zip_next(&zip, &member)) {
        if (is_meant(&member, inner)) {
            /* Of several, those of other processors are no surprise. */
            try_member(search, archive, &member,
                       is_only_one ? HS_DEBUG_PROOF_GIVEN : HS_DEBUG_PROOF_NONE);
        }
    }
}

HS_PRINTF(3, 4)
static void try_archive(struct hs_debug_search *search, const char *inner, const char *format, ...)
{
    char path[PATH_MAX];
    struct stat st;
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (hs_debug_search_is_done(search) || bytes <= 0 || (size_t)bytes >= sizeof(path)) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size < ARCHIVE_BYTES) {
        size_t file_bytes = (size_t)st.st_size;
        void *data = mmap(NULL, file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            const struct archive archive = { path, fd, data, file_bytes };
            look_into(search, &archive, inner);
            munmap(data, file_bytes);
        }
    }
    close(fd);
}

void hs_archive_search_try(struct hs_debug_search *search, const char *root)
{
    const char *path = search->module_path, *mark = strstr(path, ARCHIVE_MARK);
    size_t bytes = mark ? (size_t)(mark - path) + strlen(ARCHIVE_END) : strlen(path);
    const char *inner = mark ? mark + strlen(ARCHIVE_MARK) : NULL;
    if (path[0] != '/' || (inner && inner[0] == '\0') || !has_end(path, bytes, ARCHIVE_END)) {
        return;
    }
    try_archive(search, inner, "%s%.*s", root, (int)bytes, path);
    if (root[0] != '\0') {
        const char *base = memrchr(path, '/', bytes);
        try_archive(search, inner, "%s%.*s", root, (int)(bytes - (size_t)(base - path)), base);
    }
}
