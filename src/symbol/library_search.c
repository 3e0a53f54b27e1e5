/*
 * Searches for libraries: see library_search.h.
 */
#include "symbol/library_search.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "symbol/elf_file.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/ld_cache.h"
#include "util/proc.h"

#define LIBRARIES_MAX   4096U
#define DYNAMIC_MAX     65536U
#define ANCESTORS_MAX   64U
#define CACHE_FOLDER    "/etc"
#define CACHE_NAME      "ld.so.cache"
#define MULTIARCH       "x86_64-linux-gnu"
#define DEFAULT_FOLDERS "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib"

/* The search paths of one item, copied from its file. */
struct paths {
    char *rpath, *runpath; /* NULL none */
    char *origin;          /* folder of the file */
};

struct search {
    const struct hs_library_options *options;
    struct hs_libraries found;
    struct paths *paths; /* for each item of `found` */
    size_t paths_capacity;
    struct hs_buf cache_bytes;
    struct hs_ld_cache cache; /* count 0: none */
    unsigned machine;         /* that of the program */
};

/* --- files --- */

static unsigned machine_of(const struct hs_elf_file *file)
{
    GElf_Ehdr ehdr;
    if (!gelf_getehdr(file->elf, &ehdr) || gelf_getclass(file->elf) != ELFCLASS64) {
        return EM_NONE;
    }
    return ehdr.e_machine;
}

static bool is_fitting(const struct search *search, const char *path)
{
    struct hs_elf_file file;
    if (hs_elf_file_open(path, &file) != 0) {
        return false;
    }
    bool is_same_machine = machine_of(&file) == search->machine;
    hs_elf_file_close(&file);
    return is_same_machine;
}

static char *folder_of(const char *path)
{
    char real[PATH_MAX];
    const char *whole = realpath(path, real) ? real : path;
    const char *slash = strrchr(whole, '/');
    return slash ? strndup(whole, slash == whole ? 1 : (size_t)(slash - whole)) : strdup(".");
}

/* --- places --- */

/* The length of $NAME or ${NAME} at `at`; 0 when it is not there. */
static size_t match_token(const char *at, size_t bytes, const char *name)
{
    size_t n = strlen(name);
    bool is_braced = bytes > 1 && at[1] == '{';
    size_t start = is_braced ? 2 : 1;
    if (bytes < start + n || memcmp(at + start, name, n) != 0 ||
        (is_braced && (bytes == start + n || at[start + n] != '}'))) {
        return 0;
    }
    return start + n + (is_braced ? 1 : 0);
}

/* Writes `text` with its tokens replaced. Returns the length, or PATH_MAX when it did not fit. */
static size_t expand(const char *text, size_t bytes, const char *origin, char *ret_path)
{
    const char *const tokens[][2] = {
        { "ORIGIN", origin },
        { "LIB", "lib/" MULTIARCH },
        { "PLATFORM", "x86_64" },
    };
    size_t used = 0;
    for (size_t i = 0; i < bytes;) {
        size_t taken = 0;
        const char *value = NULL;
        for (size_t k = 0; text[i] == '$' && taken == 0 && k < HS_COUNT_OF(tokens); k++) {
            taken = match_token(text + i, bytes - i, tokens[k][0]);
            value = tokens[k][1];
        }
        int len = taken > 0 ? snprintf(ret_path + used, PATH_MAX - used, "%s", value)
                            : snprintf(ret_path + used, PATH_MAX - used, "%c", text[i]);
        if (len < 0 || (size_t)len >= PATH_MAX - used) {
            return PATH_MAX;
        }
        used += (size_t)len;
        i += taken > 0 ? taken : 1;
    }
    ret_path[used] = '\0';
    return used;
}

/* Makes a path in a folder. An empty folder is the current one. */
static bool make_path(const char *folder, size_t bytes, const char *origin, const char *name,
                      char *ret_path)
{
    size_t used = expand(folder, bytes, origin, ret_path);
    size_t room = PATH_MAX - used;
    int len = snprintf(ret_path + used, room, "%s%s", used > 0 ? "/" : "", name);
    return len >= 0 && (size_t)len < room;
}

/* Searches the folders of a list. */
static bool look_in(const struct search *search, const char *list, const char *origin,
                    const char *name, char *ret_path)
{
    for (const char *at = list, *next; at; at = next) {
        size_t bytes = strcspn(at, ":;");
        next = at[bytes] ? at + bytes + 1 : NULL;
        if (make_path(at, bytes, origin, name, ret_path) && is_fitting(search, ret_path)) {
            return true;
        }
    }
    return false;
}

static bool look_in_rpaths(const struct search *search, size_t asker_idx, const char *name,
                           char *ret_path)
{
    for (unsigned i = 0; i < ANCESTORS_MAX && !search->paths[asker_idx].runpath; i++) {
        const struct paths *paths = &search->paths[asker_idx];
        if (paths->rpath && look_in(search, paths->rpath, paths->origin, name, ret_path)) {
            return true;
        }
        if (asker_idx == 0) {
            break;
        }
        asker_idx = search->found.items[asker_idx].needed_by_idx;
    }
    return false;
}

static bool look_in_cache(const struct search *search, const char *name, char *ret_path)
{
    uint32_t at = 0;
    const char *path;
    while ((path = hs_ld_cache_next(&search->cache, &at, name)) != NULL) {
        if (strlen(path) < PATH_MAX && is_fitting(search, path)) {
            snprintf(ret_path, PATH_MAX, "%s", path);
            return true;
        }
    }
    return false;
}

static bool find_library(const struct search *search, size_t asker_idx, const char *name,
                         char *ret_path)
{
    const struct paths *paths = &search->paths[asker_idx];
    const char *library_path = search->options->library_path;
    if (strchr(name, '/')) {
        return expand(name, strlen(name), paths->origin, ret_path) < PATH_MAX &&
               is_fitting(search, ret_path);
    }
    return look_in_rpaths(search, asker_idx, name, ret_path) ||
           (library_path && *library_path &&
            look_in(search, library_path, paths->origin, name, ret_path)) ||
           (paths->runpath && look_in(search, paths->runpath, paths->origin, name, ret_path)) ||
           look_in_cache(search, name, ret_path) ||
           look_in(search, DEFAULT_FOLDERS, paths->origin, name, ret_path);
}

/* --- dependencies --- */

static int add(struct search *search, const char *name, const char *path, size_t asker_idx)
{
    struct hs_libraries *found = &search->found;
    int err =
        hs_array_reserve(&found->items, &found->capacity, found->count + 1, sizeof(*found->items));
    if (err == 0) {
        err = hs_array_reserve(&search->paths, &search->paths_capacity, found->count + 1,
                               sizeof(*search->paths));
    }
    if (err < 0) {
        return err;
    }
    struct hs_library *item = &found->items[found->count];
    struct paths *paths = &search->paths[found->count];
    *item = (struct hs_library){ strdup(name), path ? strdup(path) : NULL, asker_idx };
    *paths = (struct paths){ .origin = path ? folder_of(path) : NULL };
    found->count++;
    bool is_whole = item->name && (!path || (item->path && paths->origin));
    return is_whole ? 0 : -ENOMEM;
}

static bool is_known(const struct search *search, const char *name)
{
    for (size_t i = 1; i < search->found.count; i++) {
        if (strcmp(search->found.items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static Elf_Scn *find_dynamic(const struct hs_elf_file *file, GElf_Shdr *ret_shdr)
{
    Elf_Scn *scn = hs_elf_file_section(file, ".dynamic");
    return scn && gelf_getshdr(scn, ret_shdr) && ret_shdr->sh_type == SHT_DYNAMIC ? scn : NULL;
}

/* Reads entry i of the dynamic section, and the string that it names, if any. */
static bool read_entry(const struct hs_elf_file *file, Elf_Data *data, const GElf_Shdr *shdr,
                       unsigned i, int64_t *ret_tag, const char **ret_text)
{
    GElf_Dyn dyn;
    if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag == DT_NULL) {
        return false;
    }
    bool is_text = dyn.d_tag == DT_NEEDED || dyn.d_tag == DT_RPATH || dyn.d_tag == DT_RUNPATH;
    *ret_tag = dyn.d_tag;
    *ret_text = is_text ? elf_strptr(file->elf, shdr->sh_link, dyn.d_un.d_val) : NULL;
    return true;
}

static int read_places(const struct hs_elf_file *file, Elf_Data *data, const GElf_Shdr *shdr,
                       struct paths *paths)
{
    int64_t tag;
    const char *text;
    for (unsigned i = 0; i < DYNAMIC_MAX && read_entry(file, data, shdr, i, &tag, &text); i++) {
        char **ret = tag == DT_RPATH ? &paths->rpath : tag == DT_RUNPATH ? &paths->runpath : NULL;
        if (ret && text && !*ret && !(*ret = strdup(text))) {
            return -ENOMEM;
        }
    }
    return 0;
}

/*
 * Reads the dynamic section in two passes, because the search paths of a file apply to all
 * libraries that it needs.
 */
static int read_needed(struct search *search, const struct hs_elf_file *file, size_t idx)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = find_dynamic(file, &shdr);
    Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
    int64_t tag;
    const char *text;
    char path[PATH_MAX];
    int err = data ? read_places(file, data, &shdr, &search->paths[idx]) : 0;
    for (unsigned i = 0;
         data && i < DYNAMIC_MAX && err == 0 && read_entry(file, data, &shdr, i, &tag, &text);
         i++) {
        if (tag == DT_NEEDED && text && *text && !is_known(search, text) &&
            search->found.count < LIBRARIES_MAX) {
            bool is_found = find_library(search, idx, text, path);
            err = add(search, text, is_found ? path : NULL, idx);
        }
    }
    return err;
}

static int walk(struct search *search)
{
    int err = 0;
    for (size_t i = 0; i < search->found.count && err == 0; i++) {
        struct hs_elf_file file;
        const char *path = search->found.items[i].path;
        int open_err = path ? hs_elf_file_open(path, &file) : -ENOENT;
        if (open_err != 0) {
            err = i == 0 ? open_err : 0;
            continue;
        }
        search->machine = i == 0 ? machine_of(&file) : search->machine;
        err = read_needed(search, &file, i);
        hs_elf_file_close(&file);
    }
    return err;
}

int hs_library_search(const char *program, const struct hs_library_options *options,
                      struct hs_libraries *ret_libraries)
{
    struct search search = { .options = options };
    const char *folder = options->cache_folder ? options->cache_folder : CACHE_FOLDER;
    int r = hs_proc_read_whole(folder, CACHE_NAME, &search.cache_bytes);
    if (r == 0) {
        hs_ld_cache_open(search.cache_bytes.data, search.cache_bytes.bytes, &search.cache);
    }
    int err = add(&search, program, program, 0);
    err = err ? err : walk(&search);
    for (size_t i = 0; i < search.found.count; i++) {
        free(search.paths[i].rpath);
        free(search.paths[i].runpath);
        free(search.paths[i].origin);
    }
    free(search.paths);
    hs_buf_deinit(&search.cache_bytes);
    if (err < 0) {
        hs_libraries_deinit(&search.found);
        return err;
    }
    *ret_libraries = search.found;
    return 0;
}

void hs_libraries_deinit(struct hs_libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++) {
        free(libraries->items[i].name);
        free(libraries->items[i].path);
    }
    free(libraries->items);
    *libraries = (struct hs_libraries){ 0 };
}
