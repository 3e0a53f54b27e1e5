/*
 * Indexes the build ids of all files below folders: see folder_index.h.
 */
#include "symbol/folder_index.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>

#include "symbol/elf_file.h"
#include "util/array.h"
#include "util/intern.h"

/* The index of this process. */
static struct {
    struct hs_intern_key roots; /* the folders whose files these are */
    struct hs_intern ids;       /* hashes of build ids; the ids are indices in paths */
    char **paths;
    size_t count, capacity;
} index_of_all;

static bool is_elf(const char *path)
{
    char magic[SELFMAG] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t got = pread(fd, magic, sizeof(magic), 0);
    close(fd);
    return got == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void add(const char *path)
{
    struct hs_elf_file file;
    if (!is_elf(path) || hs_elf_file_open(path, &file) != 0) {
        return;
    }
    uint32_t id;
    bool is_new = false;
    char *copy = NULL;
    if (file.is_loadable && file.build_id_bytes > 0 &&
        hs_array_reserve(&index_of_all.paths, &index_of_all.capacity, index_of_all.count + 1,
                         sizeof(index_of_all.paths[0])) == 0 &&
        (copy = strdup(path)) != NULL &&
        hs_intern_put(&index_of_all.ids, hs_intern_hash(file.build_id, file.build_id_bytes), &id,
                      &is_new) == 0 &&
        is_new) {
        index_of_all.paths[index_of_all.count++] = copy;
        copy = NULL;
    }
    free(copy);
    hs_elf_file_close(&file);
}

static void add_folder(const char *root)
{
    char *roots[] = { strdup(root), NULL };
    FTS *walk = roots[0] ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL) : NULL;
    const FTSENT *entry;
    size_t file_count = 0;
    while (walk && (entry = fts_read(walk)) != NULL && file_count < HS_FOLDER_INDEX_FILES_MAX) {
        if (entry->fts_info == FTS_F && S_ISREG(entry->fts_statp->st_mode)) {
            file_count++;
            add(entry->fts_path);
        }
    }
    if (walk) {
        fts_close(walk);
    }
    free(roots[0]);
}

static void make(const char *const *roots, size_t root_count)
{
    struct hs_intern_key key = { .hi = 1 };
    for (size_t i = 0; i < root_count; i++) {
        struct hs_intern_key name = hs_intern_hash(roots[i], strlen(roots[i]));
        key = hs_intern_mix(hs_intern_mix(key, name.hi), name.lo);
    }
    if (key.hi == index_of_all.roots.hi && key.lo == index_of_all.roots.lo) {
        return;
    }
    while (index_of_all.count > 0) {
        free(index_of_all.paths[--index_of_all.count]);
    }
    hs_intern_deinit(&index_of_all.ids);
    index_of_all.roots = key;
    for (size_t i = 0; i < root_count; i++) {
        add_folder(roots[i]);
    }
}

const char *hs_folder_index_find(const char *const *roots, size_t root_count, const uint8_t *id,
                                 size_t id_bytes)
{
    uint32_t number;
    if (root_count == 0 || id_bytes == 0) {
        return NULL;
    }
    make(roots, root_count);
    return hs_intern_find(&index_of_all.ids, hs_intern_hash(id, id_bytes), &number)
               ? index_of_all.paths[number]
               : NULL;
}
