/*
 * Contents of blocks in files: see block_files.h.
 */
#include "cli/read/block_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "profile/read/never_written.h"
#include "rt/bits.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define PAGE_BYTES  4096U
#define WORD_BYTES  8U

struct compare {
    const struct hs_profile *profile;
    const char *folder;
    int fd;
    uint8_t *piece, *other; /* PIECE_BYTES each */
    struct hs_dupe_block *blocks;
    uint64_t *hashes;
    uint32_t count;
    uint64_t missing_count;
    bool is_never_written_known;
    struct hs_never_written never;
    uint64_t seed; /* of the hashes: nobody can make files that all have one hash */
};

static int fail(const struct compare *c, const struct hs_profile_block *block, const char *why)
{
    if (block) {
        hs_message("%s/0x%" PRIx64 ": %s", c->folder, block->address, why);
    } else {
        hs_message("%s: %s", c->folder, why);
    }
    return HS_EXIT_STATUS_FAILED;
}

static int fail_ranges(const struct compare *c, const char *why)
{
    hs_message("%s/%s: %s", c->folder, HS_NEVER_WRITTEN_NAME, why);
    return HS_EXIT_STATUS_FAILED;
}

/* Opens the file of a block: a descriptor, -ENOENT, or -errno. */
static int open_file(const struct compare *c, const struct hs_profile_block *block)
{
    char name[32];
    snprintf(name, sizeof(name), "0x%" PRIx64, block->address);
    int fd = openat(c->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Reads up to `bytes`; less only at the end of the file. -errno. */
static ssize_t read_whole(int fd, uint8_t *out, size_t bytes)
{
    size_t got = 0;
    while (got < bytes) {
        ssize_t n = read(fd, out + got, bytes - got);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n == 0) {
            break;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)got;
}

/* Reads an open never-written.txt. 0, or the exit status. */
static int read_ranges(struct compare *c, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return fail_ranges(c, "is not a regular file");
    }
    char *text = malloc((size_t)st.st_size + 1);
    ssize_t got = text ? read_whole(fd, (uint8_t *)text, (size_t)st.st_size) : -ENOMEM;
    int r = got < 0 ? (int)got : hs_never_written_parse(text, (size_t)got, &c->never);
    free(text);
    c->is_never_written_known = r == 0;
    return r == 0         ? 0
           : r == -EINVAL ? fail_ranges(c, "is damaged; remove it to go on without it")
                          : fail_ranges(c, strerror(-r));
}

/* Reads never-written.txt, if there is one. */
static int load_ranges(struct compare *c)
{
    int fd = openat(c->fd, HS_NEVER_WRITTEN_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT  ? 0
               : errno == ELOOP ? fail_ranges(c, "is a symbolic link")
                                : fail_ranges(c, strerror(errno));
    }
    int status = read_ranges(c, fd);
    close(fd);
    return status;
}

/* Divides the zero bytes of a block: never written, and others. 0, or the exit status. */
static int take_ranges(const struct compare *c, const struct hs_profile_block *block,
                       struct hs_dupe_block *out)
{
    size_t count;
    const struct hs_never_written_range *ranges =
        hs_never_written_find(&c->never, block->address, &count);
    uint64_t word_bytes = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = ranges[i].off_bytes + ranges[i].bytes;
        uint64_t first_word =
            ranges[i].off_bytes / WORD_BYTES + (ranges[i].off_bytes % WORD_BYTES != 0);
        if (end > block->size_bytes) {
            return fail_ranges(c,
                               "has a range behind the end of a block: it is not of this folder");
        }
        bytes += ranges[i].bytes;
        word_bytes +=
            end / WORD_BYTES > first_word ? (end / WORD_BYTES - first_word) * WORD_BYTES : 0;
    }
    if (word_bytes > out->zero_word_bytes) {
        return fail_ranges(c, "has ranges that are not zero: it is not of this folder");
    }
    out->never_written_bytes = bytes;
    out->sparse_bytes = out->is_zero ? 0 : out->zero_word_bytes - word_bytes;
    return 0;
}

static bool is_zero(const uint8_t *data, size_t bytes)
{
    return bytes == 0 || (data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0);
}

/* Adds a piece to the hash of a file, and counts its zeros. PIECE_BYTES is a multiple of pages. */
static uint64_t add_piece(uint64_t hash, const uint8_t *data, size_t bytes,
                          struct hs_dupe_block *block)
{
    uint64_t word;
    size_t at = 0;
    for (; at + sizeof(word) <= bytes; at += sizeof(word)) {
        memcpy(&word, data + at, sizeof(word));
        hash = hs_hash_step(hash, word);
        block->zero_word_bytes += word == 0 ? sizeof(word) : 0;
    }
    for (; at < bytes; at++) {
        hash = hs_hash_step(hash, data[at]);
    }
    for (at = 0; at + PAGE_BYTES <= bytes; at += PAGE_BYTES) {
        block->zero_page_bytes += is_zero(data + at, PAGE_BYTES) ? PAGE_BYTES : 0;
    }
    block->is_zero = block->is_zero && is_zero(data, bytes);
    return hash;
}

/* Reads a file for the first time. 0, or the exit status. */
static int hash_file(struct compare *c, int fd, const struct hs_profile_block *block)
{
    struct hs_dupe_block *out = &c->blocks[c->count];
    struct stat st;
    char why[128];
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return fail(c, block, "is not a regular file");
    }
    if ((uint64_t)st.st_size != block->size_bytes) {
        snprintf(why, sizeof(why), "has %" PRIu64 " bytes, but the block has %" PRIu64,
                 (uint64_t)st.st_size, block->size_bytes);
        return fail(c, block, why);
    }
    *out = (struct hs_dupe_block){ .block = (uint64_t)(block - c->profile->blocks),
                                   .is_zero = block->size_bytes > 0 };
    uint64_t hash = c->seed, left = block->size_bytes;
    while (left > 0) {
        ssize_t got = read_whole(fd, c->piece, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (got <= 0) {
            return fail(c, block, got < 0 ? strerror((int)-got) : "became shorter meanwhile");
        }
        hash = add_piece(hash, c->piece, (size_t)got, out);
        left -= (uint64_t)got;
    }
    c->hashes[c->count++] = hs_mix64(hash);
    return take_ranges(c, block, out);
}

static int hash_files(struct compare *c, const struct hs_profile_dump *dump)
{
    int status = 0;
    for (uint64_t i = 0; i < dump->blocks_n && status == 0; i++) {
        const struct hs_profile_block *block = &c->profile->blocks[dump->block_first + i];
        int fd = block->address ? open_file(c, block) : -ENOENT;
        if (fd == -ENOENT) {
            c->missing_count++;
        } else if (fd < 0) {
            status = fail(c, block, fd == -ELOOP ? "is a symbolic link" : strerror(-fd));
        } else {
            status = hash_file(c, fd, block);
            close(fd);
        }
    }
    return status;
}

/* --- comparing -------------------------------------------------------------------------------- */

struct order {
    uint64_t size_bytes, hash;
    uint32_t idx;
};

static int compare_orders(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    return left->size_bytes != right->size_bytes ? (left->size_bytes < right->size_bytes ? -1 : 1)
           : left->hash != right->hash           ? (left->hash < right->hash ? -1 : 1)
           : left->idx < right->idx              ? -1
                                                 : left->idx > right->idx;
}

static int compare_bytes(struct compare *c, int fd, int other_fd, bool *ret_is_equal)
{
    for (;;) {
        ssize_t got = read_whole(fd, c->piece, PIECE_BYTES);
        ssize_t other_got = read_whole(other_fd, c->other, PIECE_BYTES);
        if (got < 0 || other_got < 0) {
            return got < 0 ? (int)got : (int)other_got;
        }
        *ret_is_equal = got == other_got && memcmp(c->piece, c->other, (size_t)got) == 0;
        if (!*ret_is_equal || got == 0) {
            return 0;
        }
    }
}

/* Are the files of two blocks equal? They have the same size and hash. 0, or the exit status. */
static int compare_files(struct compare *c, uint32_t a, uint32_t b, bool *ret_is_equal)
{
    const struct hs_profile_block *blocks = c->profile->blocks;
    *ret_is_equal = c->blocks[a].is_zero && c->blocks[b].is_zero;
    if (*ret_is_equal) {
        return 0;
    }
    int fd = open_file(c, &blocks[c->blocks[a].block]);
    int other_fd = open_file(c, &blocks[c->blocks[b].block]);
    int r = fd < 0 ? fd : other_fd < 0 ? other_fd : compare_bytes(c, fd, other_fd, ret_is_equal);
    if (fd >= 0) {
        close(fd);
    }
    if (other_fd >= 0) {
        close(other_fd);
    }
    return r < 0 ? fail(c, &blocks[c->blocks[b].block], strerror(-r)) : 0;
}

/* Gives the blocks orders[first .. end), which have one hash, their groups. */
static int divide(struct compare *c, const struct order *orders, uint32_t first, uint32_t end,
                  uint32_t *group_count)
{
    int status = 0;
    for (uint32_t i = first; i < end && status == 0; i++) {
        bool is_equal = false;
        uint32_t groups_before = *group_count;
        /* Usually all are equal to the first one. */
        for (uint32_t k = first; k < i && !is_equal && status == 0; k++) {
            bool is_first =
                k == first || c->blocks[orders[k].idx].group != c->blocks[orders[k - 1].idx].group;
            if (is_first) {
                status = compare_files(c, orders[k].idx, orders[i].idx, &is_equal);
                groups_before = c->blocks[orders[k].idx].group;
            }
        }
        c->blocks[orders[i].idx].group = is_equal ? groups_before : (*group_count)++;
    }
    return status;
}

static int find_groups(struct compare *c, uint32_t *ret_group_count)
{
    struct order *orders = malloc(((size_t)c->count + 1) * sizeof(orders[0]));
    int status = orders ? 0 : fail(c, NULL, strerror(ENOMEM));
    for (uint32_t i = 0; i < c->count && status == 0; i++) {
        orders[i] =
            (struct order){ c->profile->blocks[c->blocks[i].block].size_bytes, c->hashes[i], i };
    }
    if (orders && c->count > 0) {
        qsort(orders, c->count, sizeof(orders[0]), compare_orders);
    }
    *ret_group_count = 0;
    for (uint32_t i = 0; i < c->count && status == 0;) {
        uint32_t end = i + 1;
        while (end < c->count && orders[end].hash == orders[i].hash &&
               orders[end].size_bytes == orders[i].size_bytes) {
            end++;
        }
        status = divide(c, orders, i, end, ret_group_count);
        i = end;
    }
    free(orders);
    return status;
}

/* --- the folder ------------------------------------------------------------------------------- */

static uint64_t count_entries(int folder_fd)
{
    uint64_t count = 0;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *it = dir ? readdir(dir) : NULL; it; it = readdir(dir)) {
        count += strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0;
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

int hs_block_files_compare(const struct hs_profile *profile, const struct hs_profile_dump *dump,
                           const char *folder, struct hs_block_files *ret_files)
{
    struct compare c = { .profile = profile, .folder = folder };
    uint32_t group_count = 0;
    if (getrandom(&c.seed, sizeof(c.seed), 0) != (ssize_t)sizeof(c.seed)) {
        c.seed = (uint64_t)getpid();
    }
    c.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c.fd < 0) {
        return fail(&c, NULL, strerror(errno));
    }
    c.piece = malloc(PIECE_BYTES);
    c.other = malloc(PIECE_BYTES);
    c.blocks = calloc(dump->blocks_n + 1, sizeof(c.blocks[0]));
    c.hashes = calloc(dump->blocks_n + 1, sizeof(c.hashes[0]));
    int status = c.piece && c.other && c.blocks && c.hashes ? 0 : fail(&c, NULL, strerror(ENOMEM));
    status = status == 0 ? load_ranges(&c) : status;
    status = status == 0 ? hash_files(&c, dump) : status;
    status = status == 0 ? find_groups(&c, &group_count) : status;
    uint64_t entry_count = status == 0 ? count_entries(c.fd) - c.is_never_written_known : 0;
    hs_never_written_deinit(&c.never);
    close(c.fd);
    free(c.piece);
    free(c.other);
    free(c.hashes);
    if (status != 0) {
        free(c.blocks);
        return status;
    }
    *ret_files = (struct hs_block_files){
        .blocks = c.blocks,
        .count = c.count,
        .group_count = group_count,
        .missing_count = c.missing_count,
        .is_never_written_known = c.is_never_written_known,
        .foreign_count = entry_count > c.count ? entry_count - c.count : 0,
    };
    return 0;
}

void hs_block_files_deinit(struct hs_block_files *files)
{
    free(files->blocks);
    *files = (struct hs_block_files){ .blocks = NULL };
}
