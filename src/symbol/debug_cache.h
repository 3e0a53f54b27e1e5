/*
 * A cache of unpacked debug sections, in a folder, from one run to the next.
 *
 * The cache contains not names but the sections from which names are read (debug_image.h). Each run
 * needs some addresses that no earlier run needed, so that cached names would save nothing, and
 * cached sections save nearly everything.
 *
 * There is one entry for each debug file. Its file name consists of the build id and a hash of what
 * identifies this very file: device, inode, size, and the times of its last changes. When any of
 * these changes, the name is a different one, and the old entry is never opened again. Debug files
 * are searched for each time, as without a cache, so that a file that is installed later is found
 * at once.
 *
 *     +0      struct hs_debug_entry
 *     +256    the image
 *             its tail: data about the image that the writer added, to the end of the file
 *
 * Holds     an entry appears under its name when it is complete (by rename), and is never written
 *           to afterwards. Any number of processes may load and store at once, and the last one to
 *           store wins.
 * Trust     the folder and the files must belong to the effective user, and no other user may be
 *           able to write to them. A length and a checksum reveal entries that are cut or broken.
 *           Entries that pass are still parsed like any foreign ELF file.
 * Threads   none.
 * Fails     -errno; then there is no entry, and the caller works without one.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/debug_image.h"
#include "symbol/elf_file.h"

/* The size of all entries together; those that were unused for longest are removed first. */
#define HS_DEBUG_CACHE_MAX_BYTES (UINT64_C(256) << 20)
/* A larger entry is not stored. */
#define HS_DEBUG_CACHE_ENTRY_MAX_BYTES (UINT64_C(64) << 20)

#define HS_DEBUG_KEY_ID_MAX_BYTES      32U

/*
 * Identifies a debug file. The structure has no padding, so that it can be hashed and compared as
 * bytes.
 */
struct hs_debug_key {
    uint64_t device;
    uint64_t inode;
    uint64_t file_bytes;
    uint64_t modified_s;
    uint64_t modified_ns;
    uint64_t changed_s;
    uint64_t changed_ns;
    uint64_t build_id_bytes;
    uint8_t build_id[HS_DEBUG_KEY_ID_MAX_BYTES];
};

struct hs_debug_entry {
    char magic[8];
    uint64_t entry_bytes; /* of the whole file */
    uint64_t tail_bytes;
    struct hs_debug_key key;
    uint32_t crc; /* of all bytes, with this field as 0 */
    uint32_t zero;
};
static_assert(sizeof(struct hs_debug_entry) <= HS_DEBUG_IMAGE_OFF, "the image comes behind it");

struct hs_debug_cache {
    int folder_fd; /* -1: closed */
};

#define HS_DEBUG_CACHE_NONE                                                                        \
    {                                                                                              \
        .folder_fd = -1                                                                            \
    }

/* Opens the folder, which must exist. -EPERM when another user may write to it. */
int hs_debug_cache_open(const char *folder, struct hs_debug_cache *ret_cache);
/* Closes the folder. A closed cache is fine. */
void hs_debug_cache_close(struct hs_debug_cache *cache);

/* The key of an open file. -ENOENT for a file without build id, which is not cached. */
int hs_debug_key_of(const struct hs_elf_file *file, struct hs_debug_key *ret_key);

/* Loads the entry of a key. -ENOENT when there is none; other -errno. */
int hs_debug_cache_load(const struct hs_debug_cache *cache, const struct hs_debug_key *key,
                        struct hs_debug_image *ret_image);

/*
 * Stores an image that was made from `file`. -ESTALE when the file has changed since its key was
 * taken; -EFBIG when the image is too large.
 */
int hs_debug_cache_store(const struct hs_debug_cache *cache, const struct hs_elf_file *file,
                         const struct hs_debug_key *key, struct hs_debug_image *image,
                         const void *tail, size_t tail_bytes);

/* True for the bytes of a complete entry with this key. */
bool hs_debug_entry_is_valid(const void *data, size_t bytes, const struct hs_debug_key *key);

/*
 * Removes entries, those unused for longest first, until at most `max_bytes` are left. Also removes
 * what interrupted writers left. Does not touch other files.
 */
int hs_debug_cache_trim(const struct hs_debug_cache *cache, uint64_t max_bytes);
