/*
 * Parses the lines of /proc/PID/maps: see proc_maps.h.
 *
 *     7f0c2a000000-7f0c2a021000 r-xp 00026000 fe:00 393234     /usr/lib/x86_64-linux-gnu/libc.so.6
 */
#include "util/proc_maps.h"

#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"
#define NEWLINE "\\012"

static bool take_hex(const char **at, const char *end, char stop, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *p = *at;
    for (; p < end && *p != stop; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
                                                  : 16U;
        if (digit == 16 || p - *at >= 16) {
            return false;
        }
        value = value << 4 | digit;
    }
    if (p == end || p == *at) {
        return false;
    }
    *at = p + 1;
    *ret_value = value;
    return true;
}

static bool take_rights(const char **at, const char *end, struct hs_proc_map *map)
{
    const char *p = *at;
    if (end - p < 5 || p[4] != ' ') {
        return false;
    }
    map->is_readable = p[0] == 'r';
    map->is_writable = p[1] == 'w';
    map->is_executable = p[2] == 'x';
    map->is_shared = p[3] == 's';
    *at = p + 5;
    return true;
}

/* The end of the line may follow directly: a mapping without a file has nothing after the inode. */
static bool take_inode(const char **at, const char *end, uint64_t *ret_inode)
{
    uint64_t inode = 0;
    const char *p = *at;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        inode = inode * 10 + (uint64_t)(*p - '0');
    }
    if (p == *at || (p < end && *p != ' ')) {
        return false;
    }
    *at = p;
    *ret_inode = inode;
    return true;
}

static bool parse_line(const char *at, const char *end, struct hs_proc_map *map)
{
    uint64_t major, minor;
    if (!take_hex(&at, end, '-', &map->start_va) || !take_hex(&at, end, ' ', &map->end_va) ||
        !take_rights(&at, end, map) || !take_hex(&at, end, ' ', &map->file_off) ||
        !take_hex(&at, end, ':', &major) || !take_hex(&at, end, ' ', &minor) ||
        !take_inode(&at, end, &map->inode) || map->start_va >= map->end_va) {
        return false;
    }
    map->dev = makedev((unsigned)major, (unsigned)minor);
    while (at < end && *at == ' ') {
        at++;
    }
    map->path = at;
    map->path_bytes = (size_t)(end - at);
    size_t mark_bytes = strlen(DELETED);
    map->is_deleted =
        map->path_bytes > mark_bytes && memcmp(end - mark_bytes, DELETED, mark_bytes) == 0;
    if (map->is_deleted) {
        map->path_bytes -= mark_bytes;
    }
    return true;
}

bool hs_proc_maps_next(const char **at, const char *end, struct hs_proc_map *ret_map)
{
    while (*at < end) {
        const char *line = *at;
        const char *nl = memchr(line, '\n', (size_t)(end - line));
        struct hs_proc_map map = { 0 };
        *at = nl ? nl + 1 : end;
        if (parse_line(line, nl ? nl : end, &map)) {
            *ret_map = map;
            return true;
        }
    }
    return false;
}

bool hs_proc_map_path(const struct hs_proc_map *map, char *ret_path, size_t path_bytes)
{
    size_t n = 0, mark_bytes = strlen(NEWLINE);
    for (size_t i = 0; i < map->path_bytes; i++) {
        if (n + 1 >= path_bytes || map->path[i] == '\0') {
            ret_path[0] = '\0';
            return false;
        }
        bool is_newline =
            map->path_bytes - i >= mark_bytes && memcmp(map->path + i, NEWLINE, mark_bytes) == 0;
        ret_path[n++] = is_newline ? '\n' : map->path[i];
        i += is_newline ? mark_bytes - 1 : 0;
    }
    ret_path[n] = '\0';
    return true;
}
