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

#define HEAD_BYTES 4096
#define GUID_BYTES 16U
/* Two digits for each byte of the GUID, and one for the age. */
#define MODULE_ID_BYTES 33U
#define ID_BYTES_MAX    64U

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
    free(file->module_id);
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
        .module_id = lower_copy(head.module_id, head.module_id_bytes),
    };
    int err = file.path && file.name && file.code_id && file.module_id
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

static int read_names(struct hs_symbol_builder *builder, uint64_t base_sva, const char *path)
{
    struct stat st = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int err = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;
    void *text = MAP_FAILED;
    if (err == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (text != MAP_FAILED) {
        err = hs_breakpad_names(builder, base_sva, text, (size_t)st.st_size);
        munmap(text, (size_t)st.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return err == -ENOMEM ? err : 0;
}

/* How a trace states the build of a module, in the two forms in which symbol files state theirs. */
struct wanted_id {
    char code_id[2 * ID_BYTES_MAX + 1];
    char module_id[MODULE_ID_BYTES + 1];
};

static void write_hex(const uint8_t *id, size_t bytes, char *ret_hex)
{
    for (size_t i = 0; i < bytes; i++) {
        snprintf(ret_hex + 2 * i, 3, "%02x", id[i]);
    }
}

/* A module id is a GUID made of the first 16 bytes of the build id, and the age 0. */
static void set_wanted(const uint8_t *id, size_t id_bytes, struct wanted_id *ret_wanted)
{
    static const uint8_t order[GUID_BYTES] = {
        3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
    };
    *ret_wanted = (struct wanted_id){ 0 };
    if (id_bytes == MODULE_ID_BYTES) {
        /* It is a module id already, as a text: Chrome records it so. */
        for (size_t i = 0; i < id_bytes; i++) {
            ret_wanted->module_id[i] = (char)tolower(id[i]);
        }
        return;
    }
    write_hex(id, id_bytes < ID_BYTES_MAX ? id_bytes : ID_BYTES_MAX, ret_wanted->code_id);
    uint8_t guid[GUID_BYTES] = { 0 };
    for (size_t i = 0; i < GUID_BYTES; i++) {
        guid[i] = order[i] < id_bytes ? id[order[i]] : 0;
    }
    write_hex(guid, id_bytes > 0 ? GUID_BYTES : 0, ret_wanted->module_id);
    if (id_bytes > 0) {
        ret_wanted->module_id[MODULE_ID_BYTES - 1] = '0';
    }
}

const struct hs_breakpad_file *hs_breakpad_folder_find(const struct hs_breakpad_folder *folder,
                                                       const char *path, const uint8_t *build_id,
                                                       size_t build_id_bytes,
                                                       const struct hs_breakpad_file **ret_other)
{
    struct wanted_id wanted;
    const struct hs_breakpad_file *unknown = NULL;
    const char *base = hs_text_base_name(path);
    set_wanted(build_id, build_id_bytes, &wanted);
    *ret_other = NULL;
    for (size_t i = 0; i < folder->count; i++) {
        const struct hs_breakpad_file *file = &folder->files[i];
        if (strcasecmp(file->name, base) != 0) {
            continue;
        }
        bool has_code_id = file->code_id[0] != '\0' && wanted.code_id[0] != '\0';
        bool has_module_id = strlen(file->module_id) == MODULE_ID_BYTES;
        if (build_id_bytes == 0 || (!has_code_id && !has_module_id)) {
            unknown = unknown ? unknown : file;
        } else if (has_code_id ? strcmp(file->code_id, wanted.code_id) == 0
                               : strcmp(file->module_id, wanted.module_id) == 0) {
            return file;
        } else {
            *ret_other = *ret_other ? *ret_other : file;
        }
    }
    return unknown;
}

/* The folders of this process. */
static struct hs_breakpad_folder all_folders;

static int read_folders(const struct hs_symbol_options *options)
{
    static bool is_read;
    int err = 0;
    for (size_t i = 0; !is_read && i < options->breakpad_path_count && err != -ENOMEM; i++) {
        err = hs_breakpad_folder_add(&all_folders, options->breakpad_paths[i]);
    }
    is_read = true;
    return err == -ENOMEM ? err : 0;
}

int hs_breakpad_names_of(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, uint64_t base_sva,
                         struct hs_symbol_builder *builder, struct hs_breakpad_used *ret_used)
{
    const struct hs_breakpad_file *other = NULL;
    *ret_used = (struct hs_breakpad_used){ 0 };
    if (!options || options->breakpad_path_count == 0) {
        return 0;
    }
    int err = read_folders(options);
    const struct hs_breakpad_file *file = hs_breakpad_folder_find(
        &all_folders, request->path, request->build_id, request->build_id_bytes, &other);
    if (err == 0 && file) {
        err = read_names(builder, base_sva, file->path);
    }
    if (err == 0 && (file || other)) {
        ret_used->path = strdup(file ? file->path : other->path);
        ret_used->is_other = !file;
        err = ret_used->path ? 0 : -ENOMEM;
    }
    return err;
}
