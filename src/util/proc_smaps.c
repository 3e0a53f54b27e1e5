/*
 * See proc_smaps.h.
 */
#include "util/proc_smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rt/base.h"
#include "rt/check.h"
#include "rt/clock.h"
#include "util/array.h"
#include "util/proc_maps.h"
#include "util/proc_text.h"

#define LINE_BYTES_MAX (2U * PATH_MAX)
#define NAME_BYTES_MAX (1U << 20) /* of all names together */
#define CHUNK_BYTES    65536U

static const char *const keys[HS_SMAPS_COLUMN_N] = {
    [HS_SMAPS_SIZE] = "Size",
    [HS_SMAPS_RSS] = "Rss",
    [HS_SMAPS_ANONYMOUS] = "Anonymous",
    [HS_SMAPS_SWAP] = "Swap",
    [HS_SMAPS_SHARED_CLEAN] = "Shared_Clean",
    [HS_SMAPS_SHARED_DIRTY] = "Shared_Dirty",
    [HS_SMAPS_PRIVATE_CLEAN] = "Private_Clean",
    [HS_SMAPS_PRIVATE_DIRTY] = "Private_Dirty",
    [HS_SMAPS_LOCKED] = "Locked",
    [HS_SMAPS_PSS] = "Pss",
    [HS_SMAPS_PSS_DIRTY] = "Pss_Dirty",
    [HS_SMAPS_SWAP_PSS] = "SwapPss",
};

static uint32_t new_row(struct hs_proc_smaps_sums *sums, const char *name, size_t name_bytes)
{
    int r = hs_array_reserve(&sums->rows, &sums->row_capacity, (size_t)sums->row_count + 1,
                             sizeof(sums->rows[0]));
    if (r < 0) {
        sums->err = r;
        return UINT32_MAX;
    }
    sums->rows[sums->row_count] = (struct hs_proc_smaps_row){ .name_off = sums->names.bytes };
    hs_buf_add(&sums->names, name, name_bytes);
    hs_buf_char(&sums->names, '\0');
    HS_ASSERT(sums->row_count < HS_PROC_SMAPS_ROWS_MAX && (sums->row_count > 0 || name_bytes == 0));
    return sums->row_count++;
}

static uint32_t find_row(struct hs_proc_smaps_sums *sums, const char *name, size_t name_bytes)
{
    struct hs_intern_key key = hs_intern_hash(name, name_bytes);
    uint32_t row;
    bool is_new;
    if (name_bytes == 0) {
        return 0;
    }
    if (hs_intern_find(&sums->ids, key, &row)) {
        return row + 1;
    }
    if (sums->row_count >= HS_PROC_SMAPS_ROWS_MAX - 1 ||
        sums->names.bytes + name_bytes > NAME_BYTES_MAX) {
        name = HS_PROC_SMAPS_OTHERS;
        name_bytes = strlen(name);
        key = hs_intern_hash(name, name_bytes);
    }
    int r = hs_intern_put(&sums->ids, key, &row, &is_new);
    if (r < 0) {
        sums->err = r;
        return UINT32_MAX;
    }
    return is_new ? new_row(sums, name, name_bytes) : row + 1;
}

/* Takes the first line of a mapping, which contains its name. */
static bool take_mapping(struct hs_proc_smaps_sums *sums, const char *line, const char *end)
{
    struct hs_proc_map map;
    const char *at = line;
    if (!hs_proc_maps_next(&at, end, &map)) {
        return false;
    }
    /* The name includes " (deleted)" where the kernel writes it. */
    size_t name_bytes = map.is_deleted ? (size_t)(end - map.path) : map.path_bytes;
    if (name_bytes > 0 && memchr(map.path, '\0', name_bytes)) {
        name_bytes = strlen(map.path);
    }
    sums->row = find_row(sums, map.path, name_bytes);
    if (sums->row != UINT32_MAX) {
        sums->rows[sums->row].mapping_count++;
    }
    return true;
}

static void take_line(struct hs_proc_smaps_sums *sums, const char *line, const char *end)
{
    struct hs_proc_text text = { line, end };
    uint64_t kb;
    if (sums->row_count == 0) {
        sums->row = UINT32_MAX;
        new_row(sums, "", 0);
    }
    if (sums->err || take_mapping(sums, line, end) || sums->row == UINT32_MAX) {
        return;
    }
    for (size_t i = 0; i < HS_SMAPS_COLUMN_N; i++) {
        if (hs_proc_text_take_key(&text, keys[i])) {
            if (hs_proc_text_take_number(&text, &kb)) {
                uint64_t *sum = &sums->rows[sums->row].kb[i];
                *sum = __builtin_add_overflow(*sum, kb, &kb) ? UINT64_MAX : kb;
            }
            return;
        }
    }
}

/* Takes the rest of a line that began in an earlier piece. Returns where the next line begins. */
static const char *take_rest(struct hs_proc_smaps_sums *sums, const char *at, const char *end)
{
    const char *nl = memchr(at, '\n', (size_t)(end - at));
    size_t bytes = (size_t)((nl ? nl : end) - at);
    if (sums->line.bytes + bytes > LINE_BYTES_MAX) {
        sums->is_line_too_long = true;
    } else {
        hs_buf_add(&sums->line, at, bytes);
    }
    if (nl) {
        if (!sums->is_line_too_long && !sums->line.err) {
            const char *line = (const char *)sums->line.data;
            take_line(sums, line, line + sums->line.bytes);
        }
        sums->is_line_too_long = false;
        hs_buf_clear(&sums->line);
    }
    return nl ? nl + 1 : end;
}

int hs_proc_smaps_add(struct hs_proc_smaps_sums *sums, const char *text, size_t text_bytes)
{
    const char *at = text, *end = text + text_bytes;
    if (text_bytes > 0 && (sums->line.bytes > 0 || sums->is_line_too_long)) {
        at = take_rest(sums, at, end);
    }
    while (at < end && !sums->err) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        if (!nl) {
            take_rest(sums, at, end);
            break;
        }
        take_line(sums, at, nl);
        at = nl + 1;
    }
    sums->err = sums->err ? sums->err : sums->names.err ? sums->names.err : sums->line.err;
    return sums->err;
}

void hs_proc_smaps_deinit(struct hs_proc_smaps_sums *sums)
{
    free(sums->rows);
    hs_buf_deinit(&sums->names);
    hs_buf_deinit(&sums->line);
    hs_intern_deinit(&sums->ids);
    *sums = (struct hs_proc_smaps_sums){ 0 };
}

/* --- the file --------------------------------------------------------------------------------- */

int hs_proc_smaps_open(struct hs_proc_smaps_reader *reader, const char *folder, pid_t pid)
{
    char path[PATH_MAX];
    *reader = (struct hs_proc_smaps_reader){ .fd = -1 };
    int len = snprintf(path, sizeof(path), "%s/%d/smaps", folder, (int)pid);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return -ENAMETOOLONG;
    }
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    return reader->fd < 0 ? -errno : 0;
}

int hs_proc_smaps_step(struct hs_proc_smaps_reader *reader, uint64_t max_ns)
{
    char chunk[CHUNK_BYTES];
    uint64_t begin_ns = hs_clock_ns(CLOCK_MONOTONIC);
    do {
        ssize_t got = read(reader->fd, chunk, sizeof(chunk));
        if (got < 0 && errno != EINTR) {
            return -errno;
        }
        if (got == 0) {
            return 0;
        }
        int r = hs_proc_smaps_add(&reader->sums, chunk, got > 0 ? (size_t)got : 0);
        if (r < 0) {
            return r;
        }
    } while (hs_clock_ns(CLOCK_MONOTONIC) - begin_ns < max_ns);
    return HS_PROC_SMAPS_E_MORE;
}

void hs_proc_smaps_close(struct hs_proc_smaps_reader *reader)
{
    if (reader->fd >= 0) {
        close(reader->fd);
    }
    reader->fd = -1;
    hs_proc_smaps_deinit(&reader->sums);
}
