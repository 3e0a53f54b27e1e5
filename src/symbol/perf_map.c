/*
 * Reads perf maps in one pass, through a window. See perf_map.h.
 *
 * The addresses are sorted and the lines are not, so the addresses are searched for each line. A
 * name is first stored in a small pool, and becomes a string of the table at the end, when no later
 * line can replace it.
 */
#include "symbol/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/pc_search.h"

#define WINDOW_BYTES (64U << 10)
/* For comparison, a JVM that has compiled everything writes some 20 MB. */
#define FILE_MAX_BYTES (512U << 20)

/* The window is refilled behind the part that could not be used yet. */
struct map_reader {
    struct hs_symbol_builder *builder;
    char **names; /* per address; NULL: none so far */
    char window[WINDOW_BYTES];
    size_t window_bytes;
    bool is_skipping; /* skips the rest of a line that is longer than the window */
    uint64_t read_bytes;
};

static bool parse_hex(const char **at, const char *end, uint64_t *ret_value)
{
    const char *p = *at;
    uint64_t value = 0;
    if (end - p >= 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
        p += 2;
    }
    const char *first = p;
    for (; p < end; p++) {
        unsigned digit;
        if (*p >= '0' && *p <= '9') {
            digit = (unsigned)(*p - '0');
        } else if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'f') {
            digit = (unsigned)((*p | 0x20) - 'a') + 10;
        } else {
            break;
        }
        if (value >> 60 != 0) {
            return false;
        }
        value = value << 4 | digit;
    }
    if (p == first) {
        return false;
    }
    *at = p;
    *ret_value = value;
    return true;
}

static bool skip_blank(const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    bool is_skipped = p > *at;
    *at = p;
    return is_skipped;
}

bool hs_perf_map_parse_line(const char *line, size_t bytes, struct hs_perf_map_entry *ret_entry)
{
    const char *at = line;
    const char *end = line + bytes;
    struct hs_perf_map_entry entry;
    if (bytes > 0 && end[-1] == '\r') {
        end--;
    }
    if (!parse_hex(&at, end, &entry.start_va) || !skip_blank(&at, end) ||
        !parse_hex(&at, end, &entry.size_bytes) || !skip_blank(&at, end) || at == end ||
        memchr(at, '\0', (size_t)(end - at))) {
        return false;
    }
    if (entry.size_bytes == 0 || entry.size_bytes > UINT64_MAX - entry.start_va) {
        return false;
    }
    entry.name = at;
    entry.name_bytes = (size_t)(end - at);
    *ret_entry = entry;
    return true;
}

static int take_line(struct map_reader *reader, const char *line, size_t bytes)
{
    struct hs_perf_map_entry entry;
    if (!hs_perf_map_parse_line(line, bytes, &entry)) {
        return 0;
    }
    const struct hs_symbol_builder *builder = reader->builder;
    for (size_t i = hs_pc_first(builder->pcs, builder->pc_count, entry.start_va);
         i < builder->pc_count && builder->pcs[i] - entry.start_va < entry.size_bytes; i++) {
        char *name = strndup(entry.name, entry.name_bytes);
        if (!name) {
            return -ENOMEM;
        }
        free(reader->names[i]);
        reader->names[i] = name;
    }
    return 0;
}

/* Reads all complete lines of the window, and at the end of the file also the rest. */
static int take_window(struct map_reader *reader, bool is_end)
{
    size_t used = 0;
    for (;;) {
        char *line = reader->window + used;
        size_t left = reader->window_bytes - used;
        char *end = memchr(line, '\n', left);
        size_t bytes = end ? (size_t)(end - line) : left;
        if (!end && (!is_end || left == 0)) {
            break;
        }
        int err = reader->is_skipping ? 0 : take_line(reader, line, bytes);
        if (err != 0) {
            return err;
        }
        reader->is_skipping = false;
        used += end ? bytes + 1 : bytes;
    }
    reader->window_bytes -= used;
    memmove(reader->window, reader->window + used, reader->window_bytes);
    if (reader->window_bytes == WINDOW_BYTES) {
        reader->is_skipping = true;
        reader->window_bytes = 0;
    }
    return 0;
}

static int read_lines(struct map_reader *reader, int fd)
{
    for (;;) {
        ssize_t got = pread(fd, reader->window + reader->window_bytes,
                            WINDOW_BYTES - reader->window_bytes, (off_t)reader->read_bytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        reader->window_bytes += (size_t)got;
        reader->read_bytes += (uint64_t)got;
        bool is_end = got == 0 || reader->read_bytes > FILE_MAX_BYTES;
        int err = take_window(reader, is_end);
        if (err != 0 || is_end) {
            return err;
        }
    }
}

int hs_perf_map_names_fd(struct hs_symbol_builder *builder, int fd)
{
    struct map_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        return -ENOMEM;
    }
    reader->builder = builder;
    reader->names = calloc(builder->pc_count + 1, sizeof(*reader->names));
    int err = reader->names ? read_lines(reader, fd) : -ENOMEM;
    for (size_t i = 0; reader->names && i < builder->pc_count; i++) {
        if (err == 0 && reader->names[i] && !hs_symbol_builder_has(builder, i)) {
            uint32_t off = hs_symbol_builder_string(builder, reader->names[i]);
            hs_symbol_builder_line(builder, i, (struct hs_symbol_name){ off, off }, 0, 0);
            hs_symbol_builder_source(builder, HS_SYMBOL_SOURCE_PERF_MAP);
        }
        free(reader->names[i]);
    }
    free(reader->names);
    free(reader);
    return err != 0 ? err : builder->err;
}

int hs_perf_map_names(struct hs_symbol_builder *builder, const char *folder, uint32_t pid,
                      char *ret_path)
{
    int bytes = snprintf(ret_path, PATH_MAX, "%s/perf-%u.map", folder ? folder : "/tmp", pid);
    if (bytes < 0 || bytes >= PATH_MAX) {
        return -ENAMETOOLONG;
    }
    int fd = open(ret_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        /* A symbolic link here is an attack. */
        return errno == ELOOP ? -EACCES : -errno;
    }
    int err = 0;
    struct stat st;
    if (fstat(fd, &st) != 0) {
        err = -errno;
    } else if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0)) {
        err = -EACCES;
    } else {
        err = hs_perf_map_names_fd(builder, fd);
    }
    close(fd);
    return err;
}
