/*
 * Reads /proc/PID/smaps: see address_space.h.
 */
#include "collect/ledger/address_space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "util/array.h"
#include "util/proc_maps.h"
#include "util/proc_text.h"

#define CHUNK_BYTES    65536U
#define TEXT_BYTES_MAX (UINT64_C(1) << 30)

static int add_mapping(struct hs_address_space *space, const struct hs_proc_map *map,
                       const char *line_end)
{
    int r = hs_array_reserve(&space->items, &space->capacity, space->count + 1,
                             sizeof(space->items[0]));
    if (r < 0 || !space->items) {
        return -ENOMEM;
    }
    space->items[space->count++] = (struct hs_mapping){
        .start_va = map->start_va,
        .end_va = map->end_va,
        .file_off = map->file_off,
        .inode = map->inode,
        .is_readable = map->is_readable,
        .is_writable = map->is_writable,
        .is_executable = map->is_executable,
        .is_shared = map->is_shared,
        .path_off = space->paths.bytes,
    };
    size_t path_bytes = map->is_deleted ? (size_t)(line_end - map->path) : map->path_bytes;
    hs_buf_add(&space->paths, map->path, path_bytes);
    hs_buf_char(&space->paths, '\0');
    return space->paths.err;
}

/* A line of a figure begins with an upper-case letter, and one of a mapping with a digit of its
 * address. There are 24 figures for each mapping, so most lines are told by their first letter. */
static bool is_figure(const char *line, const char *end)
{
    return line < end && *line >= 'A' && *line <= 'Z';
}

static void take_figure(const char *line, const char *end, struct hs_mapping *mapping)
{
    uint64_t shared_hugetlb_bytes = 0, private_hugetlb_bytes = 0;
    const struct {
        const char *key;
        uint64_t *bytes;
    } figures[] = {
        { "Rss", &mapping->rss_bytes },
        { "Pss", &mapping->pss_bytes },
        { "Anonymous", &mapping->anonymous_bytes },
        { "AnonHugePages", &mapping->huge_bytes },
        { "Swap", &mapping->swap_bytes },
        { "SwapPss", &mapping->swap_pss_bytes },
        { "Shared_Hugetlb", &shared_hugetlb_bytes },
        { "Private_Hugetlb", &private_hugetlb_bytes },
    };
    for (size_t i = 0; i < HS_COUNT_OF(figures); i++) {
        struct hs_proc_text text = { line, end };
        if (figures[i].key[0] == *line && hs_proc_text_take_key(&text, figures[i].key)) {
            hs_proc_text_take_size(&text, figures[i].bytes);
            break;
        }
    }
    mapping->hugetlb_bytes += shared_hugetlb_bytes + private_hugetlb_bytes;
}

static int take_line(struct hs_address_space *space, const char *line, const char *end)
{
    struct hs_proc_map map;
    const char *at = line;
    if (is_figure(line, end)) {
        if (space->count > 0) {
            take_figure(line, end, &space->items[space->count - 1]);
        }
        return 0;
    }
    if (hs_proc_maps_next(&at, end, &map)) {
        /* A mapping that grows while the file is read can overlap the one before. */
        const struct hs_mapping *last = space->count ? &space->items[space->count - 1] : NULL;
        if (last && map.start_va < last->end_va) {
            map.start_va = last->end_va;
        }
        return map.start_va < map.end_va ? add_mapping(space, &map, end) : 0;
    }
    return 0;
}

/* Takes the lines that are whole; `is_end`: the last one too. Returns where it stopped. */
static const char *take_lines(struct hs_address_space *space, const char *text, const char *end,
                              bool is_end, int *err)
{
    while (text < end && *err == 0) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        if (!nl && !is_end) {
            break;
        }
        *err = take_line(space, text, nl ? nl : end);
        text = nl ? nl + 1 : end;
    }
    return text;
}

static int finish(struct hs_address_space *space, int err, struct hs_address_space *ret_space)
{
    if (err < 0) {
        hs_address_space_deinit(space);
        return err;
    }
    *ret_space = *space;
    return 0;
}

int hs_address_space_parse(const char *text, size_t text_bytes, struct hs_address_space *ret_space)
{
    struct hs_address_space space = { .items = NULL };
    int err = 0;
    hs_buf_init(&space.paths, NULL, NULL);
    take_lines(&space, text, text + text_bytes, true, &err);
    return finish(&space, err, ret_space);
}

/* The text can have many megabytes, so only a chunk of it is in memory. What has no line's end in
 * all of a chunk is no line of smaps. */
static int read_chunks(int fd, struct hs_address_space *space)
{
    char chunk[CHUNK_BYTES];
    size_t kept_bytes = 0;
    uint64_t text_bytes = 0;
    ssize_t got = 1;
    int err = 0;
    while (got > 0 && err == 0 && text_bytes < TEXT_BYTES_MAX) {
        got = read(fd, chunk + kept_bytes, sizeof(chunk) - kept_bytes);
        if (got < 0) {
            return -errno;
        }
        kept_bytes += (size_t)got;
        text_bytes += (uint64_t)got;
        const char *end = chunk + kept_bytes;
        const char *rest = take_lines(space, chunk, end, got == 0, &err);
        kept_bytes = rest > chunk || kept_bytes < sizeof(chunk) ? (size_t)(end - rest) : 0;
        memmove(chunk, rest, kept_bytes);
    }
    return err < 0 || text_bytes > 0 ? err : -ESRCH;
}

int hs_address_space_read_file(int fd, struct hs_address_space *ret_space)
{
    struct hs_address_space space = { .items = NULL };
    hs_buf_init(&space.paths, NULL, NULL);
    return finish(&space, read_chunks(fd, &space), ret_space);
}

static int read_of(pid_t pid, const char *file, struct hs_address_space *ret_space)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? -ESRCH : -errno;
    }
    int r = hs_address_space_read_file(fd, ret_space);
    close(fd);
    return r;
}

int hs_address_space_read(pid_t pid, struct hs_address_space *ret_space)
{
    return read_of(pid, "smaps", ret_space);
}

int hs_address_space_read_places(pid_t pid, struct hs_address_space *ret_space)
{
    int r = read_of(pid, "maps", ret_space);
    ret_space->has_no_figures = r == 0;
    return r;
}

void hs_address_space_deinit(struct hs_address_space *space)
{
    free(space->items);
    hs_buf_deinit(&space->paths);
    *space = (struct hs_address_space){ .items = NULL };
}

const char *hs_mapping_path(const struct hs_address_space *space, const struct hs_mapping *mapping)
{
    return space->paths.data + mapping->path_off;
}

bool hs_address_space_is_forked(const struct hs_address_space *space)
{
    if (space->has_no_figures) {
        return true; /* it may be */
    }
    for (size_t i = 0; i < space->count; i++) {
        const struct hs_mapping *mapping = &space->items[i];
        if (mapping->inode == 0 && !mapping->is_shared && mapping->is_writable &&
            mapping->pss_bytes < mapping->rss_bytes) {
            return true;
        }
    }
    return false;
}

bool hs_mapping_is_anonymous(const struct hs_address_space *space, const struct hs_mapping *mapping)
{
    const char *path = hs_mapping_path(space, mapping);
    return mapping->inode == 0
               ? path[0] == '\0' || strncmp(path, "[anon", 5) == 0 || strcmp(path, "[heap]") == 0
               : strncmp(path, "/dev/zero", 9) == 0 || strncmp(path, "/anon_hugepage", 14) == 0 ||
                     strncmp(path, "/memfd:", 7) == 0;
}

bool hs_mapping_is_plain(const struct hs_address_space *space, const struct hs_mapping *mapping)
{
    const char *path = hs_mapping_path(space, mapping);
    return mapping->inode == 0 && !mapping->is_shared &&
           (path[0] == '\0' || strcmp(path, "[heap]") == 0);
}

const struct hs_mapping *hs_address_space_from(const struct hs_address_space *space, uint64_t va)
{
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->items[middle].end_va <= va) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return space->count > 0 ? space->items + low : NULL;
}

const struct hs_mapping *hs_address_space_find(const struct hs_address_space *space, uint64_t va)
{
    const struct hs_mapping *mapping = hs_address_space_from(space, va);
    return mapping && mapping < space->items + space->count && mapping->start_va <= va ? mapping
                                                                                       : NULL;
}
