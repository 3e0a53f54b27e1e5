/*
 * Keeps the cache small: removes the entries that were unused for longest. See debug_cache.h.
 *
 * This is done before an entry is added, once for each debug file. A hit never lists the folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbol/debug_cache.h"

/* No writer takes longer. */
#define TEMP_MAX_AGE_S 3600
/*
 * Entries are hardly ever below 64 KiB. In a folder with more files, which this cache alone never
 * fills, the rest is not counted.
 */
#define ENTRIES_MAX 4096U

struct old_entry {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    struct timespec used;
};

struct old_entries {
    struct old_entry *entries;
    size_t count;
    uint64_t bytes;
};

static bool ends_in(const char *name, const char *end)
{
    size_t bytes = strlen(name), end_bytes = strlen(end);
    return bytes > end_bytes && strcmp(name + bytes - end_bytes, end) == 0;
}

static void look_at(int folder_fd, const char *name, struct old_entries *all)
{
    struct stat st;
    bool is_temp = ends_in(name, ".tmp");
    if ((!is_temp && !ends_in(name, ".sections")) ||
        fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    if (is_temp) {
        if (time(NULL) - st.st_mtime > TEMP_MAX_AGE_S) {
            unlinkat(folder_fd, name, 0);
        }
        return;
    }
    if (all->count < ENTRIES_MAX) {
        struct old_entry *entry = &all->entries[all->count++];
        memcpy(entry->name, name, strlen(name) + 1); /* at most NAME_MAX */
        entry->bytes = (uint64_t)st.st_size;
        entry->used = st.st_mtim;
        all->bytes += entry->bytes;
    }
}

static int compare_used(const void *left, const void *right)
{
    const struct timespec *a = &((const struct old_entry *)left)->used;
    const struct timespec *b = &((const struct old_entry *)right)->used;
    if (a->tv_sec != b->tv_sec) {
        return a->tv_sec < b->tv_sec ? -1 : 1;
    }
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

static DIR *list_folder(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) {
        close(fd);
    }
    return dir;
}

int hs_debug_cache_trim(const struct hs_debug_cache *cache, uint64_t max_bytes)
{
    struct old_entries all = { .entries = malloc(ENTRIES_MAX * sizeof(*all.entries)) };
    DIR *dir = all.entries ? list_folder(cache->folder_fd) : NULL;
    if (!dir) {
        free(all.entries);
        return -ENOMEM;
    }
    const struct dirent *item;
    while ((item = readdir(dir)) != NULL) {
        look_at(cache->folder_fd, item->d_name, &all);
    }
    closedir(dir);
    qsort(all.entries, all.count, sizeof(*all.entries), compare_used);
    for (size_t i = 0; i < all.count && all.bytes > max_bytes; i++) {
        unlinkat(cache->folder_fd, all.entries[i].name, 0);
        all.bytes -= all.entries[i].bytes;
    }
    free(all.entries);
    return 0;
}
