/*
 * See breakpad_folder.h.
 */
#include "symbol/breakpad_folder.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/text.h"
#include "symbol/breakpad.h"
#include "symbol/symbol_builder.h"
#include "util/array.h"
#include "util/buf.h"

#define HEAD_BYTES 4096

static char *lower_copy(const char *text, size_t bytes)
{
    char *copy = strndup(text ? text : "", bytes);
    for (char *at = copy; at && *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    return copy;
}

static void free_file(struct hs_breakpad_file *file)
{
    free(file->path);
    free(file->name);
    free(file->code_id);
}

static int add_file(struct hs_breakpad_folder *folder, const char *path)
{
    char text[HEAD_BYTES];
    struct hs_breakpad_head head;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? 0 : pread(fd, text, sizeof(text), 0);
    if (fd >= 0) {
        close(fd);
    }
    if (got <= 0 || !hs_breakpad_head(text, (size_t)got, &head)) {
        return 0;
    }
    struct hs_breakpad_file file = {
        .path = strdup(path),
        .name = lower_copy(head.name, head.name_bytes),
        .code_id = lower_copy(head.code_id, head.code_id_bytes),
    };
    int err = file.path && file.name && file.code_id
                  ? hs_array_reserve(&folder->files, &folder->capacity, folder->count + 1,
                                     sizeof(folder->files[0]))
                  : -ENOMEM;
    if (err != 0) {
        free_file(&file);
        return err;
    }
    folder->files[folder->count++] = file;
    return 0;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int hs_breakpad_folder_add(struct hs_breakpad_folder *folder, const char *path)
{
    char *copy = strdup(path);
    char *const roots[] = { copy, NULL };
    int fd = copy ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int err = copy ? fd < 0 ? -errno : 0 : -ENOMEM;
    FTS *tree = err == 0 ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names) : NULL;
    err = err ? err : tree ? 0 : -errno;
    for (FTSENT *entry; err == 0 && (entry = fts_read(tree)) != NULL;) {
        if (entry->fts_info == FTS_F) {
            err = add_file(folder, entry->fts_path);
        }
    }
    if (tree) {
        fts_close(tree);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(copy);
    return err;
}

void hs_breakpad_folder_deinit(struct hs_breakpad_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++) {
        free_file(&folder->files[i]);
    }
    free(folder->files);
    *folder = (struct hs_breakpad_folder){ 0 };
}

/* --- names of a module --- */

static int compare_pcs(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int read_names(struct hs_symbol_builder *builder, const char *path)
{
    struct stat st = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int err = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
    void *text = MAP_FAILED;
    if (err == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (text != MAP_FAILED) {
        err = hs_breakpad_names(builder, text, (size_t)st.st_size);
        munmap(text, (size_t)st.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return err == -ENOMEM ? err : 0;
}

/* The file for a module; NULL: there is none, and *ret_other one of another build, or NULL. */
static const struct hs_breakpad_file *find_file(const struct hs_breakpad_folder *folder,
                                                const char *name, const char *build_id,
                                                const struct hs_breakpad_file **ret_other)
{
    const struct hs_breakpad_file *unknown = NULL;
    *ret_other = NULL;
    for (size_t i = 0; i < folder->count; i++) {
        const struct hs_breakpad_file *file = &folder->files[i];
        if (strcmp(file->name, name) != 0) {
            continue;
        }
        if (file->code_id[0] == '\0' || build_id[0] == '\0') {
            unknown = unknown ? unknown : file;
        } else if (strcmp(file->code_id, build_id) == 0) {
            return file;
        } else {
            *ret_other = file;
        }
    }
    return unknown;
}

/* Looks up sorted addresses. */
static int find_names(const struct hs_breakpad_file *file, const struct hs_breakpad_file *other,
                      const struct hs_symbol_request *request, const uint64_t *pcs, size_t count,
                      struct hs_symbol_table *ret_table)
{
    struct hs_symbol_builder builder;
    int err = hs_symbol_builder_init(&builder, pcs, count);
    if (err != 0) {
        return err;
    }
    if (file) {
        err = read_names(&builder, file->path);
    }
    builder.table.reason = file    ? HS_SYMBOL_REASON_NONE
                           : other ? HS_SYMBOL_REASON_BUILD_ID_DIFFERS
                                   : HS_SYMBOL_REASON_FILE_MISSING;
    const struct hs_breakpad_file *shown = file ? file : other;
    builder.table.detail_off = hs_symbol_builder_string(&builder, shown ? shown->path : "");
    if (err == 0) {
        err =
            hs_symbol_builder_finish(&builder, request->rel_pcs, request->rel_pc_count, ret_table);
    }
    hs_symbol_builder_deinit(&builder);
    return err;
}

int hs_breakpad_folder_names(const struct hs_breakpad_folder *folder,
                             const struct hs_symbol_request *request,
                             struct hs_symbol_table *ret_table)
{
    struct hs_buf build_id = HS_BUF_INIT;
    const char *base = hs_text_base_name(request->path);
    char *name = lower_copy(base, strlen(base));
    uint64_t *pcs = malloc((request->rel_pc_count + 1) * sizeof(*pcs));
    size_t count = 0;
    const struct hs_breakpad_file *other = NULL, *file = NULL;
    for (size_t i = 0; i < request->build_id_bytes; i++) {
        hs_buf_printf(&build_id, "%02x", request->build_id[i]);
    }
    int err = name && pcs ? build_id.err : -ENOMEM;
    if (err == 0) {
        memcpy(pcs, request->rel_pcs, request->rel_pc_count * sizeof(*pcs));
        qsort(pcs, request->rel_pc_count, sizeof(*pcs), compare_pcs);
        for (size_t i = 0; i < request->rel_pc_count; i++) {
            if (count == 0 || pcs[count - 1] != pcs[i]) {
                pcs[count++] = pcs[i];
            }
        }
        file = find_file(folder, name, hs_buf_text(&build_id), &other);
        err = find_names(file, other, request, pcs, count, ret_table);
    }
    hs_buf_deinit(&build_id);
    free(name);
    free(pcs);
    return err;
}
