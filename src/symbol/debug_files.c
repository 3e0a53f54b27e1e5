/*
 * Finds debug files. See debug_files.h.
 *
 * Each place to search is a function that makes paths and passes each to try_path(), which opens,
 * checks and keeps the file. The table `places` is their order.
 */
#include "symbol/debug_files.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "symbol/folder_index.h"

#define SYSTEM_ROOT        "/usr/lib/debug"
#define DELETED_SUFFIX     " (deleted)"
#define BUILD_ID_MIN_BYTES 3U
#define BUILD_ID_MAX_BYTES 64U

struct search {
    const struct hs_symbol_options *options;
    const struct hs_symbol_request *request;
    struct hs_debug_files *files;
    char module_path[PATH_MAX]; /* without "(deleted)" */
    char real_folder[PATH_MAX]; /* the module's folder without symbolic links; "": the same */
    bool is_deleted;
    const uint8_t *wanted_id;
    size_t wanted_id_bytes;
};

/* How a candidate proves that it belongs to the module when there is no build id. */
enum proof { PROOF_NONE, PROOF_CRC, PROOF_GIVEN };

static bool has_id(const struct hs_elf_file *file, const uint8_t *id, size_t id_bytes)
{
    return file->build_id_bytes == id_bytes && memcmp(file->build_id, id, id_bytes) == 0;
}

static bool is_done(const struct search *search)
{
    return search->files->module.has_dwarf || search->files->debug.has_dwarf;
}

static bool is_proven(const struct search *search, const struct hs_elf_file *file, enum proof proof,
                      uint32_t crc)
{
    if (search->wanted_id_bytes > 0) {
        return has_id(file, search->wanted_id, search->wanted_id_bytes);
    }
    return proof == PROOF_GIVEN || (proof == PROOF_CRC && hs_elf_file_crc(file) == crc);
}

static void keep(struct search *search, struct hs_elf_file *candidate)
{
    struct hs_debug_files *files = search->files;
    bool has_better = candidate->has_dwarf || (candidate->has_symtab && !files->module.has_symtab &&
                                               !files->debug.has_symtab);
    if (has_better) {
        hs_elf_file_close(&files->debug);
        files->debug = *candidate;
    } else if (!files->module.elf && !candidate->has_symtab) {
        files->module = *candidate;
        files->module_err = 0;
    } else {
        hs_elf_file_close(candidate);
    }
}

/* Opens the path that `format` makes, and keeps the file when it is useful. */
HS_PRINTF(4, 5)
static void try_path(struct search *search, enum proof proof, uint32_t crc, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    struct hs_elf_file file;
    if (is_done(search) || bytes < 0 || (size_t)bytes >= sizeof(path) ||
        hs_elf_file_open(path, &file) != 0) {
        return;
    }
    if (!file.is_loadable || !is_proven(search, &file, proof, crc)) {
        search->files->has_refused |= file.is_loadable;
        hs_elf_file_close(&file);
        return;
    }
    keep(search, &file);
}

/* Root number i: the given folders, then the system's; NULL after that. */
static const char *root_at(const struct search *search, size_t i, bool *ret_is_given)
{
    size_t given = search->options ? search->options->search_path_count : 0;
    *ret_is_given = i < given;
    if (i < given) {
        return search->options->search_paths[i];
    }
    return i == given ? SYSTEM_ROOT : NULL;
}

/* Writes xx/yyyy of a build id. False when it is too short or too long. */
static bool build_id_name(const uint8_t *id, size_t id_bytes, char *out, size_t out_bytes)
{
    if (id_bytes < BUILD_ID_MIN_BYTES || id_bytes > BUILD_ID_MAX_BYTES ||
        out_bytes < 2 * id_bytes + 2) {
        return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < id_bytes; i++) {
        at += (size_t)snprintf(out + at, out_bytes - at, i == 0 ? "%02x/" : "%02x", id[i]);
    }
    return true;
}

static void look_by_build_id(struct search *search)
{
    char name[2 * BUILD_ID_MAX_BYTES + 2];
    if (!build_id_name(search->wanted_id, search->wanted_id_bytes, name, sizeof(name))) {
        return;
    }
    bool is_given;
    const char *root;
    for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
        try_path(search, PROOF_NONE, 0, "%s/.build-id/%s.debug", root, name);
        if (is_given) {
            try_path(search, PROOF_NONE, 0, "%s/%s.debug", root, name);
        }
    }
}

static int folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

static void look_by_debuglink(struct search *search)
{
    const char *name;
    uint32_t crc;
    if (!search->files->module.elf || !hs_elf_file_debuglink(&search->files->module, &name, &crc)) {
        return;
    }
    const char *folders[] = { search->module_path, search->real_folder };
    int bytes[] = { folder_bytes(search->module_path), (int)strlen(search->real_folder) };
    for (size_t k = 0; k < HS_COUNT_OF(folders); k++) {
        if (bytes[k] == 0) {
            continue;
        }
        try_path(search, PROOF_CRC, crc, "%.*s/%s", bytes[k], folders[k], name);
        try_path(search, PROOF_CRC, crc, "%.*s/.debug/%s", bytes[k], folders[k], name);
        bool is_given;
        const char *root;
        for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
            try_path(search, PROOF_CRC, crc, "%s%.*s/%s", root, bytes[k], folders[k], name);
        }
    }
}

static void look_by_path(struct search *search)
{
    if (search->module_path[0] != '/') {
        return;
    }
    const char *base = strrchr(search->module_path, '/') + 1;
    bool is_given;
    const char *root;
    for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
        enum proof proof = is_given ? PROOF_GIVEN : PROOF_NONE;
        try_path(search, proof, 0, "%s%s.debug", root, search->module_path);
        try_path(search, proof, 0, "%s%s", root, search->module_path);
        if (search->real_folder[0]) {
            try_path(search, proof, 0, "%s%s/%s.debug", root, search->real_folder, base);
            try_path(search, proof, 0, "%s%s/%s", root, search->real_folder, base);
        }
        if (is_given) {
            try_path(search, proof, 0, "%s/%s.debug", root, base);
            try_path(search, proof, 0, "%s/%s", root, base);
        }
    }
}

static void look_in_index(struct search *search)
{
    const struct hs_symbol_options *options = search->options;
    const char *path = options && options->is_indexing
                           ? hs_folder_index_find(options->search_paths, options->search_path_count,
                                                  search->wanted_id, search->wanted_id_bytes)
                           : NULL;
    if (path) {
        try_path(search, PROOF_NONE, 0, "%s", path);
    }
}

static void (*const places[])(struct search *search) = {
    look_by_build_id,
    look_by_debuglink,
    look_by_path,
    look_in_index,
};

/*
 * Opens the module itself. A deleted one may have been replaced by any file: only a build id can
 * tell.
 */
static void open_module(struct search *search)
{
    struct hs_debug_files *files = search->files;
    const struct hs_symbol_request *request = search->request;
    if (strcmp(request->path, HS_SYMBOL_PATH_VDSO) == 0) {
        files->module_err = hs_elf_file_open_vdso(&files->module);
        search->is_deleted = true;
    } else if (search->module_path[0] != '/') {
        files->module_err = -ENOENT;
    } else {
        files->module_err = hs_elf_file_open(search->module_path, &files->module);
    }
    if (!files->module.elf) {
        return;
    }
    if (!files->module.is_loadable) {
        hs_elf_file_close(&files->module);
        files->module_err = -ENOEXEC;
        return;
    }
    bool is_other = request->build_id_bytes > 0
                        ? !has_id(&files->module, request->build_id, request->build_id_bytes)
                        : search->is_deleted;
    if (is_other) {
        hs_elf_file_close(&files->module);
        files->module_err = HS_DEBUG_FILES_E_OTHER_BUILD;
    }
}

static void set_paths(struct search *search)
{
    const char *path = search->request->path;
    size_t bytes = strlen(path);
    size_t suffix_bytes = strlen(DELETED_SUFFIX);
    if (bytes > suffix_bytes && strcmp(path + bytes - suffix_bytes, DELETED_SUFFIX) == 0) {
        search->is_deleted = true;
        bytes -= suffix_bytes;
    }
    if (bytes >= sizeof(search->module_path)) {
        bytes = 0;
    }
    memcpy(search->module_path, path, bytes);
    search->module_path[bytes] = '\0';

    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s", folder_bytes(search->module_path),
             search->module_path);
    char *real = folder[0] ? realpath(folder, NULL) : NULL;
    if (real && strcmp(real, folder) != 0 && strcmp(real, "/") != 0) {
        snprintf(search->real_folder, sizeof(search->real_folder), "%s", real);
    }
    free(real);
}

/*
 * Finds the file to which dwz moved common parts: by its own build id, else by its name, which is
 * relative to the file that refers to it. libdw would look for it too, but not in given folders.
 */
static void find_alt(struct search *search)
{
    struct hs_debug_files *files = search->files;
    const struct hs_elf_file *dwarf = hs_debug_files_dwarf(files);
    Elf_Scn *scn = dwarf ? hs_elf_file_section(dwarf, ".gnu_debugaltlink") : NULL;
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    const char *name = data ? data->d_buf : NULL;
    const char *name_end = name ? memchr(name, '\0', data->d_size) : NULL;
    if (!name_end || name_end == name) {
        return;
    }
    const uint8_t *id = (const uint8_t *)name_end + 1;
    size_t id_bytes = data->d_size - (size_t)(name_end + 1 - name);
    char id_name[2 * BUILD_ID_MAX_BYTES + 2];
    if (!build_id_name(id, id_bytes, id_name, sizeof(id_name))) {
        return;
    }
    char path[PATH_MAX];
    bool is_given;
    const char *root;
    for (size_t i = 0; !files->alt.elf; i++) {
        root = root_at(search, i, &is_given);
        if (root) {
            snprintf(path, sizeof(path), "%s/.build-id/%s.debug", root, id_name);
        } else if (name[0] == '/') {
            snprintf(path, sizeof(path), "%s", name);
        } else {
            snprintf(path, sizeof(path), "%.*s/%s", folder_bytes(dwarf->path), dwarf->path, name);
        }
        if (hs_elf_file_open(path, &files->alt) == 0 && !has_id(&files->alt, id, id_bytes)) {
            hs_elf_file_close(&files->alt);
        }
        if (!root) {
            break;
        }
    }
}

void hs_debug_files_find(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_debug_files *ret_files)
{
    struct search search = {
        .options = options,
        .request = request,
        .files = ret_files,
    };
    *ret_files = (struct hs_debug_files){ .module = HS_ELF_FILE_NONE,
                                          .debug = HS_ELF_FILE_NONE,
                                          .alt = HS_ELF_FILE_NONE };
    set_paths(&search);
    open_module(&search);
    search.wanted_id = request->build_id;
    search.wanted_id_bytes = request->build_id_bytes;
    if (search.wanted_id_bytes == 0 && ret_files->module.elf) {
        search.wanted_id = ret_files->module.build_id;
        search.wanted_id_bytes = ret_files->module.build_id_bytes;
    }
    for (size_t i = 0; i < HS_COUNT_OF(places) && !is_done(&search); i++) {
        places[i](&search);
    }
    find_alt(&search);
}

void hs_debug_files_close(struct hs_debug_files *files)
{
    hs_elf_file_close(&files->module);
    hs_elf_file_close(&files->debug);
    hs_elf_file_close(&files->alt);
}

const struct hs_elf_file *hs_debug_files_dwarf(const struct hs_debug_files *files)
{
    if (files->module.has_dwarf) {
        return &files->module;
    }
    return files->debug.has_dwarf ? &files->debug : NULL;
}
