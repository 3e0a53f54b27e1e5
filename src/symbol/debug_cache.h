/*
 * Unpacked debug sections, kept in a folder from one run to the next.
 *
 * What is kept is not names but the sections they are read from (debug_image.h): each run meets some addresses that
 * no run before has met, so that kept names would spare nothing, and kept sections spare nearly all.
 *
 * One file for each debug file, called by its build id and a hash of what makes it this very file: device, inode, size,
 * and the times of its last changes. When anything of it changes, the name is another one, and
 * the old one is never opened again. Where debug files are is looked up each time as without a cache; so what is
 * installed later is found at once.
 *
 *     +0      struct hs_debug_entry
 *     +256    the image
 *             its tail: what whoever stored it found out about it, to the end of the file
 *
 * Holds     a file appears when it is whole (renamed), and is never written to afterwards; so any number of processes
 *           may load and store at once, and the last one to store wins.
 * Trust     the folder and the files must belong to the effective user and be writable by nobody else; a length
 *           and a checksum find what is cut or broken. What passes is still parsed as any foreign ELF file.
 * Threads   none.
 * Fails     -errno; then there is no entry, and one does without.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/debug_image.h"
#include "symbol/elf_file.h"

/* All entries together; the ones unused for longest go first. */
#define HS_DEBUG_CACHE_MAX_BYTES (UINT64_C(256) << 20)
/* One that is larger is not kept. */
#define HS_DEBUG_CACHE_ENTRY_MAX_BYTES (UINT64_C(64) << 20)

#define HS_DEBUG_KEY_ID_MAX_BYTES      32U

/* Which debug file. Without padding, so that it can be hashed and compared as bytes. */
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
    uint32_t crc; /* of all bytes, with this as 0 */
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

/* The folder must be there; -EPERM when somebody else may write into it. */
int hs_debug_cache_open(const char *folder, struct hs_debug_cache *ret_cache);
void hs_debug_cache_close(struct hs_debug_cache *cache);

/* -ENOENT for a file without build id: it is not kept. */
int hs_debug_key_of(const struct hs_elf_file *file, struct hs_debug_key *ret_key);

int hs_debug_cache_load(const struct hs_debug_cache *cache, const struct hs_debug_key *key,
                        struct hs_debug_image *ret_image);

/*
 * Keeps an image that was made of `file`, which must not have changed since its key was taken: -ESTALE. -EFBIG when
 * it is too large.
 */
int hs_debug_cache_store(const struct hs_debug_cache *cache, const struct hs_elf_file *file,
                         const struct hs_debug_key *key, struct hs_debug_image *image,
                         const void *tail, size_t tail_bytes);

/* Is that a whole entry with this key? */
bool hs_debug_entry_is_valid(const void *data, size_t bytes, const struct hs_debug_key *key);

/* Removes entries, the ones unused for longest first, until at most `max_bytes` are left; and what interrupted
 * writers left. Other files are not touched. */
int hs_debug_cache_trim(const struct hs_debug_cache *cache, uint64_t max_bytes);
