/*
 * Finds debug files. See debug_files.h.
 *
 * Each place to search is a function that makes paths and passes each to hs_debug_search_try(),
 * which opens, checks and keeps the file. The table `places` is their order.
 */
#include "symbol/debug_files.h"

#include <dirent.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "symbol/archive_search.h"
#include "symbol/debug_search.h"
#include "symbol/debuginfod.h"
#include "symbol/folder_index.h"
#include "symbol/target_files.h"

#define SYSTEM_ROOT        "/usr/lib/debug"
#define DELETED_SUFFIX     " (deleted)"
#define BUILD_ID_MIN_BYTES 3U
/* A folder that is called after a build id has a file or two. */
#define ID_FOLDER_FILES_MAX 16

/* Root number i: the given folders, then the system's; NULL after that. */
static const char *root_at(const struct hs_debug_search *search, size_t i, bool *ret_is_given)
{
    size_t given = search->options ? search->options->search_path_count : 0;
    *ret_is_given = i < given;
    if (i < given) {
        return search->options->search_paths[i];
    }
    bool has_system = !search->options || !search->options->is_given_only;
    return i == given && has_system ? SYSTEM_ROOT : NULL;
}

/* Writes xx/yyyy of a build id. False when it is too short or too long. */
static bool build_id_name(const uint8_t *id, size_t id_bytes, char *out, size_t out_bytes)
{
    if (id_bytes < BUILD_ID_MIN_BYTES || id_bytes > HS_DEBUG_SEARCH_ID_BYTES_MAX ||
        out_bytes < 2 * id_bytes + 2) {
        return false;
    }
    size_t at = 0;
    for (size_t i = 0; i < id_bytes; i++) {
        at += (size_t)snprintf(out + at, out_bytes - at, i == 0 ? "%02x/" : "%02x", id[i]);
    }
    return true;
}

/* Tries each file in the folder that is called after the build id, as pprof does: there is one. */
static void look_in_id_folder(struct hs_debug_search *search, const char *root, const char *hex)
{
    char path[PATH_MAX];
    int bytes = snprintf(path, sizeof(path), "%s/%s", root, hex);
    DIR *folder = bytes > 0 && (size_t)bytes < sizeof(path) ? opendir(path) : NULL;
    const struct dirent *entry;
    for (int i = 0; folder && i < ID_FOLDER_FILES_MAX && (entry = readdir(folder)) != NULL; i++) {
        if (entry->d_name[0] != '.') {
            hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s/%s", path, entry->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

static void look_by_build_id(struct hs_debug_search *search)
{
    char name[2 * HS_DEBUG_SEARCH_ID_BYTES_MAX + 2], hex[2 * HS_DEBUG_SEARCH_ID_BYTES_MAX + 2];
    if (!build_id_name(search->wanted_id, search->wanted_id_bytes, name, sizeof(name))) {
        return;
    }
    snprintf(hex, sizeof(hex), "%.2s%s", name, name + 3);
    bool is_given;
    const char *root;
    for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
        hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s/.build-id/%s.debug", root, name);
        if (is_given) {
            hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s/%s.debug", root, name);
            look_in_id_folder(search, root, hex);
            hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s%s/%s", root,
                                search->module_path, hex);
        }
    }
}

static int folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) : 0;
}

static void look_by_debuglink(struct hs_debug_search *search)
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
        hs_debug_search_try(search, HS_DEBUG_PROOF_CRC, crc, "%.*s/%s", bytes[k], folders[k], name);
        hs_debug_search_try(search, HS_DEBUG_PROOF_CRC, crc, "%.*s/.debug/%s", bytes[k], folders[k],
                            name);
        bool is_given;
        const char *root;
        for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
            hs_debug_search_try(search, HS_DEBUG_PROOF_CRC, crc, "%s%.*s/%s", root, bytes[k],
                                folders[k], name);
        }
    }
}

/* Tries a file and its debug file: the debug file has more. */
HS_PRINTF(2, 3)
static void try_given(struct hs_debug_search *search, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (bytes > 0 && (size_t)bytes < sizeof(path)) {
        hs_debug_search_try(search, HS_DEBUG_PROOF_GIVEN, 0, "%s.debug", path);
        hs_debug_search_try(search, HS_DEBUG_PROOF_GIVEN, 0, "%s", path);
    }
}

/* The places of a given folder by path and name, in the order that docs/SYMBOLS.md states. */
static void look_below(struct hs_debug_search *search, const char *root)
{
    const char *path = search->module_path, *base = strrchr(path, '/') + 1;
    const char *inner = hs_archive_search_inner(base);
    int folder = (int)(base - path);
    try_given(search, "%s%s", root, path);
    if (search->real_folder[0]) {
        try_given(search, "%s%s/%s", root, search->real_folder, base);
    }
    if (inner) {
        try_given(search, "%s%.*s%s", root, folder, path, inner);
    }
    try_given(search, "%s/%s", root, base);
    if (inner) {
        try_given(search, "%s/%s", root, inner);
    }
    hs_debug_search_try(search, HS_DEBUG_PROOF_GIVEN, 0, "%s%.*s.debug/%s.debug", root, folder,
                        path, base);
    hs_debug_search_try(search, HS_DEBUG_PROOF_GIVEN, 0, "%s/usr/lib/debug%s.debug", root, path);
    hs_archive_search_try(search, root);
}

static void look_by_path(struct hs_debug_search *search)
{
    if (search->module_path[0] != '/') {
        return;
    }
    bool is_given;
    const char *root;
    for (size_t i = 0; (root = root_at(search, i, &is_given)); i++) {
        if (is_given) {
            look_below(search, root);
            continue;
        }
        const char *base = strrchr(search->module_path, '/') + 1;
        hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s%s.debug", root,
                            search->module_path);
        hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s%s", root, search->module_path);
        if (search->real_folder[0]) {
            hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s%s/%s.debug", root,
                                search->real_folder, base);
            hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s%s/%s", root,
                                search->real_folder, base);
        }
    }
}

/* A checksum proves nothing between roots: without a build id, nothing counts here. */
static void look_in_target_roots(struct hs_debug_search *search)
{
    const char *name, *path = search->module_path;
    char id_name[2 * HS_DEBUG_SEARCH_ID_BYTES_MAX + 2];
    uint32_t crc;
    if (!search->options || !hs_target_files_has_roots(search->options->target_files) ||
        !build_id_name(search->wanted_id, search->wanted_id_bytes, id_name, sizeof(id_name))) {
        return;
    }
    if (!search->files->module.elf) {
        hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, "%s", path);
    }
    hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, SYSTEM_ROOT "/.build-id/%s.debug",
                                 id_name);
    if (search->files->module.elf && hs_elf_file_debuglink(&search->files->module, &name, &crc)) {
        int bytes = folder_bytes(path);
        hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, "%.*s/%s", bytes, path, name);
        hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, "%.*s/.debug/%s", bytes, path,
                                     name);
        hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, SYSTEM_ROOT "%.*s/%s", bytes,
                                     path, name);
    }
    hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, SYSTEM_ROOT "%s.debug", path);
    hs_debug_search_try_in_roots(search, HS_DEBUG_PROOF_NONE, 0, SYSTEM_ROOT "%s", path);
}

static void look_in_index(struct hs_debug_search *search)
{
    const struct hs_symbol_options *options = search->options;
    const char *path =
        options && options->indexed_path_count > 0
            ? hs_folder_index_find(options->search_paths, options->indexed_path_count,
                                   search->wanted_id, search->wanted_id_bytes)
            : NULL;
    if (path) {
        hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s", path);
    }
}

static void ask_debuginfod(struct hs_debug_search *search)
{
    char *path = NULL;
    if (!search->options || !search->options->has_debuginfod || search->wanted_id_bytes == 0) {
        return;
    }
    int err =
        hs_debuginfod_find(search->options, search->wanted_id, search->wanted_id_bytes, &path);
    if (err == 0) {
        hs_debug_search_try(search, HS_DEBUG_PROOF_NONE, 0, "%s", path);
        free(path);
    }
    search->files->is_server_missing = err != 0 && err != -ENOENT;
}

static void (*const places[])(struct hs_debug_search *search) = {
    look_in_target_roots, look_by_build_id, look_by_debuglink,
    look_by_path,         look_in_index,    ask_debuginfod,
};

/* Opens the module from what was opened while the program ran. */
static bool open_held_module(struct hs_debug_search *search)
{
    const struct hs_target_files *held = search->options ? search->options->target_files : NULL;
    const struct hs_symbol_request *request = search->request;
    struct hs_elf_file *module = &search->files->module;
    size_t at = 0;
    int fd;
    if (request->build_id_bytes == 0) {
        fd = hs_target_files_only(held, search->module_path);
        return fd >= 0 && hs_elf_file_open_fd(fd, search->module_path, module) == 0;
    }
    while ((fd = hs_target_files_next(held, search->module_path, &at)) >= 0) {
        if (hs_elf_file_open_fd(fd, search->module_path, module) == 0) {
            if (hs_debug_search_has_id(module, request->build_id, request->build_id_bytes)) {
                return true;
            }
            hs_elf_file_close(module);
        }
    }
    return false;
}

/* Where some process has another root, or several files were mapped at this path, the path alone
 * does not tell which file it is. */
static bool is_path_certain(const struct hs_debug_search *search)
{
    const struct hs_target_files *held = search->options ? search->options->target_files : NULL;
    return search->request->build_id_bytes > 0 ||
           (!hs_target_files_has_roots(held) && !hs_target_files_has(held, search->module_path));
}

/*
 * Opens the module itself. A deleted one may have been replaced by any file: only a build id can
 * tell.
 */
static void open_module(struct hs_debug_search *search)
{
    struct hs_debug_files *files = search->files;
    const struct hs_symbol_request *request = search->request;
    if (strcmp(request->path, HS_SYMBOL_PATH_VDSO) == 0) {
        files->module_err = hs_elf_file_open_vdso(&files->module);
        search->is_deleted = true;
    } else if (search->module_path[0] != '/' ||
               (search->options && search->options->is_given_only)) {
        files->module_err = -ENOENT;
    } else if (open_held_module(search)) {
        search->is_deleted = false; /* this one is the mapped one, wherever it is now */
    } else if (!is_path_certain(search)) {
        files->module_err = HS_DEBUG_FILES_E_OTHER_BUILD;
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
    bool is_other =
        request->build_id_bytes > 0
            ? !hs_debug_search_has_id(&files->module, request->build_id, request->build_id_bytes)
            : search->is_deleted;
    if (is_other) {
        hs_debug_search_note_other(search, &files->module);
        hs_elf_file_close(&files->module);
        files->module_err = HS_DEBUG_FILES_E_OTHER_BUILD;
    }
}

/* Without a recorded build id, the user's folders come before the module's path: the module may be
 * of another machine. */
static void look_in_given(struct hs_debug_search *search)
{
    size_t count = search->options ? search->options->search_path_count : 0;
    for (size_t i = 0; i < count && search->module_path[0] == '/'; i++) {
        look_below(search, search->options->search_paths[i]);
    }
}

static void set_paths(struct hs_debug_search *search)
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
static void find_alt(struct hs_debug_search *search)
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
    char id_name[2 * HS_DEBUG_SEARCH_ID_BYTES_MAX + 2];
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
        if (hs_elf_file_open(path, &files->alt) == 0 &&
            !hs_debug_search_has_id(&files->alt, id, id_bytes)) {
            hs_elf_file_close(&files->alt);
        }
        if (!root) {
            break;
        }
    }
    char *asked = NULL;
    if (!files->alt.elf && search->options && search->options->has_debuginfod &&
        hs_debuginfod_find(search->options, id, id_bytes, &asked) == 0 &&
        hs_elf_file_open(asked, &files->alt) == 0 &&
        !hs_debug_search_has_id(&files->alt, id, id_bytes)) {
        hs_elf_file_close(&files->alt);
    }
    free(asked);
}

void hs_debug_files_find(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, struct hs_debug_files *ret_files)
{
    struct hs_debug_search search = {
        .options = options,
        .request = request,
        .files = ret_files,
    };
    *ret_files = (struct hs_debug_files){ .module = HS_ELF_FILE_NONE,
                                          .debug = HS_ELF_FILE_NONE,
                                          .alt = HS_ELF_FILE_NONE };
    set_paths(&search);
    search.wanted_id = request->build_id;
    search.wanted_id_bytes = request->build_id_bytes;
    if (request->build_id_bytes == 0) {
        look_in_given(&search);
    }
    if (!ret_files->module.elf && !ret_files->debug.elf) {
        open_module(&search);
    }
    if (!ret_files->module.elf && !(options && options->is_given_only)) {
        hs_archive_search_try(&search, "");
    }
    if (search.wanted_id_bytes == 0 && ret_files->module.elf) {
        search.wanted_id = ret_files->module.build_id;
        search.wanted_id_bytes = ret_files->module.build_id_bytes;
    }
    for (size_t i = 0; i < HS_COUNT_OF(places) && !hs_debug_search_is_done(&search); i++) {
        places[i](&search);
    }
    find_alt(&search);
}

void hs_debug_files_close(struct hs_debug_files *files)
{
    hs_elf_file_close(&files->module);
    hs_elf_file_close(&files->debug);
    hs_elf_file_close(&files->alt);
    free(files->other);
    files->other = NULL;
}

const struct hs_elf_file *hs_debug_files_dwarf(const struct hs_debug_files *files)
{
    if (files->module.has_dwarf) {
        return &files->module;
    }
    return files->debug.has_dwarf ? &files->debug : NULL;
}
