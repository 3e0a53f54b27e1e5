/*
 * Collects the sources of names: see symbol_sources.h.
 */
#include "cli/read/symbol_sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/progress.h"
#include "symbol/cache_folder.h"
#include "symbol/debuginfod.h"
#include "util/array.h"

struct hs_opt_list hs_symbol_folders_given;
/* What there is to say about folders is said. */
static bool is_said;

int hs_symbol_sources_give(const char *folder)
{
    struct hs_opt_list *list = &hs_symbol_folders_given;
    int err =
        hs_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(list->items[0]));
    if (err == 0) {
        list->items[list->count++] = folder;
    }
    return err;
}

/* Says what is wrong with a folder that the user named. */
static void look_at(const char *who, const char *path)
{
    if (is_said) {
        return;
    }
    DIR *folder = opendir(path);
    if (!folder) {
        hs_message("%s: no names come from the folder %s: %s", who, path, strerror(errno));
        return;
    }
    const struct dirent *entry;
    do {
        entry = readdir(folder);
    } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    if (!entry) {
        hs_message("%s: no names come from the folder %s: it is empty", who, path);
    }
    closedir(folder);
}

/* Adds the folders of a variable. */
static int add_variable(struct hs_symbol_sources *sources, struct hs_symbol_folders *folders,
                        const char *name)
{
    size_t first = folders->count;
    int err = hs_symbol_folders_add_variable(folders, name);
    for (size_t i = first; i < folders->count; i++) {
        sources->is_any = true;
        look_at(name, folders->paths[i]);
    }
    return err;
}

static int add_given(struct hs_symbol_sources *sources)
{
    int err = 0;
    for (size_t i = 0; i < hs_symbol_folders_given.count && err == 0; i++) {
        const char *path = hs_symbol_folders_given.items[i];
        look_at("--symbols", path);
        err = hs_symbol_folders_add(&sources->folders, path, strlen(path));
        err = err ? err : hs_symbol_folders_add(&sources->breakpad, path, strlen(path));
        sources->is_any = true;
    }
    return err;
}

/* pprof's folder counts where its variable names none, and is no request for names. */
static int add_pprof(struct hs_symbol_sources *sources)
{
    const char *value = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
    char path[PATH_MAX];
    if ((value && *value) || !home || home[0] != '/') {
        return add_variable(sources, &sources->folders, "PPROF_BINARY_PATH");
    }
    int bytes = snprintf(path, sizeof(path), "%s/pprof/binaries", home);
    DIR *folder = bytes > 0 && (size_t)bytes < sizeof(path) ? opendir(path) : NULL;
    if (!folder) {
        return 0;
    }
    closedir(folder);
    return hs_symbol_folders_add(&sources->folders, path, (size_t)bytes);
}

static void look_at_servers(struct hs_symbol_sources *sources)
{
    if (!hs_debuginfod_is_wanted()) {
        return;
    }
    sources->is_any = sources->has_debuginfod = hs_debuginfod_is_installed();
    if (!sources->has_debuginfod && !is_said) {
        hs_message("DEBUGINFOD_URLS: no server is asked, because libdebuginfod.so.1 cannot be "
                   "loaded: install it (Debian: libdebuginfod1)");
    }
}

int hs_symbol_sources_read(struct hs_symbol_sources *ret_sources)
{
    struct hs_symbol_sources *s = ret_sources;
    *s = (struct hs_symbol_sources){ 0 };
    bool is_any = hs_symbol_sources_is_any();
    int err = add_given(s);
    s->indexed_count = s->folders.count;
    err = err ? err : add_variable(s, &s->folders, HS_ENV_BINARY_PATH);
    if (hs_symbol_folders_are_indexed()) {
        s->indexed_count = s->folders.count;
    }
    err = err ? err : add_pprof(s);
    err = err ? err : add_variable(s, &s->breakpad, "BREAKPAD_SYMBOL_DIR");
    look_at_servers(s);
    s->is_any |= is_any;
    is_said = true;
    if (!hs_cache_folder_find(s->cache, sizeof(s->cache))) {
        s->cache[0] = '\0';
    }
    if (err != 0) {
        hs_symbol_sources_deinit(s);
    }
    return err;
}

void hs_symbol_sources_deinit(struct hs_symbol_sources *sources)
{
    hs_symbol_folders_deinit(&sources->folders);
    hs_symbol_folders_deinit(&sources->breakpad);
    *sources = (struct hs_symbol_sources){ 0 };
}

bool hs_symbol_sources_is_any(void)
{
    static const char *const names[] = { HS_ENV_BINARY_PATH, "PPROF_BINARY_PATH",
                                         "BREAKPAD_SYMBOL_DIR" };
    bool is_any = hs_symbol_folders_given.count > 0 ||
                  (hs_debuginfod_is_wanted() && hs_debuginfod_is_installed());
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        is_any |= value && value[strspn(value, ":")] != '\0';
    }
    return is_any;
}

struct hs_symbol_options hs_symbol_sources_options(const struct hs_symbol_sources *sources)
{
    return (struct hs_symbol_options){
        .search_paths = (const char *const *)sources->folders.paths,
        .search_path_count = sources->folders.count,
        .indexed_path_count = sources->indexed_count,
        .breakpad_paths = (const char *const *)sources->breakpad.paths,
        .breakpad_path_count = sources->breakpad.count,
        .has_debuginfod = sources->has_debuginfod,
        .is_given_only = sources->is_given_only,
        .cache_folder = sources->cache[0] ? sources->cache : NULL,
        .on_progress = hs_progress_step,
    };
}
