/*
 * Loads, stores and checks entries. See debug_cache.h.
 */
#include "symbol/debug_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/intern.h"
#include "util/write_all.h"

/* the last digit stands for the layout, and for the set of sections */
#define MAGIC      "hsdebug1"
#define NAME_BYTES 128U
/* A file that changed within this time may change again without a difference in its times. */
#define SETTLED_S 2
/* The time of last use is updated at most this often, so that not every hit writes. */
#define USED_AGAIN_S (24 * 3600)

static int check_owner(int fd, mode_t kind, struct stat *ret_st)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if ((st.st_mode & S_IFMT) != kind || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return -EPERM;
    }
    *ret_st = st;
    return 0;
}

int hs_debug_cache_open(const char *folder, struct hs_debug_cache *ret_cache)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int err = check_owner(fd, S_IFDIR, &st);
    if (err != 0) {
        close(fd);
        return err;
    }
    ret_cache->folder_fd = fd;
    return 0;
}

void hs_debug_cache_close(struct hs_debug_cache *cache)
{
    if (cache->folder_fd >= 0) {
        close(cache->folder_fd);
        cache->folder_fd = -1;
    }
}

int hs_debug_key_of(const struct hs_elf_file *file, struct hs_debug_key *ret_key)
{
    struct stat st;
    if (file->fd < 0 || file->build_id_bytes == 0 ||
        file->build_id_bytes > HS_DEBUG_KEY_ID_MAX_BYTES) {
        return -ENOENT;
    }
    if (fstat(file->fd, &st) != 0) {
        return -errno;
    }
    *ret_key = (struct hs_debug_key){
        .device = st.st_dev,
        .inode = st.st_ino,
        .file_bytes = (uint64_t)st.st_size,
        .modified_s = (uint64_t)st.st_mtim.tv_sec,
        .modified_ns = (uint64_t)st.st_mtim.tv_nsec,
        .changed_s = (uint64_t)st.st_ctim.tv_sec,
        .changed_ns = (uint64_t)st.st_ctim.tv_nsec,
        .build_id_bytes = file->build_id_bytes,
    };
    memcpy(ret_key->build_id, file->build_id, file->build_id_bytes);
    return 0;
}

static void name_entry(const struct hs_debug_key *key, char *out)
{
    size_t at = 0;
    for (size_t i = 0; i < key->build_id_bytes && i < HS_DEBUG_KEY_ID_MAX_BYTES; i++) {
        at += (size_t)snprintf(out + at, NAME_BYTES - at, "%02x", key->build_id[i]);
    }
    struct hs_intern_key hash = hs_intern_hash(key, sizeof(*key));
    snprintf(out + at, NAME_BYTES - at, "-%016llx.sections", (unsigned long long)hash.lo);
}

static uint32_t checksum(const struct hs_debug_entry *entry, const uint8_t *map, size_t map_bytes)
{
    struct hs_debug_entry head = *entry;
    head.crc = 0;
    uint32_t crc = libdeflate_crc32(0, &head, sizeof(head));
    return libdeflate_crc32(crc, map + sizeof(head), map_bytes - sizeof(head));
}

bool hs_debug_entry_is_valid(const void *data, size_t bytes, const struct hs_debug_key *key)
{
    struct hs_debug_entry entry;
    if (bytes <= HS_DEBUG_IMAGE_OFF) {
        return false;
    }
    memcpy(&entry, data, sizeof(entry));
    return memcmp(entry.magic, MAGIC, sizeof(entry.magic)) == 0 && entry.entry_bytes == bytes &&
           entry.tail_bytes < bytes - HS_DEBUG_IMAGE_OFF &&
           memcmp(&entry.key, key, sizeof(*key)) == 0 && entry.zero == 0 &&
           entry.crc == checksum(&entry, data, bytes);
}

static void note_use(int fd, const struct stat *st)
{
    if (time(NULL) - st->st_mtime > USED_AGAIN_S) {
        (void)futimens(fd, NULL);
    }
}

/* Maps an open entry as a whole, if it is valid. */
static int map_entry(int fd, const struct hs_debug_key *key, struct hs_debug_image *ret_image)
{
    struct stat st = { 0 };
    int err = check_owner(fd, S_IFREG, &st);
    if (err != 0) {
        return err;
    }
    if (st.st_size <= (off_t)HS_DEBUG_IMAGE_OFF ||
        (uint64_t)st.st_size > HS_DEBUG_CACHE_ENTRY_MAX_BYTES) {
        return -EBADMSG;
    }
    size_t bytes = (size_t)st.st_size;
    void *map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) {
        return -errno;
    }
    if (!hs_debug_entry_is_valid(map, bytes, key)) {
        munmap(map, bytes);
        return -EBADMSG;
    }
    note_use(fd, &st);
    struct hs_debug_entry entry;
    memcpy(&entry, map, sizeof(entry));
    return hs_debug_image_take(map, bytes, entry.tail_bytes, ret_image);
}

int hs_debug_cache_load(const struct hs_debug_cache *cache, const struct hs_debug_key *key,
                        struct hs_debug_image *ret_image)
{
    char name[NAME_BYTES];
    name_entry(key, name);
    int fd = openat(cache->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    int err = map_entry(fd, key, ret_image);
    close(fd);
    return err;
}

static int write_entry(const struct hs_debug_cache *cache, const char *name,
                       const struct hs_debug_image *image, const void *tail, size_t tail_bytes)
{
    char temp[NAME_BYTES];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temp, sizeof(temp), "%d-%lld-%ld.tmp", (int)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    int fd =
        openat(cache->folder_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    int err = hs_write_all(fd, image->map, image->map_bytes);
    if (err == 0) {
        err = hs_write_all(fd, tail, tail_bytes);
    }
    if (close(fd) != 0 && err == 0) {
        err = -errno;
    }
    if (err == 0 && renameat(cache->folder_fd, temp, cache->folder_fd, name) != 0) {
        err = -errno;
    }
    if (err != 0) {
        unlinkat(cache->folder_fd, temp, 0);
    }
    return err;
}

/*
 * True when the file has not changed since before the image was made, and a later change will be
 * noticed.
 */
static bool is_settled(const struct hs_elf_file *file, const struct hs_debug_key *key)
{
    struct hs_debug_key again;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return hs_debug_key_of(file, &again) == 0 && memcmp(&again, key, sizeof(again)) == 0 &&
           (int64_t)key->changed_s + SETTLED_S <= (int64_t)now.tv_sec;
}

int hs_debug_cache_store(const struct hs_debug_cache *cache, const struct hs_elf_file *file,
                         const struct hs_debug_key *key, struct hs_debug_image *image,
                         const void *tail, size_t tail_bytes)
{
    struct hs_debug_entry entry = {
        .entry_bytes = image->map_bytes + tail_bytes,
        .tail_bytes = tail_bytes,
        .key = *key,
    };
    if (tail_bytes > HS_DEBUG_CACHE_ENTRY_MAX_BYTES ||
        entry.entry_bytes > HS_DEBUG_CACHE_ENTRY_MAX_BYTES) {
        return -EFBIG;
    }
    if (!is_settled(file, key)) {
        return -ESTALE;
    }
    memcpy(entry.magic, MAGIC, sizeof(entry.magic));
    entry.crc = libdeflate_crc32(checksum(&entry, image->map, image->map_bytes), tail, tail_bytes);
    memcpy(image->map, &entry, sizeof(entry));
    char name[NAME_BYTES];
    name_entry(key, name);
    int err = hs_debug_cache_trim(cache, HS_DEBUG_CACHE_MAX_BYTES - entry.entry_bytes);
    return err == 0 ? write_entry(cache, name, image, tail, tail_bytes) : err;
}
